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
    /// The article's one payment, told from beginning to end.
    PaymentStory,
    /// The call is lost, and the news comes two seconds later.
    NewsAfterLoss,
    /// The provider needs longer than somebody waits.
    TooSlow,
    /// Lost, not found, sent again, while the first is still to be done.
    Overtaken,
    /// One click, and the same cart again under another id.
    TwoOrders,
    /// A part goes back, and another part the next day.
    RefundTwice,
    /// A 500 after money went back.
    RefundBehind500,
    /// Only a part of the request arrives.
    HalfARequest,
    /// A question is answered while the news comes.
    NewsAndQuestion,
    /// Layers that each repeat, beside one that does not.
    HiddenRetries,
    /// A minute of patience for an answer that takes less than a second.
    PatienceTooLong,
    /// The answer of a partner is lost that knows no keys, and writes a number once.
    InvoiceWithoutKeys,
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
    /// Connections are refused: not a byte leaves.
    Refused,
    /// The provider takes its time, and says no.
    ProcessingDeclined,
    /// The older event comes after the newer one.
    NewsReversed,
    /// An event that is genuine and about somebody else.
    ForeignNews,
    /// What goes back is under way for a while.
    RefundPending,
    /// The provider refuses to give it back.
    RefundRefused,
    /// It refuses after a while.
    RefundRefusedLater,
    /// What went back comes back.
    RefundComesBack,
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
    PaymentStory => "payment_story",
    NewsAfterLoss => "news_after_loss",
    TooSlow => "too_slow",
    Overtaken => "overtaken",
    TwoOrders => "two_orders",
    RefundTwice => "refund_twice",
    RefundBehind500 => "refund_behind_500",
    HalfARequest => "half_a_request",
    NewsAndQuestion => "news_and_question",
    HiddenRetries => "hidden_retries",
    PatienceTooLong => "patience_too_long",
    InvoiceWithoutKeys => "invoice_without_keys",
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
    Refused => "refused",
    ProcessingDeclined => "processing_declined",
    NewsReversed => "news_reversed",
    ForeignNews => "foreign_news",
    RefundPending => "refund_pending",
    RefundRefused => "refund_refused",
    RefundRefusedLater => "refund_refused_later",
    RefundComesBack => "refund_comes_back",
    Own => "own",
});

/// How many of the scenarios are the article's tests: the first ones.
pub const TESTS: usize = 8;
/// How many of those after them are its further stories.
pub const STORIES: usize = 12;
/// What a shopper gets back at the first time and at the second, in the smallest unit.
const BACK: [i64; 2] = [1000, 500];

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

