//! The conformance programs: where they are, how each is built, and the cases in it.
//!
//! The top of a source may say `// build: FLAGS` (one build for each such line, instead of a single plain one). A Fortran program is
//! one case; it says `! items: ...` and `! pes: ...`.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use oxshmem_faults::{changed, wrapper};

use super::{CaseSelection, ConformanceCase, Instrumentation};
use crate::{Outcome, command, disk};

/// One build of one source.
pub(super) struct ConformanceProgram {
    pub(super) name: String,
    source: PathBuf,
    text: String,
    flags: Vec<String>,
    /// Whether this is the source's first build; the others run with fewer numbers of PEs.
    first: bool,
    /// When the last of what programs are made of changed; an executable that is younger is not built again.
    ingredients: Option<SystemTime>,
}

pub(super) struct Built {
    pub(super) name: String,
    pub(super) executable: PathBuf,
    /// The same source built with -DTWIN, when a case asks for it.
    pub(super) twin: Option<PathBuf>,
    pub(super) cases: Vec<ConformanceCase>,
    first: bool,
}

fn tests_folder() -> PathBuf {
    crate::top().join("crates/shmem-c/tests")
}

pub(super) fn output_folder() -> PathBuf {
    crate::target().join("conformance")
}

/// Every program in every build, in the order of their names.
pub(super) fn all(options: &CaseSelection) -> Vec<ConformanceProgram> {
    let folders = ["conformance", "fortran", "teams"].map(|folder| tests_folder().join(folder));
    let files = folders.iter().flat_map(|folder| disk::entries(folder).unwrap_or_default());
    let mut sources: Vec<PathBuf> = files.filter(|path| wrapper(path).is_some()).collect();
    // A filter with a slash names the program: the others need not be built.
    let texts: Vec<&str> = options.filter.iter().flat_map(|texts| texts.split(',')).collect();
    let names: Option<Vec<&str>> = texts.iter().map(|text| Some(text.split_once('/')?.0)).collect();
    if let Some(names) = names.filter(|names| !names.is_empty()) {
        sources.retain(|source| source.file_stem().is_some_and(|stem| names.iter().any(|name| stem == *name)));
    }
    // In an emulated machine programs stay as they were built, and looking at each file takes long.
    let ingredients = if options.emulated { None } else { ingredients(options) };
    sources.iter().flat_map(|source| builds(source, options, ingredients)).collect()
}

/// The youngest of the tests' sources, the installation, and this program, which knows the flags.
fn ingredients(options: &CaseSelection) -> Option<SystemTime> {
    let installed = ["include", "lib", "bin"].map(|folder| options.prefix.join(folder));
    let all = installed.into_iter().chain([tests_folder()]).chain([crate::OWN_PATH.clone()]);
    all.filter_map(|path| changed(&path)).max()
}

/// The folder of the executables that belong to this installation and these flags; the first build there makes it.
pub(super) fn executables(options: &CaseSelection) -> PathBuf {
    let flags = match options.instrumentation {
        Instrumentation::Nothing => "plain",
        Instrumentation::Sanitizers => "sanitized",
        Instrumentation::Races => "races",
    };
    // The same installation always has the same folder, and none has another's.
    let mut hasher = DefaultHasher::new();
    options.prefix.hash(&mut hasher);
    output_folder().join(format!("bin-{flags}-{:016x}", hasher.finish()))
}

fn builds(source: &Path, options: &CaseSelection, ingredients: Option<SystemTime>) -> Vec<ConformanceProgram> {
    let text = fs::read_to_string(source).unwrap_or_default();
    let mut builds: Vec<Vec<String>> =
        marked(&text, "build").map(|flags| flags.split_whitespace().map(str::to_string).collect()).collect();
    if builds.is_empty() {
        builds.push(Vec::new());
    }
    // Neither the sanitizers nor the race detector are for static programs, and the latter does not see the profiling twins.
    let unfit: &[&str] = match options.instrumentation {
        Instrumentation::Nothing => &[],
        Instrumentation::Sanitizers => &["-static"],
        Instrumentation::Races => &["-static", "-DSHIFTED_NAMES"],
    };
    builds.retain(|flags| !flags.iter().any(|flag| unfit.iter().any(|unfit| flag.starts_with(unfit))));
    let stem = source.file_stem().expect("a source has a name").to_string_lossy();
    let program = |(index, flags): (usize, Vec<String>)| ConformanceProgram {
        name: format!("{stem}{}", flags.join("")),
        source: source.to_path_buf(),
        text: text.clone(),
        flags,
        first: index == 0,
        ingredients,
    };
    builds.into_iter().enumerate().map(program).collect()
}

