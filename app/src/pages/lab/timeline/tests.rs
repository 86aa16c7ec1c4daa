use super::*;

fn moved(at: i64, source: &str, to: State) -> Line {
    let (from, evidence) = (None, String::new());
    let (kind, source) = ("payment".to_owned(), source.to_owned());
    let what = What::Moved { kind, number: 1, from, to, source, evidence };
    Line { at: Timestamp(at), what }
}

#[test]
fn changes_keep_the_order_in_which_they_were_stored() {
    let stored = [
        moved(1, "shopper", State::Created),
        moved(5, "response", State::PendingConfirmation),
        // It had read the clock before, and came second.
        moved(4, "webhook", State::Succeeded),
        moved(5, "worker", State::Requested),
    ];
    let sent = Line {
        at: Timestamp(3),
        what: What::Sent { kind: "payment".to_owned(), step: None, replay: false },
    };
    let mut lines = stored.to_vec();
    lines.push(sent.clone());
    in_order(&mut lines);
    assert_eq!(lines.remove(1), sent);
    let order = |lines: &[Line]| lines.iter().map(|it| it.what.clone()).collect::<Vec<_>>();
    assert_eq!(order(&lines), order(&stored));
    assert!(lines.is_sorted_by_key(|it| it.at));
}