/// What a second post is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Second {
    /// The same checkout with another amount.
    OtherAmount,
    /// The same cart under another id.
    OtherId,
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

    /// How much goes back in it, one wish after the other: the article's ten and its five.
    pub const fn gives_back(self) -> &'static [i64] {
        let once = matches!(
            self,
            Self::RefundBehind500
                | Self::RefundPending
                | Self::RefundRefused
                | Self::RefundRefusedLater
                | Self::RefundComesBack
        );
        if matches!(self, Self::RefundTwice | Self::Own) {
            &BACK
        } else if once {
            BACK.split_at(1).0
        } else {
            &[]
        }
    }

    /// What is posted after Pay, where it is about that.
    pub fn second(self) -> Option<Second> {
        let seconds =
            [(Self::OtherPayload, Second::OtherAmount), (Self::TwoOrders, Second::OtherId)];
        seconds.into_iter().find(|(scenario, _)| *scenario == self).map(|(_, second)| second)
    }

    /// Where it is proven; `None` for what a visitor put together.
    pub const fn proof(self) -> Option<Proof> {
        Some(match self {
            Self::NeverArrived => Proof {
                file: ARTICLE,
                test: "article_1_request_never_arrived_is_retried_with_the_same_key",
                code: PLAN,
            },
            Self::LostResponse => Proof {
                file: ARTICLE,
                test: "article_2_response_lost_after_success_makes_no_second_effect",
                code: DECIDE,
            },
            Self::Processing => Proof {
                file: ARTICLE,
                test: "article_3_long_processing_is_pending_not_failed",
                code: DECIDE,
            },
            Self::WebhookFirst => {
                Proof { file: ARTICLE, test: "article_4_webhook_before_the_response", code: INBOX }
            }
            Self::SameMoment => Proof {
                file: ARTICLE,
                test: "article_5_response_and_webhook_at_the_same_moment",
                code: "server/payments/src/engine.rs",
            },
            Self::OtherPayload => Proof {
                file: ARTICLE,
                test: "article_6_same_key_other_payload_is_a_conflict",
                code: SHOP,
            },
            Self::WorkerDies => Proof {
                file: ARTICLE,
                test: "article_7_worker_dies_after_provider_success",
                code: WORKER,
            },
            Self::HourOfTimeouts => Proof {
                file: ARTICLE,
                test: "article_8_an_hour_of_timeouts_is_bounded_and_alerts",
                code: "app/domain/src/schedule.rs",
            },
            Self::PaymentStory => Proof {
                file: TRACES,
                test: "one_payment_story_timeout_lookup_paid_and_the_webhook_is_a_repeat",
                code: DECIDE,
            },
            Self::NewsAfterLoss => {
                Proof { file: LAB, test: "news_two_seconds_after_a_lost_call_decides", code: INBOX }
            }
            Self::TooSlow => Proof {
                file: LAB,
                test: "a_provider_that_needs_longer_than_anybody_waits_charges_once_here",
                code: WORKER,
            },
            Self::Overtaken => Proof {
                file: LAB,
                test: "a_repeat_that_overtakes_the_first_request_makes_no_second_charge",
                code: PLAN,
            },
            Self::TwoOrders => Proof {
                file: "server/tests/it/handed.rs",
                test: "case_36a_a_new_id_for_every_click_at_once_is_one_order_and_one_charge",
                code: SHOP,
            },
            Self::RefundTwice => Proof {
                file: REFUNDS,
                test: "parts_and_then_the_rest_go_back_each_under_its_own_key",
                code: GIVES_BACK,
            },
            Self::RefundBehind500 => Proof {
                file: ATTACKS,
                test: "money_goes_back_once_whatever_happens_to_the_refunds_answer",
                code: ADAPTER,
            },
            Self::HalfARequest => Proof {
                file: LAB,
                test: "half_a_request_is_sent_again_whole_with_the_same_key",
                code: PLAN,
            },
            Self::NewsAndQuestion => Proof {
                file: REPORTED,
                test: "case_41_an_event_and_six_returns_at_once_complete_the_order_once",
                code: "server/payments/src/engine.rs",
            },
            Self::HiddenRetries => Proof {
                file: ATTACKS,
                test: "every_request_that_reached_the_provider_had_been_written_down_before",
                code: WORKER,
            },
            Self::PatienceTooLong => Proof {
                file: ATTACKS,
                test: "a_provider_that_takes_requests_and_never_answers_is_unknown_until_it_does",
                code: "server/payments/src/gate.rs",
            },
            Self::InvoiceWithoutKeys => Proof {
                file: "server/tests/it/partners.rs",
                test: "a_number_that_exists_is_looked_up_and_not_written_twice",
                code: "server/payments/src/provider/invoicing.rs",
            },
            Self::Behind500 => Proof {
                file: CASES,
                test: "case_17_a_500_after_the_charge_is_unknown_and_its_request_id_is_kept",
                code: ADAPTER,
            },
            Self::CutBody => {
                Proof { file: CASES, test: "attack_11_half_an_answer_is_no_answer", code: WIRE }
            }
            Self::Busy => Proof {
                file: CASES,
                test: "attack_14_retry_after_is_obeyed_with_the_same_key",
                code: PLAN,
            },
            Self::Copies => Proof {
                file: LAB,
                test: "copies_of_one_event_are_stored_and_applied_once",
                code: INBOX,
            },
            Self::WebhookNever => Proof {
                file: CASES,
                test: "case_11_a_lost_answer_is_found_out_although_nobody_looks",
                code: WORKER,
            },
            Self::WebhookDecides => {
                Proof { file: LAB, test: "news_decides_where_questions_are_in_vain", code: INBOX }
            }
            Self::Forged => Proof {
                file: CASES,
                test: "attack_26_webhooks_without_a_fresh_genuine_signature_are_refused",
                code: WIRE,
            },
            Self::WrongAmount => {
                Proof { file: LAB, test: "a_wrong_amount_is_shown_as_a_difference", code: DECIDE }
            }
            Self::NotFoundYet => Proof {
                file: ATTACKS,
                test: "attack_19_not_found_right_after_a_lost_create_is_not_a_no",
                code: DECIDE,
            },
            Self::Outage => Proof {
                file: "server/tests/it/wires.rs",
                test: "an_outage_of_the_door_is_sent_again_with_the_same_key_on_every_wire",
                code: "server/payments/src/gate.rs",
            },
            Self::DoneLate => Proof {
                file: FAULTS,
                test: "every_fault_of_examplepays_payment_ends_as_the_table_says",
                code: PLAN,
            },
            Self::Refused => Proof {
                file: CASES,
                test: "case_6_a_refused_connection_is_sent_again_with_the_same_key",
                code: PLAN,
            },
            Self::ProcessingDeclined => Proof {
                file: "server/tests/it/faults/records.rs",
                test: "what_the_provider_has_on_record_decides_on_every_wire",
                code: DECIDE,
            },
            Self::NewsReversed => {
                Proof { file: LAB, test: "news_in_reverse_order_changes_nothing", code: DECIDE }
            }
            Self::ForeignNews => Proof {
                file: FAULTS,
                test: "every_fault_of_examplepays_payment_ends_as_the_table_says",
                code: INBOX,
            },
            Self::RefundPending => Proof {
                file: REFUNDS,
                test: "a_refund_that_is_pending_is_not_called_refunded",
                code: DECIDE,
            },
            Self::RefundRefused => Proof {
                file: REPORTED,
                test: "a_refund_that_was_refused_stays_refused_and_another_wish_has_another_key",
                code: GIVES_BACK,
            },
            Self::RefundRefusedLater => Proof {
                file: ATTACKS,
                test: "case_66_a_refund_that_is_pending_is_not_called_refunded_and_one_that_comes_back_is_told",
                code: DECIDE,
            },
            Self::RefundComesBack => Proof {
                file: REFUNDS,
                test: "a_refund_that_comes_back_restores_the_balance_and_is_told",
                code: GIVES_BACK,
            },
            Self::Own => return None,
        })
    }
}

