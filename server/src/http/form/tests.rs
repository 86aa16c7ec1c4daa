use super::*;
use axum::http::HeaderValue;

fn read(body: &str) -> Result<Form, Refusal> {
    let mut headers = HeaderMap::new();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/x-www-form-urlencoded"),
    );
    Form::read(&headers, &Bytes::copy_from_slice(body.as_bytes()), &["quantity", "sku"])
}

#[test]
fn quantities_are_plain_whole_numbers() {
    for bad in ["-1", "1.5", "1e3", "+1", "01", "", "9223372036854775808", "%00", "one", "1%20"] {
        let form = read(&format!("quantity={bad}"));
        let value = form.and_then(|form| form.value::<u32>("quantity", "a whole number"));
        assert_eq!(value.map_err(|it| it.0), Err(StatusCode::BAD_REQUEST), "{bad}");
    }
    assert_eq!(read("quantity=0").unwrap().value::<u32>("quantity", "a number"), Ok(0));
    assert_eq!(read("quantity=20").unwrap().value::<u32>("quantity", "a number"), Ok(20));
}

#[test]
fn unknown_doubled_long_and_card_like_values_are_refused() {
    let long = format!("sku={}", "a".repeat(10_000));
    for bad in [
        "price=1",
        "sku=a&sku=b",
        "sku=a%00b",
        "sku=%ff",
        "sku=4242424242424242",
        "sku=4242+4242+4242+4242",
        "sku=4242-4242-4242-4242",
        "sku=card:+4242424242424242,+12/29",
        "sku=42424242424242421234",
        "4242424242424242=1",
        &long,
    ] {
        assert_eq!(read(bad).map_err(|it| it.0).map(|_| ()), Err(StatusCode::BAD_REQUEST), "{bad}");
    }
    let said = format!("{:?}", read("sku=4242424242424242"));
    assert!(!said.contains("4242"), "a refusal does not repeat the number");
}

#[test]
fn ids_amounts_and_cards_of_the_provider_are_no_card_numbers() {
    for good in [
        "12345678-1234-4234-8234-123456789010",
        "/checkout/12345678-1234-4234-8234-123456789010?x",
        "tok_visa",
        "1999",
        "4242424242424241",
    ] {
        assert!(!has_card_number(good), "{good}");
    }
}

#[test]
fn other_content_types_are_refused() {
    for kind in ["text/plain", "multipart/form-data; boundary=x", "application/json"] {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        let refused = Form::read(&headers, &Bytes::from_static(b"sku=a"), &["sku"]);
        assert_eq!(
            refused.map_err(|it| it.0).map(|_| ()),
            Err(StatusCode::UNSUPPORTED_MEDIA_TYPE),
            "{kind}"
        );
    }
}
