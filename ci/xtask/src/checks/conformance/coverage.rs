//! Which behaviour is shown by which case: the lists `behaviours.txt` beside the programs, joined with the results.

use std::collections::BTreeMap;
use std::fs;

use super::program::output_folder;
use super::{CaseResult, CaseSelection, CaseVerdict};
use crate::disk;

/// One line of a list: number, kind, title, reason.
struct Behaviour {
    item: String,
    must_be_tested: bool,
    title: String,
    reason: String,
}

/// Writes `target/conformance/coverage.md`; when everything was selected, a behaviour without a case is a failure.
pub(super) fn write(options: &CaseSelection, results: &[CaseResult]) -> Vec<CaseResult> {
    let mut shown: BTreeMap<&str, Vec<(&str, &CaseVerdict)>> = BTreeMap::new();
    for CaseResult { name, items, verdict } in results {
        for item in items {
            shown.entry(item).or_default().push((name, verdict));
        }
    }
    let mut failures = Vec::new();
    let mut page =
        String::from("| behaviour | title | cases | passed | failed | skipped |\n|---|---|---|---|---|---|\n");
    for behaviour in behaviours() {
        let rows = shown.remove(behaviour.item.as_str()).unwrap_or_default();
        if rows.is_empty() && behaviour.must_be_tested && options.selects_everything() {
            let why = format!("no case shows it ({})", behaviour.title);
            failures.push(CaseResult::failure(&behaviour.item, why));
        }
        page += &line(&behaviour, &rows);
    }
    for item in shown.keys().filter(|_| options.selects_everything()) {
        let why = "cases name it, and no list of behaviours has it".to_string();
        failures.push(CaseResult::failure(item, why));
    }
    if let Err(why) = disk::write(&output_folder().join("coverage.md"), &page) {
        failures.push(CaseResult::failure("coverage", why));
    }
    failures
}

fn line(behaviour: &Behaviour, rows: &[(&str, &CaseVerdict)]) -> String {
    let Behaviour { item, title, reason, .. } = behaviour;
    if rows.is_empty() {
        return format!("| {item} | {title} | {reason} | | | |\n");
    }
    let mut cases: Vec<&str> = rows.iter().map(|(name, _)| name.split(' ').next().unwrap_or(name)).collect();
    cases.dedup();
    let count = |wanted: fn(&CaseVerdict) -> bool| rows.iter().filter(|(_, verdict)| wanted(verdict)).count();
    let passed = count(|verdict| matches!(verdict, CaseVerdict::Passed));
    let failed = count(|verdict| matches!(verdict, CaseVerdict::Failed(_)));
    let skipped = count(|verdict| matches!(verdict, CaseVerdict::Skipped(_)));
    format!("| {item} | {title} | {} | {passed} | {failed} | {skipped} |\n", cases.join(" "))
}

fn behaviours() -> Vec<Behaviour> {
    let tests = crate::top().join("crates/shmem-c/tests");
    ["behaviours.txt", "teams/behaviours.txt"]
        .iter()
        .filter_map(|name| fs::read_to_string(tests.join(name)).ok())
        .flat_map(|text| text.lines().filter_map(behaviour).collect::<Vec<_>>())
        .collect()
}

fn behaviour(line: &str) -> Option<Behaviour> {
    if line.starts_with('#') {
        return None;
    }
    let mut columns = line.split('\t').map(str::to_string);
    Some(Behaviour {
        item: columns.next()?,
        must_be_tested: columns.next()? == "test",
        title: columns.next()?,
        reason: columns.next().unwrap_or_default(),
    })
}
