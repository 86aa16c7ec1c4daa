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
    }
}
