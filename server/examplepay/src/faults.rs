//! Fault scripts: what goes wrong, request by request. Kept in memory, gone with a restart.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use crate::{partners, wire::Wire};

/// Which requests a script is for. What is not named fits anything.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Match {
    /// The door: `examplepay`, `stripe`, `paypal` or `partners`.
    #[serde(default)]
    pub door: Option<String>,
    /// The endpoint: `create_payment`, `get_payment`, ... or `any`.
    #[serde(default)]
    pub operation: Option<String>,
    /// The whole idempotency key.
    #[serde(default)]
    pub key: Option<String>,
    /// How it begins.
    #[serde(default)]
    pub key_prefix: Option<String>,
    /// The same of the key under which the payment was asked for: it fits questions about it too,
    /// whose reference may not be known when the script is written.
    #[serde(default)]
    pub of_key_prefix: Option<String>,
    /// The merchant's reference.
    #[serde(default)]
    pub reference: Option<String>,
    /// The payment token.
    #[serde(default)]
    pub token: Option<String>,
}

/// Whether the provider does what it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Execute {
    /// At once, or not at all.
    Now(bool),
    /// After a while.
    Later(Later),
}

/// The word `later`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Later {
    /// See `execute_after_ms`.
    Later,
}

/// What the client sees.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// The true answer.
    #[default]
    Normal,
    /// The connection ends before a byte of the answer.
    DropBeforeHeaders,
    /// The connection ends within the body.
    CutMidBody,
    /// No answer, for ever.
    Never,
    /// Half of the request arrives and its connection ends: nothing is done, and no key is kept.
    HalfRead,
    /// Any answer.
    Status {
        /// The status.
        status: u16,
        /// The body.
        #[serde(default)]
        body: String,
        /// Its type.
        #[serde(default)]
        content_type: Option<String>,
        /// More headers.
        #[serde(default)]
        headers: BTreeMap<String, String>,
    },
}

/// When an event comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// After the usual delay.
    #[default]
    Normal,
    /// Before the request is answered.
    BeforeResponse,
    /// Not at all.
    Never,
    /// After `delay_ms`.
    Delayed,
    /// `copies` times.
    Copies,
}

/// What an event says wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wrong {
    /// One more than was taken.
    Amount,
    /// Another currency.
    Currency,
    /// Signed with another secret.
    Signature,
    /// Somebody else's reference.
    Reference,
    /// Somebody else's account.
    Account,
    /// Live, where everything is a test.
    Livemode,
}

/// What happens to the event of an effect.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hook {
    /// When it comes.
    pub mode: Option<Mode>,
    /// With `delayed`: how long.
    pub delay_ms: Option<u64>,
    /// With `copies`: how many.
    pub copies: Option<u32>,
    /// Comes only after the object's next event.
    pub reverse: bool,
    /// What is wrong about it.
    pub wrong: Option<Wrong>,
}

/// What lookups of the object say for a while.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Hide {
    /// Lookups do not find it for so long.
    pub not_found_for_ms: u64,
}

/// What happens to one request.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Step {
    /// Whether it is executed; it is, unless told otherwise.
    pub execute: Option<Execute>,
    /// With `later`: after how long.
    pub execute_after_ms: u64,
    /// What the client sees.
    pub answer: Reply,
    /// How long the answer takes.
    pub delay_ms: u64,
    /// The answer is what the key gives from now on.
    pub save: bool,
    /// What happens to its event; of a question, to the newest event of what it is about, which is
    /// told once more at the moment of the answer if this names a mode.
    pub webhook: Hook,
    /// What lookups say.
    pub lookup: Option<Hide>,
}

impl Step {
    /// Whether the request is executed: half of one never is.
    pub fn execution(&self) -> Execute {
        if matches!(self.answer, Reply::HalfRead) {
            return Execute::Now(false);
        }
        self.execute.unwrap_or(Execute::Now(true))
    }
}

/// The endpoints that a script can name.
const OPERATIONS: &[&str] = &[
    "create_payment",
    "confirm_payment",
    "capture_payment",
    "authorize_payment",
    "get_authorization",
    "capture_authorization",
    "void_authorization",
    "reauthorize",
    "confirm_source",
    "resend_event",
    "get_payment",
    "find_payment",
    "search_payment",
    "cancel_payment",
    "create_refund",
    "get_refund",
    "get_capture",
    "get_event",
    "find_event",
    "token",
    "verify_webhook",
    "find_refund",
    "find_dispute",
    "find_report",
    "create_invoice",
    "get_invoice",
    "create_shipment",
    "any",
];

/// What happens when all steps are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum After {
    /// Nothing special any more.
    #[default]
    Normal,
    /// The last step again and again.
    RepeatLast,
}

/// A script, as the control API takes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// For which requests.
    #[serde(default, rename = "match")]
    pub matches: Match,
    /// One step a request, in order.
    pub steps: Vec<Step>,
    /// And then.
    #[serde(default)]
    pub after_steps: After,
}

