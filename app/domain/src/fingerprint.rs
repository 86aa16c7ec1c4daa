//! The fingerprint of a request: the same intent has the same one, any other has another.

use sha2::{Digest, Sha256};

use crate::money::Money;

/// SHA-256, in hex, over the canonical form of what is asked for.
///
/// The canonical form prefixes every part with its length, so that no two different requests
/// can run together into the same bytes. The order of the lines does not matter.
pub fn fingerprint(
    kind: &str,
    resource: &str,
    amount: Money,
    lines: &[(&str, u32, i64)],
) -> String {
    let mut lines = lines.to_vec();
    lines.sort_unstable();
    let mut hash = Sha256::new();
    let mut part = |text: &str| {
        hash.update((text.len() as u64).to_be_bytes());
        hash.update(text.as_bytes());
    };
    part("payonce.fingerprint.1");
    part(kind);
    part(resource);
    part(amount.currency.code());
    part(&amount.minor.to_string());
    for (sku, quantity, unit_minor) in lines {
        part(sku);
        part(&quantity.to_string());
        part(&unit_minor.to_string());
    }
    hex::encode(hash.finalize())
}

/// SHA-256, in hex, of stored request bytes.
pub fn body_hash(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::Currency;

    #[test]
    fn any_other_content_has_another_fingerprint() {
        let amount = Money::new(1999, Currency::EUR);
        let base = fingerprint("payment", "cart:1", amount, &[("cups", 1, 999), ("tray", 1, 1000)]);
        let same = fingerprint("payment", "cart:1", amount, &[("tray", 1, 1000), ("cups", 1, 999)]);
        assert_eq!(base, same, "the order of lines does not matter");
        let others = [
            fingerprint("refund", "cart:1", amount, &[("cups", 1, 999), ("tray", 1, 1000)]),
            fingerprint("payment", "cart:2", amount, &[("cups", 1, 999), ("tray", 1, 1000)]),
            fingerprint(
                "payment",
                "cart:1",
                Money::new(1999, Currency::JPY),
                &[("cups", 1, 999), ("tray", 1, 1000)],
            ),
            fingerprint(
                "payment",
                "cart:1",
                Money::new(1998, Currency::EUR),
                &[("cups", 1, 999), ("tray", 1, 1000)],
            ),
            fingerprint("payment", "cart:1", amount, &[("cups", 2, 999), ("tray", 1, 1000)]),
            fingerprint("payment", "cart:1", amount, &[("cups", 19, 99), ("tray", 1, 1000)]),
            fingerprint("payment", "cart:1", amount, &[("cups", 1, 999)]),
        ];
        for other in others {
            assert_ne!(base, other);
        }
    }
}
