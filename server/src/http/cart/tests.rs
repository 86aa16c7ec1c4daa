use super::*;

#[test]
fn a_way_back_leads_to_this_shop_only() {
    for good in ["/", "/cart", "/products/cups?from=%2F"] {
        assert!(is_inside(good), "{good}");
    }
    for bad in [
        "",
        "cart",
        "//evil.test",
        "/\\evil.test",
        "/\t/evil.test",
        "/\n/evil.test",
        "https://evil.test",
        "/\u{2028}",
    ] {
        assert!(!is_inside(bad), "{bad:?}");
    }
}
