//! The hosted page where a shopper confirms, or types a card. The only place that sees card numbers.

use std::sync::Arc;

use axum::{
    Form, Router,
    extract::{Path, State},
    http::{HeaderValue, StatusCode},
    response::{Html, IntoResponse, Redirect, Response},
    routing::get,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    Provider,
    faults::Hook,
    ledger::{self, Asked, record},
    money, now_ms, stripe, tokens,
    wire::Wire,
};

const STYLE: &str = "
:root{color-scheme:light dark;--ink:light-dark(#1c2330,#e8ecf4);--page:light-dark(#eef2f8,#11151d);
--card:light-dark(#fff,#1a202c);--line:light-dark(#b9c3d4,#4a5568);--accent:light-dark(#0b57a4,#8fc1ff);--on:light-dark(#fff,#0b1320)}
*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);font:1rem/1.5 system-ui,sans-serif}
main{max-width:26rem;margin:3rem auto;padding:1.5rem;background:var(--card);border:1px solid var(--line);border-radius:.75rem}
main.wide{max-width:80rem}h1{font-size:1.25rem;margin:0 0 1rem}dl{display:grid;grid-template-columns:auto 1fr;gap:.25rem 1rem;margin:0 0 1.5rem}
dd{margin:0;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}form{display:grid;gap:.75rem}label{display:grid;gap:.25rem}
input,button{font:inherit;padding:.7rem 1rem;border-radius:.5rem;border:1px solid var(--line);background:var(--card);color:var(--ink);min-width:0;width:100%}
button.main{background:var(--accent);color:var(--on);border-color:var(--accent);font-weight:600}a{color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}p.note{border-left:4px solid var(--accent);padding-left:.75rem}
.rows{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem}td,th{border-bottom:1px solid var(--line);padding:.3rem .6rem;text-align:left;white-space:nowrap}
@media(max-width:30rem){main{margin:0;border:0;border-radius:0;min-height:100vh}}";

/// The routes.
pub fn router(provider: Arc<Provider>) -> Router {
    Router::new()
        .route("/confirm/{id}", get(show).post(decide))
        .layer(axum::middleware::map_response(guarded))
        .with_state(provider)
}

/// Nobody frames or keeps these pages, and no script runs in them.
pub async fn guarded(mut answer: Response) -> Response {
    let policy =
        "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'";
    let headers = answer.headers_mut();
    headers.insert("content-security-policy", HeaderValue::from_static(policy));
    headers.insert("cache-control", HeaderValue::from_static("no-store"));
    headers.insert("referrer-policy", HeaderValue::from_static("no-referrer"));
    answer
}

/// A page around some content.
pub fn frame(title: &str, content: &str) -> String {
    let wide = if title.ends_with("control") { " class=\"wide\"" } else { "" };
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>{STYLE}</style></head>\
         <body><main{wide}><h1>{title}</h1>{content}</main></body></html>"
    )
}

/// Rows as a table.
pub fn table(title: &str, rows: &[Value]) -> String {
    let Some(Value::Object(first)) = rows.first() else {
        return format!("<h2>{title}</h2><p>None.</p>");
    };
    let head: String = first.keys().map(|name| format!("<th>{}</th>", escape(name))).collect();
    let cell = |value: &Value| match value {
        Value::String(text) => escape(text),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            escape(&value.to_string())
        }
    };
    let body: String = rows
        .iter()
        .map(|row| {
            let cells: String =
                first.keys().map(|name| format!("<td>{}</td>", cell(&row[name]))).collect();
            format!("<tr>{cells}</tr>")
        })
        .collect();
    format!(
        "<h2>{title}</h2><div class=\"rows\"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )
}

/// A text that means nothing in a page.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A payment as its page needs it.
struct Waiting {
    wire: Wire,
    secret: String,
    status: String,
    reference: String,
    amount: String,
    return_url: String,
    hosted: bool,
    expired: bool,
}

