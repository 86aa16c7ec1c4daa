use super::*;

#[track_caller]
fn check(kind: Kind, to: State, promised: bool, expected: Option<Fact>) {
    assert_eq!(fact_of(&kind, to, Taken::Neither, promised), expected, "{kind:?} {to} {promised}");
}

#[test]
fn a_success_is_told_by_what_it_does_to_its_order() {
    let of = |taken| fact_of(&Kind::PAYMENT, State::Succeeded, taken, false);
    assert_eq!(of(Taken::Pays), Some(Fact::Paid));
    assert_eq!(of(Taken::Unwanted), Some(Fact::PaymentUnwanted));
    assert_eq!(of(Taken::Neither), None);
}

#[test]
fn a_no_is_written_only_to_somebody_who_was_told_to_wait() {
    check(Kind::PAYMENT, State::Rejected, false, None);
    check(Kind::PAYMENT, State::Rejected, true, Some(Fact::Declined));
    check(Kind::PAYMENT, State::Canceled, false, None);
    check(Kind::PAYMENT, State::Canceled, true, Some(Fact::NotCompleted));
}

#[test]
fn a_refund_is_told_when_it_is_certain() {
    for state in [State::Requested, State::PendingConfirmation, State::RequiresReview] {
        check(Kind::REFUND, state, true, None);
    }
    check(Kind::REFUND, State::Succeeded, false, Some(Fact::RefundSent));
    check(Kind::REFUND, State::Rejected, false, Some(Fact::RefundRefused));
    check(Kind::REFUND, State::Reversed, false, Some(Fact::RefundUndone));
    check(Kind::EXTERNAL, State::Succeeded, false, Some(Fact::RefundSent));
    check(Kind::EXTERNAL, State::Canceled, false, None);
    // It was told that it went: that it came again corrects it.
    check(Kind::EXTERNAL, State::Reversed, false, Some(Fact::RefundUndone));
}

#[test]
fn parcels_and_invoices_have_no_mails_of_their_own() {
    for kind in [Kind::SHIPMENT, Kind::INVOICE] {
        for state in State::ALL {
            assert_eq!(fact_of(&kind, *state, Taken::Neither, true), None, "{kind:?} {state}");
        }
    }
}

#[test]
fn a_mail_that_news_overtook_is_not_sent() {
    let standing = |state| Standing { state, unknown: false, passed_by: false, given_back: false };
    let unknown = Standing { unknown: true, ..standing(State::PendingConfirmation) };
    assert!(is_still_so(Fact::StillUnknown, unknown));
    assert!(!is_still_so(Fact::StillUnknown, standing(State::Succeeded)));
    assert!(!is_still_so(Fact::WithAPerson, standing(State::Succeeded)));
    assert!(!is_still_so(Fact::Paid, standing(State::Reversed)));
    let declined = standing(State::Rejected);
    assert!(is_still_so(Fact::Declined, declined));
    assert!(!is_still_so(Fact::Declined, Standing { passed_by: true, ..declined }));
    let unwanted = standing(State::Succeeded);
    assert!(is_still_so(Fact::PaymentUnwanted, unwanted));
    assert!(!is_still_so(Fact::PaymentUnwanted, Standing { given_back: true, ..unwanted }));
    for (fact, state) in
        [(Fact::RefundUndone, State::Reversed), (Fact::RefundRefused, State::Rejected)]
    {
        let with_us = standing(state);
        assert!(is_still_so(fact, with_us), "{fact}");
        let another = Standing { given_back: true, ..with_us };
        assert!(!is_still_so(fact, another), "{fact}: the money is not with us any more");
    }
}

#[test]
fn every_fact_of_the_table_is_so_at_the_moment_it_happens() {
    for kind in [Kind::PAYMENT, Kind::REFUND, Kind::EXTERNAL] {
        for state in State::ALL {
            for taken in [Taken::Pays, Taken::Unwanted, Taken::Neither] {
                let Some(fact) = fact_of(&kind, *state, taken, true) else { continue };
                let now =
                    Standing { state: *state, unknown: false, passed_by: false, given_back: false };
                assert!(is_still_so(fact, now), "{kind:?} {state}: {fact}");
            }
        }
    }
}

#[test]
fn an_address_shows_itself_masked() {
    let to = Recipient::new("anna.k@example.org".to_owned());
    assert_eq!(to.masked(), "a…@example.org");
    assert!(!format!("{to:?}").contains("example"), "{to:?}");
    assert_eq!(Recipient::new("ю@пример.рф".to_owned()).masked(), "ю…@пример.рф");
}
