use super::*;

#[test]
fn a_session_that_posts_too_much_has_to_wait_and_others_do_not() {
    let rate = PayRate::new(6);
    let (one, other) = (CustomerId(uuid::Uuid::new_v4()), CustomerId(uuid::Uuid::new_v4()));
    let taken: Vec<bool> = (0..4).map(|_| rate.take(one).is_ok()).collect();
    assert_eq!(taken, [true, true, true, false]);
    let wait = rate.take(one).unwrap_err();
    assert!(wait > Duration::from_secs(9) && wait <= Duration::from_secs(10), "{wait:?}");
    assert!(rate.take(other).is_ok());
}

#[test]
fn a_viewer_has_eight_streams_and_an_ended_one_makes_room() {
    let streams = Arc::new(Streams::default());
    let mut open: Vec<_> = (0..8).map(|_| streams.take("one").unwrap()).collect();
    assert_eq!(streams.take("one").err(), Some(StatusCode::TOO_MANY_REQUESTS));
    assert!(streams.take("other").is_ok());
    open.pop();
    assert!(streams.take("one").is_ok());
}

#[test]
fn all_viewers_together_have_a_bound_too() {
    let streams = Arc::new(Streams::default());
    let open: Vec<_> =
        (0..STREAMS_MAX).map(|n| streams.take(&(n / 8).to_string()).unwrap()).collect();
    assert_eq!(streams.take("late").err(), Some(StatusCode::SERVICE_UNAVAILABLE));
    drop(open);
    assert!(streams.take("late").is_ok());
}
