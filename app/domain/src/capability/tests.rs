use super::*;
use crate::operation::tests::fixtures::*;

#[test]
fn the_strategy_follows_from_what_is_declared() {
    let rows = [
        ("key + lookup", class_a()),
        ("unique reference + lookup", class_b()),
        ("key only", class_c()),
        ("nothing", class_d()),
        ("cancel by key only", class_e()),
        ("cancel by key + lookup", Capability { lookup: class_a().lookup, ..class_e() }),
        ("lookup only", Capability { unique_reference: false, ..class_b() }),
        ("unique reference only", Capability { lookup: None, ..class_b() }),
    ];
    let mut table = String::from(
        "| declared | class | look up | replay | cancel the unknown | review at once |\n\
         |---|---|---|---|---|---|\n",
    );
    for (label, capability) in rows {
        let it = strategy(&capability);
        let cells = [it.look_up, it.replay, it.cancel_unknown, it.review_at_once];
        let cells = cells.map(|yes| if yes { "yes" } else { "·" });
        table.push_str(&format!("| {label} | {:?} | {} |\n", it.class, cells.join(" | ")));
    }
    compare("capability/strategy.md", &table);
}

#[test]
fn one_step_without_a_key_leaves_the_operation_without_one() {
    let mut capability = Capability { lookup: None, ..two_steps() };
    capability.steps[1].idempotency = None;
    assert!(!strategy(&capability).replay);
}

#[test]
fn a_reference_helps_only_where_its_duplicate_can_be_looked_up() {
    let it = strategy(&Capability { lookup: None, ..class_b() });
    assert!(!it.replay && it.review_at_once);
}
