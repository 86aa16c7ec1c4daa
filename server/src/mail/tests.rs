use super::*;

#[test]
fn an_address_is_one_that_mail_can_be_sent_to() {
    for good in [
        "anna@example.org",
        "a.b+tea@mail.example.org",
        "o'neil@example.org",
        "x@xn--e1afmkfd.xn--p1ai",
    ] {
        let taken = address(good).unwrap().unwrap();
        assert_eq!(taken.expose(), good);
    }
    assert_eq!(address(""), Ok(None));
    assert_eq!(address("   "), Ok(None));
    assert_eq!(address(" anna@example.org ").unwrap().unwrap().expose(), "anna@example.org");
    let long = format!("{}@example.org", "a".repeat(250));
    for bad in [
        "anna",
        "anna@",
        "@example.org",
        "anna@example",
        "anna@localhost",
        "anna@@example.org",
        "anna@example..org",
        "anna@example.org, eve@example.org",
        "Anna <anna@example.org>",
        "anna@example.org\r\nBcc: eve@example.org",
        "an na@example.org",
        // Few mail servers carry a name in other letters, and hosts are no numbers in disguise.
        "ю@пример.рф",
        "юlia@example.org",
        "anna@１２７.０.０.１",
        "anna@пример",
        "anna@пример..рф",
        "anna@пример.рф, eve@example.org",
        &long,
    ] {
        assert_eq!(address(bad), Err(NoAddress), "{bad:?}");
    }
}

#[test]
fn a_host_in_other_letters_is_kept_as_every_mail_server_can_carry_it() {
    let rows = [
        ("yu@пример.рф", "yu@xn--e1afmkfd.xn--p1ai"),
        ("yu@ПРИМЕР.рф", "yu@xn--e1afmkfd.xn--p1ai"),
        ("yu@пример。рф", "yu@xn--e1afmkfd.xn--p1ai"),
        ("info@bücher.example", "info@xn--bcher-kva.example"),
        // What can be carried as it is stays as it was typed.
        ("Anna@Example.org", "Anna@Example.org"),
    ];
    for (typed, kept) in rows {
        assert_eq!(address(typed).unwrap().unwrap().expose(), kept, "{typed:?}");
    }
}

#[test]
fn only_what_is_said_about_a_mail_ends_it() {
    for (code, ours) in [
        (421, false),
        (451, false),
        (500, true),
        (501, false),
        (503, true),
        (504, true),
        (521, true),
        (530, true),
        (535, true),
        (550, false),
        (552, false),
        (553, false),
        (554, false),
    ] {
        assert_eq!(is_about_us(code), ours, "{code}");
    }
}

#[tokio::test]
async fn a_shop_that_stops_waits_for_the_mail_in_hand_but_not_for_ever() {
    let (soon, never) = (Duration::from_millis(1), Duration::from_secs(3600));
    let stop = CancellationToken::new();
    stop.cancel();
    assert_eq!(in_time(std::future::pending::<()>(), &stop, soon).await, None);
    assert_eq!(in_time(async { "taken" }, &stop, never).await, Some("taken"));
    // Nothing is cut while nobody stops it.
    let runs = CancellationToken::new();
    let slow = tokio::time::sleep(Duration::from_millis(20));
    assert_eq!(in_time(slow, &runs, Duration::ZERO).await, Some(()));
}
