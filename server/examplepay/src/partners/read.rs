//! What a body has to be; judged before anything is done.

use serde_json::{Value, json};

use crate::ledger::Made;

/// The answer to a parameter that is not right.
pub fn invalid(param: &str, message: &str) -> Made {
    Made::json(400, &json!({"error": "invalid_request", "param": param, "message": message}))
}

/// A text of the body, for the log and the scripts, however wrong the rest is.
pub fn named(body: &[u8], name: &str) -> Option<String> {
    let told: Value = serde_json::from_slice(body).ok()?;
    told[name].as_str().map(str::to_owned)
}

/// The body, if it is an object.
pub fn object(body: &[u8]) -> Result<Value, Made> {
    serde_json::from_slice(body)
        .ok()
        .filter(Value::is_object)
        .ok_or_else(|| invalid("body", "The body has to be a JSON object."))
}

/// A text of 1 to 120 characters.
pub fn text(of: &Value, name: &str) -> Result<String, Made> {
    of[name]
        .as_str()
        .filter(|text| (1..=120).contains(&text.len()))
        .map(str::to_owned)
        .ok_or_else(|| invalid(name, "This has to be given, as text of 1 to 120 characters."))
}

/// A whole number from `least` to 99999999999.
pub fn whole(of: &Value, name: &str, least: i64) -> Result<i64, Made> {
    of[name].as_i64().filter(|it| (least..=99_999_999_999).contains(it)).ok_or_else(|| {
        invalid(name, &format!("This has to be a whole number from {least} to 99999999999."))
    })
}

/// A list whose entries all read.
pub fn list<T>(
    of: &Value,
    name: &str,
    read: impl Fn(&Value) -> Result<T, Made>,
) -> Result<Vec<T>, Made> {
    let entries = of[name]
        .as_array()
        .filter(|entries| entries.len() <= 500)
        .ok_or_else(|| invalid(name, "This has to be a list of at most 500 entries."))?;
    entries.iter().map(read).collect()
}
