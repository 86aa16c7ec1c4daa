//! What goes wrong in each scenario, as scripts for ExamplePay's control API.
//!
//! Every script is for the payments whose key begins with a given prefix, and for the questions
//! about them: nobody else's payment meets it. With the card it is all a scenario consists of, so
//! that the naive shop can be given the very same.

use std::time::Duration;

use app::pages::lab::{FIELDS, scenario::Scenario};
use app::text::{Lang, lab::choices};
use serde_json::{Value, json};

/// A fault: scripts, and the card that goes with them.
#[derive(Clone, Debug, PartialEq)]
pub struct Fault {
    /// What becomes of requests that take money; step by step.
    take: Vec<Value>,
    /// What becomes of questions about the payment; step by step.
    ask: Vec<Value>,
    /// The last step of the first is for all that follow.
    stays: bool,
    /// The last step of the second is.
    silent: bool,
    /// What becomes of requests that give money back; step by step.
    back: Vec<Value>,
    /// What becomes of requests to write its invoice; step by step.
    invoice: Vec<Value>,
    /// The provider's door is shut until this payment met it. Nothing can refuse the connection of
    /// one payment alone: nobody knows whose it is before a byte was sent.
    pub door: bool,
    /// How long after the payment first met it the fault is over by itself; for naught, never.
    pub passes: Duration,
    /// What is paid with.
    pub token: &'static str,
    /// How long after Pay something may still happen that nobody waits for.
    pub lasts: Duration,
}

/// Words of a form, one for each of its fields.
pub type Chosen = [String; FIELDS.len()];

/// Whether a word is one of those that its field offers.
pub fn is_offered(field: &str, word: &str) -> bool {
    choices(Lang::en, field).iter().any(|(offered, _)| *offered == word)
}

const QUESTIONS: [&str; 2] = ["find_payment", "get_payment"];

fn lost() -> Value {
    json!({"kind": "drop_before_headers"})
}

fn status(status: u16, body: &str) -> Value {
    let headers = if status == 429 { json!({"Retry-After": "2"}) } else { json!({}) };
    json!({"kind": "status", "status": status, "body": body, "headers": headers})
}