async fn find(provider: &Provider, id: &str) -> sqlx::Result<Option<Waiting>> {
    let mut db = provider.db.acquire().await?;
    let found = record::payment(&mut db, id).await?.filter(|it| it.wire != Wire::PayPal);
    Ok(found.map(|it| Waiting {
        wire: it.wire,
        secret: stripe::show::secret(&it),
        hosted: it.token == "tok_hosted_card",
        expired: it.action_expires_at.is_some_and(|at| now_ms() >= at),
        amount: amount(it.amount_minor, &it.currency),
        status: it.status,
        reference: it.reference,
        return_url: it.return_url,
    }))
}

fn amount(minor: i64, currency: &str) -> String {
    let digits = usize::try_from(money::decimals(currency)).unwrap_or(2);
    let text = format!("{minor:0width$}", width = digits + 1);
    let (whole, part) = text.split_at(text.len() - digits);
    if part.is_empty() {
        format!("{whole} {currency}")
    } else {
        format!("{whole}.{part} {currency}")
    }
}

async fn show(State(provider): State<Arc<Provider>>, Path(id): Path<String>) -> Response {
    match find(&provider, &id).await {
        Ok(Some(waiting)) => Html(page_of(&waiting, &id, None)).into_response(),
        Ok(None) => gone(),
        Err(reason) => broken(&reason),
    }
}

/// There is no such page.
pub fn gone() -> Response {
    let page = frame("No such payment", "<p>There is no payment under this address.</p>");
    (StatusCode::NOT_FOUND, Html(page)).into_response()
}

/// There is one, and it cannot be shown.
pub fn broken(reason: &sqlx::Error) -> Response {
    tracing::warn!(%reason, "the page could not be made");
    let page =
        frame("Not now", "<p>This page cannot be shown at the moment. Nothing was changed.</p>");
    (StatusCode::INTERNAL_SERVER_ERROR, Html(page)).into_response()
}

fn page_of(waiting: &Waiting, id: &str, note: Option<&str>) -> String {
    let back = match waiting.return_url.as_str() {
        "" => String::new(),
        url => format!("<p><a href=\"{}\">Cancel and return to the shop</a></p>", escape(url)),
    };
    if waiting.status != "requires_action" {
        let words = match waiting.status.as_str() {
            "succeeded" | "authorized" => "This payment is confirmed.",
            "declined" => "This payment was declined. No money was taken.",
            "canceled" => "This payment was canceled. No money was taken.",
            _ => "This payment is being processed.",
        };
        return frame(
            "ExamplePay",
            &format!("<p>{words}</p>{}", back.replace("Cancel and return", "Return")),
        );
    }
    if waiting.expired {
        return frame(
            "ExamplePay",
            &format!(
                "<p>The time to confirm this payment is over. No money was taken.</p>{}",
                back.replace("Cancel and return", "Return")
            ),
        );
    }
    let note =
        note.map_or(String::new(), |note| format!("<p class=\"note\" role=\"alert\">{note}</p>"));
    let facts = format!(
        "<dl><dt>Amount</dt><dd>{}</dd><dt>Reference</dt><dd>{}</dd></dl>",
        escape(&waiting.amount),
        escape(&waiting.reference)
    );
    let fields = if waiting.hosted {
        "<label>Card number<input name=\"number\" inputmode=\"numeric\" autocomplete=\"cc-number\" required></label>\
         <label>Expiry (MM/YY)<input name=\"expiry\" autocomplete=\"cc-exp\" required></label>\
         <label>Security code<input name=\"cvc\" inputmode=\"numeric\" autocomplete=\"cc-csc\" required></label>\
         <button class=\"main\" name=\"act\" value=\"pay\">Pay</button>"
    } else {
        "<button class=\"main\" name=\"act\" value=\"approve\">Approve</button>\
         <button name=\"act\" value=\"decline\" formnovalidate>Decline</button>"
    };
    let title = if waiting.hosted { "Pay with a card" } else { "Confirm your payment" };
    frame(
        title,
        &format!(
            "{note}{facts}<form method=\"post\" action=\"/confirm/{}\">{fields}</form>{back}",
            escape(id)
        ),
    )
}

