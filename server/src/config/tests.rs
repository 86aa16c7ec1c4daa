use super::*;

fn flags(arguments: &[&str]) -> Flags {
    Flags::parse_from(std::iter::once("payonce").chain(arguments.iter().copied()))
}

const KEY: [&str; 2] = ["--examplepay-api-key", "sk_test"];

#[test]
fn usual_settings_are_right_once_there_is_a_key() {
    let config = check(&flags(&KEY)).unwrap();
    assert_eq!(config.addr.port(), 3000);
    assert!(!config.is_https());
}

#[test]
fn all_wrong_settings_are_told_at_once() {
    let lines = check(&flags(&[
        "--addr",
        "nowhere",
        "--public-url",
        "shop.test",
        "--examplepay-url",
        "ftp://x",
        "--examplepay-connect-timeout-ms",
        "0",
        "--examplepay-response-timeout-ms",
        "soon",
        "--time-scale",
        "-1",
        "--pay-rate-per-minute",
        "0",
        "--log-format",
        "xml",
        "--database",
        "/",
    ]))
    .unwrap_err();
    for name in [
        "PAYONCE_ADDR",
        "PAYONCE_PUBLIC_URL",
        "PAYONCE_EXAMPLEPAY_URL",
        "PAYONCE_EXAMPLEPAY_API_KEY",
        "PAYONCE_EXAMPLEPAY_CONNECT_TIMEOUT_MS",
        "PAYONCE_EXAMPLEPAY_RESPONSE_TIMEOUT_MS",
        "PAYONCE_TIME_SCALE",
        "PAYONCE_PAY_RATE_PER_MINUTE",
        "PAYONCE_LOG_FORMAT",
        "PAYONCE_DATABASE",
    ] {
        assert_eq!(
            lines.iter().filter(|line| line.starts_with(&format!("{name} "))).count(),
            1,
            "{name}: {lines:?}"
        );
    }
}

#[test]
fn a_secret_comes_from_one_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "sk_from_file\n").unwrap();
    let path = file.display().to_string();
    assert!(check(&flags(&["--examplepay-api-key-file", &path])).is_ok());
    let both = check(&flags(&["--examplepay-api-key-file", &path, KEY[0], KEY[1]])).unwrap_err();
    assert!(both[0].contains("both set"), "{both:?}");
    let missing = check(&flags(&["--examplepay-api-key-file", "/nowhere/key"])).unwrap_err();
    assert!(missing[0].contains("cannot be read"), "{missing:?}");
}

#[test]
fn an_https_address_makes_cookies_for_https() {
    let config = check(&flags(&[KEY[0], KEY[1], "--public-url", "https://shop.test/"])).unwrap();
    assert!(config.is_https());
    assert_eq!(config.public_url.as_deref(), Some("https://shop.test"));
}
