//! The shapes of values in settings. What is wrong is said in one line that says what to do.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use axum::http::Uri;
use secrecy::{ExposeSecret, SecretString};

/// An address to listen on.
pub fn address(name: &str, value: &str) -> Result<SocketAddr, String> {
    let address = value.parse::<SocketAddr>();
    address.map_err(|_| {
        format!("{name} is {value:?}: give an address and a port, such as 127.0.0.1:3000")
    })
}

/// A web address as browsers write an origin: small letters, no usual port, no slash at the end.
pub fn url(name: &str, value: &str) -> Result<String, String> {
    let wrong =
        || format!("{name} is {value:?}: give http:// or https:// and a host, without a path");
    let uri = value.trim_end_matches('/').parse::<Uri>().map_err(|_| wrong())?;
    let scheme = uri.scheme_str().filter(|it| ["http", "https"].contains(it)).ok_or_else(wrong)?;
    let authority = uri.authority().ok_or_else(wrong)?;
    let (host, port) = (authority.host().to_ascii_lowercase(), authority.port());
    // What stands after the host must be a port and nothing else.
    let whole = port
        .as_ref()
        .map_or_else(|| authority.host().to_owned(), |port| format!("{}:{port}", authority.host()));
    let alone = uri.path_and_query().is_none_or(|it| it.as_str() == "/");
    if host.is_empty() || whole != authority.as_str() || !alone || value.contains('#') {
        return Err(wrong());
    }
    let usual = if scheme == "https" { 443 } else { 80 };
    Ok(match port.map(|it| it.as_u16()) {
        Some(port) if port != usual => format!("{scheme}://{host}:{port}"),
        Some(_) | None => format!("{scheme}://{host}"),
    })
}

/// Whether a checked web address names the machine it is used on.
pub fn is_this_machine(url: &str) -> bool {
    let uri = url.parse::<Uri>().ok();
    let host = uri.as_ref().and_then(Uri::host).unwrap_or_default();
    let ip = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || ip.is_ok_and(|ip| ip.is_loopback())
}

/// A file that can be written, in a folder that is there or can be made.
pub fn database(path: &Path) -> Result<(), String> {
    let name = "PAYONCE_DATABASE";
    if path.is_dir() || path.file_name().is_none() {
        return Err(format!("{name} is {path:?}, a folder: give the path of a file"));
    }
    if path.metadata().is_ok_and(|it| it.permissions().readonly()) {
        return Err(format!("{name} is {path:?}, which is read-only: make it writable"));
    }
    let parent = path.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
    writable(name, path, parent)
}

/// A folder that can be written into, or can be made.
pub fn folder(name: &str, path: &Path) -> Result<(), String> {
    if path.exists() && !path.is_dir() {
        return Err(format!("{name} is {path:?}, a file: give the path of a folder"));
    }
    writable(name, path, path)
}

/// Whether something can be written into a folder, or the nearest one above it that is there.
fn writable(name: &str, path: &Path, wanted: &Path) -> Result<(), String> {
    let folder = wanted.ancestors().find(|it| it.exists()).unwrap_or(Path::new("."));
    let probe = folder.join(format!(".payonce-{}.tmp", uuid::Uuid::new_v4()));
    let written = std::fs::write(&probe, "").and_then(|()| std::fs::remove_file(&probe));
    written.map_err(|reason| {
        format!("{name} is {path:?}, but nothing can be written into {folder:?} ({reason}): give another path")
    })
}

/// A secret from the one place that gives it; `None` if no place does.
pub fn secret(
    name: &str,
    value: &SecretString,
    file: Option<&PathBuf>,
) -> Result<Option<SecretString>, String> {
    let given = value.expose_secret().trim();
    let Some(path) = file else {
        return Ok((!given.is_empty()).then(|| SecretString::from(given)));
    };
    if !given.is_empty() {
        return Err(format!("{name} and {name}_FILE are both set: give one of them"));
    }
    let text = std::fs::read_to_string(path)
        .map_err(|reason| format!("{name}_FILE names {path:?}, which cannot be read: {reason}"))?;
    if text.trim().is_empty() {
        return Err(format!("{name}_FILE names {path:?}, which is empty: put the secret into it"));
    }
    Ok(Some(SecretString::from(text.trim())))
}

/// Secrets between commas; none of them may be empty.
pub fn list(name: &str, value: Option<&SecretString>) -> Result<Vec<SecretString>, String> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let entries: Vec<&str> = value.expose_secret().split(',').map(str::trim).collect();
    if entries.iter().any(|it| it.is_empty()) {
        return Err(format!("{name} has an empty secret in its list: take a comma out"));
    }
    Ok(entries.into_iter().map(SecretString::from).collect())
}

/// A text that is there.
pub fn word(name: &str, value: &str) -> Result<String, String> {
    let word = Some(value.trim()).filter(|it| !it.is_empty()).map(str::to_owned);
    word.ok_or_else(|| format!("{name} is empty: give a name, or do not set it"))
}

/// A time in milliseconds.
pub fn time(name: &str, value: &str) -> Result<Duration, String> {
    let ms = value.parse::<u64>().ok().filter(|ms| (1..=14_000).contains(ms));
    ms.map(Duration::from_millis)
        .ok_or_else(|| format!("{name} is {value:?}: give milliseconds from 1 to 14000"))
}

/// A whole number above zero.
pub fn count(name: &str, value: &str) -> Result<u32, String> {
    let number = value.parse::<u32>().ok().filter(|it| *it > 0);
    number.ok_or_else(|| format!("{name} is {value:?}: give a whole number above 0"))
}

/// What all waits are multiplied by.
pub fn scale(value: &str) -> Result<f64, String> {
    let number = value.parse::<f64>().ok().filter(|it| (0.001..=10.0).contains(it));
    number.ok_or_else(|| {
        format!("PAYONCE_TIME_SCALE is {value:?}: give a number from 0.001 to 10; 1 is real time")
    })
}
