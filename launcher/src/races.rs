//! Races that programs compiled with `--race` report: each once, in words and as a page.
//!
//! `oxshmem races` reads files that `SHMEM_RACE_JSON` has written, `oxshmem sim --race` the reports of its jobs.

mod excerpt;
mod found;
mod page;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use oxshmem_base::{Error, file};

pub(crate) use self::found::FoundRaces;
use crate::{linked, results};

/// The beginning of the name of the detector's library.
const DETECTOR: &str = "liboxshmem-race.so";
/// That of the shared library, whose calls the detector sees.
const SHARED: &str = "liboxshmem.so";
/// A longer file is not what the detector has written: it reports each pair of lines once.
const LONGEST_FILE: u64 = 64 << 20;

/// The command line of `oxshmem races`.
#[derive(Args)]
pub struct RacesArgs {
    /// Files of reports, which the jobs wrote because SHMEM_RACE_JSON named them
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write the page into this file
    #[arg(long, value_name = "FILE", default_value = "races.html")]
    html: PathBuf,
    /// Look for source files in this directory, too, where the program's own paths lead nowhere
    #[arg(long, value_name = "DIR")]
    source: Vec<PathBuf>,
}

impl RacesArgs {
    /// Writes the page. Returns the races in words, and whether there are none.
    pub fn run(&self) -> Result<(String, bool), Error> {
        let (mut races, mut cut) = (FoundRaces::default(), 0);
        for file in &self.files {
            let reports = read(file)?;
            races.add(None, &reports.whole);
            cut += reports.cut;
        }
        let mut text = races.told(|_| String::new());
        let names: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
        let mut lead = format!("From {}.", names.join(", "));
        if cut > 0 {
            let lost = left_out(cut);
            let _ = writeln!(text, "\n{lost}");
            lead += &format!(" {lost}");
        }
        write_page(&races, &lead, &self.source, &self.html)?;
        let _ = writeln!(text, "\npage: {}", self.html.display());
        Ok((text, races.count() == 0 && cut == 0))
    }
}

