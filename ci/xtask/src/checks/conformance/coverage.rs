//! Whether each behaviour of the lists `behaviours.txt` beside the programs is shown by a case.

use std::collections::BTreeSet;

use super::CaseResult;
use crate::disk;

/// A failure for each behaviour that no case of a full run shows, and for each that no list has.
pub(super) fn failures(results: &[CaseResult]) -> Vec<CaseResult> {
    let mut shown: BTreeSet<&str> = results.iter().flat_map(|result| &result.items).map(String::as_str).collect();
    let mut failures = Vec::new();
    for list in ["behaviours.txt", "teams/behaviours.txt"] {
        let text = match disk::read(&crate::top().join("crates/shmem-c/tests").join(list)) {
            Ok(text) => text,
            Err(why) => return vec![CaseResult::failure("coverage", why)],
        };
        // The columns: number, kind, title, reason.
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let [item, kind, title, ..] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
            if !shown.remove(item) && kind == "test" {
                failures.push(CaseResult::failure(item, format!("no case shows it ({title})")));
            }
        }
    }
    let unknown = |item| CaseResult::failure(item, "cases name it, and no list of behaviours has it".into());
    failures.extend(shown.into_iter().map(unknown));
    failures
}
