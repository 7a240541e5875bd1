//! The user's wishes for reports, by variables of the environment.

use std::ffi::c_int;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use oxshmem_base::file;
use oxshmem_os::process;

/// The exit status of a process that has reported a race, unless SHMEM_RACE_STATUS names another one.
const FOUND: c_int = 66;

/// The exit status of a process that has reported a race and would have ended with 0.
pub(crate) fn status() -> c_int {
    static STATUS: OnceLock<c_int> = OnceLock::new();
    *STATUS.get_or_init(|| {
        let text = std::env::var_os("SHMEM_RACE_STATUS").unwrap_or_default();
        let text = text.to_string_lossy();
        // As of other variables, an empty value is none.
        if text.trim().is_empty() {
            return FOUND;
        }
        text.trim().parse().ok().filter(|status| (0..256).contains(status)).unwrap_or_else(|| {
            process::say(&format!(
                "oxshmem: SHMEM_RACE_STATUS is not set to a number from 0 to 255, but to `{text}`; it stays {FOUND}\n"
            ));
            FOUND
        })
    })
}

/// The file to which reports are added as lines of JSON.
pub(crate) fn json() -> Option<&'static Path> {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    FILE.get_or_init(|| std::env::var_os("SHMEM_RACE_JSON").filter(|name| !name.is_empty()).map(PathBuf::from))
        .as_deref()
}

/// Adds a line in one piece: other PEs write to the same file.
pub(crate) fn append(file: &Path, line: &str) {
    let written =
        OpenOptions::new().create(true).append(true).open(file).and_then(|mut file| file.write_all(line.as_bytes()));
    if let Err(error) = written {
        process::say(&format!("oxshmem: the report is not added to {}: {error}\n", file.display()));
    }
}

/// Whether the file of SHMEM_RACE_IGNORE has a line that is part of this report.
pub(crate) fn leave_out(report: &str) -> bool {
    static PARTS: OnceLock<Vec<String>> = OnceLock::new();
    let parts = PARTS.get_or_init(|| {
        let Some(path) = std::env::var_os("SHMEM_RACE_IGNORE").filter(|name| !name.is_empty()) else {
            return Vec::new();
        };
        let text = file::read(&path).unwrap_or_else(|error| {
            process::say(&format!("oxshmem: SHMEM_RACE_IGNORE: {} cannot be read: {error}\n", path.display()));
            String::new()
        });
        text.lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(String::from)
            .collect()
    });
    parts.iter().any(|part| report.contains(part.as_str()))
}