/// The sentence about reports of which only the beginning is there.
pub(crate) fn left_out(cut: usize) -> String {
    let reports = if cut == 1 { "1 report is".to_owned() } else { format!("{cut} reports are") };
    format!(
        "{reports} left out, because only their beginnings are there: a disk was full, or PEs were killed while they wrote."
    )
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ReportLines {
    /// Those that are whole, as lines.
    pub(crate) whole: String,
    /// How many have only their beginning.
    pub(crate) cut: usize,
}

pub(crate) fn read(path: &Path) -> Result<ReportLines, Error> {
    let unreadable = |why: String| {
        Error::new(format!("{} has no reports of races", path.display()))
            .because(why)
            .fix("name the file that SHMEM_RACE_JSON named when the program ran; a program without races writes none")
    };
    let bytes = file::bytes(path, LONGEST_FILE).map_err(|error| unreadable(error.to_string()))?;
    // One that is cut off may end in the middle of a character.
    let text = String::from_utf8_lossy(&bytes);
    let mut reports = ReportLines::default();
    for (line, number) in text.lines().zip(1..) {
        for part in found::parts(line) {
            if found::is_report(part) {
                reports.whole += &format!("{part}\n");
            } else if found::is_beginning(part) {
                reports.cut += 1;
            } else {
                return Err(unreadable(format!("line {number} is not a report")));
            }
        }
    }
    Ok(reports)
}

/// The remedy for a page that cannot be written.
pub(crate) const ELSEWHERE: &str = "name another file with --html";

/// Writes the page of the races; `lead` says where they come from.
pub(crate) fn write_page(races: &FoundRaces, lead: &str, sources: &[PathBuf], html: &Path) -> Result<(), Error> {
    let unwritten = results::unwritten(html, ELSEWHERE);
    results::write(html, page::page(races, lead, sources)).map_err(unwritten)
}

/// Refuses a program whose races the detector would not see. A script is taken to start a program with the detector.
pub(crate) fn require(program: &Path) -> Result<(), Error> {
    let needed = linked::needed(program);
    let cannot = || Error::new(format!("{} cannot find its races", program.display()));
    let needs = |names: &[String], library: &str| names.iter().any(|name| name.starts_with(library));
    match &needed {
        Some(names) if needs(names, DETECTOR) || linked::looks_for_races(program) => Ok(()),
        _ if is_python(program) => Err(cannot()
            .because("the detector sees programs of C, C++, Fortran and Rust only")
            .fix("leave `--race` out, and let the program check its values")),
        Some(names) if !needs(names, SHARED) && linked::holds_rust(program) => Err(cannot()
            .because("it has the library in itself, and was built without the race detector")
            .fix(
                "build a program of the Rust API with `cargo build --features oxshmem/race`; link C, C++ and Fortran with \
                 oshcc --race, oshc++ --race or oshfort --race, and not from the archive",
            )),
        Some(_) => Err(cannot()
            .because(format!("it is not linked with {DETECTOR}"))
            .fix("compile and link it with oshcc --race, oshc++ --race or oshfort --race")),
        None => Ok(()),
    }
}

/// Whether Python runs the program, as far as its name says.
pub(crate) fn is_python(program: &Path) -> bool {
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    name.starts_with("python") || program.extension().is_some_and(|ending| ending == "py")
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn a_file_without_end_is_refused() {
        let text = read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(text.contains("/dev/zero has no reports") && text.contains("it is longer than 64 MiB"), "{text}");
        assert_eq!(read(Path::new("/dev/null")), Ok(ReportLines::default()));
    }

    #[test]
    fn reports_that_are_cut_off_are_counted_and_hide_no_others() {
        let folder = TestFolder::new("cut-reports");
        let report = |text: &str| format!(r#"{{"kind":"race","accesses":[],"text":"{text} {{\"kind\":\""}}"#);
        let [one, two] = ["one", "zwei ü"].map(report);
        assert!(found::is_report(&two));
        let cut = &two.as_bytes()[..two.find('ü').expect("it is there") + 1];
        // The next PE adds its report behind what another one could not finish.
        let lines = [one.as_bytes(), b"\n", cut, one.as_bytes(), b"\n{\"ki", two.as_bytes(), b"\n", cut].concat();
        let whole = format!("{one}\n{one}\n{two}\n");
        assert_eq!(read(&folder.write("reports.json", lines)), Ok(ReportLines { whole, cut: 3 }));
        let other = folder.write("other", format!("{one}\n\n"));
        assert!(read(&other).unwrap_err().to_string().contains("line 2 is not a report"));
        let arguments =
            RacesArgs { files: vec![folder.write("cut", cut)], html: folder.join("page"), source: Vec::new() };
        let (page, is_clean) = arguments.run().expect("it can be read");
        assert!(page.contains("No races were found.\n\n1 report is left out") && !is_clean, "{page}");
        let page = std::fs::read_to_string(folder.join("page")).expect("a page");
        assert!(page.contains("1 report is left out"), "{page}");
    }

    #[test]
    fn a_program_in_python_is_refused_and_a_script_is_not() {
        for program in ["python3", "/nowhere/bin/python3.11", "./race.py"] {
            let text = require(Path::new(program)).unwrap_err().to_string();
            let words = "the detector sees programs of C, C++, Fortran and Rust only";
            assert!(text.starts_with(&format!("{program} cannot find its races")) && text.contains(words), "{text}");
        }
        assert!(require(Path::new("./start.sh")).is_ok());
    }

    #[test]
    fn a_program_in_rust_that_has_no_detector_is_refused_with_what_builds_it_in() {
        let this = std::env::current_exe().expect("a path");
        let text = require(&this).unwrap_err().to_string();
        for words in ["cannot find its races", "without the race detector", "cargo build --features oxshmem/race"] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
