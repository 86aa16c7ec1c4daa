//! One time line of both sides: requests as the provider's log has them, news, and what the shop
//! sent, heard and decided.

use domain::{operation::State, schedule::Timestamp};
use leptos::prelude::*;

use crate::text::{
    Lang, lab, say,
    time::{clock, iso},
};

/// Something that happened, by the clock of its own side.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// A request came to the provider.
    Request {
        /// Its method.
        method: String,
        /// Its path.
        path: String,
        /// It searched by our reference.
        searches: bool,
        /// Its idempotency key.
        key: Option<String>,
        /// This very request made something happen.
        executed: bool,
        /// How it was answered, in the log's word.
        answered: String,
    },
    /// The provider made an event that is still to be delivered, or never is.
    Made {
        /// Its type.
        kind: String,
        /// Somebody is to get it.
        addressed: bool,
    },
    /// An event was delivered, or the delivery was refused.
    Delivered {
        /// Its type.
        kind: String,
        /// How often it was tried.
        tries: i64,
        /// The answer of the newest try.
        status: Option<i64>,
        /// Whether it was taken.
        taken: bool,
    },
    /// The shop sent a request.
    Sent {
        /// What the operation is for.
        kind: String,
        /// The step; `None` for a question.
        step: Option<String>,
        /// Not for the first time.
        replay: bool,
    },
    /// The shop recorded how a request ended.
    Heard {
        /// What the operation is for.
        kind: String,
        /// How it ended on the wire.
        transport: String,
        /// With which status.
        status: Option<i64>,
        /// What was made of it.
        verdict: String,
    },
    /// The shop stored a change.
    Moved {
        /// What the operation is for.
        kind: String,
        /// Its number.
        number: u32,
        /// From where.
        from: Option<State>,
        /// To where.
        to: State,
        /// Who told.
        source: String,
        /// What.
        evidence: String,
    },
}

impl What {
    /// Whose line it is, in the spelling of styles and tests.
    const fn side(&self) -> &'static str {
        match self {
            Self::Request { .. } => "provider",
            Self::Made { .. } | Self::Delivered { .. } => "news",
            Self::Sent { .. } | Self::Heard { .. } | Self::Moved { .. } => "shop",
        }
    }

    /// In the order of a request: written down and sent before it arrives, heard after the answer.
    fn rank(&self) -> u8 {
        match self {
            // Whoever takes it over has not sent anything yet.
            Self::Moved { source, .. } if ["shopper", "worker"].contains(&source.as_str()) => 0,
            Self::Sent { .. } => 1,
            Self::Request { .. } => 2,
            Self::Made { .. } => 3,
            Self::Delivered { .. } => 4,
            Self::Heard { .. } => 5,
            Self::Moved { .. } => 6,
        }
    }

    const fn is_moved(&self) -> bool {
        matches!(self, Self::Moved { .. })
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Request { .. } => "request",
            Self::Made { .. } => "made",
            Self::Delivered { .. } => "delivered",
            Self::Sent { .. } => "sent",
            Self::Heard { .. } => "heard",
            Self::Moved { .. } => "moved",
        }
    }
}

/// Puts lines in order of time; at the same moment, in the order of a request. Changes come in the
/// order in which they were stored and keep it: two channels that read the clock at once may have
/// been stored the other way round.
pub fn in_order(lines: &mut [Line]) {
    let mut latest = Timestamp::default();
    for line in lines.iter_mut().filter(|it| it.what.is_moved()) {
        latest = latest.max(line.at);
        line.at = latest;
    }
    let moves: Vec<Line> = lines.iter().filter(|it| it.what.is_moved()).cloned().collect();
    lines.sort_by_key(|line| (line.at, line.what.rank()));
    let places = lines.iter_mut().filter(|it| it.what.is_moved());
    for (place, stored) in places.zip(moves) {
        *place = stored;
    }
}

