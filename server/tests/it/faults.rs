//! One list of faults through every adapter, and one table of what has to come of them.

mod list;
mod plays;
mod records;

use End::{Known, None as Nothing, Open, Person, Told};

use self::{
    list::{COLUMNS, FAULTS, lost_with},
    plays::play_all,
    records::RECORDS,
};

/// What has to come of a fault. Whatever it is, it is never a no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Done once, and at no moment was the outcome unknown.
    Known,
    /// Done once; the outcome was unknown until a lookup, a repeat or an event told it.
    Told,
    /// Nobody can be asked and no event tells: unknown until the deadline, and nothing is taken.
    Open,
    /// Nobody can be asked, and it may be there: a person's at once, and never sent again.
    Person,
    /// There is nothing to play: this request makes no event, or none that can say this; or it is
    /// never repeated, and never asked about.
    None,
}

#[tokio::test]
async fn every_fault_of_examplepays_payment_ends_as_the_table_says() {
    play_all("ExamplePay pays").await;
}

#[tokio::test]
async fn every_fault_of_a_stripe_intent_ends_as_the_table_says() {
    play_all("Stripe `create`").await;
}

#[tokio::test]
async fn every_fault_of_a_stripe_confirmation_ends_as_the_table_says() {
    play_all("Stripe `confirm`").await;
}

#[tokio::test]
async fn every_fault_of_a_paypal_order_ends_as_the_table_says() {
    play_all("PayPal `create`").await;
}

#[tokio::test]
async fn every_fault_of_a_paypal_capture_ends_as_the_table_says() {
    play_all("PayPal `capture`").await;
}

#[tokio::test]
async fn every_fault_of_examplepays_refund_ends_as_the_table_says() {
    play_all("ExamplePay refunds").await;
}

#[tokio::test]
async fn every_fault_of_a_stripe_refund_ends_as_the_table_says() {
    play_all("Stripe refunds").await;
}

#[tokio::test]
async fn every_fault_of_a_paypal_refund_ends_as_the_table_says() {
    play_all("PayPal refunds").await;
}

#[tokio::test]
async fn every_fault_of_an_invoice_ends_as_the_table_says() {
    play_all("an invoice").await;
}

#[tokio::test]
async fn every_fault_of_a_parcel_ends_as_the_table_says() {
    play_all("a parcel").await;
}

/// Both tables as the documentation shows them.
fn tables() -> String {
    let word = |end| match end {
        Known => "done",
        Told => "unknown, then done",
        Open => "unknown until the deadline; nothing taken",
        Person => "a person's",
        Nothing => "-",
    };
    let titles: Vec<&str> = COLUMNS.iter().map(|it| it.title).collect();
    let mut lines = vec![
        format!("| fault | {} |", titles.join(" | ")),
        format!("|---|{}", "---|".repeat(titles.len())),
    ];
    lines.extend(FAULTS.iter().map(|it| {
        let ends: Vec<&str> = it.ends().map(word).collect();
        format!("| {} | {} |", it.name, ends.join(" | "))
    }));
    lines.push(String::new());
    lines.push("| on record | becomes | charges | the page says | another attempt |".to_owned());
    lines.push("|---|---|---|---|---|".to_owned());
    lines.extend(RECORDS.iter().map(|it| {
        let review = it.review.map_or(String::new(), |why| format!(", `{why}`"));
        let again = if it.again { "yes" } else { "no" };
        let (state, effects, face) = (it.state, it.effects, it.face);
        format!("| {} | `{state}`{review} | {effects:?} | `{face}` | {again} |", it.name)
    }));
    lines.join("\n")
}

#[test]
fn the_documentation_shows_the_tables_that_are_played() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/providers.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once("<!-- faults -->\n").unwrap();
    let (shown, after) = rest.split_once("\n<!-- /faults -->").unwrap();
    if std::env::var_os("UPDATE_TABLE").is_some() {
        let page = format!("{before}<!-- faults -->\n{}\n<!-- /faults -->{after}", tables());
        return std::fs::write(path, page).unwrap();
    }
    println!("{}", tables());
    assert_eq!(shown, tables(), "UPDATE_TABLE=1 cargo test -p server --test it tables writes them");
}
