//! The query language: `metadata['reference']:'R-1' AND -status:'canceled' AND amount>=500`.

use serde_json::Value;

/// What is searched for: clauses of which all have to fit, or any.
#[derive(Debug)]
pub struct Query {
    clauses: Vec<Clause>,
    any: bool,
}

#[derive(Debug)]
struct Clause {
    negated: bool,
    wanted: Wanted,
}

#[derive(Debug)]
enum Wanted {
    Metadata(String, String),
    Word(&'static str, String),
    Amount(Comparison, i64),
}

#[derive(Clone, Copy, Debug)]
enum Comparison {
    AtLeast,
    AtMost,
    Above,
    Below,
    Same,
}

impl Query {
    /// Whether it finds this intent.
    pub fn finds(&self, intent: &Value) -> bool {
        let fits = |clause: &Clause| clause.wanted.fits(intent) != clause.negated;
        if self.any { self.clauses.iter().any(fits) } else { self.clauses.iter().all(fits) }
    }

    /// What everything it finds has under this name of the metadata, if that is one value.
    pub fn metadata(&self, name: &str) -> Option<&str> {
        let needed = self.clauses.iter().filter(|it| !self.any && !it.negated);
        needed.into_iter().find_map(|it| match &it.wanted {
            Wanted::Metadata(of, value) => (of == name).then_some(value.as_str()),
            Wanted::Word(..) | Wanted::Amount(..) => None,
        })
    }
}

impl Wanted {
    fn fits(&self, intent: &Value) -> bool {
        match self {
            Self::Metadata(name, value) => intent["metadata"][name] == value.as_str(),
            Self::Word(field, value) => intent[field] == value.as_str(),
            Self::Amount(comparison, wanted) => {
                intent["amount"].as_i64().is_some_and(|amount| comparison.holds(amount, *wanted))
            }
        }
    }
}

impl Comparison {
    /// Each as it is written, the longer ones first.
    const WRITTEN: [(&str, Self); 5] = [
        (">=", Self::AtLeast),
        ("<=", Self::AtMost),
        (">", Self::Above),
        ("<", Self::Below),
        (":", Self::Same),
    ];

    fn holds(self, amount: i64, wanted: i64) -> bool {
        match self {
            Self::AtLeast => amount >= wanted,
            Self::AtMost => amount <= wanted,
            Self::Above => amount > wanted,
            Self::Below => amount < wanted,
            Self::Same => amount == wanted,
        }
    }
}

/// What was read, and the text after it; or what is wrong, for the person who wrote it.
type Part<'a, T> = Result<(T, &'a str), String>;

/// Reads a query.
pub fn read(text: &str) -> Result<Query, String> {
    let (first, mut rest) = clause(text.trim())?;
    let (mut clauses, mut any) = (vec![first], None);
    while !rest.is_empty() {
        let (or, after) = joint(rest)?;
        if any.is_some_and(|any| any != or) {
            return Err("AND and OR are never in the same query.".to_owned());
        }
        let (next, after) = clause(after)?;
        clauses.push(next);
        (any, rest) = (Some(or), after);
    }
    Ok(Query { clauses, any: any.unwrap_or(false) })
}

/// ` AND ` or ` OR `: whether it is the latter.
fn joint(text: &str) -> Part<'_, bool> {
    let wrong = || format!("Clauses are joined by AND or OR, not as in: {text}");
    let spaced = text.strip_prefix(' ').ok_or_else(wrong)?.trim_start();
    let (word, rest) = spaced.split_once(' ').unwrap_or((spaced, ""));
    match word.to_ascii_uppercase().as_str() {
        "AND" => Ok((false, rest.trim_start())),
        "OR" => Ok((true, rest.trim_start())),
        _ => Err(wrong()),
    }
}

fn clause(text: &str) -> Part<'_, Clause> {
    let (negated, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (wanted, rest) = wanted(text)?;
    Ok((Clause { negated, wanted }, rest))
}

fn wanted(text: &str) -> Part<'_, Wanted> {
    let (field, rest) = text.split_at(text.find([':', '<', '>', '[', ' ']).unwrap_or(text.len()));
    match field {
        "metadata" => {
            let wrong = "The field metadata is written with a name: metadata['name'].";
            let named = rest.strip_prefix('[').ok_or(wrong)?;
            let (name, rest) = quoted(named)?;
            let (value, rest) = equal(field, rest.strip_prefix(']').ok_or(wrong)?)?;
            Ok((Wanted::Metadata(name, value), rest))
        }
        "status" => equal(field, rest).map(|(value, rest)| (Wanted::Word("status", value), rest)),
        "currency" => {
            equal(field, rest).map(|(value, rest)| (Wanted::Word("currency", value), rest))
        }
        "amount" => amount(rest),
        "" => Err("A clause is missing: it is a field, an operator and a value.".to_owned()),
        _ => Err(format!(
            "There is no field {field}: it is metadata['name'], status, currency or amount."
        )),
    }
}

fn equal<'a>(field: &str, text: &'a str) -> Part<'a, String> {
    let value = text.strip_prefix(':').ok_or_else(|| format!("After {field} comes a colon."))?;
    quoted(value)
}

fn amount(text: &str) -> Part<'_, Wanted> {
    let written = Comparison::WRITTEN.iter();
    let (comparison, rest) = written
        .filter_map(|(sign, comparison)| Some((*comparison, text.strip_prefix(sign)?)))
        .next()
        .ok_or("After amount comes one of : > < >= <=.")?;
    let (number, rest) = if rest.starts_with(['\'', '"']) {
        quoted(rest)?
    } else {
        let (number, rest) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        (number.to_owned(), rest)
    };
    let number = number.parse().map_err(|_| format!("An amount is a whole number: {number}"))?;
    Ok((Wanted::Amount(comparison, number), rest))
}

/// A value in single or double quotes; a backslash takes a quote into it.
fn quoted(text: &str) -> Part<'_, String> {
    let quote = text.chars().next().filter(|it| matches!(it, '\'' | '"'));
    let quote = quote.ok_or_else(|| format!("A value is in quotes, not as in: {text}"))?;
    let (mut value, mut escaped) = (String::new(), false);
    for (place, it) in text.char_indices().skip(1) {
        match it {
            '\\' if !escaped => escaped = true,
            _ if it == quote && !escaped => {
                return Ok((value, text.get(place + 1..).unwrap_or_default()));
            }
            _ => {
                value.push(it);
                escaped = false;
            }
        }
    }
    Err(format!("A quote is never closed: {text}"))
}
