//! Notes about work that a program has left in the background, which the user takes for a part of the job.

use crate::verdict::counted;

/// The remedy.
const WAIT: &str = "let the program that oshrun starts wait for its work";

/// About processes that have ended with the job.
pub(super) fn ended_with_job(processes: usize) -> String {
    let what =
        if processes == 1 { "a process that a PE has".into() } else { format!("{processes} processes that PEs have") };
    format!("note: {what} left in the background ended with the job: {WAIT} (`wait` in a script, exec, no daemon)")
}

/// About processes that have left the groups of these PEs, and run on.
pub(super) fn runs_on(pes: usize) -> String {
    let pes = counted(pes);
    format!(
        "note: {pes} ended without shmem_init, and a process in a session of its own runs on: {WAIT} (`setsid -w`, no daemon)"
    )
}
