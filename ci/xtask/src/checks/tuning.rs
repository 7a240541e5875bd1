//! `oxshmem tune` between two virtual nodes, from its first job to a job that goes by its table.

use std::path::Path;
use std::process::Command;

use crate::checks::conformance::{self, CaseSelection};
use crate::counts::{CheckCounts, failed};
use crate::{Outcome, command, target};

/// Measures, and runs collectives by what came of it.
pub(crate) fn check(prefix: &Path) -> Outcome<CheckCounts> {
    let table = target().join("conformance/tuning.json");
    let mut tune = Command::new(prefix.join("bin/oxshmem"));
    let found = command::read(tune.args(["tune", "--output"]).arg(&table).args(["--", "--nodes", "2", "-n", "2"]))?;
    println!("{}", found.lines().last().unwrap_or_default());
    let mut explain = Command::new(prefix.join("bin/oxshmem"));
    explain.args(["explain", "--collective", "reduce-exact", "--pes", "2", "--tuning"]).arg(&table);
    let explained = command::read(&mut explain)?;
    // Where no schedule was clearly quicker, the table leaves the collective out.
    let names_it = std::fs::read_to_string(&table).is_ok_and(|text| text.contains("reduce-exact"));
    let goes_by_it = !names_it || explained.lines().any(|line| line.contains("own row") && line.contains("answers"));
    if !goes_by_it {
        failed!("the table that was measured is not used:\n{explained}");
    }
    let mut counts = CheckCounts::one(goes_by_it);
    counts += conformance::run(&CaseSelection::by_table(&table.display().to_string()));
    Ok(counts)
}
