//! Writes the files that come from the routine table, or says which are stale.

use std::fs;
use std::path::PathBuf;

use oxshmem_api::generate::{EXPORTS, files};

use crate::{Outcome, disk, top};

/// Brings the files up to date.
pub(crate) fn write() -> Outcome {
    for path in strays() {
        disk::remove(&path)?;
    }
    for file in files() {
        let path = top().join(&file.path);
        if fs::read_to_string(&path).is_ok_and(|text| text == file.text) {
            continue;
        }
        disk::write(&path, &file.text)?;
        println!("wrote {}", file.path);
    }
    Ok(())
}

/// Fails when a file is not what the table says.
pub(crate) fn check() -> Outcome {
    let mut stale: Vec<String> = strays().iter().map(|path| path.display().to_string()).collect();
    for file in files() {
        if !fs::read_to_string(top().join(&file.path)).is_ok_and(|text| text == file.text) {
            stale.push(file.path);
        }
    }
    if stale.is_empty() { Ok(()) } else { Err(format!("stale: {}\nrun `cargo xtask generate`", stale.join(", "))) }
}

/// Files in the generated folder that the table does not ask for.
fn strays() -> Vec<PathBuf> {
    let wanted: Vec<PathBuf> = files().iter().map(|file| top().join(&file.path)).collect();
    let mut present = disk::entries(&top().join(EXPORTS)).unwrap_or_default();
    present.retain(|path| !wanted.contains(path));
    present
}
