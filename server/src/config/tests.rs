use clap::CommandFactory;
use payments::provider::Access;

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
        "--time-scale=-1",
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

#[test]
fn browsers_come_by_https_except_on_this_machine() {
    let of = |arguments: &[&str]| check(&flags(&[&KEY[..], arguments].concat()));
    for good in
        ["https://shop.test", "http://localhost:3000", "http://127.0.0.1", "http://[::1]:3000"]
    {
        assert_eq!(of(&["--public-url", good]).unwrap().public_url.as_deref(), Some(good));
    }
    assert_eq!(
        of(&["--public-url", "https://Shop.TEST:443"]).unwrap().public_url.as_deref(),
        Some("https://shop.test")
    );
    for bad in [
        "http://shop.test",
        "http://10.0.0.7:3000",
        "ftp://localhost",
        "localhost",
        "https://",
        "https://a/b",
        "https://u:p@shop.test",
        "https://shop.test?x",
        "https://shop.test#x",
        "https://shop.test:99999",
        "https://shop.test:",
    ] {
        let lines = of(&["--public-url", bad]).unwrap_err();
        assert_eq!(lines.len(), 1, "{bad}: {lines:?}");
        assert!(lines[0].starts_with("PAYONCE_PUBLIC_URL is "), "{bad}: {lines:?}");
    }
    let lines = of(&["--addr", "0.0.0.0:3000"]).unwrap_err();
    assert!(lines[0].starts_with("PAYONCE_PUBLIC_URL is not set"), "{lines:?}");
}

#[test]
fn secrets_are_neither_empty_nor_printed() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    std::fs::write(&empty, " \n").unwrap();
    let path = empty.display().to_string();
    for wrong in [
        &["--examplepay-api-key", "", "--examplepay-webhook-secret", "whsec_a"][..],
        &[
            "--examplepay-api-key",
            "sk_canary",
            "--examplepay-webhook-secret",
            "whsec_canary,,whsec_b",
        ],
        &["--examplepay-api-key-file", &path],
        &["--examplepay-api-key", "sk_canary", "--examplepay-webhook-secret-file", &path],
        &["--examplepay-api-key", "sk_canary", "--examplepay-account", " "],
    ] {
        let flags = flags(wrong);
        let lines = check(&flags).unwrap_err();
        assert_eq!(lines.len(), 1, "{wrong:?}: {lines:?}");
        let told = format!("{lines:?} {flags:?}");
        assert!(!told.contains("canary"), "{told}");
    }
    let config = check(&flags(&["--examplepay-api-key", "sk_canary"])).unwrap();
    assert!(!format!("{config:?}").contains("canary"));
    let Access::ExamplePay(it) = &config.engine.providers[0] else { panic!() };
    assert!(it.webhook_secrets.is_empty(), "no secret: the endpoint is off");
}

