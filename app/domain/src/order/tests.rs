use super::*;
use crate::operation::tests::fixtures::compare;

const NEWS: [(&str, OrderNews); 9] = [
    ("payment taken", OrderNews::PaymentTaken),
    ("payment unwanted", OrderNews::PaymentUnwanted),
    ("payment undone", OrderNews::PaymentUndone),
    ("cancel asked, outcome open", OrderNews::CancelAsked { open: true }),
    ("cancel asked, nothing open", OrderNews::CancelAsked { open: false }),
    ("all closed without money", OrderNews::AllClosed),
    ("refunded in part", OrderNews::Refunded { total: false, some: true }),
    ("refunded entirely", OrderNews::Refunded { total: true, some: true }),
    ("no refund stands", OrderNews::Refunded { total: false, some: false }),
];

#[test]
fn the_grid_of_orders_and_news_is_the_stored_one() {
    let states: Vec<&str> = OrderState::ALL.iter().map(|state| state.as_str()).collect();
    let mut table = format!("| | {} |\n|---|{}\n", states.join(" | "), "---|".repeat(states.len()));
    for (label, news) in NEWS {
        let cell = |state: &OrderState| {
            let next = decide_order(*state, news);
            if next == *state { "·" } else { next.as_str() }
        };
        let cells: Vec<&str> = OrderState::ALL.iter().map(cell).collect();
        table.push_str(&format!("| {label} | {} |\n", cells.join(" | ")));
    }
    compare("order/order_grid.md", &table);
}

#[test]
fn an_order_is_paid_only_by_a_payment_it_took_or_by_a_partial_refund_that_was_undone() {
    for state in OrderState::ALL.iter().copied() {
        for (label, news) in NEWS {
            if decide_order(state, news) == OrderState::Paid && state != OrderState::Paid {
                let taken = (state, news) == (OrderState::AwaitingPayment, OrderNews::PaymentTaken);
                let restored = state == OrderState::PartiallyRefunded;
                assert!(taken || restored, "{state} became paid: {label}");
            }
        }
    }
}

#[test]
fn money_for_an_order_given_up_goes_back_and_never_pays_it() {
    let mut state =
        decide_order(OrderState::AwaitingPayment, OrderNews::CancelAsked { open: true });
    assert_eq!(state, OrderState::CancelRequested);
    state = decide_order(state, OrderNews::PaymentUnwanted);
    assert_eq!(state, OrderState::RefundDue);
    state = decide_order(state, OrderNews::Refunded { total: true, some: true });
    assert_eq!(state, OrderState::Refunded);
    // The refund turns out to have come back.
    state = decide_order(state, OrderNews::Refunded { total: false, some: false });
    assert_eq!(state, OrderState::RefundDue);
}

#[test]
fn an_order_with_an_open_outcome_is_not_canceled_at_once() {
    let asked = |open| decide_order(OrderState::AwaitingPayment, OrderNews::CancelAsked { open });
    assert_eq!(asked(true), OrderState::CancelRequested);
    assert_eq!(asked(false), OrderState::Canceled);
    assert_eq!(
        decide_order(OrderState::Paid, OrderNews::CancelAsked { open: false }),
        OrderState::Paid,
        "a paid order is refunded, not forgotten"
    );
}

#[test]
fn a_late_success_of_a_second_payment_leaves_the_paid_order_alone() {
    assert_eq!(decide_order(OrderState::Paid, OrderNews::PaymentUnwanted), OrderState::Paid);
}
