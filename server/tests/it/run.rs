//! `make run`: its script in a folder of its own, with programs that are built already.

use std::{
    fs,
    io::Read,
    os::unix::{fs::symlink, process::CommandExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc,
};

use crate::harness::{BOUND, binary};

/// A folder in which the script finds what it needs, but nothing to build.
struct Yard {
    folder: tempfile::TempDir,
}

/// How the script ended, and what it said.
struct Ended {
    code: Option<i32>,
    out: String,
    told: Vec<String>,
}

impl Yard {
    fn with(env_file: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (root, project) = (folder.path(), Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
        fs::create_dir_all(root.join(".ci")).unwrap();
        fs::create_dir_all(root.join("target/debug")).unwrap();
        for script in ["run.sh", "lib.sh"] {
            fs::copy(project.join(".ci").join(script), root.join(".ci").join(script)).unwrap();
        }
        for script in ["setup.sh", "build.sh"] {
            fs::write(root.join(".ci").join(script), "exit 0\n").unwrap();
        }
        for name in ["payonce", "examplepay"] {
            symlink(binary(name), root.join("target/debug").join(name)).unwrap();
        }
        symlink(project.join("server"), root.join("server")).unwrap();
        fs::write(root.join(".env"), env_file).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the script until it and all that it started have ended.
    fn run(&self, outside: &[(&str, &str)]) -> Ended {
        let mut command = Command::new("sh");
        command.arg(self.path(".ci/run.sh"));
        for (name, _) in std::env::vars() {
            if name.starts_with("PAYONCE_") || name.starts_with("EXAMPLEPAY_") {
                command.env_remove(name);
            }
        }
        // Ports that are surely free: those that the system picks.
        for name in ["", "_CONTROL", "_STRIPE", "_PAYPAL", "_PARTNERS"] {
            command.env(format!("EXAMPLEPAY{name}_ADDR"), "127.0.0.1:0");
        }
        command.env("PAYONCE_ADDR", "127.0.0.1:0").envs(outside.iter().copied());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut script = command.process_group(0).spawn().unwrap();
        let (sender, words) = mpsc::channel();
        let streams: [Box<dyn Read + Send>; 2] =
            [Box::new(script.stdout.take().unwrap()), Box::new(script.stderr.take().unwrap())];
        for (place, mut stream) in streams.into_iter().enumerate() {
            let sender = sender.clone();
            std::thread::spawn(move || {
                let mut text = String::new();
                let _broken = stream.read_to_string(&mut text);
                let _gone = sender.send((place, text));
            });
        }
        // A stream ends when the last process that writes to it has ended.
        let mut said = [String::new(), String::new()];
        for _ in 0..2 {
            let Ok((place, text)) = words.recv_timeout(BOUND) else {
                let group = format!("-{}", script.id());
                let _gone = Command::new("kill").args(["-KILL", "--", &group]).status();
                panic!("the script, or something that it started, is still running");
            };
            said[place] = text;
        }
        let code = script.wait().unwrap().code();
        let [out, told] = said;
        Ended { code, out, told: told.lines().map(str::to_owned).collect() }
    }
}

#[test]
fn a_line_of_env_that_is_no_setting_is_told_by_its_number_and_never_shown() {
    let rows = [
        ("PAYONCE_STRIPE_API_KEY sk_canary", 1),
        ("# Ours.\n\nPAYONCE_LOG=info\nwhsec_canary\nPAYONCE_LOG=warn\n", 4),
        ("PAYONCE_LOG=info\npayonce_key=canary\n", 2),
        ("PAYONCE-KEY=canary\n", 1),
        ("export PAYONCE_KEY=canary\n", 1),
        (" PAYONCE_KEY=canary\n", 1),
        ("=canary\n", 1),
        ("A$(touch canary)=1\n", 1),
        ("A`touch canary`=1\n", 1),
        ("A;touch canary;B=1\n", 1),
    ];
    for (env_file, number) in rows {
        let yard = Yard::with(env_file);
        let Ended { code, out, told } = yard.run(&[]);
        assert_eq!(code, Some(1), "{env_file:?}: {told:#?}");
        assert_eq!(told, [format!("payonce: line {number} of .env is no NAME=value")]);
        assert_eq!(out, "", "{env_file:?}: nothing was started");
        for made in ["data", "canary"] {
            assert!(!yard.path(made).exists(), "{env_file:?} made {made}");
        }
    }
}

#[test]
fn a_provider_that_is_half_set_up_is_refused_with_all_that_is_wrong_and_nothing_is_left_running() {
    let rows: [(&str, &[&str]); 5] = [
        ("PAYONCE_STRIPE_PUBLISHABLE_KEY=pk_test_canary\n", &["PAYONCE_STRIPE_PUBLISHABLE_KEY"]),
        (
            "PAYONCE_PAYPAL_WEBHOOK_ID=canary\n",
            &["PAYONCE_PAYPAL_CLIENT_ID", "PAYONCE_PAYPAL_CLIENT_SECRET"],
        ),
        ("PAYONCE_SHIPPING_URL=http://canary.test\n", &["PAYONCE_PARTNERS_API_KEY"]),
        // Beside real money nothing is simulated, and half of it is refused all the same.
        (
            "PAYONCE_STRIPE_API_KEY=sk_live_canary\nPAYONCE_INVOICING_URL=http://canary.test\n",
            &["PAYONCE_STRIPE_WEBHOOK_SECRET", "PAYONCE_PARTNERS_API_KEY"],
        ),
        (
            "# All of it at once, and a value that looks like a command.\n\
             PAYONCE_STRIPE_API_KEY=sk_test_canary\n\
             PAYONCE_PAYPAL_CLIENT_ID=canary\n\
             PAYONCE_PARTNERS_API_KEY=canary\n\
             PAYONCE_TIME_SCALE=never\n\
             PAYONCE_LOG_FORMAT=$(touch made)",
            &[
                "PAYONCE_STRIPE_WEBHOOK_SECRET",
                "PAYONCE_PAYPAL_CLIENT_SECRET",
                "PAYONCE_PAYPAL_WEBHOOK_ID",
                "PAYONCE_PARTNERS_API_KEY",
                "PAYONCE_LOG_FORMAT",
            ],
        ),
    ];
    for (env_file, wrong) in rows {
        let yard = Yard::with(env_file);
        // What is set outside counts before what the file says.
        let Ended { code, out, told } = yard.run(&[("PAYONCE_TIME_SCALE", "1")]);
        assert_eq!(code, Some(1), "{env_file:?}: {told:#?}");
        let listed = told.iter().skip_while(|it| !it.contains("these settings are wrong:")).skip(1);
        let listed: Vec<_> = listed.filter_map(|it| it.strip_prefix("  ")).collect();
        assert_eq!(listed.len(), wrong.len(), "{env_file:?}: {told:#?}");
        for name in wrong {
            let named = |it: &&&str| it.starts_with(&format!("{name} is "));
            assert_eq!(listed.iter().filter(named).count(), 1, "{name}: {told:#?}");
        }
        assert!(told.last().unwrap().contains("nothing is left running"), "{told:#?}");
        assert!(!told.concat().contains("canary"), "{env_file:?}: {told:#?}");
        assert!(!out.contains("canary") && !out.contains("The shop:"), "{env_file:?}: {out}");
        for made in ["made", "data/payonce.db"] {
            assert!(!yard.path(made).exists(), "{env_file:?} made {made}");
        }
    }
}