#[test]
fn a_provider_that_is_half_set_up_is_refused_and_a_whole_one_is_offered() {
    let stripe = ["--stripe-api-key", "sk_test_1", "--stripe-webhook-secret", "whsec_1"];
    let paypal = [
        "--paypal-client-id",
        "id",
        "--paypal-client-secret",
        "secret",
        "--paypal-webhook-id",
        "WH-1",
    ];
    let rows: [(&[&str], &str); 13] = [
        (&stripe[..2], "PAYONCE_STRIPE_WEBHOOK_SECRET is not set"),
        (&stripe[2..], "PAYONCE_STRIPE_API_KEY is not set"),
        (&["--stripe-api-key", "pk_test_1", stripe[2], stripe[3]], "publishable"),
        (
            &["--stripe-api-key", "sk_live_1", stripe[2], stripe[3]],
            "PAYONCE_STRIPE_PUBLISHABLE_KEY is not set",
        ),
        (
            &[
                "--stripe-api-key",
                "sk_live_1",
                stripe[2],
                stripe[3],
                "--stripe-publishable-key",
                "pk_test_1",
            ],
            "of the same mode",
        ),
        (
            &[
                "--stripe-api-key",
                "sk_live_1",
                stripe[2],
                stripe[3],
                "--stripe-publishable-key",
                "pk_live_1",
                "--stripe-url",
                "http://127.0.0.1:4012",
            ],
            "a live key goes to",
        ),
        (&paypal[..4], "PAYONCE_PAYPAL_WEBHOOK_ID is not set"),
        (&paypal[2..], "PAYONCE_PAYPAL_CLIENT_ID is not set"),
        (&[&paypal[..], &["--paypal-webhook-check", "hope"]].concat(), "give certificate or call"),
        (
            &[
                &paypal[..],
                &["--paypal-url", "https://api-m.paypal.com", "--paypal-simulator-root", "/root"],
            ]
            .concat(),
            "PayPal's own",
        ),
        (&["--stripe-publishable-key", "pk_test_1"], "give all three"),
        (
            &[&paypal[..], &["--paypal-url", "http://api-m.paypal.com"]].concat(),
            "PAYONCE_PAYPAL_URL",
        ),
        (&[&paypal[..], &["--paypal-url", "https://api.paypal.com"]].concat(), "nothing else"),
    ];
    for (given, wanted) in rows {
        let of_real = |it: &&str| it.starts_with("sk_live_") || *it == "https://api-m.paypal.com";
        let real = given.iter().any(of_real);
        let simulated = if real { &[] } else { &KEY[..] };
        let lines = check(&flags(&[simulated, given].concat())).unwrap_err();
        assert!(lines.len() == 1 && lines[0].contains(wanted), "{given:?}: {lines:?}");
    }
    let half = [&stripe[..], &["--examplepay-webhook-secret", "whsec_2"]].concat();
    let lines = check(&flags(&half)).unwrap_err();
    assert!(lines.len() == 1 && lines[0].contains("PAYONCE_EXAMPLEPAY_API_KEY is not set"));
    for (given, number) in [(&KEY[..], 1), (&stripe[..], 1), (&paypal[..], 1)] {
        assert_eq!(check(&flags(given)).unwrap().engine.providers.len(), number, "{given:?}");
    }
    let all = check(&flags(&[&KEY[..], &stripe, &paypal].concat())).unwrap();
    assert_eq!(all.engine.providers.len(), 3);
}

#[test]
fn real_money_is_taken_by_all_who_are_paid_or_by_none() {
    let stripe = |mode: &str| {
        let keys = [("api-key", "sk"), ("publishable-key", "pk")];
        let keys = keys.map(|(name, kind)| format!("--stripe-{name}={kind}_{mode}_1"));
        [&keys[..], &["--stripe-webhook-secret=whsec_1".to_owned()]].concat()
    };
    let paypal = |host: &str| {
        ["client-id=id", "client-secret=secret", "webhook-id=WH-1", &format!("url=https://{host}")]
            .map(|it| format!("--paypal-{it}"))
            .to_vec()
    };
    let (sandbox, real) = (paypal("api-m.sandbox.paypal.com"), paypal("api-m.paypal.com"));
    let own = vec![KEY.join("=")];
    // What is set, whether it is real money, and how each line begins that refuses it.
    type Row = (Vec<String>, bool, &'static [&'static str]);
    let rows: [Row; 8] = [
        ([own.clone(), stripe("test"), sandbox.clone()].concat(), false, &[]),
        ([stripe("test"), sandbox.clone()].concat(), false, &[]),
        ([stripe("live"), real.clone()].concat(), true, &[]),
        (stripe("live"), true, &[]),
        (real.clone(), true, &[]),
        (
            [own.clone(), real.clone()].concat(),
            true,
            &["PAYONCE_EXAMPLEPAY_API_KEY is set although PAYONCE_PAYPAL_URL"],
        ),
        (
            [own, stripe("live"), sandbox].concat(),
            true,
            &[
                "PAYONCE_EXAMPLEPAY_API_KEY is set although PAYONCE_STRIPE_API_KEY",
                "PAYONCE_PAYPAL_URL is not the live one although PAYONCE_STRIPE_API_KEY",
            ],
        ),
        (
            [stripe("test"), real].concat(),
            true,
            &["PAYONCE_STRIPE_API_KEY is a test key although PAYONCE_PAYPAL_URL"],
        ),
    ];
    for (given, real_money, wrong) in rows {
        let given: Vec<&str> = given.iter().map(String::as_str).collect();
        match check(&flags(&given)) {
            Ok(config) => {
                assert!(wrong.is_empty(), "{given:?}");
                assert_eq!(config.real_money, real_money, "{given:?}");
            }
            Err(lines) => {
                assert_eq!(lines.len(), wrong.len(), "{given:?}: {lines:?}");
                for (line, said) in lines.iter().zip(wrong) {
                    assert!(line.starts_with(said), "{given:?}: {lines:?}");
                }
            }
        }
    }
}

