//! How a job ended: the exit status and the sentence about it.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

/// Status after `--timeout`, as timeout(1) has it.
pub(crate) const TIMED_OUT: i32 = 124;

/// The shell's number for the way a process ended.
pub(crate) fn code(status: ExitStatus) -> i32 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => 1,
    }
}

/// `was killed by SIGSEGV` or `exited with status 3`; `shortage` is why the kernel probably did it for memory.
pub(crate) fn manner(status: ExitStatus, shortage: Option<String>) -> String {
    match (status.signal(), shortage) {
        (Some(signal), Some(why)) => format!("was killed by {}, probably out of memory: {why}", name(signal)),
        (Some(signal), None) if status.core_dumped() => format!("was killed by {} (core dumped)", name(signal)),
        (Some(libc::SIGXFSZ), None) => {
            "was killed by SIGXFSZ: a file outgrew the limit (ulimit -f), which also holds for the memory that PEs share"
                .into()
        }
        (Some(signal), None) => format!("was killed by {}", name(signal)),
        (None, _) => format!("exited with status {}", code(status)),
    }
}

/// The level of `SHMEM_CHECK`: 1 where nothing is set; what is no number ends the job before it can crash.
pub(crate) fn check_level(level: Option<&OsStr>) -> u32 {
    level.and_then(|level| level.to_str()?.trim().parse().ok()).unwrap_or(1)
}

/// The level of `SHMEM_CHECK` that finds destroyed handles, transfers beyond a block, and stores around blocks.
const THOROUGH: u32 = 3;

/// Facts about a job of which a PE has crashed.
#[derive(Clone, Copy)]
pub(crate) struct CrashedJob<'a> {
    /// Whether the PE had joined the job.
    pub(crate) in_job: bool,
    /// The level at which calls are checked.
    pub(crate) level: u32,
    /// Whether a program of the job is written in Fortran.
    pub(crate) fortran: bool,
    /// Functions of the C library whose names a program of the job has taken.
    pub(crate) taken: &'a [&'static str],
}

/// The signals that tell of a crash.
const CRASHES: [i32; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];

/// Advice after a PE has crashed.
pub(crate) fn advice(status: ExitStatus, job: CrashedJob<'_>) -> String {
    let CrashedJob { in_job, level, fortran, taken } = job;
    if !taken.is_empty() && status.signal().is_some_and(|signal| CRASHES.contains(&signal)) {
        let names = taken.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        return format!(
            "\n  to fix:  rename what the program itself calls {names}, or make it static: the library calls that in the place of the C \
             library's function. Otherwise let a debugger show where: {DEBUGGER}"
        );
    }
    let is_checked = level >= THOROUGH;
    // The first remedy, and what a higher level would find. Checks of all calls have found nothing that can be said of an address.
    let (first, found) = match status.signal() {
        Some(libc::SIGSEGV) if !in_job => (
            "it had not come through shmem_init: look for a local array larger than the stack (ulimit -s), and make it \
             static or allocate it",
            "",
        ),
        _ if !in_job => return String::new(),
        Some(libc::SIGSEGV | libc::SIGBUS) if fortran => (
            "count the arguments of the call (`use shmem` lets the compiler count them); a Cray pointer needs memory of SHPALLOC",
            BAD_ACCESS,
        ),
        Some(libc::SIGSEGV | libc::SIGBUS) if is_checked => ("", ""),
        Some(libc::SIGSEGV | libc::SIGBUS) => {
            ("if an allocation may have failed, compare what shmem_malloc returns with NULL", BAD_ACCESS)
        }
        Some(libc::SIGFPE) if fortran => (
            "look for a / or MOD by 0. If the divisor is the number of PEs, declare SHMEM_N_PES INTEGER, as `use shmem` does: \
             undeclared it is REAL, and the number 0 or garbage",
            "",
        ),
        Some(libc::SIGFPE) => ("look for an integer that is divided by 0 (/, %)", ""),
        // The C library ends a process whose heap is damaged.
        Some(libc::SIGABRT) => (
            "if the C library speaks of an invalid pointer, free memory of shmem_malloc by shmem_free, never by free",
            "; if it speaks of a double free, SHMEM_CHECK=3 names destroyed teams and contexts",
        ),
        _ => return String::new(),
    };
    let found = if is_checked { "" } else { found };
    let otherwise = if first.is_empty() { "" } else { ". Otherwise " };
    format!("\n  to fix:  {first}{found}{otherwise}let a debugger show where: {DEBUGGER}")
}

/// Advice after a PE has crashed in its last `shmem_finalize` or behind it.
pub(crate) fn advice_behind_finalize(status: ExitStatus) -> Option<String> {
    matches!(status.signal(), Some(libc::SIGSEGV | libc::SIGBUS)).then(|| {
        format!(
            "\n  to fix:  it was in shmem_finalize or behind it, and perhaps a thread still called the library, or used its memory: end \
             such threads before. Otherwise let a debugger show where: {DEBUGGER}"
        )
    })
}

/// The findings of `SHMEM_CHECK` that explain a load or a store at a wrong address.
const BAD_ACCESS: &str =
    "; SHMEM_CHECK=3 names destroyed teams and contexts, transfers beyond a block, and stores around blocks";

/// Shows the stack of a PE that crashes.
const DEBUGGER: &str = "oshrun -l -n N gdb -batch -ex run -ex backtrace --args PROGRAM; of a Python program \
                        `python -X faulthandler` names the line";

/// `1 PE`, `2 PEs`.
pub(crate) fn counted(pes: usize) -> String {
    counted_as(pes, "PE")
}

