//! The folder in which this process keeps its ledgers.
//!
//! A PE may start programs that join a job of their own: as its only PE, or by another launcher. They inherit the variables of this job,
//! and their PEs have the same numbers, so their ledgers would take the names of this job's. So a process whose library begins writes its
//! own number into the variable, in front of the folder, and a process of another number keeps no ledgers. To remove the variable would
//! not do: a program that the PE executes in its own place is the same PE, has the same number, and is recorded.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use oxshmem_profile::layout;

use crate::ticks;

/// The most events that a ledger keeps.
const MOST_EVENTS: usize = 1 << 26;

/// The way to the ledgers of this process.
pub(crate) struct LedgerFolder {
    pub(crate) path: PathBuf,
    /// Events that each ledger keeps.
    pub(crate) room: usize,
    /// Ticks and nanoseconds at the first call.
    pub(crate) since: (u64, u64),
}

static FOLDER: OnceLock<Option<LedgerFolder>> = OnceLock::new();

/// The folder; nothing if calls of this process are not recorded.
pub(crate) fn folder() -> Option<&'static LedgerFolder> {
    let read = || {
        let room = std::env::var(layout::ROOM).ok().and_then(|text| text.parse::<usize>().ok());
        let since = ticks::both();
        let value = std::env::var_os(layout::FOLDER)?;
        let path = std::path::absolute(folder_of(&value, std::process::id())?).ok()?;
        Some(LedgerFolder { path, room: room.unwrap_or(0).min(MOST_EVENTS), since })
    };
    FOLDER.get_or_init(read).as_ref()
}

/// The folder in the variable's value, if it is one for the process of this number.
fn folder_of(value: &OsStr, process: u32) -> Option<&Path> {
    let bytes = value.as_bytes();
    let digits = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let folder = match &bytes[digits..] {
        // Folders are absolute, so this is no part of their names.
        [b' ', folder @ ..] if digits > 0 && folder.starts_with(b"/") => {
            (bytes[..digits] == *process.to_string().as_bytes()).then_some(folder)?
        }
        _ => bytes,
    };
    (!folder.is_empty()).then(|| Path::new(OsStr::from_bytes(folder)))
}

/// The variable's value for what this process starts.
fn value_of(folder: &Path, process: u32) -> OsString {
    let mut value = OsString::from(format!("{process} "));
    value.push(folder);
    value
}

impl LedgerFolder {
    /// Keeps the processes that this one starts out of the folder.
    pub(crate) fn keep_for_this_process(&self) {
        let value = value_of(&self.path, std::process::id());
        // The program may have removed the variable, and then no process inherits it.
        if std::env::var_os(layout::FOLDER).is_some_and(|present| present != value) {
            // SAFETY: another thread may read the environment at the same time, through the C library. The variable is there, so the C
            // library stores the address of the new text over that of the present one, and moves and frees nothing: it frees only a text
            // that it has made itself, and the present one is the launcher's, which came with the process. So the reader finds one of two
            // texts, which both stay.
            unsafe { std::env::set_var(layout::FOLDER, value) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The test runs itself with the variable that the launcher sets.
    #[test]
    fn a_process_that_a_recorded_one_starts_finds_the_folder_taken() {
        const NAME: &str = "folder::tests::a_process_that_a_recorded_one_starts_finds_the_folder_taken";
        if std::env::var_os(layout::FOLDER).is_none() {
            let again = std::env::current_exe().expect("this program has a file");
            let ended = Command::new(again).args(["--exact", NAME]).env(layout::FOLDER, "/a folder").output();
            let ended = ended.expect("it starts");
            let said = String::from_utf8_lossy(&ended.stdout);
            assert!(ended.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        let folder = folder().expect("the launcher has named one");
        assert_eq!(folder.path, Path::new("/a folder"));
        folder.keep_for_this_process();
        let child = Command::new("printenv").arg(layout::FOLDER).output().expect("printenv starts").stdout;
        let value = OsStr::from_bytes(child.trim_ascii_end());
        assert_eq!(folder_of(value, std::process::id()), Some(Path::new("/a folder")), "{}", value.display());
        assert_eq!(folder_of(value, std::process::id() + 1), None, "{}", value.display());
    }

    #[test]
    fn a_folder_that_a_process_has_taken_is_its_own() {
        let read = |value: &OsStr, process| folder_of(value, process).map(Path::to_owned);
        let given = Path::new("/tmp/of a job");
        assert_eq!(read(given.as_os_str(), 7).as_deref(), Some(given));
        let taken = value_of(given, 7);
        assert_eq!(taken, "7 /tmp/of a job");
        assert_eq!(read(&taken, 7).as_deref(), Some(given), "a program that the PE executes in its place");
        for child in [70, 17, 8] {
            assert_eq!(read(&taken, child), None, "process {child}");
        }
    }

    #[test]
    fn a_folder_may_begin_with_a_number() {
        for name in ["2024", "7 days", "7"] {
            assert_eq!(folder_of(OsStr::new(name), 8), Some(Path::new(name)));
        }
        assert_eq!(folder_of(OsStr::new(""), 8), None);
    }
}
