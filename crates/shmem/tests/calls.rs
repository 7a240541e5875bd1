//! The guide's table of calls has every family of the routine table, once, and no other.

use std::collections::BTreeSet;

use oxshmem_api::table::families;

#[test]
fn every_family_has_a_row_and_every_row_a_family() {
    let rows: Vec<(&str, &str)> = include_str!("../src/guide/calls.md")
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "))
        .map(|(c, rust)| (c, rust.trim_end_matches(" |")))
        .collect();
    let name = |prototype: &'static str| {
        let before = prototype.split_once('(').expect("a prototype has parameters").0;
        before.rsplit([' ', '*']).next().expect("and a name")
    };
    let families: BTreeSet<&str> = families().map(|family| name(family.prototype)).collect();
    let documented: BTreeSet<&str> = rows.iter().map(|(c, _)| *c).collect();
    assert_eq!(rows.len(), documented.len(), "a family has two rows");
    assert_eq!(documented, families);
    for (c, rust) in rows {
        assert!(!rust.is_empty() && rust != "none", "{c} has neither a Rust form nor a reason");
    }
}