fn broken() -> Value {
    status(500, r#"{"error":{"type":"api_error","message":"something broke here"}}"#)
}

fn busy() -> Value {
    status(429, r#"{"error":{"type":"rate_limited","message":"too many requests"}}"#)
}

fn error(code: u16, word: &str) -> Value {
    status(code, &json!({"error": {"type": word, "message": "so it says"}}).to_string())
}

fn refuses_to_give_back() -> Value {
    json!({"execute": false, "answer": error(422, "payment_not_refundable")})
}

fn script(operation: &str, prefix: &str, steps: &[Value], stays: bool) -> Value {
    let after = if stays { "repeat_last" } else { "normal" };
    let matches = json!({
        "door": "examplepay", "operation": operation, "of_key_prefix": prefix,
    });
    json!({"match": matches, "steps": steps, "after_steps": after})
}

impl Fault {
    fn taking(steps: impl Into<Vec<Value>>) -> Self {
        Self {
            take: steps.into(),
            ask: Vec::new(),
            stays: false,
            silent: false,
            back: Vec::new(),
            invoice: Vec::new(),
            door: false,
            passes: Duration::ZERO,
            token: "tok_visa",
            lasts: Duration::ZERO,
        }
    }

    fn paying_with(token: &'static str) -> Self {
        Self { token, ..Self::taking([]) }
    }

    fn asking(self, step: &Value, times: usize) -> Self {
        Self { ask: vec![step.clone(); times], ..self }
    }

    /// A listed scenario's fault in a shop of this pace; `None` for what a visitor puts together.
    pub fn of(scenario: Scenario, time_scale: f64) -> Option<Self> {
        let silent = json!({"mode": "never"});
        let hidden = json!({"execute": true, "answer": lost(), "webhook": silent});
        let undone = json!({"execute": false, "answer": lost()});
        Some(match scenario {
            Scenario::NeverArrived => Self::taking([undone]),
            Scenario::LostResponse => Self::taking([hidden]),
            Scenario::Processing => Self::paying_with("tok_processing"),
            Scenario::WebhookFirst => {
                Self::taking([json!({"delay_ms": 2500, "webhook": {"mode": "before_response"}})])
            }
            Scenario::SameMoment => Self::taking([
                json!({"delay_ms": 3, "webhook": {"mode": "copies", "copies": 2, "delay_ms": 0}}),
            ]),
            Scenario::OtherPayload | Scenario::TwoOrders | Scenario::RefundTwice => {
                Self::taking([])
            }
            Scenario::WorkerDies => {
                Self::taking([json!({"answer": {"kind": "never"}, "webhook": silent})])
            }
            Scenario::HourOfTimeouts => {
                let drop = json!({"answer": lost()});
                Self { stays: true, silent: true, ..Self::taking([hidden]).asking(&drop, 1) }
            }
            Scenario::PaymentStory => Self::taking([json!({
                "answer": lost(), "webhook": {"mode": "delayed", "delay_ms": 6000},
            })]),
            Scenario::NewsAfterLoss => Self::taking([json!({
                "answer": lost(), "webhook": {"mode": "delayed", "delay_ms": 2000},
                "lookup": {"not_found_for_ms": 10_000},
            })]),
            // Whoever sends again meets the same.
            Scenario::TooSlow => {
                Self::taking(vec![json!({"delay_ms": 8000, "webhook": silent}); 3])
            }
            Scenario::Overtaken => {
                // The first repeat is due after half a minute, and after one more question.
                let lasts = Duration::from_secs(75).mul_f64(time_scale);
                let late = u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX);
                let first = json!({"execute": "later", "execute_after_ms": late, "answer": lost()});
                Self { lasts, ..Self::taking([first]) }
            }
            Scenario::RefundBehind500 => {
                let back = json!({"answer": broken(), "save": true, "webhook": silent});
                Self { back: vec![back], ..Self::taking([]) }
            }
            Scenario::RefundRefused => {
                Self { back: vec![refuses_to_give_back()], ..Self::taking([]) }
            }
            Scenario::RefundPending => Self::paying_with("tok_refund_pending"),
            Scenario::RefundRefusedLater => Self::paying_with("tok_refund_refused_later"),
            Scenario::RefundComesBack => Self::paying_with("tok_refund_fails_later"),
            Scenario::Refused => Self { door: true, ..Self::taking([]) },
            Scenario::ProcessingDeclined => Self::paying_with("tok_processing_declined"),
            Scenario::NewsReversed => Self {
                token: "tok_processing",
                ..Self::taking([json!({"webhook": {"reverse": true}})])
            },
            Scenario::ForeignNews => Self::taking([json!({
                "answer": lost(), "webhook": {"mode": "before_response", "wrong": "reference"},
            })]),
            Scenario::HalfARequest => {
                Self::taking([json!({"answer": {"kind": "half_read"}, "webhook": silent})])
            }
            Scenario::NewsAndQuestion => {
                // The news is told when the question is, and races with its answer.
                let both = json!({"webhook": {"mode": "normal"}, "delay_ms": 3});
                Self::taking([hidden]).asking(&both, 1)
            }
            Scenario::HiddenRetries => {
                let overloaded = json!({"execute": false, "answer": status(503, "{}")});
                let passes = Duration::from_secs(25).mul_f64(time_scale);
                Self { passes, stays: true, ..Self::taking([overloaded]) }
            }
            Scenario::PatienceTooLong => {
                Self::taking([json!({"answer": {"kind": "never"}, "webhook": silent})])
            }
            Scenario::InvoiceWithoutKeys => {
                // Not found until the number was sent again: after half a minute, and one question.
                let hidden = Duration::from_secs(75).mul_f64(time_scale);
                let hidden_ms = u64::try_from(hidden.as_millis()).unwrap_or(u64::MAX);
                let lost = json!({"answer": lost(), "lookup": {"not_found_for_ms": hidden_ms}});
                // So slow that there is time to lay the other fault for the number of its order.
                let slow = json!({"delay_ms": 1000, "webhook": silent});
                Self { invoice: vec![lost], ..Self::taking([slow]) }
            }
            Scenario::Behind500 => {
                Self::taking([json!({"answer": broken(), "save": true, "webhook": silent})])
            }
            Scenario::CutBody => Self::taking([json!({"answer": {"kind": "cut_mid_body"}})]),
            Scenario::Busy => Self::taking([json!({"execute": false, "answer": busy()})]),
            Scenario::Copies => Self::taking([
                json!({"webhook": {"mode": "copies", "copies": 3, "delay_ms": 1000}}),
            ]),
            Scenario::WebhookNever => {
                Self::taking([json!({"answer": {"kind": "cut_mid_body"}, "webhook": silent})])
            }
            Scenario::WebhookDecides => {
                let down = json!({"answer": status(503, "{}")});
                let late = json!({"mode": "delayed", "delay_ms": 10_000});
                let fault = Self::taking([json!({"answer": lost(), "webhook": late})]);
                Self { silent: true, ..fault.asking(&down, 1) }
            }
            Scenario::Forged => {
                let forged = json!({"mode": "before_response", "wrong": "signature"});
                Self::taking([json!({"answer": lost(), "webhook": forged})])
            }
            Scenario::WrongAmount => Self::paying_with("tok_wrong_amount"),
            Scenario::NotFoundYet => Self::taking([json!({
                "answer": lost(), "webhook": silent, "lookup": {"not_found_for_ms": 8000},
            })]),
            Scenario::Outage => Self::taking([undone]).asking(&json!({"answer": lost()}), 2),
            Scenario::DoneLate => Self::taking([json!({
                "execute": "later", "execute_after_ms": 4000, "answer": lost(), "webhook": silent,
            })]),
            Scenario::Own => return None,
        })
    }

    /// The fault that a form describes; its words are among those offered.
    pub fn chosen(words: &Chosen) -> Self {
        let [execute, answer, webhook, lookup, card, refund, times] =
            words.each_ref().map(String::as_str);
        let mut step = match execute {
            "no" => json!({"execute": false}),
            "later" => json!({"execute": "later", "execute_after_ms": 5000}),
            _ => json!({"execute": true}),
        };
        match answer {
            "slow" => step["delay_ms"] = json!(3000),
            "late" => step["delay_ms"] = json!(8000),
            "drop" => step["answer"] = lost(),
            "cut" => step["answer"] = json!({"kind": "cut_mid_body"}),
            "never" => step["answer"] = json!({"kind": "never"}),
            "error" | "error_saved" => step["answer"] = broken(),
            "busy" => step["answer"] = busy(),
            "in_use" => step["answer"] = error(409, "idempotency_key_in_use"),
            // Whoever says this by its contract has done nothing.
            "malformed" => {
                step = json!({"execute": false, "answer": error(400, "invalid_request")});
            }
            "unlisted" => step["answer"] = error(422, "something_new"),
            "html" => step["answer"] = status(200, "<html><body>Welcome</body></html>"),
            _ => {}
        }
        if answer == "error_saved" {
            step["save"] = json!(true);
        }
        step["webhook"] = match webhook {
            "before" => json!({"mode": "before_response"}),
            "never" => json!({"mode": "never"}),
            "delayed" => json!({"mode": "delayed", "delay_ms": 10_000}),
            "copies" => json!({"mode": "copies", "copies": 3}),
            "reversed" => json!({"reverse": true}),
            "forged" => json!({"wrong": "signature"}),
            "live" => json!({"wrong": "livemode"}),
            "amount" | "currency" | "reference" | "account" => json!({"wrong": webhook}),
            _ => json!({}),
        };
        if lookup == "hidden" {
            step["lookup"] = json!({"not_found_for_ms": 8000});
        }
        let token = match card {
            "declined" => "tok_declined",
            "poor" => "tok_insufficient_funds",
            "processing" => "tok_processing",
            "processing_declined" => "tok_processing_declined",
            "amount" => "tok_wrong_amount",
            "currency" => "tok_wrong_currency",
            "unknown" => "tok_unknown_status",
            "bank" => "tok_3ds",
            "hosted" => "tok_hosted_card",
            "refund_pending" => "tok_refund_pending",
            "refund_refused" => "tok_refund_refused_later",
            "refund_back" => "tok_refund_fails_later",
            _ => "tok_visa",
        };
        let back = match refund {
            "drop" => vec![json!({"answer": lost()})],
            "error" => vec![json!({"answer": broken(), "save": true})],
            "never" => vec![json!({"answer": {"kind": "never"}})],
            "no" => vec![refuses_to_give_back()],
            "undone" => vec![json!({"execute": false, "answer": lost()})],
            _ => Vec::new(),
        };
        let (stays, door) = (times == "always", answer == "refused");
        let fault = Self { token, stays, silent: stays, back, door, ..Self::taking([step]) };
        match lookup {
            "down" => fault.asking(&json!({"answer": status(503, "{}")}), 3),
            "denied" => fault.asking(&json!({"answer": error(403, "forbidden")}), 3),
            "silent" => fault.asking(&json!({"answer": {"kind": "never"}}), 3),
            "dropped" => fault.asking(&json!({"answer": lost()}), 3),
            _ => fault,
        }
    }

    /// As scripts for all refunds whose key begins so.
    pub fn of_refund(&self, prefix: &str) -> Vec<Value> {
        let steps = Some(&self.back).filter(|it| !it.is_empty());
        let steps = steps.map(|steps| script("create_refund", prefix, steps, self.stays));
        steps.into_iter().collect()
    }

    /// Whether it is about the invoice of its order.
    pub fn is_about_invoice(&self) -> bool {
        !self.invoice.is_empty()
    }

    /// As scripts for the invoice with this number.
    pub fn of_invoice(&self, number: &str) -> Vec<Value> {
        let matches =
            json!({"door": "partners", "operation": "create_invoice", "reference": number});
        let script = json!({"match": matches, "steps": self.invoice});
        Some(script).filter(|_| self.is_about_invoice()).into_iter().collect()
    }

    /// As scripts for all payments whose key begins so.
    pub fn scripts(&self, prefix: &str) -> Vec<Value> {
        let script =
            |operation: &str, steps: &[Value], stays: bool| script(operation, prefix, steps, stays);
        let take = Some(&self.take).filter(|it| !it.is_empty());
        let ask = Some(&self.ask).filter(|it| !it.is_empty());
        let take = take.map(|steps| script("create_payment", steps, self.stays));
        let asks =
            QUESTIONS.iter().filter_map(|operation| Some(script(operation, ask?, self.silent)));
        take.into_iter().chain(asks).collect()
    }

    /// The same without any events, for whoever listens to none.
    pub fn deaf(mut self) -> Self {
        for steps in [&mut self.take, &mut self.back] {
            for step in steps.iter_mut() {
                step["webhook"] = json!({"mode": "never"});
            }
            // What comes after the last step is normal, but for its event.
            if !self.stays {
                steps.push(json!({"webhook": {"mode": "never"}}));
            }
        }
        Self { ask: Vec::new(), stays: true, ..self }
    }
}
