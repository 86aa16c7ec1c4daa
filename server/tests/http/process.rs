//! The program itself: what it says when it cannot start, and how it ends.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

fn program(settings: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_payonce"));
    for (name, _) in std::env::vars().filter(|it| it.0.starts_with("PAYONCE_")) {
        command.env_remove(name);
    }
    command.envs(settings.iter().copied());
    command
}

fn lines(output: &[u8]) -> Vec<String> {
    String::from_utf8_lossy(output).lines().map(str::to_owned).collect()
}

fn run(settings: &[(&str, &str)], flags: &[&str]) -> Output {
    program(settings).args(flags).output().unwrap()
}

#[test]
fn all_wrong_settings_are_listed_and_nothing_is_started() {
    let output = run(
        &[
            ("PAYONCE_ADDR", "3000"),
            ("PAYONCE_PUBLIC_URL", "http://shop.test"),
            ("PAYONCE_DATABASE", "/dev/null/payonce.db"),
            ("PAYONCE_EXAMPLEPAY_URL", "ftp://provider.test"),
            ("PAYONCE_EXAMPLEPAY_API_KEY", " "),
            ("PAYONCE_EXAMPLEPAY_WEBHOOK_SECRET", "whsec_canary,"),
            ("PAYONCE_EXAMPLEPAY_ACCOUNT", ""),
            ("PAYONCE_TIME_SCALE", "0"),
            ("PAYONCE_LOG_FORMAT", "xml"),
        ],
        &[],
    );
    assert_eq!(output.status.code(), Some(1));
    let told = lines(&output.stderr);
    assert_eq!(told.len(), 1 + 9, "one line each: {told:#?}");
    for name in [
        "ADDR is \"3000\"",
        "PUBLIC_URL",
        "DATABASE",
        "EXAMPLEPAY_URL",
        "EXAMPLEPAY_API_KEY is not set",
        "EXAMPLEPAY_WEBHOOK_SECRET",
        "EXAMPLEPAY_ACCOUNT",
        "TIME_SCALE",
        "LOG_FORMAT",
    ] {
        let named =
            told.iter().filter(|it| it.trim_start().starts_with(&format!("PAYONCE_{name}")));
        assert_eq!(named.count(), 1, "{name}: {told:#?}");
    }
    assert!(!told.concat().contains("canary"), "{told:#?}");
    assert!(output.stdout.is_empty());
}

#[test]
fn checking_settings_says_so_and_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("shop.db").display().to_string();
    let settings = [("PAYONCE_EXAMPLEPAY_API_KEY", "sk"), ("PAYONCE_DATABASE", database.as_str())];
    let good = run(&settings, &["--check-config"]);
    assert_eq!(
        (good.status.code(), lines(&good.stdout)),
        (Some(0), vec!["The settings are right.".to_owned()])
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert_eq!(run(&[], &["--check-config"]).status.code(), Some(1));
}

#[test]
fn a_taken_port_is_told_in_one_line() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = taken.local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("shop.db").display().to_string();
    let text = addr.to_string();
    let output = run(
        &[
            ("PAYONCE_ADDR", &text),
            ("PAYONCE_EXAMPLEPAY_API_KEY", "sk"),
            ("PAYONCE_DATABASE", &database),
            ("PAYONCE_LOG", "error"),
        ],
        &[],
    );
    assert_eq!(output.status.code(), Some(1));
    let said =
        format!("port {} is in use: stop the other program, or set PAYONCE_ADDR", addr.port());
    let told = lines(&output.stderr);
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(told[0].contains(&said), "{told:#?}");
    assert!(!folder.path().join("shop.db").exists(), "nothing was opened");
}

#[test]
fn a_second_process_on_one_database_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("shop.db").display().to_string();
    let settings = [
        ("PAYONCE_ADDR", "127.0.0.1:0"),
        ("PAYONCE_EXAMPLEPAY_API_KEY", "sk"),
        ("PAYONCE_DATABASE", &database),
        ("PAYONCE_LOG", "error"),
    ];
    let mut first =
        program(&settings).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(first.stdout.take().unwrap()).lines();
    let ready = out.next().unwrap().unwrap();
    assert!(ready.starts_with("Payonce is ready at http://127.0.0.1:"), "{ready}");
    let second = run(&settings, &[]);
    assert_eq!(second.status.code(), Some(1));
    let told = lines(&second.stderr).concat();
    assert!(told.contains("another Payonce uses the database"), "{told}");

    let pid = first.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    let end = Instant::now() + Duration::from_secs(15);
    while first.try_wait().unwrap().is_none() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(20));
    }
    let code = first.try_wait().unwrap().map(|it| it.code());
    if code.is_none() {
        first.kill().unwrap();
    }
    assert_eq!(code, Some(Some(0)), "it ends by itself when told to");
    let told: Vec<String> =
        BufReader::new(first.stderr.take().unwrap()).lines().map_while(Result::ok).collect();
    assert!(told.iter().any(|it| it.contains("is stopping")), "{told:#?}");
    assert!(told.last().is_some_and(|it| it.contains("has stopped")), "{told:#?}");
}
