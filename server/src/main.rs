//! The binary: settings, start, one line when it is ready, a clean stop.

use std::{io::Write, process::ExitCode};

use clap::Parser;
use server::{
    config::{self, Flags},
    http, telemetry,
};

#[tokio::main]
async fn main() -> ExitCode {
    let flags = Flags::parse();
    let config = match config::check(&flags) {
        Ok(config) => config,
        Err(lines) => {
            tell(&mut std::io::stderr(), "Payonce did not start; these settings are wrong:");
            for line in lines {
                tell(&mut std::io::stderr(), &format!("  {line}"));
            }
            return ExitCode::FAILURE;
        }
    };
    if flags.check_config {
        tell(&mut std::io::stdout(), "The settings are right.");
        return ExitCode::SUCCESS;
    }
    telemetry::start(&flags.log, &flags.log_format);
    let running = match http::start(config).await {
        Ok(running) => running,
        Err(reason) => {
            tell(&mut std::io::stderr(), &format!("Payonce did not start: {}", chain(&reason)));
            return ExitCode::FAILURE;
        }
    };
    tell(&mut std::io::stdout(), &format!("Payonce is ready at {}", running.public_url));
    stopped().await;
    tell(
        &mut std::io::stderr(),
        "Payonce is stopping: it ends streams and waits for requests on the wire.",
    );
    running.stop().await;
    tell(&mut std::io::stderr(), "Payonce has stopped.");
    ExitCode::SUCCESS
}

/// A reason with what is behind it, on one line.
fn chain(reason: &(dyn std::error::Error + 'static)) -> String {
    let mut text = reason.to_string();
    let mut source = reason.source();
    while let Some(cause) = source {
        let more = cause.to_string();
        if !text.contains(&more) {
            text = format!("{text} ({more})");
        }
        source = cause.source();
    }
    text
}

/// A line for a person; if nobody can read it, that is no reason to stop.
fn tell(out: &mut impl Write, line: &str) {
    let _unread = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// SIGINT or SIGTERM.
async fn stopped() {
    let interrupt = async {
        let _signal = tokio::signal::ctrl_c().await;
    };
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
}
