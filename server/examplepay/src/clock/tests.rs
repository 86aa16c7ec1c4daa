use super::*;

#[test]
fn times_are_written_as_everybody_writes_them() {
    let rows = [
        (0, "1970-01-01T00:00:00Z"),
        (951_782_399_999, "2000-02-28T23:59:59Z"),
        (951_782_400_000, "2000-02-29T00:00:00Z"),
        (1_709_251_199_000, "2024-02-29T23:59:59Z"),
        (1_735_689_600_000, "2025-01-01T00:00:00Z"),
    ];
    for (ms, text) in rows {
        assert_eq!(iso(ms), text);
        assert_eq!(read(text), Some(ms / 1000 * 1000));
    }
}

#[test]
fn times_are_read_with_fractions_and_offsets_and_nothing_else_is_one() {
    for text in [
        "2024-02-29T23:59:59.250Z",
        "2024-02-29T23:59:59.25+00:00",
        "2024-02-29T16:59:59.2509-07:00",
        "2024-03-01T05:29:59.250+05:30",
    ] {
        assert_eq!(read(text), Some(1_709_251_199_250), "{text}");
    }
    for odd in [
        "",
        "2024-02-29",
        "2024-02-29T23:59:59",
        "2024-02-29 23:59:59Z",
        "2024-13-29T23:59:59Z",
        "2024-02-29T23:59:59+0000",
        "2024-02-29T23:59:59.Z",
        "2024-02-29T23:59:59Zé",
        "+024-02-29T23:59:59Z",
    ] {
        assert_eq!(read(odd), None, "{odd}");
    }
}
