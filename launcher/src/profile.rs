//! `oshrun --profile` and `--trace`: recording what a program does with the library, and showing it.
//!
//! A library that is loaded in front of the program writes records (`crates/interpose`); what they say is computed in
//! `crates/profile`. This module has the PEs' environment, the places of the program, the summary and the report.

mod csv;
mod event;
pub(crate) mod gathering;
mod html;
mod otf2;
mod picture;
mod places;
mod summary;
mod text;
mod timeline;
mod verdict;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use oxshmem_base::Error;
use oxshmem_profile::job::RecordedJob;
use oxshmem_profile::layout::{ENDING, FOLDER, ROOM, UNRECORDED};
use oxshmem_profile::totals;

use crate::machine::helper;
use crate::plan::{ProgramSpec, RecordingPlan};
use crate::wrapper::quoted;
use crate::{results, say, screen};
use places::ProgramPlaces;

pub use summary::TraceArgs;

/// The file name of the report.
const REPORT: &str = "profile.html";
/// The loader's variable that names libraries to load first.
const PRELOAD: &str = "LD_PRELOAD";

/// Makes the folder of the records, and tries whether the timeline can be written: behind the job it would be too late.
pub(crate) fn prepare(recording: &RecordingPlan) -> Result<(), Error> {
    library()?;
    make_places(recording)
}

fn make_places(recording: &RecordingPlan) -> Result<(), Error> {
    let folder = &recording.folder;
    let unwritable = |error| {
        Error::new(format!("{} cannot be used for records of the job", folder.display()))
            .because(error)
            .fix("name a directory of your own: oshrun --profile=DIR, or --trace=FILE in such a directory")
    };
    results::folder(folder).and_then(|()| results::try_path(&folder.join(REPORT))).map_err(unwritable)?;
    // The file may lie in a folder that was made for the records.
    let tried = recording.trace.as_ref().map_or(Ok(()), |file| {
        results::try_path(file).map_err(results::unwritten(file, "choose another place for --trace"))
    });
    tried.inspect_err(|_| {
        // It stays if there is something in it.
        let _ = fs::remove_dir(folder);
    })
}

/// Removes what an earlier job has left in the folder: its records, and the report that a new profile is about to replace.
pub(crate) fn clear(recording: &RecordingPlan) {
    remove_records(&recording.folder);
    if recording.profile {
        // Without records it would be the report of nothing; one that stays is written over.
        let _ = fs::remove_file(recording.folder.join(REPORT));
    }
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
    let library = helper("liboxshmem-profile.so")?;
    loadable(&library).map(|()| library)
}

/// The loader takes its list apart at blanks and colons, which cannot be written in another way. It would only warn of a part that
/// is no file, and nothing would be recorded.
fn loadable(library: &Path) -> Result<(), Error> {
    if library.as_os_str().as_encoded_bytes().iter().any(|byte| b" \t\n:".contains(byte)) {
        Err(Error::new(format!("{} cannot be loaded in front of programs", library.display()))
            .because(format!("the loader ends a name in {PRELOAD} at a blank and at a colon"))
            .fix("install oxshmem into a folder whose path has neither"))
    } else {
        Ok(())
    }
}

/// Shows what has been recorded. However the job ended, there may be records. `false`: something that was asked for is lost.
/// `status`: the exit status of the job.
pub(crate) fn conclude(recording: &RecordingPlan, status: i32) -> bool {
    let mut is_timeline_lost = false;
    let is_whole = match RecordedJob::read(&recording.folder) {
        Ok(Some(job)) => {
            let shown = recording.profile.then(|| show(&job, &recording.folder).map(|text| say_text(&text)));
            let written = recording.trace.as_ref().map(|file| timeline::write(&job, file).map(|text| say(&text)));
            is_timeline_lost = written.as_ref().is_some_and(Result::is_err);
            let outcomes = [shown, written].into_iter().flatten();
            let failures = outcomes.filter_map(Result::err).inspect(|error| say(&error.to_string())).count();
            failures == 0 && job.unrecorded == 0
        }
        Ok(None) => {
            say(&match status {
                0 => nothing(&recording.folder).to_string(),
                _ => "no record has come: the PEs had not passed shmem_init, or their host was lost".to_owned(),
            });
            true
        }
        Err(error) => {
            say(&error.to_string());
            false
        }
    };
    if !recording.profile {
        leave_records(&recording.folder, is_timeline_lost);
    }
    is_whole
}

