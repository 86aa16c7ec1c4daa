//! Carries mails out of the shop: one try at a time, and what came of each is told to the engine.
//!
//! A try whose answer is lost may have arrived. It is repeated with the same Message-ID, date and
//! words, so that whoever gets it twice sees one mail. No line that is logged here has an address.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use app::text;
use lettre::{
    Address, AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor,
    message::{
        Mailbox, MultiPart, MultiPartKind, SinglePart,
        header::{self, HeaderName, HeaderValue},
    },
    transport::smtp,
};
use payments::{Letter, MailEnd, Payments};
use secrecy::ExposeSecret;
use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;

use crate::config::{MailSettings, MailWay};

/// How often it is looked for mails that are due.
const POLL: Duration = Duration::from_millis(500);
/// How long a mail server may take for one answer, and for one mail.
const ANSWER: Duration = Duration::from_secs(10);
const WHOLE: Duration = Duration::from_secs(20);

/// Why mails cannot leave the shop.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The settings of the mail server.
    #[error("PAYONCE_SMTP_URL cannot be used")]
    Smtp(#[from] smtp::Error),
}

/// Why a letter is no mail.
#[derive(Debug, thiserror::Error)]
enum Unwritable {
    #[error("its address cannot be written to")]
    Address(#[from] lettre::address::AddressError),
    #[error("it cannot be put together")]
    Mail(#[from] lettre::error::Error),
}

enum Way {
    Smtp(Box<AsyncSmtpTransport<Tokio1Executor>>),
    Folder(PathBuf),
}

/// Whoever carries mails.
pub struct Postman {
    from: Mailbox,
    way: Way,
}

/// Nothing can be sent to what was typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("nothing can be sent to that address")]
pub struct NoAddress;

/// What somebody typed as an address: nothing, an address, or something that cannot be written to.
///
/// # Errors
/// It cannot be written to.
pub fn address(typed: &str) -> Result<Option<domain::mail::Recipient>, NoAddress> {
    let typed = typed.trim();
    if typed.is_empty() {
        return Ok(None);
    }
    let address = typed.parse::<Address>().map_err(|_| NoAddress)?;
    // A bare host is a slip of the finger: nobody outside this machine is reached there.
    let host = address.domain();
    let whole = host.split('.').all(|part| !part.is_empty()) && host.contains('.');
    if typed.len() > 254 || !whole {
        return Err(NoAddress);
    }
    Ok(Some(domain::mail::Recipient::new(typed.to_owned())))
}

/// Told by a machine: nobody's holiday notice answers it.
#[derive(Clone)]
struct AutoSubmitted;

impl header::Header for AutoSubmitted {
    fn name() -> HeaderName {
        HeaderName::new_from_ascii_str("Auto-Submitted")
    }

    fn parse(_: &str) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self)
    }

    fn display(&self) -> HeaderValue {
        HeaderValue::new(Self::name(), "auto-generated".to_owned())
    }
}

impl Postman {
    /// Ready to carry; nothing is asked of a mail server before there is a mail.
    ///
    /// # Errors
    /// The mail server's address cannot be used.
    pub fn new(settings: MailSettings) -> Result<Self, MailError> {
        let way = match settings.to {
            MailWay::Smtp(url) => {
                let transport =
                    AsyncSmtpTransport::<Tokio1Executor>::from_url(url.expose_secret())?;
                tracing::info!("mails go to a mail server");
                Way::Smtp(Box::new(transport.timeout(Some(ANSWER)).build()))
            }
            MailWay::Folder(folder) => {
                tracing::info!("no mail server is set: mails become files in {}", folder.display());
                Way::Folder(folder)
            }
        };
        Ok(Self { from: settings.from, way })
    }

    /// Carries until told to stop; a mail that is on its way is waited for.
    pub async fn run(self, payments: Payments, stop: CancellationToken) {
        loop {
            if let Err(reason) = self.round(&payments, &stop).await {
                tracing::warn!(
                    reason = &reason as &dyn std::error::Error,
                    "mails could not be looked after; it comes again"
                );
            }
            if stop.run_until_cancelled(tokio::time::sleep(POLL)).await.is_none() {
                return;
            }
        }
    }