/// The lines, each with the time since the beginning and its own side's clock.
pub fn timeline(lang: Lang, lines: &[Line], began: Timestamp) -> impl IntoView + use<> {
    let rows = lines.iter().map(|line| {
        let side = line.what.side();
        let who = match side {
            "provider" => say!(lang, lab.at_provider),
            "news" => say!(lang, lab.at_news),
            _ => say!(lang, lab.at_shop),
        };
        let ms = line.at.0.saturating_sub(began.0);
        let (text, key) = words(lang, &line.what);
        let (moved, unsent) = match &line.what {
            What::Moved { to, .. } => (Some(to.as_str()), false),
            What::Heard { transport, .. } => (None, transport == "not_sent"),
            What::Request { .. }
            | What::Made { .. }
            | What::Delivered { .. }
            | What::Sent { .. } => (None, false),
        };
        view! {
            <li data-side=side data-what=line.what.name() data-to=moved data-unsent=unsent>
                <span class="lab-when">
                    <strong>{lab::since(lang, ms)}</strong>
                    " "
                    <time datetime=iso(line.at)>{clock(lang, line.at)}</time>
                </span>
                <span class="lab-who">{who}</span>
                <span class="lab-what">
                    {text}
                    {key
                        .map(|key| {
                            let short = say!(lang, lab.key, key = shortened(&key));
                            view! {
                                " "
                                <code title=key>{short}</code>
                            }
                        })}
                </span>
            </li>
        }
    });
    view! { <ol class="lab-lines">{rows.collect_view()}</ol> }
}

/// A key with the middle of its id left out.
pub fn shortened(key: &str) -> String {
    let cut = |part: &str| {
        let (head, tail) = (part.get(..4), part.get(part.len().saturating_sub(4)..));
        match (head, tail) {
            (Some(head), Some(tail)) if part.len() > 12 => format!("{head}…{tail}"),
            _ => part.to_owned(),
        }
    };
    key.split(':').map(cut).collect::<Vec<_>>().join(":")
}

/// A line in words, and the key it names.
fn words(lang: Lang, what: &What) -> (String, Option<String>) {
    match what {
        What::Request { method, path, searches, key, executed, answered } => {
            let asked = lab::asked(lang, method, path, *searches);
            let answered = lab::answered(lang, answered);
            let text = if method == "GET" {
                say!(lang, lab.wire.question, asked = asked, answered = answered)
            } else {
                let done = if *executed {
                    say!(lang, lab.wire.done)
                } else {
                    say!(lang, lab.wire.not_done)
                };
                say!(lang, lab.wire.posted, asked = asked, done = done, answered = answered)
            };
            (text, key.clone())
        }
        What::Made { kind, addressed: true } => {
            (say!(lang, lab.news.made, kind = kind.clone()), None)
        }
        What::Made { kind, addressed: false } => {
            (say!(lang, lab.news.nobody, kind = kind.clone()), None)
        }
        What::Delivered { kind, tries, status, taken } => {
            let status = status.map_or(say!(lang, lab.news.silent).to_owned(), |it| it.to_string());
            let (kind, tries) = (kind.clone(), tries.to_string());
            let text = match (taken, tries.as_str()) {
                (true, "1") => say!(lang, lab.news.sent_at_once, kind = kind, status = status),
                (true, _) => {
                    say!(lang, lab.news.sent_later, kind = kind, tries = tries, status = status)
                }
                (false, _) => {
                    say!(lang, lab.news.refused, kind = kind, tries = tries, status = status)
                }
            };
            (text, None)
        }
        What::Sent { step: None, .. } => (say!(lang, lab.act.asks).to_owned(), None),
        What::Sent { kind, step: Some(step), replay } => {
            let step = lab::step(lang, kind, step);
            let text = if *replay {
                say!(lang, lab.act.repeats, step = step)
            } else {
                say!(lang, lab.act.sends, step = step)
            };
            (text, None)
        }
        What::Heard { kind, transport, status, verdict } => {
            let verdict = lab::verdict_of(lang, kind, verdict);
            let text = match status {
                Some(status) => {
                    say!(lang, lab.act.heard_status, status = status.to_string(), verdict = verdict)
                }
                None => {
                    let transport = lab::transport(lang, transport);
                    say!(lang, lab.act.heard, transport = transport, verdict = verdict)
                }
            };
            (text, None)
        }
        What::Moved { kind, number, from, to, source, evidence } => {
            let why = lab::cause(lang, kind, source, evidence);
            let (from, to) =
                (from.map(|it| lab::state_of(lang, kind, it)), lab::state_of(lang, kind, *to));
            (moved(lang, lab::operation(lang, kind, *number), from, to, why), None)
        }
    }
}

fn moved(
    lang: Lang,
    what: String,
    from: Option<&'static str>,
    there: &'static str,
    why: String,
) -> String {
    match from {
        None => say!(lang, lab.act.begins, what = what, to = there, why = why),
        Some(from) if from == there => {
            say!(lang, lab.act.stays, what = what, to = there, why = why)
        }
        Some(from) => {
            say!(lang, lab.act.moves, what = what, from = from, to = there, why = why)
        }
    }
}

#[cfg(test)]
mod tests;
