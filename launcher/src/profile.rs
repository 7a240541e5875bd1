//! `oshrun --profile` and `--trace`: recording what a program does with the library, and showing it.
//!
//! A library that is loaded in front of the program writes records (`crates/interpose`); what they say is computed in
//! `crates/profile`. Here is what lies around: the PEs' environment, the places of the program, the summary and the report.

pub(crate) mod gathering;
mod html;
mod places;
mod summary;
mod text;
mod timeline;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use oxshmem_base::Error;
use oxshmem_profile::job::RecordedJob;
use oxshmem_profile::layout::{ENDING, FOLDER, ROOM};
use oxshmem_profile::totals;

use crate::machine::helper;
use crate::plan::{ProgramSpec, RecordingPlan};
use crate::say;
use places::ProgramPlaces;

pub use summary::TraceArgs;

/// The file name of the report.
const REPORT: &str = "profile.html";
/// The loader's variable that names libraries to load first.
const PRELOAD: &str = "LD_PRELOAD";

/// Makes the folder of the records, without those of an earlier job.
pub(crate) fn prepare(recording: &RecordingPlan) -> Result<(), Error> {
    library()?;
    let folder = &recording.folder;
    let unwritable = |error| {
        Error::new(format!("{} cannot be used for records of the job", folder.display()))
            .because(error)
            .fix("name a directory that can be written, on every host: oshrun --profile=DIR")
    };
    fs::create_dir_all(folder).map_err(unwritable)?;
    remove_records(folder);
    Ok(())
}

/// Has the PEs of this program recorded in a folder.
pub(crate) fn record(recording: &RecordingPlan, folder: &Path, program: &mut ProgramSpec) {
    // `prepare` has found it.
    let Ok(library) = library() else { return };
    let variables = &mut program.variables;
    let own = variables.iter().rev().find(|(name, _)| name == PRELOAD).map(|(_, value)| value.clone());
    let mut preload = OsString::from(library);
    if let Some(before) = own.or_else(|| std::env::var_os(PRELOAD)).filter(|value| !value.is_empty()) {
        preload.push(":");
        preload.push(before);
    }
    variables.push((PRELOAD.into(), preload));
    variables.push((FOLDER.into(), folder.into()));
    variables.push((ROOM.into(), recording.events.to_string().into()));
}

/// The library that records, in the installation of this program.
fn library() -> Result<PathBuf, Error> {
    helper("liboxshmem-profile.so")
}

/// Shows what has been recorded. However the job ended, there may be records.
pub(crate) fn conclude(recording: &RecordingPlan) {
    let job = match RecordedJob::read(&recording.folder) {
        Ok(job) => job,
        Err(error) => return say(&error.to_string()),
    };
    if recording.profile {
        match show(&job, &recording.folder) {
            Ok(text) => say_text(&text),
            Err(error) => say(&error.to_string()),
        }
    }
    if let Some(file) = &recording.trace {
        match timeline::write(&job, file) {
            Ok(text) => say(&text),
            Err(error) => say(&error.to_string()),
        }
    }
    if !recording.profile {
        remove_records(&recording.folder);
        // It is not empty if somebody else has put something there.
        let _ = fs::remove_dir(&recording.folder);
    }
}

/// `oxshmem profile`: the summary; the report is written anew.
pub fn report(folder: &Path) -> Result<String, Error> {
    show(&RecordedJob::read(folder)?, folder)
}

fn show(job: &RecordedJob, folder: &Path) -> Result<String, Error> {
    let totals = totals::add_up(job);
    let mut places = ProgramPlaces::default();
    let path = folder.join(REPORT);
    fs::write(&path, html::page(job, &totals, &mut places)).map_err(|error| {
        Error::new(format!("{} cannot be written", path.display()))
            .because(error)
            .fix("make room, or name another directory")
    })?;
    Ok(format!("{}report: {}\n", text::summary(job, &totals, &mut places), path.display()))
}

fn remove_records(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for path in entries.filter(|path| path.extension().is_some_and(|ending| ending == ENDING)) {
        // One that stays is found to be of another job by its number of PEs, or is written over.
        let _ = fs::remove_file(path);
    }
}

/// The summary goes to standard error: standard output is the program's.
fn say_text(text: &str) {
    use std::io::Write;
    // Without a reader there is still the report.
    let _ = std::io::stderr().write_all(text.as_bytes());
}
