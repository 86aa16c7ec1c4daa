//! Places where a test may kill the shop, to see that it ends right after a restart.
//!
//! Only debug builds know them; a release build contains none of this.

/// Kills this process, as SIGKILL would, if the test asked for this place.
pub fn point(name: &str) {
    if armed(name) {
        kill();
    }
}

/// Whether the test asked for this place.
#[cfg(debug_assertions)]
pub fn armed(name: &str) -> bool {
    static AT: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    AT.get_or_init(|| std::env::var("PAYONCE_CRASH_AT").ok()).as_deref() == Some(name)
}

/// Whether the test asked for this place: never, in a release build.
#[cfg(not(debug_assertions))]
pub fn armed(_name: &str) -> bool {
    false
}

/// Dies at once, with nothing flushed and nobody told.
pub fn kill() {
    let own = std::process::id().to_string();
    let _told = std::process::Command::new("kill").args(["-9", &own]).status();
    std::process::abort();
}
