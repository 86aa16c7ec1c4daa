//! A shop in this process, and a browser without a memory of its own.

use std::{
    collections::BTreeMap,
    io::Write,
    net::SocketAddr,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use clap::Parser;
use reqwest::{Method, RequestBuilder};
use server::{
    config::{Flags, check},
    http::{Running, start},
};
use sqlx::{SqlitePool, sqlite::SqliteConnectOptions};

/// How long any condition is waited for.
pub const BOUND: Duration = Duration::from_secs(20);

/// A shop whose provider cannot be reached.
pub struct TestShop {
    pub folder: tempfile::TempDir,
    pub running: Running,
    pub http: reqwest::Client,
}

/// A status, its headers and its body.
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub body: String,
}

impl Answer {
    /// A header's text; empty if it is not there.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |it| it.to_str().unwrap())
    }

    /// The session in this answer's cookies, as a browser sends it back.
    pub fn session(&self) -> Option<String> {
        let cookies = self.headers.get_all("set-cookie").iter().map(|it| it.to_str().unwrap());
        let cookie = cookies.into_iter().find(|it| it.contains("payonce_session="))?;
        cookie.split(';').next().map(str::to_owned)
    }
}

/// Sends, and reads the whole answer.
pub async fn send(request: RequestBuilder) -> Answer {
    let answer = request.send().await.expect("the shop answers");
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    Answer { status, headers, body: answer.text().await.unwrap_or_default() }
}

impl TestShop {
    /// With the usual settings.
    pub async fn start() -> Self {
        Self::with(&[]).await
    }

    /// With further flags.
    pub async fn with(more: &[&str]) -> Self {
        Logs::listen();
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("shop.db").display().to_string();
        let root = folder.path().join("site");
        std::fs::create_dir_all(root.join("pkg")).unwrap();
        let root = root.display().to_string();
        let mail = folder.path().join("mail").display().to_string();
        // Nobody listens at the provider's address.
        let usual = [
            ("--addr", "127.0.0.1:0"),
            ("--database", &database),
            ("--site-root", &root),
            ("--mail-folder", &mail),
            ("--examplepay-url", "http://127.0.0.1:9"),
            ("--examplepay-api-key", "sk_canary"),
            ("--examplepay-webhook-secret", "whsec_canary"),
            ("--pay-rate-per-minute", "6000"),
        ];
        let kept = usual.iter().filter(|(name, _)| !more.contains(name));
        let flags = std::iter::once("payonce")
            .chain(kept.flat_map(|(name, value)| [*name, *value]))
            .chain(more.iter().copied());
        let config = check(&Flags::parse_from(flags)).unwrap();
        let running = start(config).await.unwrap();
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(BOUND)
            .build()
            .unwrap();
        Self { folder, running, http }
    }

    pub fn addr(&self) -> SocketAddr {
        self.running.addr
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr())
    }

    /// A request of somebody with this session.
    pub fn request(&self, method: Method, path: &str, session: Option<&str>) -> RequestBuilder {
        let request = self.http.request(method, self.url(path));
        match session {
            Some(session) => request.header("cookie", session),
            None => request,
        }
    }

    pub async fn get(&self, path: &str, session: Option<&str>) -> Answer {
        send(self.request(Method::GET, path, session)).await
    }

    pub async fn post(&self, path: &str, session: Option<&str>, form: &[(&str, &str)]) -> Answer {
        send(self.request(Method::POST, path, session).form(form)).await
    }

    /// A new session with one set of cups in its cart.
    pub async fn session(&self) -> String {
        let form = [("sku", "cups"), ("quantity", "1"), ("add", "1")];
        let answer = self.post("/cart/lines", None, &form).await;
        assert_eq!(answer.status, 303, "{}", answer.body);
        answer.session().expect("the first change opens a session")
    }

    /// The payment form of a session's cart: where it goes, and its fields with a card.
    pub async fn form(&self, session: &str) -> (String, Vec<(String, String)>) {
        let page = self.get("/checkout", Some(session)).await;
        assert_eq!(page.status, 200, "{}", page.body);
        let form = page.body.split("<form").find(|it| it.contains("data-pay-form"));
        let form = form.expect("a payment form").split("</form>").next().unwrap();
        let mut fields: Vec<(String, String)> = form
            .split("<input")
            .filter(|it| it.contains("type=\"hidden\""))
            .map(|it| (attribute(it, "name"), attribute(it, "value")))
            .collect();
        let card = form.split("<input").find(|it| it.contains("name=\"payment_token\"")).unwrap();
        fields.push(("payment_token".to_owned(), attribute(card, "value")));
        (attribute(form, "action"), fields)
    }

    /// Presses Pay, for a person.
    pub async fn pay(&self, session: &str, action: &str, fields: &[(String, String)]) -> Answer {
        send(self.request(Method::POST, action, Some(session)).form(fields)).await
    }

    async fn database(&self) -> SqlitePool {
        let options = SqliteConnectOptions::new()
            .filename(self.folder.path().join("shop.db"))
            .busy_timeout(Duration::from_secs(10));
        SqlitePool::connect_with(options).await.unwrap()
    }

    /// Changes the database behind the shop's back.
    pub async fn alter(&self, sql: &'static str) {
        let database = self.database().await;
        sqlx::query(sql).execute(&database).await.unwrap();
        database.close().await;
    }

    /// How many rows every table has.
    pub async fn rows(&self) -> BTreeMap<String, i64> {
        let database = self.database().await;
        let tables: Vec<String> = sqlx::query_scalar(
            "select name from sqlite_master where type = 'table' and name not like 'sqlite%'",
        )
        .fetch_all(&database)
        .await
        .unwrap();
        assert!(tables.iter().any(|it| it == "operations"), "{tables:?}");
        let mut rows = BTreeMap::new();
        for table in tables {
            let query = format!("select count(*) from \"{table}\"");
            let count = sqlx::query_scalar(sqlx::AssertSqlSafe(query));
            rows.insert(table, count.fetch_one(&database).await.unwrap());
        }
        database.close().await;
        rows
    }
}

/// The value of an attribute in a tag.
fn attribute(tag: &str, name: &str) -> String {
    let start = tag.find(&format!("{name}=\"")).unwrap_or_else(|| panic!("no {name} in {tag}"));
    tag[start + name.len() + 2..].split('"').next().unwrap().to_owned()
}

/// Waits until a condition holds.
pub async fn until<T>(what: &str, mut condition: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + BOUND;
    while Instant::now() < end {
        if let Some(value) = condition().await {
            return value;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{what} did not come about");
}

/// Everything that is logged in this process, at the finest level there is.
#[derive(Clone, Default)]
pub struct Logs(Arc<Mutex<Vec<u8>>>);

impl Logs {
    /// Begins to listen, once.
    pub fn listen() -> Self {
        static LOGS: OnceLock<Logs> = OnceLock::new();
        let start = || {
            let logs = Self::default();
            let writer = logs.clone();
            server::telemetry::log_to(move || writer.clone(), "trace", "text");
            logs
        };
        LOGS.get_or_init(start).clone()
    }

    pub fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
