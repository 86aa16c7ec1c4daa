use super::*;

#[test]
fn an_address_is_one_that_mail_can_be_sent_to() {
    for good in
        ["anna@example.org", "a.b+tea@mail.example.org", "o'neil@example.org", "ю@пример.рф"]
    {
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
        &long,
    ] {
        assert_eq!(address(bad), Err(NoAddress), "{bad:?}");
    }
}
