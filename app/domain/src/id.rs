//! Ids are types: a checkout's id cannot be passed where an order's is meant.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Why a text is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an id: expected a UUID in its 36-character form")]
pub struct InvalidId;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            /// Takes the 36-character form only, in either case, so that one id has one spelling.
            fn from_str(text: &str) -> Result<Self, InvalidId> {
                if text.len() != 36 {
                    return Err(InvalidId);
                }
                Uuid::try_parse(text).map($name).map_err(|_| InvalidId)
            }
        }
    )+};
}

ids! {
    /// The shopper's intent to pay once for one cart; made once, by the browser where it can.
    CheckoutId,
    /// A cart: what somebody is about to order.
    CartId,
    /// An order: what the shopper wants; pays once.
    OrderId,
    /// One business intent against one provider.
    OperationId,
    /// One request on the wire, lookups too.
    AttemptId,
    /// The intent to give money back, made once.
    RefundRequestId,
    /// Whoever stands behind an anonymous session.
    CustomerId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_only_a_uuid_in_its_long_form() {
        let good = "6f9619ff-8b86-4011-b42d-00cf4fc964ff";
        assert_eq!(good.parse::<CheckoutId>().unwrap().to_string(), good);
        let long = "6".repeat(10_000);
        for bad in ["", "../../etc/passwd", "6f9619ff8b864011b42d00cf4fc964ff", "a\0b", &long] {
            assert_eq!(bad.parse::<CheckoutId>(), Err(InvalidId), "{bad:?}");
        }
    }
}