impl Script {
    /// What is wrong with it, for the person who wrote it.
    pub fn trouble(&self) -> Option<String> {
        let operation = self.matches.operation.as_deref();
        if self.steps.is_empty() {
            return Some("a script needs at least one step".to_owned());
        }
        let door = self.matches.door.as_deref();
        if door.is_some_and(|name| name != partners::DOOR && Wire::named(name).is_none()) {
            return Some("door is examplepay, stripe, paypal or partners".to_owned());
        }
        operation
            .filter(|name| !OPERATIONS.contains(name))
            .map(|_| format!("operation is one of {}", OPERATIONS.join(", ")))
    }
}

/// What is known of a request when its script is looked for.
#[derive(Clone, Debug, Default)]
pub struct About<'a> {
    /// The door.
    pub door: &'a str,
    /// The endpoint.
    pub operation: &'a str,
    /// The key.
    pub key: Option<&'a str>,
    /// The key under which its payment was asked for.
    pub of_key: Option<&'a str>,
    /// The reference.
    pub reference: Option<&'a str>,
    /// The token.
    pub token: Option<&'a str>,
}

/// How lookups answer for a while, whatever is asked.
#[derive(Clone, Debug)]
pub struct Lookups {
    /// The status, 404 for not found.
    pub status: u16,
    /// Until when.
    pub until: Instant,
    /// Only for this reference.
    pub reference: Option<String>,
}

#[derive(Default)]
struct Inner {
    scripts: Vec<(u64, Script, usize)>,
    next_id: u64,
    lookups: Option<Lookups>,
    hidden: Vec<(String, Instant)>,
    report_lag: Option<Duration>,
}

/// All scripts.
#[derive(Default)]
pub struct Faults {
    inner: Mutex<Inner>,
}

impl Faults {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a script; gives its number.
    pub fn add(&self, script: Script) -> u64 {
        let mut inner = self.lock();
        inner.next_id += 1;
        let id = inner.next_id;
        inner.scripts.push((id, script, 0));
        id
    }

    /// Forgets all scripts and answers for lookups.
    pub fn clear(&self) {
        let mut inner = self.lock();
        let next_id = inner.next_id;
        *inner = Inner { next_id, ..Inner::default() };
    }

    /// Forgets these scripts, and no others.
    pub fn forget(&self, ids: &[u64]) {
        self.lock().scripts.retain(|(id, ..)| !ids.contains(id));
    }

    /// Whether some script asks under which key a payment was asked for.
    pub fn ask_for_origin(&self) -> bool {
        self.lock().scripts.iter().any(|(_, script, _)| script.matches.of_key_prefix.is_some())
    }

    /// The step for this request: of the first script that fits and has one left.
    pub fn next(&self, about: &About<'_>) -> Option<Step> {
        let mut inner = self.lock();
        for (_, script, used) in &mut inner.scripts {
            if !fits(&script.matches, about) {
                continue;
            }
            if let Some(step) = script.steps.get(*used) {
                *used += 1;
                return Some(step.clone());
            }
            if script.after_steps == After::RepeatLast {
                return script.steps.last().cloned();
            }
        }
        None
    }

    /// How lookups answer from now on; `None` truthfully.
    pub fn set_lookups(&self, lookups: Option<Lookups>) {
        self.lock().lookups = lookups;
    }

    /// How late PayPal's report is from now on, instead of as it is set.
    pub fn set_report_lag(&self, lag: Duration) {
        self.lock().report_lag = Some(lag);
    }

    /// How late PayPal's report was told to be.
    pub fn report_lag(&self) -> Option<Duration> {
        self.lock().report_lag
    }

    /// Lookups do not find this reference for a while.
    pub fn hide(&self, reference: &str, time: Duration) {
        self.lock().hidden.push((reference.to_owned(), Instant::now() + time));
    }

    /// The status that a lookup of this reference has to give instead of the truth.
    pub fn lookup_status(&self, reference: Option<&str>) -> Option<u16> {
        let now = Instant::now();
        let mut inner = self.lock();
        inner.hidden.retain(|(_, until)| *until > now);
        if reference
            .is_some_and(|reference| inner.hidden.iter().any(|(hidden, _)| hidden == reference))
        {
            return Some(404);
        }
        let lookups = inner.lookups.as_ref().filter(|it| it.until > now)?;
        let concerned = lookups.reference.as_deref().is_none_or(|only| Some(only) == reference);
        concerned.then_some(lookups.status)
    }
}

fn fits(matches: &Match, about: &About<'_>) -> bool {
    let same =
        |wanted: Option<&str>, given: Option<&str>| wanted.is_none_or(|it| Some(it) == given);
    let operation = matches.operation.as_deref().filter(|name| *name != "any");
    let begins = |prefix: Option<&str>, key: Option<&str>| {
        prefix.is_none_or(|prefix| key.is_some_and(|key| key.starts_with(prefix)))
    };
    same(matches.door.as_deref(), Some(about.door))
        && same(operation, Some(about.operation))
        && same(matches.key.as_deref(), about.key)
        && same(matches.reference.as_deref(), about.reference)
        && same(matches.token.as_deref(), about.token)
        && begins(matches.key_prefix.as_deref(), about.key)
        && begins(matches.of_key_prefix.as_deref(), about.of_key.or(about.key))
}