    async fn round(
        &self,
        payments: &Payments,
        stop: &CancellationToken,
    ) -> Result<(), payments::Error> {
        for id in payments.due_mails().await? {
            if stop.is_cancelled() {
                return Ok(());
            }
            let Some(letter) = payments.take_mail(id).await? else { continue };
            payments::crash_point("mail_taken");
            let end = self.hand_over(&letter).await;
            payments::crash_point("mail_handed_over");
            payments.mail_ended(id, end).await?;
            // What one was not taken for may hold for the next one too; it is looked again soon.
            if end == MailEnd::Again {
                return Ok(());
            }
        }
        Ok(())
    }

    /// One try.
    async fn hand_over(&self, letter: &Letter) -> MailEnd {
        let (order, fact) = (letter.view.reference.as_str(), letter.fact.as_str());
        let message = match self.message(letter) {
            Ok(message) => message,
            Err(reason) => {
                tracing::warn!(
                    order,
                    fact,
                    "the mail {fact} of order {order} was not written: {reason}"
                );
                return MailEnd::Refused;
            }
        };
        match &self.way {
            Way::Smtp(transport) => {
                let sent = tokio::time::timeout(WHOLE, transport.send(message)).await;
                let (end, how) = sent.map_or((MailEnd::Again, "no answer".to_owned()), |sent| {
                    sent.map_or_else(|reason| judge(&reason), |_| (MailEnd::Taken, "taken".into()))
                });
                tracing::info!(order, fact, "the mail {fact} of order {order}: {how}");
                end
            }
            Way::Folder(folder) => {
                let name = format!("{order}-{fact}-{}.eml", letter.id.simple());
                match write(folder, &name, &message.formatted()).await {
                    Ok(path) => {
                        let path = path.display();
                        tracing::info!(
                            order,
                            fact,
                            "the mail {fact} of order {order} is in {path}"
                        );
                        MailEnd::Taken
                    }
                    Err(reason) => {
                        tracing::warn!(
                            order,
                            fact,
                            "the mail {fact} of order {order} was not written into {}: {reason}",
                            folder.display()
                        );
                        MailEnd::Again
                    }
                }
            }
        }
    }

    fn message(&self, letter: &Letter) -> Result<Message, Unwritable> {
        let words = text::mail::mail(letter);
        let to: Address = letter.to.expose().parse()?;
        let id = format!("<{}@{}>", letter.id, self.from.email.domain());
        let since = Duration::from_millis(u64::try_from(letter.since.0).unwrap_or(0));
        let part =
            |kind: header::ContentType, body: String| SinglePart::builder().header(kind).body(body);
        // The same bytes at every try, the boundary too.
        let parts = MultiPart::builder()
            .kind(MultiPartKind::Alternative)
            .boundary(letter.id.simple().to_string())
            .singlepart(part(header::ContentType::TEXT_PLAIN, words.text))
            .singlepart(part(header::ContentType::TEXT_HTML, words.html));
        Ok(Message::builder()
            .from(self.from.clone())
            .to(Mailbox::new(None, to))
            .subject(words.subject)
            .date(SystemTime::UNIX_EPOCH + since)
            .message_id(Some(id))
            .header(AutoSubmitted)
            .multipart(parts)?)
    }
}

/// What a mail server's answer, or none, is to a mail; and a word for it without its text, which
/// may repeat the address.
fn judge(reason: &smtp::Error) -> (MailEnd, String) {
    let code = reason.status().map(u16::from);
    let told = |what: &str| match code {
        Some(code) => format!("{what} ({code})"),
        None => what.to_owned(),
    };
    match code {
        // Our login is not believed: that says nothing about the mail.
        Some(530 | 534 | 535 | 538) => (MailEnd::Again, told("our login was refused")),
        _ if reason.is_permanent() => (MailEnd::Refused, told("refused for good")),
        _ if reason.is_transient() => (MailEnd::Again, told("not now")),
        _ if reason.is_client() => (MailEnd::Refused, "the mail server cannot carry it".to_owned()),
        _ => (MailEnd::Again, "no answer: it may or may not have arrived".to_owned()),
    }
}

/// Whole or not at all; the same mail has the same name, so that a repeat is one file.
async fn write(folder: &Path, name: &str, bytes: &[u8]) -> std::io::Result<PathBuf> {
    tokio::fs::create_dir_all(folder).await?;
    let (path, part) = (folder.join(name), folder.join(format!("{name}.part")));
    let mut options = tokio::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    // It holds an address: for the shop's own user only.
    #[cfg(unix)]
    options.mode(0o600);
    let mut file = options.open(&part).await?;
    file.write_all(bytes).await?;
    file.sync_all().await?;
    drop(file);
    tokio::fs::rename(&part, &path).await?;
    Ok(path)
}

#[cfg(test)]
mod tests;