/// The values of the source's `// KEY: value` or `! KEY: value` lines.
fn marked<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().take(20).filter_map(move |line| {
        let comment = line.strip_prefix("//").or(line.strip_prefix('!'))?;
        Some(comment.trim().strip_prefix(key)?.strip_prefix(':')?.trim())
    })
}

impl ConformanceProgram {
    /// Builds it and asks it for its cases.
    pub(super) fn build(&self, options: &CaseSelection) -> Outcome<Built> {
        let executable = executables(options).join(&self.name);
        self.compile(options, &executable, &[])?;
        let cases = self.cases(&executable)?;
        let twin = cases.iter().find_map(|case| Some(executable.with_file_name(case.beside.as_ref()?)));
        if let Some(twin) = &twin {
            self.compile(options, twin, &["-DTWIN"])?;
        }
        Ok(Built { name: self.name.clone(), executable, twin, cases, first: self.first })
    }

    fn compile(&self, options: &CaseSelection, executable: &Path, more: &[&str]) -> Outcome {
        if options.emulated && executable.exists() {
            return Ok(());
        }
        let built = changed(executable);
        if built.is_some_and(|built| self.ingredients.is_some_and(|ingredients| ingredients < built)) {
            return Ok(());
        }
        let of_language = if wrapper(&self.source) == Some("oshcc") { &["-std=gnu11", "-pthread"][..] } else { &[] };
        let instrumented = match options.instrumentation {
            Instrumentation::Nothing => &[][..],
            Instrumentation::Sanitizers => &["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"],
            Instrumentation::Races => &["--race"],
        };
        let headers = format!("-I{}", tests_folder().display());
        let mut words = vec!["-g", "-O1", "-Wall", "-Wextra", "-Werror", &headers];
        words.extend([of_language, instrumented, more].concat());
        words.extend(self.flags.iter().map(String::as_str));
        let compiled = command::compile(&options.prefix, &words, std::slice::from_ref(&self.source), executable);
        compiled.map_err(|why| format!("does not build: {why}"))
    }

    fn cases(&self, executable: &Path) -> Outcome<Vec<ConformanceCase>> {
        if wrapper(&self.source) == Some("oshfort") {
            return Ok(vec![self.fortran_case()]);
        }
        let list = command::read(Command::new(executable).arg("--list"))?;
        list.lines().map(|line| ConformanceCase::parse(line).map_err(|why| format!("--list: {why}"))).collect()
    }

    fn fortran_case(&self) -> ConformanceCase {
        let words = |key| marked(&self.text, key).flat_map(str::split_whitespace).map(str::to_string);
        ConformanceCase {
            name: self.name.clone(),
            items: words("items").chain(["LEG-3".to_string()]).collect(),
            listed_pes: words("pes").filter_map(|n| n.parse().ok()).collect(),
            quiet_on: vec!["FAIL".to_string()],
            ..ConformanceCase::default()
        }
    }
}

impl Built {
    pub(super) fn title(&self, case: &ConformanceCase) -> String {
        if case.title.is_empty() {
            return format!("{}/{}", self.name, case.name);
        }
        format!("{}/{} ({})", self.name, case.name, case.title)
    }

    /// The numbers of PEs to run the case with. Further builds of a source run with 2 PEs and the largest number: they
    /// differ in the executable, not in what many PEs do.
    pub(super) fn pes(&self, options: &CaseSelection, case: &ConformanceCase) -> Vec<u32> {
        let largest = options.pes.iter().max().copied();
        let wanted = |pes: &u32| self.first || *pes == 2 || Some(*pes) == largest;
        let chosen = if case.listed_pes.is_empty() { &options.pes } else { &case.listed_pes };
        chosen.iter().copied().filter(wanted).filter(|pes| case.runs_with(*pes)).collect()
    }
}
