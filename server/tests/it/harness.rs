//! Starts the two processes, presses the shopper's buttons, and reads the three records.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader},
    net::TcpListener,
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        atomic::{AtomicU16, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use sqlx::{Row, SqlitePool, sqlite::SqliteConnectOptions};
use uuid::Uuid;

/// How long any condition is waited for.
pub const BOUND: Duration = Duration::from_secs(30);

/// A started process that dies with its owner.
pub struct Process {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Process {
    fn start(program: &PathBuf, environment: &[(String, String)], log: Stdio) -> Self {
        let mut child = Command::new(program)
            .envs(environment.iter().cloned())
            .stdout(Stdio::piped())
            .stderr(if std::env::var_os("SHOW_LOGS").is_some() { Stdio::inherit() } else { log })
            .spawn()
            .unwrap_or_else(|reason| {
                panic!(
                    "{} does not start ({reason}): run `cargo build -p examplepay -p server`",
                    program.display()
                )
            });
        let (sender, lines) = mpsc::channel();
        let stdout = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _gone = sender.send(line);
            }
        });
        Self { child, lines }
    }

    /// The address in the first line that contains `words`.
    fn address(&self, words: &str) -> String {
        let end = Instant::now() + BOUND;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line =
                self.lines.recv_timeout(left).unwrap_or_else(|_| panic!("no line says {words:?}"));
            if line.contains(words) {
                return line.split_whitespace().last().unwrap().to_owned();
            }
        }
    }

    /// SIGKILL: nothing is flushed, nobody is told.
    pub fn kill(&mut self) {
        let _gone = self.child.kill();
        let _status = self.child.wait();
    }

    /// Waits until it has ended by itself.
    pub fn ended(&mut self) -> bool {
        let end = Instant::now() + BOUND;
        while Instant::now() < end {
            if self.child.try_wait().unwrap().is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        false
    }

    /// Asks it to stop, as a service manager would.
    pub fn terminate(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What a test may change before the start.
#[derive(Clone)]
pub struct Options {
    /// Multiplies the shop's waits.
    pub scale: &'static str,
    /// Further settings of the shop.
    pub shop: Vec<(&'static str, String)>,
    /// Further settings of the provider.
    pub provider: Vec<(&'static str, String)>,
    /// Whether there are an invoicing and a shipping partner.
    pub partners: bool,
    /// Whether there is a fault lab.
    pub lab: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { scale: "0.02", shop: Vec::new(), provider: Vec::new(), partners: false, lab: false }
    }
}

/// A shop, a provider, and a shopper with a session.
pub struct World {
    folder: tempfile::TempDir,
    options: Options,
    port: u16,
    /// The shop's process.
    pub shop: Process,
    _provider: Process,
    doors: Doors,
    /// A shopper's browser: keeps cookies by hand, follows no redirects.
    pub http: reqwest::Client,
    cookie: std::sync::Mutex<Option<String>>,
    database: Option<SqlitePool>,
}

/// Where the provider's process listens.
#[derive(Clone, Default)]
struct Doors {
    own: String,
    control: String,
    stripe: String,
    paypal: String,
    partners: String,
}

/// A form the shopper sees, ready to be posted.
#[derive(Clone, Debug)]
pub struct Form {
    /// The checkout it pays.
    pub checkout: String,
    /// Its fields, the card apart.
    pub fields: Vec<(String, String)>,
}

impl Form {
    /// The same form with another value in one field.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        for (field, old) in &mut self.fields {
            if field == name {
                value.clone_into(old);
            }
        }
        self
    }
}

pub fn binary(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_payonce")).with_file_name(name)
}

/// A free port that no program is given by chance: below those that the system hands out.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = u16::try_from(std::process::id() % 100).unwrap() * 100;
    loop {
        let port = 20_000 + (start + NEXT.fetch_add(1, Ordering::Relaxed)) % 10_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

impl World {
    /// Starts both with the usual settings.
    pub async fn start() -> Self {
        Self::with(Options::default()).await
    }

    /// Starts both.
    pub async fn with(options: Options) -> Self {
        let _already = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let port = free_port();
        let mut environment = vec![
            ("EXAMPLEPAY_ADDR", "127.0.0.1:0".to_owned()),
            ("EXAMPLEPAY_CONTROL_ADDR", "127.0.0.1:0".to_owned()),
            ("EXAMPLEPAY_DB", folder.path().join("provider.db").display().to_string()),
            ("EXAMPLEPAY_WEBHOOK_URL", format!("http://127.0.0.1:{port}/webhooks/examplepay")),
            ("EXAMPLEPAY_STRIPE_WEBHOOK_URL", format!("http://127.0.0.1:{port}/webhooks/stripe")),
            ("EXAMPLEPAY_PAYPAL_WEBHOOK_URL", format!("http://127.0.0.1:{port}/webhooks/paypal")),
            ("EXAMPLEPAY_INVOICE_LAG_MS", "300".to_owned()),
            ("EXAMPLEPAY_WEBHOOK_DELAY_MS", "50".to_owned()),
            ("EXAMPLEPAY_PROCESSING_MS", "1500".to_owned()),
        ];
        environment.extend(options.provider.clone());
        let environment: Vec<_> = environment.into_iter().map(|(k, v)| (k.to_owned(), v)).collect();
        let provider = Process::start(&binary("examplepay"), &environment, Stdio::null());
        let mut doors = Doors::default();
        while doors.own.is_empty() {
            let line = provider.lines.recv_timeout(BOUND).expect("the provider says where it is");
            let address = line.split_whitespace().last().unwrap().to_owned();
            let door = match line.rsplit_once(' ').unwrap().0 {
                "ExamplePay control is ready at" => &mut doors.control,
                "ExamplePay is ready at" => &mut doors.own,
                "ExamplePay's Stripe door is open at" => &mut doors.stripe,
                "ExamplePay's PayPal door is open at" => &mut doors.paypal,
                "ExamplePay's partners are open at" => &mut doors.partners,
                other => panic!("{other}"),
            };
            *door = address;
        }
        let shop = Self::start_shop(&folder, &options, port, &doors, None);
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            // A restarted shop knows nothing of connections to the one before.
            .pool_max_idle_per_host(0)
            .timeout(Duration::from_secs(20))
            .build()
            .unwrap();
        let mut world = Self {
            folder,
            options,
            port,
            shop,
            _provider: provider,
            doors,
            http,
            cookie: std::sync::Mutex::default(),
            database: None,
        };
        world.database = Some(world.open_database().await);
        world
    }

    fn start_shop(
        folder: &tempfile::TempDir,
        options: &Options,
        port: u16,
        doors: &Doors,
        crash_at: Option<&str>,
    ) -> Process {
        let mut environment = vec![
            ("PAYONCE_ADDR".to_owned(), format!("127.0.0.1:{port}")),
            ("PAYONCE_DATABASE".to_owned(), folder.path().join("shop.db").display().to_string()),
            ("PAYONCE_EXAMPLEPAY_URL".to_owned(), doors.own.clone()),
            ("PAYONCE_STRIPE_URL".to_owned(), doors.stripe.clone()),
            ("PAYONCE_STRIPE_API_KEY".to_owned(), "sk_test_payonce_stripe".to_owned()),
            ("PAYONCE_STRIPE_WEBHOOK_SECRET".to_owned(), "whsec_payonce_stripe".to_owned()),
            ("PAYONCE_EXAMPLEPAY_API_KEY".to_owned(), "sk_test_payonce".to_owned()),
            ("PAYONCE_EXAMPLEPAY_WEBHOOK_SECRET".to_owned(), "whsec_payonce".to_owned()),
            ("PAYONCE_EXAMPLEPAY_ACCOUNT".to_owned(), "acct_payonce".to_owned()),
            ("PAYONCE_TIME_SCALE".to_owned(), options.scale.to_owned()),
            ("PAYONCE_SITE_ROOT".to_owned(), folder.path().display().to_string()),
            (
                "PAYONCE_CLOCK_OFFSET_FILE".to_owned(),
                folder.path().join("clock").display().to_string(),
            ),
            ("PAYONCE_PAY_RATE_PER_MINUTE".to_owned(), "6000".to_owned()),
            ("PAYONCE_MAIL_FOLDER".to_owned(), folder.path().join("mail").display().to_string()),
        ];
        if !doors.paypal.is_empty() {
            let root = concat!(env!("CARGO_MANIFEST_DIR"), "/examplepay/certs/ca.pem");
            environment.extend([
                ("PAYONCE_PAYPAL_URL".to_owned(), doors.paypal.clone()),
                ("PAYONCE_PAYPAL_CLIENT_ID".to_owned(), "payonce".to_owned()),
                ("PAYONCE_PAYPAL_CLIENT_SECRET".to_owned(), "payonce_secret".to_owned()),
                ("PAYONCE_PAYPAL_WEBHOOK_ID".to_owned(), "WH-PAYONCE".to_owned()),
                ("PAYONCE_PAYPAL_SIMULATOR_ROOT".to_owned(), root.to_owned()),
            ]);
        }
        if options.partners {
            environment.extend([
                ("PAYONCE_INVOICING_URL".to_owned(), doors.partners.clone()),
                ("PAYONCE_SHIPPING_URL".to_owned(), doors.partners.clone()),
                ("PAYONCE_PARTNERS_API_KEY".to_owned(), "key_partners".to_owned()),
            ]);
        }
        if options.lab {
            environment.push(("PAYONCE_LAB_CONTROL_URL".to_owned(), doors.control.clone()));
        }
        environment.extend(options.shop.iter().map(|(k, v)| ((*k).to_owned(), v.clone())));
        environment.extend(crash_at.map(|at| ("PAYONCE_CRASH_AT".to_owned(), at.to_owned())));
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(folder.path().join("shop.log"))
            .unwrap();
        let shop = Process::start(&binary("payonce"), &environment, log.into());
        shop.address("Payonce is ready at");
        shop
    }

    /// Starts the shop again on the same port and database.
    pub fn restart(&mut self, crash_at: Option<&str>) {
        self.shop.kill();
        self.shop = Self::start_shop(&self.folder, &self.options, self.port, &self.doors, crash_at);
    }

    /// Kills the shop, changes a setting, and starts it again.
    pub fn restart_with(&mut self, name: &'static str, value: &str) {
        self.restart_with_all(&[(name, value)]);
    }

    /// The same with several settings at once.
    pub fn restart_with_all(&mut self, settings: &[(&'static str, &str)]) {
        let settings = settings.iter().map(|(name, value)| (*name, (*value).to_owned()));
        self.options.shop.extend(settings);
        self.restart(None);
    }

    /// The address of the provider's PayPal door.
    pub fn paypal_door(&self) -> &str {
        &self.doors.paypal
    }

    /// The file of the shop's database.
    pub fn database_file(&self) -> PathBuf {
        self.folder.path().join("shop.db")
    }

    /// The address of the partners' door.
    pub fn partners_door(&self) -> &str {
        &self.doors.partners
    }

    /// Sets the shop's clock this many seconds off, at once.
    pub fn set_clock(&self, seconds: i64) {
        std::fs::write(self.folder.path().join("clock"), (seconds * 1000).to_string()).unwrap();
    }

    /// Everything that the shop's processes of this world logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("shop.log")).unwrap()
    }

    /// The mails that became files: their names and texts, by name.
    pub fn mails(&self) -> Vec<(String, String)> {
        let Ok(folder) = std::fs::read_dir(self.folder.path().join("mail")) else {
            return Vec::new();
        };
        let paths = folder.map(|it| it.unwrap().path());
        let mails = paths.filter(|it| it.extension().is_some_and(|it| it == "eml"));
        let mut mails: Vec<_> = mails
            .map(|it| {
                let name = it.file_name().unwrap().to_string_lossy().into_owned();
                (name, std::fs::read_to_string(it).unwrap())
            })
            .collect();
        mails.sort();
        mails
    }

    async fn open_database(&self) -> SqlitePool {
        let options = SqliteConnectOptions::new()
            .filename(self.folder.path().join("shop.db"))
            .read_only(true)
            .busy_timeout(Duration::from_secs(10));
        SqlitePool::connect_with(options).await.unwrap()
    }

    /// The shop's address.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// A request of the shopper's browser.
    pub fn request(&self, method: reqwest::Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, self.url(path));
        match &*self.cookie.lock().unwrap() {
            Some(cookie) => request.header("Cookie", cookie),
            None => request,
        }
    }

    /// Sends, keeps the session, and gives status, location and body.
    pub async fn send(&self, request: reqwest::RequestBuilder) -> (u16, String, String) {
        let answer = request.send().await.expect("the shop answers");
        if let Some(cookie) = answer.headers().get("set-cookie") {
            let pair = cookie.to_str().unwrap().split(';').next().unwrap().to_owned();
            if pair.contains("session") {
                *self.cookie.lock().unwrap() = Some(pair);
            }
        }
        let location = answer.headers().get("location");
        let location = location.map_or(String::new(), |it| it.to_str().unwrap().to_owned());
        let status = answer.status().as_u16();
        (status, location, answer.text().await.unwrap_or_default())
    }

    /// Somebody else's browser.
    pub fn forget_session(&self) -> Option<String> {
        self.cookie.lock().unwrap().take()
    }

    /// Back to this browser's session.
    pub fn remember_session(&self, session: Option<String>) {
        *self.cookie.lock().unwrap() = session;
    }

    /// Puts things into the cart.
    pub async fn add(&self, sku: &str, quantity: u32) {
        let form =
            [("sku", sku.to_owned()), ("quantity", quantity.to_string()), ("add", "1".to_owned())];
        let (status, _, body) =
            self.send(self.request(reqwest::Method::POST, "/cart/lines").form(&form)).await;
        assert_eq!(status, 303, "{body}");
    }

    /// The payment form of the cart.
    pub async fn form(&self) -> Form {
        let (status, _, html) = self.send(self.request(reqwest::Method::GET, "/checkout")).await;
        assert_eq!(status, 200, "{html}");
        read_form(&html).unwrap_or_else(|| panic!("no payment form in {html}"))
    }

    /// The payment form of the next attempt on a status page; `None` where there is none.
    pub async fn next_form(&self, checkout: &str) -> Option<Form> {
        self.form_on(&format!("/checkout/{checkout}")).await
    }

    /// The payment form on a page; `None` where there is none.
    pub async fn form_on(&self, path: &str) -> Option<Form> {
        let (status, _, html) = self.send(self.request(reqwest::Method::GET, path)).await;
        assert_eq!(status, 200, "{html}");
        read_form(&html)
    }

    /// Presses Pay.
    pub async fn post(&self, form: &Form, token: &str) -> (u16, String, String) {
        let mut fields = form.fields.clone();
        fields.push(("payment_token".to_owned(), token.to_owned()));
        let path = format!("/checkout/{}/pay", form.checkout);
        self.send(self.request(reqwest::Method::POST, &path).form(&fields)).await
    }

    /// Buys one set of cups with a card and an address; gives the checkout id.
    pub async fn buy_with_mail(&self, token: &str, email: &str) -> String {
        self.add("cups", 1).await;
        let mut form = self.form().await;
        form.fields.push(("email".to_owned(), email.to_owned()));
        let (status, _, body) = self.post(&form, token).await;
        assert_eq!(status, 303, "{body}");
        form.checkout
    }

    /// Buys one set of cups with a card; gives the checkout id.
    pub async fn buy(&self, token: &str) -> String {
        self.add("cups", 1).await;
        let form = self.form().await;
        let (status, location, body) = self.post(&form, token).await;
        assert_eq!(status, 303, "{body}");
        assert_eq!(location, format!("/checkout/{}", form.checkout));
        form.checkout
    }

    /// Installs a fault script at the provider.
    pub async fn fault(&self, operation: &str, steps: Value) {
        self.fault_then(operation, steps, "normal").await;
    }

    /// Installs a fault script, and says what comes after its last step.
    pub async fn fault_then(&self, operation: &str, steps: Value, after: &str) {
        let script =
            json!({"match": {"operation": operation}, "steps": steps, "after_steps": after});
        self.control("/control/faults", &script).await;
    }

    /// Tells the provider's control API something.
    pub async fn control(&self, path: &str, body: &Value) -> Value {
        let answer = self
            .http
            .post(format!("{}{path}", self.doors.control))
            .json(body)
            .send()
            .await
            .unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    /// Asks the provider's control API something.
    pub async fn ask(&self, path: &str) -> Value {
        let answer = self.http.get(format!("{}{path}", self.doors.control)).send().await.unwrap();
        serde_json::from_str(&answer.text().await.unwrap()).unwrap()
    }

    /// The provider's effects for one checkout: (kind, amount).
    pub async fn effects(&self, checkout: &str) -> Vec<(String, i64)> {
        let reference = self.reference(checkout).await;
        let ledger = self.ask(&format!("/control/ledger?reference_prefix={reference}")).await;
        ledger["effects"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| {
                (it["kind"].as_str().unwrap().to_owned(), it["amount_minor"].as_i64().unwrap())
            })
            .collect()
    }

    /// The shopper goes to PayPal's page and approves, with what the page offers.
    pub async fn approve_at_paypal(&self, checkout: &str, funding: &str) {
        let mut order = None;
        let find =
            "select provider_operation_id from operations join orders on orders.id = order_id
             where checkout_id = ? and kind = 'payment' and operations.state = 'requires_action'";
        let end = Instant::now() + BOUND;
        while order.is_none() {
            assert!(Instant::now() < end, "nobody asks to approve; {}", self.told().await);
            order = sqlx::query_scalar::<_, String>(find)
                .bind(checkout)
                .fetch_optional(self.database())
                .await
                .unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let order = order.unwrap();
        let form = [("token", order.as_str()), ("act", "approve"), ("funding", funding)];
        let url = format!("{}/checkoutnow", self.doors.paypal);
        let answer = self.http.post(url).form(&form).send().await.unwrap();
        assert_eq!(answer.status(), 303, "{}", answer.text().await.unwrap());
    }

    /// Somebody pays at the provider with our key, and no order of ours asked for it.
    pub async fn pay_behind_our_back(&self, card: &str) {
        self.pay_with_reference(card, &Uuid::new_v4().to_string()).await;
    }

    /// The same under a given reference.
    pub async fn pay_with_reference(&self, card: &str, reference: &str) {
        let key = Uuid::new_v4().to_string();
        let request = match card.strip_prefix("stripe:") {
            Some(card) => {
                let url = format!("{}/v1/payment_intents", self.doors.stripe);
                self.http.post(url).bearer_auth("sk_test_payonce_stripe").form(&[
                    ("amount", "777"),
                    ("currency", "eur"),
                    ("confirm", "true"),
                    ("payment_method", card),
                    ("payment_method_types[0]", "card"),
                    ("metadata[reference]", reference),
                ])
            }
            None => {
                let url = format!("{}/v1/payments", self.doors.own);
                let body = json!({
                    "reference": reference, "amount_minor": 777, "currency": "EUR",
                    "payment_token": card, "return_url": "http://127.0.0.1/",
                });
                self.http.post(url).bearer_auth("sk_test_payonce").json(&body)
            }
        };
        let answer = request.header("Idempotency-Key", key).send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{text}");
    }

    /// The requests with a body that the provider received for one checkout.
    pub async fn sends(&self, checkout: &str) -> Vec<Value> {
        let all = self.ask("/control/requests").await;
        let keyed = all["requests"].as_array().unwrap().iter().filter(|it| {
            it["method"] == "POST" && it["key"].as_str().is_some_and(|key| key.contains(checkout))
        });
        keyed.cloned().collect()
    }

    /// All requests that the provider received, lookups too.
    pub async fn requests(&self) -> Vec<Value> {
        self.ask("/control/requests").await["requests"].as_array().unwrap().clone()
    }

    /// The shop's database, read only.
    pub fn database(&self) -> &SqlitePool {
        self.database.as_ref().unwrap()
    }

    /// One number from the shop's database.
    pub async fn number(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(self.database()).await.unwrap()
    }

    /// The order's number for people.
    pub async fn reference(&self, checkout: &str) -> String {
        sqlx::query_scalar("select reference from orders where checkout_id = ?")
            .bind(checkout)
            .fetch_one(self.database())
            .await
            .unwrap()
    }

    /// The order's state.
    pub async fn order_state(&self, checkout: &str) -> String {
        sqlx::query_scalar("select state from orders where checkout_id = ?")
            .bind(checkout)
            .fetch_optional(self.database())
            .await
            .unwrap()
            .unwrap_or_default()
    }

    /// The states of an order's operations of one kind, by attempt.
    pub async fn states(&self, checkout: &str, kind: &str) -> Vec<String> {
        let rows = sqlx::query(
            "select operations.state from operations join orders on orders.id = order_id
             where checkout_id = ? and kind = ? order by attempt",
        )
        .bind(checkout)
        .bind(kind)
        .fetch_all(self.database())
        .await
        .unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// The state of the newest payment.
    pub async fn state(&self, checkout: &str) -> String {
        self.states(checkout, "payment").await.pop().unwrap_or_default()
    }

    /// Every state the payments of an order went through.
    pub async fn history(&self, checkout: &str) -> Vec<String> {
        let rows = sqlx::query(
            "select to_state from transitions join orders on orders.id = order_id
             where checkout_id = ? order by order_sequence",
        )
        .bind(checkout)
        .fetch_all(self.database())
        .await
        .unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// Waits until the newest payment is in one of these states.
    pub async fn until(&self, checkout: &str, states: &[&str]) -> String {
        let mut last = String::new();
        let end = Instant::now() + BOUND;
        while Instant::now() < end {
            last = self.state(checkout).await;
            if states.contains(&last.as_str()) {
                return last;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{checkout} is {last}, not {states:?}; history {:?}", self.history(checkout).await);
    }

    /// Waits until the newest payment has succeeded; tells what happened meanwhile if it does not.
    pub async fn until_paid_or(&self, checkout: &str, what: &str) {
        let paid = async || self.state(checkout).await == "succeeded";
        self.until_that(&format!("{what}: it is paid"), paid).await;
    }

    /// Waits until something holds.
    pub async fn until_that(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let end = Instant::now() + BOUND;
        while Instant::now() < end {
            if holds().await {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("within {BOUND:?} it did not come to this: {what}; {}", self.told().await);
    }

    /// Where every operation stands, and what was asked for it: for whoever reads a failed test.
    async fn told(&self) -> String {
        let rows: Vec<(String, String, i64, i64, Option<i64>, String)> = sqlx::query_as(
            "select kind, operations.state, lookups, replays, next_action_at,
                 coalesce((select group_concat(coalesce(step, 'lookup') || '=' || coalesce(verdict, '?'), ' ')
                     from attempts where operation_id = operations.id), '')
             from operations order by created_at",
        )
        .fetch_all(self.database())
        .await
        .unwrap();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        format!("at {}: {rows:#?}", now.as_millis())
    }

    /// Waits until all news that the provider has made was delivered.
    pub async fn until_all_is_told(&self) {
        let all = async || {
            let told = self.ask("/control/events").await;
            let rows = told["events"].as_array().unwrap();
            rows.iter().all(|it| it["due_at"].is_null() || !it["done_at"].is_null())
        };
        self.until_that("all news is delivered", all).await;
    }

    /// Waits until a condition on the database holds.
    pub async fn until_number(&self, sql: &'static str, wanted: i64) {
        let mut last = i64::MIN;
        let end = Instant::now() + BOUND;
        while Instant::now() < end {
            last = self.number(sql).await;
            if last == wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{sql} gives {last}, not {wanted}");
    }

    /// Waits until the provider has received so many mutating requests of a checkout.
    pub async fn until_sends(&self, checkout: &str, wanted: usize) {
        let end = Instant::now() + BOUND;
        while Instant::now() < end {
            if self.sends(checkout).await.len() >= wanted {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the provider did not receive {wanted} requests");
    }

    /// The status a poll would get.
    pub async fn status(&self, checkout: &str) -> Value {
        let path = format!("/checkout/{checkout}/status");
        let (status, _, body) = self.send(self.request(reqwest::Method::GET, &path)).await;
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// The three records agree: state, effects, keys, bytes, write-ahead, history, goods.
    pub async fn agree(&self, checkout: &str, state: &str, charges: usize) {
        assert_eq!(self.until(checkout, &[state]).await, state);
        let effects = self.effects(checkout).await;
        let charged = effects.iter().filter(|(kind, _)| kind == "charge").count();
        assert_eq!(charged, charges, "effects at the provider: {effects:?}");
        self.check_keys(checkout).await;
        self.check_history(checkout).await;
        let oversold =
            self.number("select count(*) from stock where reserved + sold > on_hand").await;
        assert_eq!(oversold, 0);
    }

    /// Every key was sent with equal bytes, and after a committed attempt row.
    async fn check_keys(&self, checkout: &str) {
        let mut bodies: HashMap<String, String> = HashMap::new();
        let sends = self.sends(checkout).await;
        for send in &sends {
            let key = send["key"].as_str().unwrap().to_owned();
            let body = send["body_sha256"].as_str().unwrap_or_default().to_owned();
            let first = bodies.entry(key.clone()).or_insert_with(|| body.clone());
            assert_eq!(*first, body, "the bytes of {key} changed");
        }
        let rows: i64 = sqlx::query_scalar(
            "select count(*) from attempts join operations on operations.id = operation_id
             join orders on orders.id = order_id where checkout_id = ? and step is not null
             and kind = 'payment'",
        )
        .bind(checkout)
        .fetch_one(self.database())
        .await
        .unwrap();
        assert!(
            sends.len() <= usize::try_from(rows).unwrap(),
            "{} sends, {rows} attempt rows",
            sends.len()
        );
    }

    /// The history is a chain without gaps, and each of its rows has a cause.
    async fn check_history(&self, checkout: &str) {
        let rows = sqlx::query(
            "select operation_id, from_state, to_state, evidence, source, order_sequence
             from transitions join orders on orders.id = order_id
             where checkout_id = ? order by order_sequence",
        )
        .bind(checkout)
        .fetch_all(self.database())
        .await
        .unwrap();
        let mut states: HashMap<String, String> = HashMap::new();
        for row in rows {
            let (id, from): (String, Option<String>) = (row.get(0), row.get(1));
            if let Some(known) = states.get(&id) {
                assert_eq!(Some(known.clone()), from, "a gap in the history");
            }
            states.insert(id, row.get(2));
            let (evidence, source): (String, String) = (row.get(3), row.get(4));
            assert!(!evidence.is_empty() && !source.is_empty());
        }
    }
}

/// The payment form in a page: the one with a pay control.
fn read_form(html: &str) -> Option<Form> {
    let mut rest = html;
    while let Some(start) = rest.find("<form") {
        let end = rest[start..].find("</form>")? + start;
        let form = &rest[start..end];
        let action = attribute(form.split('>').next()?, "action").unwrap_or_default();
        if let Some(checkout) =
            action.strip_prefix("/checkout/").and_then(|it| it.strip_suffix("/pay"))
        {
            let inputs = form.split("<input").skip(1).filter_map(|input| {
                let tag = input.split('>').next()?;
                let hidden = attribute(tag, "type")? == "hidden";
                hidden.then(|| Some((attribute(tag, "name")?, attribute(tag, "value")?)))?
            });
            return Some(Form { checkout: checkout.to_owned(), fields: inputs.collect() });
        }
        rest = &rest[end..];
    }
    None
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let start = tag.find(&format!(" {name}=\""))? + name.len() + 3;
    let end = tag[start..].find('"')? + start;
    Some(tag[start..end].to_owned())
}
