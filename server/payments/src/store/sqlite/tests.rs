use super::*;

#[test]
fn only_versions_without_the_wal_reset_defect_are_safe() {
    let rows = [
        ("3.51.2", false),
        ("3.51.3", true),
        ("3.52.0", true),
        ("4.0.0", true),
        ("3.40.1", false),
        ("", false),
    ];
    for (version, safe) in rows {
        assert_eq!(is_safe(version), safe, "{version}");
    }
}

#[tokio::test]
async fn events_of_a_provider_that_is_not_set_up_take_no_others_place() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("shop.db")).await.unwrap();
    let now = Timestamp(1_800_000_000_000);
    let mut work = store.write().await.unwrap();
    for (provider, count) in [("gone", 30), ("here", 2)] {
        for place in 0..count {
            let event = StoredEvent {
                id: 0,
                provider: provider.to_owned(),
                event_id: format!("evt_{place}"),
                event_type: "payment.succeeded".to_owned(),
                body: "{}".to_owned(),
                tries: 0,
            };
            let id = work.insert_event(&event, now).await.unwrap().expect("a new event");
            // Those of the one that is gone wait for longer.
            let wait = Duration::from_secs(if provider == "gone" { 60 } else { 1 });
            let due = Some(now.before(wait));
            work.update_event(id, EventState::Parked, None, due, now).await.unwrap();
        }
    }
    let waiting = work.waiting_events(&["here"], now, 20).await.unwrap();
    assert_eq!(waiting.len(), 2);
    assert!(waiting.iter().all(|it| it.provider == "here"));
    let all = work.waiting_events(&["gone", "here"], now, 20).await.unwrap();
    assert_eq!(all.len(), 20, "a look takes no more");
}
