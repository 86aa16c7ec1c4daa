//! A very small mail server that does as it is told, and keeps what it received.

use std::sync::{Arc, Mutex};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};

use crate::harness::Options;

/// What the mail server does with the next connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Does {
    /// Hangs up before a word.
    HangsUp,
    /// Greets with a no.
    ServesNobody,
    /// Has no way to log in.
    OffersNoLogin,
    /// Does not believe the login.
    RefusesLogin,
    /// Takes the whole mail and hangs up before it says so.
    TakesAndHangsUp,
    /// Takes it, and then says nothing more.
    TakesAndIgnoresQuit,
    /// Is busy.
    Busy,
    /// Refuses whoever it goes to, and repeats the address while it does.
    Refuses,
    /// Takes it.
    Takes,
}

/// The server, and what it has received.
pub struct MailServer {
    port: u16,
    mails: Arc<Mutex<Vec<String>>>,
    connections: Arc<Mutex<usize>>,
}

impl MailServer {
    /// Does these things with one connection after the other, and then takes what comes.
    pub async fn start(plan: &[Does]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Self { port, mails: Arc::default(), connections: Arc::default() };
        let (mails, connections) = (Arc::clone(&server.mails), Arc::clone(&server.connections));
        let plan = plan.to_vec();
        let mut plan = plan.into_iter();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *connections.lock().unwrap() += 1;
                let does = plan.next().unwrap_or(Does::Takes);
                let mails = Arc::clone(&mails);
                // One that is silent holds up no other.
                tokio::spawn(async move {
                    let _cut = talk(stream, does, &mails).await;
                });
            }
        });
        server
    }

    /// Settings of a shop that sends its mails here.
    pub fn options(&self) -> Options {
        self.options_of("")
    }

    /// The same with a login.
    pub fn options_with_login(&self) -> Options {
        self.options_of("shop:secret@")
    }

    fn options_of(&self, login: &str) -> Options {
        let shop = vec![
            ("PAYONCE_SMTP_URL", format!("smtp://{login}127.0.0.1:{}", self.port)),
            ("PAYONCE_MAIL_FROM", "Yuge <orders@shop.test>".to_owned()),
            ("PAYONCE_LOG", "trace".to_owned()),
        ];
        Options { shop, ..Options::default() }
    }

    /// What it received, whether or not it said so.
    pub fn mails(&self) -> Vec<String> {
        self.mails.lock().unwrap().clone()
    }

    /// How often somebody called.
    pub fn connections(&self) -> usize {
        *self.connections.lock().unwrap()
    }
}

async fn talk(stream: TcpStream, does: Does, mails: &Mutex<Vec<String>>) -> std::io::Result<()> {
    if does == Does::HangsUp {
        return Ok(());
    }
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read).lines();
    if does == Does::ServesNobody {
        return write.write_all(b"521 5.3.2 mail.test serves nobody\r\n").await;
    }
    write.write_all(b"220 mail.test\r\n").await?;
    while let Some(line) = lines.next_line().await? {
        let mut words = line.split([' ', ':']);
        let word = words.next().unwrap_or_default().to_ascii_uppercase();
        let answer: String = match word.as_str() {
            "EHLO" if does == Does::OffersNoLogin => "250 mail.test\r\n".into(),
            "EHLO" => "250-mail.test\r\n250 AUTH PLAIN\r\n".into(),
            "AUTH" if does == Does::RefusesLogin => "535 5.7.8 who are you\r\n".into(),
            "AUTH" => "235 2.7.0 welcome\r\n".into(),
            "RCPT" if does == Does::Refuses => {
                let to = line.split(['<', '>']).nth(1).unwrap_or_default();
                format!("550 5.1.1 <{to}> is unknown here\r\n")
            }
            "MAIL" if does == Does::Busy => "451 4.3.0 later\r\n".into(),
            "DATA" => {
                write.write_all(b"354 go on\r\n").await?;
                let mut mail = String::new();
                while let Some(line) = lines.next_line().await? {
                    if line == "." {
                        break;
                    }
                    mail.push_str(&line);
                    mail.push('\n');
                }
                mails.lock().unwrap().push(mail);
                if does == Does::TakesAndHangsUp {
                    return Ok(());
                }
                "250 2.0.0 taken\r\n".into()
            }
            "QUIT" if does == Does::TakesAndIgnoresQuit => continue,
            "QUIT" => return write.write_all(b"221 bye\r\n").await,
            _ => "250 ok\r\n".into(),
        };
        write.write_all(answer.as_bytes()).await?;
    }
    Ok(())
}
