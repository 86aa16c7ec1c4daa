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

#[test]
fn card_numbers_are_taken_out_of_texts() {
    let rows = [
        ("card[number]=4242424242424242&x=1", "card[number]=[card]&x=1"),
        ("a=4242-4242-4242-4242", "a=[card]"),
        (
            r#"{"at":1733155200000,"id":"pi_4242424242424242"}"#,
            r#"{"at":1733155200000,"id":"pi_4242424242424242"}"#,
        ),
        ("", ""),
    ];
    for (text, clean) in rows {
        assert_eq!(without_card_numbers(text), clean, "{text}");
    }
}
