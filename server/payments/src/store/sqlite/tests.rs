use super::*;

#[test]
fn only_versions_without_the_wal_reset_defect_are_safe() {
    let rows = [
        ("3.51.2", false),
        ("3.51.3", true),
        ("3.52.0", true),
        ("4.0.0", true),
        ("3.40.1", false),
        ("", false),
    ];
    for (version, safe) in rows {
        assert_eq!(is_safe(version), safe, "{version}");
    }
}
