//! How mails leave the shop: by SMTP, or as files for whoever tries it.

use std::path::PathBuf;

use app::text;
use clap::Args;
use lettre::{AsyncSmtpTransport, Tokio1Executor, message::Mailbox};
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::{Wrong, values};

const URL: &str = "PAYONCE_SMTP_URL";
const FROM: &str = "PAYONCE_MAIL_FROM";

/// Mail settings.
#[derive(Args, Clone, Debug)]
pub struct MailFlags {
    /// The mail server, such as smtps://user:password@mail.example; without it mails become files.
    #[arg(long, env = "PAYONCE_SMTP_URL", default_value = "", hide_env_values = true)]
    pub smtp_url: SecretString,
    /// A file that holds the mail server's address instead.
    #[arg(long, env = "PAYONCE_SMTP_URL_FILE")]
    pub smtp_url_file: Option<PathBuf>,
    /// Who mails are from, such as Yuge <orders@shop.example>; with a mail server only.
    #[arg(long, env = "PAYONCE_MAIL_FROM", default_value = "")]
    pub mail_from: String,
    /// Where mails become files as long as there is no mail server.
    #[arg(long, env = "PAYONCE_MAIL_FOLDER", default_value = "data/mail")]
    pub mail_folder: PathBuf,
}

/// Where mails go, and who they are from.
#[derive(Clone, Debug)]
pub struct MailSettings {
    /// Who they are from.
    pub from: Mailbox,
    /// Where they go.
    pub to: MailWay,
}

/// Where mails go.
#[derive(Clone, Debug)]
pub enum MailWay {
    /// To a mail server.
    Smtp(SecretString),
    /// Into a folder, one file each.
    Folder(PathBuf),
}

/// The mail settings. What is wrong is one line each.
pub fn read(flags: &MailFlags, wrong: &mut Wrong) -> Option<MailSettings> {
    let url = wrong.take(values::secret(URL, &flags.smtp_url, flags.smtp_url_file.as_ref()))?;
    let given = flags.mail_from.trim();
    let from = match given {
        "" => None,
        given => Some(wrong.take(from(given))?),
    };
    let Some(url) = url else {
        if from.is_some() {
            wrong.0.push(format!(
                "{FROM} is set although {URL} is not: give both, or none to have mails as files"
            ));
            return None;
        }
        wrong.take(values::folder("PAYONCE_MAIL_FOLDER", &flags.mail_folder))?;
        let own = format!("{} <{}>", text::mail::SENDER, text::MAIL).parse().ok()?;
        return Some(MailSettings { from: own, to: MailWay::Folder(flags.mail_folder.clone()) });
    };
    let checked = wrong.take(check(&url));
    let Some(from) = from else {
        wrong.0.push(format!("{FROM} is not set although {URL} is: give the address that mails are from, or take the mail server away"));
        return None;
    };
    checked?;
    Some(MailSettings { from, to: MailWay::Smtp(url) })
}

fn from(given: &str) -> Result<Mailbox, String> {
    let mailbox = given.parse::<Mailbox>();
    mailbox.map_err(|_| {
        format!("{FROM} is {given:?}: give an address, such as Yuge <orders@shop.example>")
    })
}

/// An address of a mail server. It may hold a password, and is not repeated.
fn check(url: &SecretString) -> Result<(), String> {
    let wrong = || {
        format!(
            "{URL} is no address of a mail server: give smtps://user:password@host, or smtp://user:password@host?tls=required"
        )
    };
    let parsed = Url::parse(url.expose_secret()).map_err(|_| wrong())?;
    let host = parsed.host_str().filter(|it| !it.is_empty()).ok_or_else(wrong)?;
    // Half a login would be no login, and be seen only when the first mail is refused.
    if parsed.username().is_empty() != parsed.password().is_none() {
        return Err(format!(
            "{URL} has a user without a password, or the other way round: give both, or none"
        ));
    }
    AsyncSmtpTransport::<Tokio1Executor>::from_url(url.expose_secret()).map_err(|_| wrong())?;
    let sealed = parsed.scheme() == "smtps"
        || parsed.query_pairs().any(|(name, value)| name == "tls" && value == "required");
    if !sealed && !values::is_this_machine(&format!("http://{host}")) {
        return Err(format!(
            "{URL} would send mails and password in the open: give smtps://, or smtp:// with ?tls=required; without it is for this machine only"
        ));
    }
    Ok(())
}
