//! What PayPal's `issue` codes mean for us: one table. A code that is not in it means nothing yet.

/// What an issue says about the request that met it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Meaning {
    /// A definitive no, if it answers a first send.
    No,
    /// It was done before, or is being done: the object says where it stands.
    Ask,
    /// The shopper has something to do; the order says where.
    Shopper,
    /// Our request was wrong, and nothing was done.
    OurFault,
    /// Our account may not do this.
    Settings,
    /// An earlier payment bears our invoice number: neither a no nor a yes.
    Person,
}

/// Every code we know. Sources: the error tables of Orders v2 (create, capture) and Payments v2
/// (refund).
pub const ISSUES: [(&str, Meaning); 61] = [
    ("ALIAS_DECLINED_BY_PROCESSOR", Meaning::No),
    ("CARD_EXPIRED", Meaning::No),
    ("COMPLIANCE_VIOLATION", Meaning::No),
    ("DECLINED_DUE_TO_RELATED_TXN", Meaning::No),
    ("DOMESTIC_TRANSACTION_REQUIRED", Meaning::No),
    ("INSTRUMENT_DECLINED", Meaning::No),
    ("MAX_NUMBER_OF_PAYMENT_ATTEMPTS_EXCEEDED", Meaning::No),
    ("PAYEE_BLOCKED_TRANSACTION", Meaning::No),
    ("PAYER_ACCOUNT_LOCKED_OR_CLOSED", Meaning::No),
    ("PAYER_ACCOUNT_RESTRICTED", Meaning::No),
    ("PAYER_CANNOT_PAY", Meaning::No),
    ("PAYMENT_SOURCE_DECLINED_BY_PROCESSOR", Meaning::No),
    ("TRANSACTION_BLOCKED_BY_PAYEE", Meaning::No),
    ("TRANSACTION_LIMIT_EXCEEDED", Meaning::No),
    ("TRANSACTION_RECEIVING_LIMIT_EXCEEDED", Meaning::No),
    ("TRANSACTION_REFUSED", Meaning::No),
    // Refunds.
    ("MAX_NUMBER_OF_REFUNDS_EXCEEDED", Meaning::No),
    ("PARTIAL_REFUND_NOT_ALLOWED", Meaning::No),
    ("PENDING_CAPTURE", Meaning::No),
    ("REFUND_AMOUNT_EXCEEDED", Meaning::No),
    ("REFUND_AMOUNT_TOO_LOW", Meaning::No),
    ("REFUND_CAPTURE_CURRENCY_MISMATCH", Meaning::No),
    ("REFUND_FAILED_INSUFFICIENT_FUNDS", Meaning::No),
    ("REFUND_IS_RESTRICTED", Meaning::No),
    ("REFUND_NOT_ALLOWED", Meaning::No),
    ("REFUND_NOT_PERMITTED_DUE_TO_CHARGEBACK", Meaning::No),
    ("REFUND_TIME_LIMIT_EXCEEDED", Meaning::No),
    ("TRANSACTION_DISPUTED", Meaning::No),
    // Done already, or under way.
    ("CAPTURE_FULLY_REFUNDED", Meaning::Ask),
    ("DUPLICATE_REQUEST_ID", Meaning::Ask),
    ("ORDER_ALREADY_AUTHORIZED", Meaning::Ask),
    ("ORDER_ALREADY_CAPTURED", Meaning::Ask),
    ("ORDER_COMPLETION_IN_PROGRESS", Meaning::Ask),
    ("PREVIOUS_REQUEST_IN_PROGRESS", Meaning::Ask),
    // The shopper's turn.
    ("ORDER_NOT_APPROVED", Meaning::Shopper),
    ("PAYER_ACTION_REQUIRED", Meaning::Shopper),
    // Ours.
    ("AMOUNT_MISMATCH", Meaning::OurFault),
    ("CANNOT_BE_NEGATIVE", Meaning::OurFault),
    ("CANNOT_BE_ZERO_OR_NEGATIVE", Meaning::OurFault),
    ("CURRENCY_MISMATCH", Meaning::OurFault),
    ("DECIMALS_NOT_SUPPORTED", Meaning::OurFault),
    ("DECIMAL_PRECISION", Meaning::OurFault),
    ("DUPLICATE_REFERENCE_ID", Meaning::OurFault),
    ("INCOMPATIBLE_PARAMETER_VALUE", Meaning::OurFault),
    ("INVALID_CURRENCY_CODE", Meaning::OurFault),
    ("INVALID_PARAMETER_SYNTAX", Meaning::OurFault),
    ("INVALID_PARAMETER_VALUE", Meaning::OurFault),
    ("INVALID_RESOURCE_ID", Meaning::OurFault),
    ("INVALID_STRING_LENGTH", Meaning::OurFault),
    ("MALFORMED_REQUEST_JSON", Meaning::OurFault),
    ("MAX_VALUE_EXCEEDED", Meaning::OurFault),
    ("MISSING_REQUIRED_PARAMETER", Meaning::OurFault),
    ("PAYPAL_REQUEST_ID_REQUIRED", Meaning::OurFault),
    ("UNSUPPORTED_INTENT", Meaning::OurFault),
    // Our account.
    ("AUTH_CAPTURE_NOT_ENABLED", Meaning::Settings),
    ("CONSENT_NEEDED", Meaning::Settings),
    ("PAYEE_ACCOUNT_LOCKED_OR_CLOSED", Meaning::Settings),
    ("PAYEE_ACCOUNT_RESTRICTED", Meaning::Settings),
    ("PAYEE_ACCOUNT_NOT_VERIFIED", Meaning::Settings),
    ("PERMISSION_DENIED", Meaning::Settings),
    // A person's.
    ("DUPLICATE_INVOICE_ID", Meaning::Person),
];

/// What an issue means; `None` for one that nobody has listed.
pub fn meaning(issue: &str) -> Option<Meaning> {
    ISSUES.iter().find(|(known, _)| *known == issue).map(|(_, meaning)| *meaning)
}