#[test]
fn a_database_that_cannot_be_written_is_told_and_checking_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let inside = file.join("shop.db").display().to_string();
    let lines = check(&flags(&[KEY[0], KEY[1], "--database", &inside])).unwrap_err();
    assert!(lines[0].contains("nothing can be written"), "{lines:?}");
    let deep = folder.path().join("a/b/shop.db").display().to_string();
    assert!(check(&flags(&[KEY[0], KEY[1], "--database", &deep])).is_ok());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn the_example_lists_every_setting_and_no_other() {
    let command = Flags::command();
    let mut known: Vec<String> =
        command.get_arguments().filter_map(|it| Some(it.get_env()?.to_str()?.to_owned())).collect();
    let example = include_str!("../../../.env.example");
    let mut listed: Vec<String> = example
        .lines()
        .filter_map(|line| line.trim_start_matches(['#', ' ']).split_once('='))
        .map(|(name, _)| name.to_owned())
        .filter(|name| name.starts_with("PAYONCE_"))
        .collect();
    known.sort();
    listed.sort();
    assert_eq!(listed, known);
}

#[test]
fn mails_become_files_unless_a_mail_server_is_set_up_completely() {
    let of = |arguments: &[&str]| check(&flags(&[&KEY[..], arguments].concat()));
    let usual = of(&[]).unwrap().mail;
    assert!(matches!(usual.to, MailWay::Folder(folder) if folder.ends_with("data/mail")));
    let from = ["--mail-from", "Yuge <orders@shop.test>"];
    for good in [
        "smtps://shop:secret_canary@mail.test",
        "smtp://shop:secret_canary@mail.test:587?tls=required",
        "smtp://localhost:1025",
        "smtp://127.0.0.1",
    ] {
        let mail = of(&["--smtp-url", good, from[0], from[1]]).unwrap().mail;
        assert!(matches!(mail.to, MailWay::Smtp(_)), "{good}");
        assert_eq!(mail.from.email.to_string(), "orders@shop.test");
        assert!(!format!("{mail:?}").contains("canary"), "{mail:?}");
    }
    for (wrong, said) in [
        (&["--smtp-url", "smtps://mail.test"][..], "PAYONCE_MAIL_FROM is not set although"),
        (&from[..], "PAYONCE_MAIL_FROM is set although PAYONCE_SMTP_URL is not"),
        (
            &["--smtp-url", "smtps://mail.test", "--mail-from", "orders"],
            "PAYONCE_MAIL_FROM is \"orders\"",
        ),
        (
            &["--smtp-url", "https://canary.test", from[0], from[1]],
            "PAYONCE_SMTP_URL is no address",
        ),
        (&["--smtp-url", "canary", from[0], from[1]], "PAYONCE_SMTP_URL is no address"),
        (
            &["--smtp-url", "smtps://canary@mail.test", from[0], from[1]],
            "PAYONCE_SMTP_URL has a user",
        ),
        (
            &["--smtp-url", "smtp://a:canary@mail.test", from[0], from[1]],
            "PAYONCE_SMTP_URL would send",
        ),
        (&["--mail-folder", "/dev/null"], "PAYONCE_MAIL_FOLDER is \"/dev/null\", a file"),
    ] {
        let lines = of(wrong).unwrap_err();
        assert_eq!(lines.len(), 1, "{wrong:?}: {lines:?}");
        assert!(lines[0].starts_with(said), "{wrong:?}: {lines:?}");
        assert!(!lines[0].contains("canary"), "{lines:?}");
    }
    // With everything else that is wrong.
    let lines = of(&["--smtp-url", "smtps://mail.test", "--addr", "3000"]).unwrap_err();
    assert_eq!(lines.len(), 2, "{lines:?}");
}
