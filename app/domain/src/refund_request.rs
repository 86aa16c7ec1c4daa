//! A shopper's request for a refund: it moves no money, a person answers it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::{operation::State, order::OrderState, schedule::Timestamp, words};

/// For how long after the payment a refund may be asked for, as the shop's front page promises.
pub const ASKING: Duration = Duration::from_secs(30 * 24 * 3600);

/// Why a shopper asks; they need not say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedWhy {
    /// They do not want it any more.
    ChangedMind,
    /// It is broken.
    Damaged,
    /// It is another thing than they expected.
    NotAsExpected,
    /// It came too late, or not at all.
    NotArrived,
}

words!(AskedWhy {
    ChangedMind => "changed_mind",
    Damaged => "damaged",
    NotAsExpected => "not_as_expected",
    NotArrived => "not_arrived",
});

/// Why a person does not give the money back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeclinedWhy {
    /// The goods have not come back.
    NotReturned,
    /// They came back, but not as they were.
    NotAsItWas,
    /// Another reason, which the person writes to the shopper.
    Other,
}

words!(DeclinedWhy {
    NotReturned => "not_returned",
    NotAsItWas => "not_as_it_was",
    Other => "other",
});

/// What became of a request.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestState {
    /// A person has to answer.
    Open,
    /// Money goes back: a refund was opened after it.
    Answered,
    /// A person said no.
    Declined,
}

words!(RequestState { Open => "open", Answered => "answered", Declined => "declined" });

/// What is known of an order when somebody wants to ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Asking {
    /// Where the order stands.
    pub order: OrderState,
    /// Where the payment that paid it stands.
    pub payment: State,
    /// When it was confirmed.
    pub paid_at: Timestamp,
    /// How much of it could still be given back, in the smallest unit.
    pub left_minor: i64,
    /// What became of the newest request, if there was one.
    pub newest: Option<RequestState>,
}

/// Whether a refund may be asked for. A person's no stands: whoever disagrees writes to the shop.
pub fn may_ask(asking: &Asking, now: Timestamp) -> bool {
    let kept = matches!(asking.order, OrderState::Paid | OrderState::PartiallyRefunded);
    let free = matches!(asking.newest, None | Some(RequestState::Answered));
    kept && free
        && asking.payment == State::Succeeded
        && asking.left_minor > 0
        && now < asking.paid_at.after(ASKING)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAID: Timestamp = Timestamp(1_796_133_731_000);
    const DAY: Duration = Duration::from_secs(24 * 3600);

    fn asking() -> Asking {
        Asking {
            order: OrderState::Paid,
            payment: State::Succeeded,
            paid_at: PAID,
            left_minor: 2990,
            newest: None,
        }
    }

    #[test]
    fn a_paid_order_may_be_asked_about_for_thirty_days() {
        assert!(may_ask(&asking(), PAID));
        assert!(may_ask(&asking(), PAID.after(DAY * 29)));
        assert!(!may_ask(&asking(), PAID.after(DAY * 30)));
    }

    #[test]
    fn there_is_one_request_at_a_time_and_a_no_stands() {
        for (newest, may) in [
            (RequestState::Open, false),
            (RequestState::Declined, false),
            (RequestState::Answered, true),
        ] {
            assert_eq!(
                may_ask(&Asking { newest: Some(newest), ..asking() }, PAID),
                may,
                "{newest}"
            );
        }
    }

    #[test]
    fn nothing_is_asked_for_where_nothing_can_go_back() {
        assert!(!may_ask(&Asking { left_minor: 0, ..asking() }, PAID));
        for payment in State::ALL {
            let may = may_ask(&Asking { payment: *payment, ..asking() }, PAID);
            assert_eq!(may, *payment == State::Succeeded, "{payment}");
        }
        for order in OrderState::ALL {
            let may = may_ask(&Asking { order: *order, ..asking() }, PAID);
            let kept = matches!(order, OrderState::Paid | OrderState::PartiallyRefunded);
            assert_eq!(may, kept, "{order}");
        }
    }
}
