//! The report: what an account saw, some time later.

use super::*;

const REPORT: &str = "/v1/reporting/transactions";

const HOUR_MS: i64 = 3_600_000;

/// A time so far from now, as the questions carry it.
pub(super) fn at(ms: i64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    examplepay::iso(i64::try_from(now.as_millis()).unwrap() + ms)
}

/// A span around this moment.
fn span() -> String {
    format!("start_date={}&end_date={}", at(-24 * HOUR_MS), at(24 * HOUR_MS))
}

async fn rows(paypal: &PayPal, more: &str) -> Vec<Value> {
    let told = paypal.get(&format!("{REPORT}?{}{more}", span())).await;
    assert_eq!(told.status, 200, "{}", told.body);
    let details = told.json()["transaction_details"].as_array().unwrap().clone();
    details.into_iter().map(|it| it["transaction_info"].clone()).collect()
}

#[tokio::test]
async fn the_report_shows_what_came_and_what_went_back() {
    let paypal = PayPal::start().await;
    let first = paypal.captured("k1", "balance").await;
    let refund = paypal.refund(&first, "r1", Some("5.00")).await.json()["id"].clone();
    let second = paypal.captured("k2", "refund_fails").await;
    paypal.refund(&second, "r2", None).await;
    let third = paypal.captured("k3", "balance").await;
    let reversed = format!("/control/payments/{third}");
    paypal.world.control(&reversed, &json!({"status": "reversed"})).await;
    // What takes no money is no movement.
    paypal.approved("k4", "balance").await;
    until("the refund that comes back, and the last second", async || {
        let rows = rows(&paypal, "").await;
        rows.len() == 6 && rows[3]["transaction_status"] == "V"
    })
    .await;
    let rows = rows(&paypal, "&fields=transaction_info&page_size=500&page=1").await;
    let shown: Vec<_> = rows
        .iter()
        .map(|it| {
            assert_eq!(it["transaction_amount"]["currency_code"], "EUR");
            let text = |name: &str| it[name].as_str().unwrap_or_default().to_owned();
            let value = it["transaction_amount"]["value"].as_str().unwrap().to_owned();
            let code = text("transaction_event_code");
            (
                code,
                value,
                text("transaction_status"),
                text("custom_field"),
                text("paypal_reference_id"),
            )
        })
        .collect();
    let row = |code: &str, value: &str, status: &str, reference: &str, of: &str| {
        [code, value, status, reference, of].map(str::to_owned).into()
    };
    assert_eq!(
        shown,
        [
            row("T0006", "19.99", "S", "k1", ""),
            row("T1107", "-5.00", "S", "r1", &first),
            row("T0006", "19.99", "S", "k2", ""),
            row("T1107", "-19.99", "V", "r2", &second),
            row("T0006", "19.99", "S", "k3", ""),
            row("T1201", "-19.99", "S", "k3", &third),
        ]
    );
    assert_eq!((&rows[0]["transaction_id"], &rows[1]["transaction_id"]), (&json!(first), &refund));
    assert_ne!(rows[5]["transaction_id"], rows[4]["transaction_id"]);
    assert_eq!(rows[5]["paypal_reference_id_type"], "TXN");
    assert!(rows[0]["transaction_initiation_date"].as_str().unwrap().ends_with("+0000"));
}

#[tokio::test]
async fn the_report_comes_in_pages() {
    let paypal = PayPal::start().await;
    for number in 0..5 {
        paypal.captured(&format!("k{number}"), "balance").await;
    }
    until("the last second", async || rows(&paypal, "").await.len() == 5).await;
    let mut seen = Vec::new();
    for page in 1..=3 {
        let path = format!("{REPORT}?{}&page_size=2&page={page}", span());
        let told = paypal.get(&path).await.json();
        assert_eq!(
            (&told["total_items"], &told["total_pages"], &told["page"]),
            (&json!(5), &json!(3), &json!(page))
        );
        let details = told["transaction_details"].as_array().unwrap().clone();
        seen.extend(details.into_iter().map(|it| it["transaction_info"]["custom_field"].clone()));
    }
    assert_eq!(seen, ["k0", "k1", "k2", "k3", "k4"]);
    assert_eq!(rows(&paypal, "&page_size=2&page=4").await, Vec::<Value>::new());
}

#[tokio::test]
async fn the_report_is_as_late_as_it_is_set_to_be_and_says_so() {
    let world = World::with(|it| it.paypal_report_lag = Duration::from_secs(3600)).await;
    let paypal = PayPal::with(world).await;
    paypal.captured("k1", "balance").await;
    let told = paypal.get(&format!("{REPORT}?{}", span())).await.json();
    assert_eq!(told["transaction_details"], json!([]));
    assert_eq!(told["end_date"], told["last_refreshed_datetime"], "no further than that");
    let (half, soon) = (at(-HOUR_MS / 2), at(HOUR_MS));
    let early = paypal.get(&format!("{REPORT}?start_date={half}&end_date={soon}")).await;
    assert_eq!((early.status, &early.json()["name"]), (400, &json!("INVALID_REQUEST")));
    let told = paypal.world.control("/control/report", &json!({"lag_ms": 0})).await;
    assert_eq!(told["lag_ms"], 0);
    until("it is late no more", async || rows(&paypal, "").await.len() == 1).await;
}

#[tokio::test]
async fn what_is_asked_of_the_report_is_read_strictly() {
    let paypal = PayPal::start().await;
    let (start, end) = ("2024-01-01T00:00:00Z", "2024-01-31T00:00:00Z");
    for (query, problem_of) in [
        (String::new(), "MISSING_REQUIRED_PARAMETER"),
        (format!("start_date={start}"), "MISSING_REQUIRED_PARAMETER"),
        (format!("start_date=yesterday&end_date={end}"), "INVALID_PARAMETER_SYNTAX"),
        (format!("start_date={end}&end_date={start}"), "INVALID_PARAMETER_VALUE"),
        (format!("start_date={start}&end_date=2024-02-02T00:00:00Z"), "INVALID_PARAMETER_VALUE"),
        (format!("start_date={start}&end_date={end}&page_size=501"), "INVALID_PARAMETER_SYNTAX"),
        (format!("start_date={start}&end_date={end}&page=0"), "INVALID_PARAMETER_SYNTAX"),
        (format!("start_date={start}&end_date={end}&colour=red"), "NOT_SUPPORTED"),
    ] {
        let told = paypal.get(&format!("{REPORT}?{query}")).await;
        assert_eq!((told.status, problem(&told)), (400, problem_of.to_owned()), "{query}");
    }
    let told = paypal.get(&format!("{REPORT}?start_date={start}&end_date={end}")).await;
    assert_eq!((told.status, &told.json()["total_items"]), (200, &json!(0)));
    paypal.world.control("/control/lookups", &json!({"not_found_for_ms": 60_000})).await;
    let told = paypal.get(&format!("{REPORT}?start_date={start}&end_date={end}")).await;
    assert_eq!((told.status, &told.json()["transaction_details"]), (200, &json!([])));
    let request = paypal.world.client.get(paypal.url(REPORT)).bearer_auth("nobody");
    assert_eq!(told_of(request).await.status, 401);
}
