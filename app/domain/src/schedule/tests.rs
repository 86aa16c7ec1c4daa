use super::*;

#[test]
fn waits_jitter_fully_around_the_declared_ones() {
    let timing = Timing::default();
    for (done, declared) in timing.lookups.iter().enumerate() {
        let done = done as u32;
        assert_eq!(timing.lookup_wait(done, 0), Duration::ZERO);
        assert_eq!(timing.lookup_wait(done, u32::MAX), *declared * 2);
    }
    assert_eq!(timing.lookup_wait(99, 0), seconds(150));
    assert_eq!(timing.lookup_wait(99, u32::MAX), seconds(450));
}

#[test]
fn the_caps_count_a_sliding_hour_with_mutating_requests_apart() {
    let timing = Timing::default();
    let now = Timestamp(10_000_000);
    let minutes_ago = |n: u64| now.before(seconds(60 * n));
    let lookups: Vec<_> = (1..=17).map(|n| (minutes_ago(n), false)).collect();
    assert_eq!(timing.capped_until(&lookups, None, now), None, "17 requests leave one");
    let full: Vec<_> = (1..=18).map(|n| (minutes_ago(n), false)).collect();
    assert_eq!(timing.capped_until(&full, None, now), Some(minutes_ago(18).after(timing.hour)));
    let sends: Vec<_> = (1..=4).map(|n| (minutes_ago(n), true)).collect();
    assert_eq!(timing.capped_until(&sends, Some(0), now), Some(minutes_ago(4).after(timing.hour)));
    assert_eq!(timing.capped_until(&sends, None, now), None, "lookups may go on");
    let three: Vec<_> = (1..=3).map(|n| (minutes_ago(n), true)).collect();
    assert_eq!(timing.capped_until(&three, Some(0), now), None);
    let kept = timing.capped_until(&three, Some(1), now);
    assert_eq!(kept, Some(minutes_ago(3).after(timing.hour)), "the last place is the next step's");
    let old: Vec<_> = (60..=90).map(|n| (minutes_ago(n), true)).collect();
    assert_eq!(timing.capped_until(&old, Some(0), now), None, "an hour later they are forgotten");
}

#[test]
fn replays_stop_at_three_quarters_of_the_window() {
    assert_eq!(replay_until(Timestamp(0), seconds(24 * 3600)), Timestamp(18 * 3_600_000));
    assert_eq!(replay_until(Timestamp(0), seconds(6 * 3600)), Timestamp(4_500 * 3600));
}

#[test]
fn compressing_time_keeps_counts_and_the_lease() {
    let timing = Timing::default().scaled(20);
    assert_eq!(timing.hour, seconds(72));
    assert_eq!(timing.lease, Timing::default().lease);
    assert_eq!(timing.requests_max, 18);
}
