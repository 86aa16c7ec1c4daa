//! Carries mails out of the shop: one try at a time, and what came of each is told to the engine.
//!
//! A try whose answer is lost may have arrived. It is repeated with the same Message-ID and date,
//! by which a mailbox may know it again. Its words tell things as they stand at each try, so that
//! a repeat may differ in them. No line that is logged here has an address.

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
    transport::smtp::{self, PoolConfig},
};
use payments::{Letter, MailEnd, Payments};
use secrecy::ExposeSecret;
use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::config::{MailSettings, MailWay};

/// How often it is looked for mails that are due.
const POLL: Duration = Duration::from_millis(500);
/// How long a connection to the mail server may take; lettre bounds nothing else.
const CONNECT: Duration = Duration::from_secs(10);
/// How long one try may take in all. The answer to a whole mail alone may take ten minutes (RFC
/// 5321, 4.5.3.2.6), and whoever hangs up before it gets the mail again although it was taken.
const WHOLE: Duration = Duration::from_secs(11 * 60);
/// How long a shop that stops still waits for the mail in hand.
const STOPPING: Duration = Duration::from_secs(20);

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
    let (name, host) = typed.rsplit_once('@').ok_or(NoAddress)?;
    // Few mail servers carry such a name (SMTPUTF8), and one that cannot is met only when the
    // receipt is due.
    if !name.is_ascii() {
        return Err(NoAddress);
    }
    let host = if host.is_ascii() { host.to_owned() } else { spelled_for_the_wire(host)? };
    let address = format!("{name}@{host}").parse::<Address>().map_err(|_| NoAddress)?;
    // A bare host is a slip of the finger: nobody outside this machine is reached there.
    let whole = host.split('.').all(|part| !part.is_empty()) && host.contains('.');
    let address = address.to_string();
    if address.len() > 254 || !whole {
        return Err(NoAddress);
    }
    Ok(Some(domain::mail::Recipient::new(address)))
}

/// A host in other letters as every mail server can carry it: `пример.рф` is `xn--e1afmkfd.xn--p1ai`.
fn spelled_for_the_wire(host: &str) -> Result<String, NoAddress> {
    match url::Host::parse(host) {
        Ok(url::Host::Domain(host)) => Ok(host),
        // Digits of other scripts make numbers: those were not meant.
        Ok(url::Host::Ipv4(_) | url::Host::Ipv6(_)) | Err(_) => Err(NoAddress),
    }
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
                // A pool of none: each mail has a connection of its own, and the good-bye to the
                // server is said aside, so that its silence there says nothing about the mail.
                let transport =
                    transport.timeout(Some(CONNECT)).pool_config(PoolConfig::new().max_size(0));
                Way::Smtp(Box::new(transport.build()))
            }
            MailWay::Folder(folder) => {
                tracing::info!("no mail server is set: mails become files in {}", folder.display());
                Way::Folder(folder)
            }
        };
        Ok(Self { from: settings.from, way })
    }

    /// Carries until told to stop; a mail that is on its way is waited for, but not for long.
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
            match self.carry(payments, id, stop).await {
                // What one was not taken for may hold for the next one too; it is looked again
                // soon.
                Ok(Some(MailEnd::Again)) => return Ok(()),
                Ok(Some(MailEnd::Taken | MailEnd::Refused) | None) => {}
                // One that cannot be read or noted holds up no other.
                Err(reason) => tracing::warn!(
                    mail = %id,
                    reason = &reason as &dyn std::error::Error,
                    "the mail {id} could not be looked after; it comes again"
                ),
            }
        }
        Ok(())
    }

    /// One mail, if it is still to be handed over, and what came of it.
    async fn carry(
        &self,
        payments: &Payments,
        id: Uuid,
        stop: &CancellationToken,
    ) -> Result<Option<MailEnd>, payments::Error> {
        let Some(letter) = payments.take_mail(id).await? else { return Ok(None) };
        payments::crash_point("mail_taken");
        let end = match in_time(self.hand_over(&letter), stop, STOPPING).await {
            Some(end) => end,
            None => {
                let (order, fact) = (letter.view.reference.as_str(), letter.fact.as_str());
                tracing::warn!(
                    order,
                    fact,
                    "the mail {fact} of order {order} was left behind by a shop that stops"
                );
                MailEnd::Again
            }
        };
        payments::crash_point("mail_handed_over");
        payments.mail_ended(id, end).await?;
        Ok(Some(end))
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
                let plain = letter.to.expose().is_ascii();
                let sent = tokio::time::timeout(WHOLE, transport.send(message)).await;
                let (end, how) = match sent {
                    Ok(Ok(_)) => (MailEnd::Taken, "taken".to_owned()),
                    Ok(Err(reason)) => judge(&reason, plain),
                    Err(_) => (MailEnd::Again, NO_ANSWER.to_owned()),
                };
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
        // The same at every try, as far as things stand as they did.
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

/// What `work` came to; `None` if the shop stops and it did not end `left` later.
async fn in_time<T>(
    work: impl Future<Output = T>,
    stop: &CancellationToken,
    left: Duration,
) -> Option<T> {
    let over = async {
        stop.cancelled().await;
        tokio::time::sleep(left).await;
    };
    tokio::select! {
        done = work => Some(done),
        () = over => None,
    }
}

const NO_ANSWER: &str = "no answer: it may or may not have arrived";

/// What a mail server's answer, or none, is to a mail, and a word for it without its text, which
/// may repeat the address. Only what was said about the mail itself ends it; `plain` tells that
/// its address is one that every mail server can carry.
fn judge(reason: &smtp::Error, plain: bool) -> (MailEnd, String) {
    let code = reason.status().map(u16::from);
    let told = |what: &str| match code {
        Some(code) => format!("{what} ({code})"),
        None => what.to_owned(),
    };
    match code {
        Some(code) if is_about_us(code) => (MailEnd::Again, told("it does not serve us")),
        _ if reason.is_permanent() => (MailEnd::Refused, told("refused for good")),
        _ if reason.is_transient() => (MailEnd::Again, told("not now")),
        // The mail never left: its address asks too much of the server, or the server does not
        // offer what our own settings ask for.
        _ if reason.is_client() && !plain => {
            (MailEnd::Refused, "the mail server cannot carry its address".to_owned())
        }
        _ if reason.is_client() => {
            (MailEnd::Again, "the mail server does not offer what is needed".to_owned())
        }
        _ => (MailEnd::Again, NO_ANSWER.to_owned()),
    }
}

/// Whether a no is about our commands, our login or the whole server, and so about no mail. A 554
/// is not among them: at the greeting it means that, too, but where it was said cannot be seen.
fn is_about_us(code: u16) -> bool {
    matches!(code, 500 | 502..=504 | 521 | 530 | 534 | 535 | 538)
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
