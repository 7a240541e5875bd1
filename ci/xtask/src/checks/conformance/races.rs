//! `cargo xtask conformance --race`: what the race detector says of programs that were not written for it.
//!
//! The programs look at what calls leave open, so a few of them have accesses that the standard promises nothing of. Each of those
//! is named here with its reason; a report on anything else is a false alarm, or a fault of the program. Builds that call the
//! profiling twins are left out: the detector stands where profilers do, and sees no `pshmem_` call.

use oxshmem_faults::FOUND;

use super::case::ConformanceCase;

/// Cases whose reports are right: the beginning of `program/CASE`, and the memory that each report names.
const EXPLAINED: &[(&str, &str)] = &[
    // PE 0 stores the next round while another one gets this one. The case accepts both.
    ("ordering/ORD_2_store", "`data`"),
    // A put is not atomic to the load of C that polls the word.
    ("ordering/ORD_3_asleep", "`quiet_done`"),
    // The next round writes while late PEs look. The values only grow, and the case asks for the least.
    ("ordering/ORD_8_arrival", "`arrived`"),
    // The same, where the call that must wait allocates.
    ("heap/HEAP_3", "`arrived`"),
    ("heap/HEAP_8_barriers", "`arrived`"),
    // The owner may store the next round while others get this one. The case accepts both.
    ("collectives/SYN_1", "`round_of_mine`"),
    // The case looks at words while they are put. That they come in one piece is its subject.
    ("rma/RMA_4", "`element`"),
];

/// Why this end of a job that was built with the detector is not what the case expects.
pub(super) fn judge(program: &str, case: &ConformanceCase, status: i32, output: &str) -> Result<(), String> {
    let reports: Vec<&str> = output.lines().filter(|line| is_report(line)).collect();
    if reports.is_empty() {
        return case.judge(status, output);
    }
    let name = format!("{program}/{}", case.name);
    let explained = EXPLAINED.iter().find(|(case, _)| name.starts_with(case));
    if let Some(report) = reports.iter().find(|report| !explained.is_some_and(|(_, memory)| report.contains(memory))) {
        return Err(format!("accused, and `races.rs` has no reason for it: {report}"));
    }
    case.judge(if status == FOUND { case.exit } else { status }, output)
}

fn is_report(line: &str) -> bool {
    ["data race on ", "only by the letter: "].iter().any(|kind| line.contains(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "oxshmem: PE 0 of 2: data race on `element` of PE 1 (1 byte)";

    #[test]
    fn a_report_needs_its_reason() {
        let case = ConformanceCase { name: "RMA_4".into(), ..ConformanceCase::default() };
        assert!(judge("rma", &case, FOUND, REPORT).is_ok());
        assert!(judge("amo", &case, FOUND, REPORT).is_err());
        assert!(judge("rma", &case, FOUND, "data race on `other` of PE 1").is_err());
        assert!(judge("rma", &case, FOUND, "").is_err());
        assert!(judge("rma", &case, 1, REPORT).is_err());
        assert!(judge("rma", &case, 0, "").is_ok());
    }
}
