use super::*;

#[test]
fn card_numbers_are_told_from_tokens() {
    let rows = [
        ("4242424242424242", true),
        ("4242 4242 4242 4242", true),
        ("4242424242424241", false),
        ("tok_visa", false),
        ("424242", false),
        ("", false),
    ];
    for (text, number) in rows {
        assert_eq!(is_card_number(text), number, "{text}");
    }
}