/// The same of other things.
pub(crate) fn counted_as(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// `1 PE still runs`, `2 PEs still run`.
pub(crate) fn still_running(pes: usize) -> String {
    format!("{} still run{}", counted(pes), if pes == 1 { "s" } else { "" })
}

/// `; 3 other PEs stopped`, or nothing.
pub(crate) fn stopped(others: usize) -> String {
    match others {
        0 => String::new(),
        1 => "; 1 other PE stopped".into(),
        many => format!("; {many} other PEs stopped"),
    }
}

/// A signal's name, or its number where it has none.
pub(crate) fn name(signal: i32) -> String {
    let known = [
        (libc::SIGHUP, "SIGHUP"),
        (libc::SIGINT, "SIGINT"),
        (libc::SIGQUIT, "SIGQUIT"),
        (libc::SIGILL, "SIGILL"),
        (libc::SIGTRAP, "SIGTRAP"),
        (libc::SIGABRT, "SIGABRT"),
        (libc::SIGBUS, "SIGBUS"),
        (libc::SIGFPE, "SIGFPE"),
        (libc::SIGKILL, "SIGKILL"),
        (libc::SIGUSR1, "SIGUSR1"),
        (libc::SIGSEGV, "SIGSEGV"),
        (libc::SIGUSR2, "SIGUSR2"),
        (libc::SIGPIPE, "SIGPIPE"),
        (libc::SIGALRM, "SIGALRM"),
        (libc::SIGTERM, "SIGTERM"),
        (libc::SIGXCPU, "SIGXCPU"),
        (libc::SIGXFSZ, "SIGXFSZ"),
        (libc::SIGSYS, "SIGSYS"),
    ];
    let found = known.iter().find(|(number, _)| *number == signal);
    found.map_or_else(|| format!("signal {signal}"), |(_, name)| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(status: ExitStatus, in_job: bool, level: u32, fortran: bool) -> String {
        advice(status, CrashedJob { in_job, level, fortran, taken: &[] })
    }

    #[test]
    fn names_taken_from_the_c_library_are_the_first_suspects_of_a_crash() {
        for in_job in [false, true] {
            let job = CrashedJob { in_job, level: 1, fortran: false, taken: &["read", "write"] };
            let of = |signal| advice(ExitStatus::from_raw(signal), job);
            let said = of(libc::SIGSEGV);
            assert!(
                said.starts_with("\n  to fix:  rename what the program itself calls `read`, `write`, or make"),
                "{said}"
            );
            assert!(said.contains("Otherwise let a debugger") && !said.contains("local array"), "{said}");
            assert_eq!(of(libc::SIGKILL) + &of(3 << 8), "");
        }
    }

    #[test]
    fn a_crash_behind_finalize_speaks_of_threads() {
        let of = |signal| advice_behind_finalize(ExitStatus::from_raw(signal));
        assert!(of(libc::SIGSEGV).is_some_and(|said| said.contains("perhaps a thread still called the library")));
        assert_eq!((of(libc::SIGABRT), of(3 << 8)), (None, None));
    }

    #[test]
    fn codes_follow_the_shell() {
        assert_eq!(code(ExitStatus::from_raw(3 << 8)), 3);
        assert_eq!(code(ExitStatus::from_raw(libc::SIGSEGV)), 139);
        assert_eq!(manner(ExitStatus::from_raw(libc::SIGKILL), None), "was killed by SIGKILL");
        assert_eq!(manner(ExitStatus::from_raw(0x80 | libc::SIGSEGV), None), "was killed by SIGSEGV (core dumped)");
        assert_eq!(manner(ExitStatus::from_raw(3 << 8), None), "exited with status 3");
        assert_eq!(name(40), "signal 40");
        let crash = ExitStatus::from_raw(libc::SIGSEGV);
        assert!([0, 1, 2].iter().all(|level| after(crash, true, *level, false).contains("NULL; SHMEM_CHECK=3 names")));
        assert!(after(crash, true, 3, false).starts_with("\n  to fix:  let a debugger show where: oshrun"));
        assert!(after(crash, true, 3, false).ends_with("of a Python program `python -X faulthandler` names the line"));
        assert!(after(crash, true, 3, true).contains("to fix:  count the arguments"));
        assert!(after(crash, true, 3, true).contains(" SHPALLOC. Otherwise let a debugger"));
        assert!(after(crash, true, 1, true).contains(" SHPALLOC; SHMEM_CHECK=3 names"));
        assert!(after(crash, false, 3, false).contains("make it static or allocate it. Otherwise let a debugger"));
        let [abort, kill, divided] = [libc::SIGABRT, libc::SIGKILL, libc::SIGFPE].map(ExitStatus::from_raw);
        assert!(after(abort, true, 1, false).contains("never by free; if it speaks of a double free, SHMEM_CHECK=3"));
        assert!(after(abort, true, 3, false).contains("never by free. Otherwise let a debugger"));
        assert!(after(divided, true, 1, false).contains("divided by 0"));
        assert!(after(divided, true, 1, true).contains("declare SHMEM_N_PES INTEGER"));
        assert_eq!(after(abort, false, 1, false) + &after(kill, true, 1, false), "");
        let levels = ["0", "1", " 1", "2", "3", "high"].map(|level| check_level(Some(OsStr::new(level))));
        assert_eq!((levels, check_level(None)), ([0, 1, 1, 2, 3, 1], 1));
    }

    #[test]
    fn fault_M6_memory_is_named_where_the_kernel_killed_for_it() {
        let said = manner(ExitStatus::from_raw(libc::SIGKILL), Some("its control group has used all".into()));
        assert_eq!(said, "was killed by SIGKILL, probably out of memory: its control group has used all");
    }
}
