//! One spelling per state, used by the database, the log, the wire and the pages.

/// Gives an enum its words: `as_str`, `Display`, and `FromStr` that refuses anything else.
#[macro_export]
macro_rules! words {
    ($name:ident { $($variant:ident => $word:literal),+ $(,)? }) => {
        impl $name {
            /// Every variant, in reading order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The one spelling used in the database, the log and on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl ::std::str::FromStr for $name {
            type Err = $crate::UnknownWord;

            fn from_str(word: &str) -> ::std::result::Result<Self, Self::Err> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err($crate::UnknownWord(stringify!($name))),
                }
            }
        }
    };
}

/// A stored or received word that this version does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown word for {0}")]
pub struct UnknownWord(pub &'static str);
