//! How many decimals a currency has: by its own standard, and by each wire's rules.

/// The decimals of the currency itself (ISO 4217); the ledger counts in these.
pub fn decimals(currency: &str) -> u32 {
    match currency {
        "BIF" | "CLP" | "DJF" | "GNF" | "ISK" | "JPY" | "KMF" | "KRW" | "PYG" | "RWF" | "UGX"
        | "VND" | "VUV" | "XAF" | "XOF" | "XPF" => 0,
        "BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND" => 3,
        _ => 2,
    }
}

/// An amount with other decimals; `None` if that would lose something, or is too much to count.
pub fn rescaled(amount: i64, from: u32, to: u32) -> Option<i64> {
    if to >= from {
        return amount.checked_mul(10_i64.checked_pow(to - from)?);
    }
    let factor = 10_i64.checked_pow(from - to)?;
    (amount % factor == 0).then_some(amount / factor)
}

/// The same, cut off where something is lost: for what is only shown.
pub fn shown(amount: i64, from: u32, to: u32) -> i64 {
    let factor = |by: u32| 10_i64.checked_pow(by).unwrap_or(1);
    if to >= from { amount.saturating_mul(factor(to - from)) } else { amount / factor(from - to) }
}