const ARTICLE: &str = "server/tests/it/article.rs";
const ATTACKS: &str = "server/tests/it/attacks.rs";
const CASES: &str = "server/tests/it/cases.rs";
const FAULTS: &str = "server/tests/it/faults.rs";
const LAB: &str = "server/tests/it/lab.rs";
const REFUNDS: &str = "server/tests/it/refunds.rs";
const REPORTED: &str = "server/tests/it/reported.rs";
const TRACES: &str = "app/domain/src/operation/tests/traces.rs";

const ADAPTER: &str = "server/payments/src/provider/examplepay.rs";
const DECIDE: &str = "app/domain/src/operation.rs";
const GIVES_BACK: &str = "server/payments/src/refunds.rs";
const INBOX: &str = "server/payments/src/inbox.rs";
const PLAN: &str = "app/domain/src/plan.rs";
const SHOP: &str = "server/payments/src/shop.rs";
const WIRE: &str = "server/payments/src/provider/wire.rs";
const WORKER: &str = "server/payments/src/worker.rs";

/// A story of the article that is about many payments, on a page of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// Very many payments time out at once: worked out.
    ManyAtOnce,
    /// Numbers that tell the wire from the business: counted.
    Numbers,
}

domain::words!(Told {
    ManyAtOnce => "many_at_once",
    Numbers => "numbers",
});

impl Told {
    /// Its page.
    pub const fn page(self) -> &'static str {
        match self {
            Self::ManyAtOnce => "/lab/storm",
            Self::Numbers => "/lab/numbers",
        }
    }

    /// Where it is proven.
    pub const fn proof(self) -> Proof {
        match self {
            Self::ManyAtOnce => Proof {
                file: LAB,
                test: "payments_that_all_time_out_at_once_are_asked_about_one_after_the_other",
                code: "server/payments/src/gate.rs",
            },
            Self::Numbers => Proof {
                file: "server/tests/it/handed.rs",
                test: "a_lost_answer_counts_as_transport_and_a_decline_as_a_no",
                code: "server/payments/src/engine.rs",
            },
        }
    }
}
