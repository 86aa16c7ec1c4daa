//! The scenarios of the fault lab: their names, their order, and where each of them is proven.
//!
//! What goes wrong in each is a script for the provider and belongs to the server; the words for it
//! stand in `text::lab`.

/// Something that goes wrong with a payment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scenario {
    /// The article's first test.
    NeverArrived,
    /// Its second.
    LostResponse,
    /// Its third.
    Processing,
    /// Its fourth.
    WebhookFirst,
    /// Its fifth.
    SameMoment,
    /// Its sixth.
    OtherPayload,
    /// Its seventh.
    WorkerDies,
    /// Its eighth.
    HourOfTimeouts,
    /// A 500 that stays, after the money was taken.
    Behind500,
    /// The answer ends within its body.
    CutBody,
    /// 429 before anything is done.
    Busy,
    /// One event, delivered three times.
    Copies,
    /// Neither a whole answer nor an event.
    WebhookNever,
    /// Lookups say nothing; a late event decides.
    WebhookDecides,
    /// An event that somebody else signed.
    Forged,
    /// The record shows another amount.
    WrongAmount,
    /// Lookups do not find what was done.
    NotFoundYet,
    /// Nothing reaches the provider for a while.
    Outage,
    /// The connection breaks and the request is done later.
    DoneLate,
    /// Whatever the visitor put together.
    Own,
}

domain::words!(Scenario {
    NeverArrived => "never_arrived",
    LostResponse => "lost_response",
    Processing => "processing",
    WebhookFirst => "webhook_first",
    SameMoment => "same_moment",
    OtherPayload => "other_payload",
    WorkerDies => "worker_dies",
    HourOfTimeouts => "hour_of_timeouts",
    Behind500 => "behind_500",
    CutBody => "cut_body",
    Busy => "busy",
    Copies => "copies",
    WebhookNever => "webhook_never",
    WebhookDecides => "webhook_decides",
    Forged => "forged",
    WrongAmount => "wrong_amount",
    NotFoundYet => "not_found_yet",
    Outage => "outage",
    DoneLate => "done_late",
    Own => "own",
});

/// How many of the scenarios are the article's.
pub const ARTICLE: usize = 8;

/// Where a scenario is proven, and the code that deals with it: paths in this repository.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Proof {
    /// The file of the test.
    pub file: &'static str,
    /// The test.
    pub test: &'static str,
    /// The file of the code.
    pub code: &'static str,
}

impl Scenario {
    /// All that are listed, in the order they are shown.
    pub fn listed() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied().filter(|it| *it != Self::Own)
    }

    /// Its place in the list, from 1; `None` for what a visitor put together.
    pub fn number(self) -> Option<usize> {
        Self::listed().position(|it| it == self).map(|place| place + 1)
    }

    /// The one after it.
    pub fn next(self) -> Option<Self> {
        Self::listed().nth(self.number()?)
    }

    /// Where it is proven; `None` for what a visitor put together.
    pub fn proof(self) -> Option<Proof> {
        let (test, code) = (self.test()?, self.code());
        Some(Proof { file: self.file(), test, code })
    }

    /// The test.
    const fn test(self) -> Option<&'static str> {
        Some(match self {
            Self::NeverArrived => "article_1_request_never_arrived_is_retried_with_the_same_key",
            Self::LostResponse => "article_2_response_lost_after_success_makes_no_second_effect",
            Self::Processing => "article_3_long_processing_is_pending_not_failed",
            Self::WebhookFirst => "article_4_webhook_before_the_response",
            Self::SameMoment => "article_5_response_and_webhook_at_the_same_moment",
            Self::OtherPayload => "article_6_same_key_other_payload_is_a_conflict",
            Self::WorkerDies => "article_7_worker_dies_after_provider_success",
            Self::HourOfTimeouts => "article_8_an_hour_of_timeouts_is_bounded_and_alerts",
            Self::Behind500 => {
                "case_17_a_500_after_the_charge_is_unknown_and_its_request_id_is_kept"
            }
            Self::CutBody => "attack_11_half_an_answer_is_no_answer",
            Self::Busy => "attack_14_retry_after_is_obeyed_with_the_same_key",
            Self::Copies => "copies_of_one_event_are_stored_and_applied_once",
            Self::WebhookNever => "case_11_a_lost_answer_is_found_out_although_nobody_looks",
            Self::WebhookDecides => "news_decides_where_questions_are_in_vain",
            Self::Forged => "attack_26_webhooks_without_a_fresh_genuine_signature_are_refused",
            Self::WrongAmount => "a_wrong_amount_is_shown_as_a_difference",
            Self::NotFoundYet => "attack_19_not_found_right_after_a_lost_create_is_not_a_no",
            Self::Outage => "an_outage_of_the_door_is_sent_again_with_the_same_key_on_every_wire",
            Self::DoneLate => {
                "requests_that_are_never_answered_or_done_much_later_end_in_one_charge_on_every_wire"
            }
            Self::Own => return None,
        })
    }

    /// The file of the test.
    const fn file(self) -> &'static str {
        match self {
            Self::NeverArrived
            | Self::LostResponse
            | Self::Processing
            | Self::WebhookFirst
            | Self::SameMoment
            | Self::OtherPayload
            | Self::WorkerDies
            | Self::HourOfTimeouts => "server/tests/it/article.rs",
            Self::Behind500 | Self::CutBody | Self::Busy | Self::WebhookNever | Self::Forged => {
                "server/tests/it/cases.rs"
            }
            Self::NotFoundYet => "server/tests/it/attacks.rs",
            Self::Outage | Self::DoneLate => "server/tests/it/wires.rs",
            Self::Copies | Self::WebhookDecides | Self::WrongAmount | Self::Own => {
                "server/tests/it/lab.rs"
            }
        }
    }

    /// The file of the code.
    const fn code(self) -> &'static str {
        match self {
            Self::NeverArrived | Self::Busy | Self::DoneLate => "app/domain/src/plan.rs",
            Self::HourOfTimeouts => "app/domain/src/schedule.rs",
            Self::WebhookFirst | Self::Copies | Self::WebhookDecides => {
                "server/payments/src/inbox.rs"
            }
            Self::SameMoment => "server/payments/src/engine.rs",
            Self::OtherPayload => "server/payments/src/shop.rs",
            Self::WorkerDies | Self::WebhookNever => "server/payments/src/worker.rs",
            Self::Behind500 => "server/payments/src/provider/examplepay.rs",
            Self::CutBody | Self::Forged => "server/payments/src/provider/wire.rs",
            Self::Outage => "server/payments/src/gate.rs",
            Self::LostResponse
            | Self::Processing
            | Self::WrongAmount
            | Self::NotFoundYet
            | Self::Own => "app/domain/src/operation.rs",
        }
    }
}