/// The end of records that were only for a timeline. Without it they are all that is left of the job.
fn leave_records(folder: &Path, is_timeline_lost: bool) {
    if is_timeline_lost {
        let (shown, word) = (folder.display(), quoted(folder.as_os_str()));
        say(&format!("note: the records of the job stay in {shown}: `oxshmem profile {word}` summarises them"));
    } else {
        remove_records(folder);
        // It is not empty if another program has put something there.
        let _ = fs::remove_dir(folder);
    }
}

/// A folder without a record: no PE has opened one.
fn nothing(folder: &Path) -> Error {
    Error::new(format!("{} has no record of a PE", folder.display()))
        .because("no PE has made a call through the shared library, which keeps the records")
        .fix("record a program that calls oxshmem and is linked with liboxshmem.so: static programs and the Rust API have no profile")
}

/// `oxshmem profile`: the summary; the report is written anew, and tables for other programs into the folder `csv`.
pub fn report(folder: &Path, csv: Option<&Path>) -> Result<String, Error> {
    let job = RecordedJob::read(folder)?.ok_or_else(|| nothing(folder))?;
    let mut text = show(&job, folder)?;
    if let Some(csv) = csv {
        let written = csv::write(&totals::add_up(&job), &mut ProgramPlaces::default(), csv)?;
        written.iter().for_each(|path| text.push_str(&format!("table: {}\n", path.display())));
    }
    Ok(text)
}

fn show(job: &RecordedJob, folder: &Path) -> Result<String, Error> {
    let totals = totals::add_up(job);
    let mut places = ProgramPlaces::default();
    let path = folder.join(REPORT);
    let page = html::page(job, &totals, &mut places);
    results::write(&path, page).map_err(results::unwritten(&path, "make room, or name another directory"))?;
    Ok(format!("{}report: {}\n", text::summary(job, &totals, &mut places), path.display()))
}

fn remove_records(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_record = |path: &PathBuf| path.extension().is_some_and(|ending| ending == ENDING || ending == UNRECORDED);
    for path in entries.filter(is_record) {
        // One that stays is written over, or told of if its job has another number of PEs.
        let _ = fs::remove_file(path);
    }
}

/// The summary goes to standard error: standard output is the program's.
fn say_text(text: &str) {
    // Without a reader there is still the report.
    let _ = screen::write_all(std::io::stderr().lock(), text.as_bytes());
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn a_timeline_that_cannot_be_written_is_told_before_the_job() {
        let folder = TestFolder::new("trace-places");
        let tried = |profile: Option<&str>, file: &str| {
            let (records, trace) = (folder.join(profile.unwrap_or("t.json.records")), Some(folder.join(file)));
            make_places(&RecordingPlan { folder: records, profile: profile.is_some(), trace, events: 1 })
        };
        let error = tried(None, "").expect_err("it is a folder").to_string();
        assert!(error.contains("cannot be written") && error.contains("--trace"), "{error}");
        assert!(tried(None, "no/t.json").is_err() && !folder.join("t.json.records").exists());
        assert!(tried(Some("new/p"), "new/t.json").is_ok() && !folder.join("new/t.json").exists());
        assert!(tried(None, "t.json").is_ok() && folder.join("t.json.records").is_dir());
    }

    /// The job ran, kept no record and exited with 0; the reason was that the program was static.
    #[test]
    fn a_folder_in_which_no_file_can_be_made_is_told_before_the_job() {
        let recording = RecordingPlan { folder: "/proc".into(), profile: true, trace: None, events: 1 };
        let error = make_places(&recording).expect_err("nobody makes files there").to_string();
        assert!(error.contains("/proc cannot be used for records of the job"), "{error}");
    }

    #[test]
    fn records_go_with_the_timeline_and_stay_without_it() {
        let folder = TestFolder::new("trace-records");
        let record = folder.write(format!("records/pe0.{ENDING}"), "x");
        leave_records(&folder.join("records"), true);
        assert!(record.exists());
        leave_records(&folder.join("records"), false);
        assert!(!folder.join("records").exists());
    }

    #[test]
    fn a_library_whose_path_the_loader_would_take_apart_is_refused() {
        assert_eq!(loadable(Path::new("/opt/oxshmem/libexec/oxshmem/liboxshmem-profile.so")), Ok(()));
        for path in ["/opt/my tools/liboxshmem-profile.so", "/opt/a:b/liboxshmem-profile.so"] {
            assert!(loadable(Path::new(path)).is_err_and(|error| error.to_string().contains(path)), "{path}");
        }
    }
}
