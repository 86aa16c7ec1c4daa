//! A mail in words: the status table's own, with the order's facts around them.
//!
//! Text and HTML say the same. A mail is rendered when it is handed over, in the order's language,
//! and only while what it tells is so; a receipt stays one, whatever became of its order since.

use domain::{mail::Fact, view::LineView};
use payments::Letter;

use super::{
    Lang, MAIL, from_code,
    money::money,
    products, provider, say,
    status::{Words, mailed},
    time::day,
};

/// The shop's name, as mails bear it.
pub const SENDER: &str = "Yuge";

/// A mail's words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mail {
    /// One line.
    pub subject: String,
    /// The plain part.
    pub text: String,
    /// The same with markup.
    pub html: String,
}

/// One row of the facts: its name and its value.
type Row = (String, String);

/// The words of a letter.
pub fn mail(letter: &Letter) -> Mail {
    let lang = from_code(&letter.language).unwrap_or(Lang::en);
    let words = mailed(lang, letter);
    let reference = letter.view.reference.clone();
    let heading = words.heading.trim_end_matches('.').to_owned();
    Mail {
        subject: say!(lang, mail.subject, reference = reference, heading = heading),
        text: plain(lang, letter, &words),
        html: html(lang, letter, &words),
    }
}

/// What was ordered, on a receipt only.
fn lines(letter: &Letter) -> &[LineView] {
    match &letter.view.owner {
        Some(owner) if letter.fact == Fact::Paid => &owner.lines,
        Some(_) | None => &[],
    }
}

fn facts(lang: Lang, letter: &Letter) -> Vec<Row> {
    let row = |name: &str, value: String| (name.to_owned(), value);
    let view = &letter.view;
    let mut rows = vec![row(say!(lang, status.label.reference), view.reference.clone())];
    let Some(owner) = &view.owner else { return rows };
    rows.push(row(say!(lang, status.label.placed), day(lang, owner.created_at)));
    let mut total: &str = say!(lang, mail.total);
    if letter.fact == Fact::Paid {
        let payment = &view.payment;
        rows.push(row(say!(lang, status.label.paid_at), day(lang, payment.since)));
        rows.push(row(say!(lang, status.label.paid_with), provider(&payment.provider)));
        if let Some(effect) = payment.effect.filter(|effect| *effect != owner.total) {
            rows.push(row(say!(lang, status.label.taken), money(lang, effect)));
        }
        total = say!(lang, shop.cart.total);
    }
    rows.push(row(total, money(lang, owner.total)));
    rows
}

/// A line of the order: how many of what, and what they cost.
fn line(lang: Lang, line: &LineView) -> Row {
    let name = products::name(lang, line.sku.as_str());
    (format!("{} × {name}", line.quantity), money(lang, line.total))
}

/// Paragraphs of a text without those that say nothing.
fn paragraphs(words: &Words) -> Vec<&str> {
    let all = [words.sentence.as_str(), words.next.as_str()];
    all.into_iter().filter(|text| !text.is_empty()).collect()
}

fn plain(lang: Lang, letter: &Letter, words: &Words) -> String {
    let mut parts = vec![say!(lang, mail.greeting).to_owned(), words.heading.clone()];
    parts.extend(paragraphs(words).into_iter().map(str::to_owned));
    let table = |rows: Vec<Row>| {
        let rows = rows.into_iter().map(|(name, value)| format!("{name}: {value}"));
        rows.collect::<Vec<_>>().join("\n")
    };
    let ordered: Vec<Row> = lines(letter).iter().map(|it| line(lang, it)).collect();
    if !ordered.is_empty() {
        parts.push(table(ordered));
    }
    parts.push(table(facts(lang, letter)));
    parts.push(format!("{}\n{}", say!(lang, mail.link), letter.link));
    let footer = say!(lang, mail.footer, address = MAIL);
    parts.push(format!("-- \n{SENDER}\n{footer}"));
    format!("{}\n", parts.join("\n\n"))
}

fn html(lang: Lang, letter: &Letter, words: &Words) -> String {
    let code = super::code(lang);
    let paragraph = |text: &str| format!("<p>{}</p>\n", escaped(text));
    let table = |rows: Vec<Row>| {
        let row = |(name, value): Row| {
            format!(
                "<tr><th align=\"left\">{}</th><td align=\"right\">{}</td></tr>\n",
                escaped(&name),
                escaped(&value)
            )
        };
        let rows: String = rows.into_iter().map(row).collect();
        format!("<table cellpadding=\"4\">\n<tbody>\n{rows}</tbody>\n</table>\n")
    };
    let mut body = paragraph(say!(lang, mail.greeting));
    body.push_str(&format!("<h1>{}</h1>\n", escaped(&words.heading)));
    body.extend(paragraphs(words).into_iter().map(paragraph));
    let ordered: Vec<Row> = lines(letter).iter().map(|it| line(lang, it)).collect();
    if !ordered.is_empty() {
        body.push_str(&table(ordered));
    }
    body.push_str(&table(facts(lang, letter)));
    let link = escaped(&letter.link);
    let about = escaped(say!(lang, mail.link));
    body.push_str(&format!("<p>{about}<br><a href=\"{link}\">{link}</a></p>\n<hr>\n"));
    let footer = say!(lang, mail.footer, address = MAIL);
    body.push_str(&format!("<p><small>{SENDER}<br>{}</small></p>\n", escaped(&footer)));
    let title = escaped(&words.heading);
    format!(
        "<!doctype html>\n<html lang=\"{code}\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )
}

/// Text within markup.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests;