#[derive(Deserialize)]
struct Decision {
    act: String,
    #[serde(default)]
    number: String,
}

async fn decide(
    State(provider): State<Arc<Provider>>,
    Path(id): Path<String>,
    Form(decision): Form<Decision>,
) -> Response {
    let waiting = match find(&provider, &id).await {
        Ok(Some(waiting)) => waiting,
        Ok(None) => return gone(),
        Err(reason) => return broken(&reason),
    };
    // A second click on the same button gets where the first one went.
    let same = matches!(
        (decision.act.as_str(), waiting.status.as_str()),
        ("approve" | "pay", "succeeded" | "authorized") | ("decline", "declined")
    );
    if same {
        return back(&waiting, &id, &waiting.status);
    }
    if waiting.status != "requires_action" || waiting.expired {
        return (StatusCode::CONFLICT, Html(page_of(&waiting, &id, None))).into_response();
    }
    let digits: String = decision.number.chars().filter(char::is_ascii_digit).collect();
    let status = match (waiting.hosted, decision.act.as_str(), digits.as_str()) {
        (false, "approve", _) | (true, "pay", "4242424242424242") => "succeeded",
        (false, "decline", _) => "declined",
        // A declined shopper may type another card here: the payment still waits.
        (true, "pay", "4000000000000002") => {
            return again(&waiting, &id, "This card was declined. Use another one.");
        }
        (true, "pay", "4000000000009995") => {
            return again(&waiting, &id, "This card has not enough money. Use another one.");
        }
        (true, "pay", _) if tokens::is_card_number(&digits) => {
            return again(&waiting, &id, "This is no test card. Use 4242 4242 4242 4242.");
        }
        _ => return again(&waiting, &id, "Check the card number."),
    };
    match turn(&provider, &id, status).await {
        Ok(true) => back(&waiting, &id, status),
        Ok(false) => match find(&provider, &id).await {
            Ok(Some(now)) => (StatusCode::CONFLICT, Html(page_of(&now, &id, None))).into_response(),
            Ok(None) => gone(),
            Err(reason) => broken(&reason),
        },
        Err(reason) => broken(&reason),
    }
}

/// Back to the shop, with what each wire tells it there.
fn back(waiting: &Waiting, id: &str, status: &str) -> Response {
    if waiting.return_url.is_empty() {
        return Html(frame("ExamplePay", "<p>That is all. This page can be closed.</p>"))
            .into_response();
    }
    let told = match waiting.wire {
        Wire::ExamplePay | Wire::PayPal => format!("payment={id}"),
        Wire::Stripe => {
            let confirmed = matches!(status, "succeeded" | "authorized");
            let how = if confirmed { "succeeded" } else { "failed" };
            let secret = &waiting.secret;
            format!(
                "payment_intent={id}&payment_intent_client_secret={secret}&redirect_status={how}"
            )
        }
    };
    let sep = if waiting.return_url.contains('?') { '&' } else { '?' };
    Redirect::to(&format!("{}{sep}{told}", waiting.return_url)).into_response()
}

fn again(waiting: &Waiting, id: &str, note: &str) -> Response {
    Html(page_of(waiting, id, Some(note))).into_response()
}

/// Moves a payment that still waits; false if somebody was faster.
async fn turn(provider: &Provider, id: &str, status: &str) -> sqlx::Result<bool> {
    let mut tx = provider.db.begin().await?;
    let waiting = record::payment(&mut tx, id).await?.filter(|it| it.status == "requires_action");
    let Some(waiting) = waiting else { return Ok(false) };
    let hook = Hook::default();
    let (key, request_id) = (&waiting.idempotency_key, &waiting.request_id);
    ledger::turn(
        provider,
        &mut tx,
        id,
        status,
        &Asked { key, request_id, hook: &hook, later: true },
    )
    .await?;
    tx.commit().await?;
    Ok(true)
}
