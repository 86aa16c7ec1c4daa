//! Form parameters with nested names, as this wire sends them: `metadata[reference]=R-1`.

use serde_json::{Map, Value, json};

use super::show::invalid;
use crate::ledger::Made;

/// The parameters of one request, in the order they came.
#[derive(Clone, Debug, Default)]
pub struct Params {
    pairs: Vec<(String, String)>,
}

impl Params {
    /// Reads a body or a query.
    pub fn read(text: &[u8]) -> Self {
        let pairs = form_urlencoded::parse(text).map(|(name, value)| (name.into(), value.into()));
        Self { pairs: pairs.collect() }
    }

    /// One parameter; an empty one counts as not given.
    pub fn get(&self, name: &str) -> Option<&str> {
        let (_, value) = self.pairs.iter().find(|(it, _)| it == name)?;
        Some(value.as_str()).filter(|it| !it.is_empty())
    }

    /// All values of a list: `types[]=a&types[]=b`, also with numbers in the brackets.
    pub fn list(&self, name: &str) -> Vec<&str> {
        let within = self.pairs.iter().filter(|(it, _)| {
            it.strip_prefix(name).is_some_and(|rest| rest.starts_with('[') && rest.ends_with(']'))
        });
        within.map(|(_, value)| value.as_str()).collect()
    }

    /// The parameters nested in this one, one level deep.
    pub fn nested(&self, name: &str) -> Map<String, Value> {
        let within = self.pairs.iter().filter_map(|(it, value)| {
            let inner = it.strip_prefix(name)?.strip_prefix('[')?.strip_suffix(']')?;
            (!inner.is_empty() && !value.is_empty()).then(|| (inner.to_owned(), json!(value)))
        });
        within.collect()
    }

    /// A yes or no.
    pub fn flag(&self, name: &str) -> Result<bool, Made> {
        match self.get(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(invalid(name, "parameter_invalid_boolean", "This is true or false.")),
        }
    }

    /// A whole number.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, Made> {
        let trouble = || invalid(name, "parameter_invalid_integer", "This is a whole number.");
        self.get(name).map(|it| it.parse().map_err(|_| trouble())).transpose()
    }

    /// Refuses what this address does not know.
    pub fn only(&self, known: &[&str]) -> Result<(), Made> {
        for (name, _) in &self.pairs {
            let outer = name.split('[').next().unwrap_or(name);
            if !known.contains(&outer) {
                let message = format!("Received unknown parameter: {outer}");
                return Err(invalid(outer, "parameter_unknown", &message));
            }
        }
        Ok(())
    }

    /// The form that equal requests share: order and spelling make no difference.
    pub fn canonical(&self) -> String {
        let mut pairs: Vec<_> = self.pairs.iter().collect();
        pairs.sort();
        form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
    }
}
