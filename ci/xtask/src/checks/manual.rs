//! The manual: installed below `share/man`; its programs run, and its pages set without a warning.

use std::path::{Path, PathBuf};
use std::process::Command;

use oxshmem_api::manual::{Page, pages};

use crate::counts::{CheckCounts, skipped};
use crate::disk::write;
use crate::{Outcome, command, target};

/// Languages of programs on pages: the compiler, its options, the ending of a file's name.
const LANGUAGES: &[(&str, &str, &[&str], &str)] =
    &[("c", "oshcc", &["-std=c11"], "c"), ("fortran", "oshfort", &[], "f90")];

/// Numbers of PEs of each program. The last one is more than a word has bits, and more than a short array has elements.
const PES: [&str; 3] = ["1", "4", "65"];

/// Compiles every program of the manual as a user would, runs it on [`PES`], and lets groff look at every page.
pub(crate) fn check(prefix: &Path) -> Outcome<CheckCounts> {
    let scratch = target().join("manual");
    let mut counts = CheckCounts::default();
    for page in pages()? {
        for (language, compiler, options, ending) in LANGUAGES {
            if page.programs(language).next().is_some() && *language == "fortran" && !command::exists("gfortran") {
                counts += skipped!("the Fortran program of {}: there is no gfortran", page.name);
                continue;
            }
            for (number, lines) in page.programs(language).enumerate() {
                let source = scratch.join(format!("{}-{number}.{ending}", page.name));
                let outcome = write(&source, &(lines.join("\n") + "\n"))
                    .and_then(|()| run(prefix, &prefix.join("bin").join(compiler), options, &source));
                counts += CheckCounts::of(format_args!("the program of {}", source.display()), outcome);
            }
        }
        if command::exists("groff") {
            counts += CheckCounts::of(format_args!("the page {}", page.name), set(prefix, &page));
        }
    }
    if command::exists("man") {
        for (name, file) in FOUND {
            counts += CheckCounts::of(format_args!("man {name}"), found(prefix, name, file));
        }
        counts += CheckCounts::of("apropos", known(prefix));
    } else {
        counts += skipped!("pages that are looked up: there is no man");
    }
    if !command::exists("groff") {
        counts += skipped!("pages that are set: there is no groff");
    }
    println!("{} passed, {} failed", counts.passed, counts.failed);
    Ok(counts)
}

const FOUND: &[(&str, &str)] = &[
    ("oxshmem", "man7/oxshmem.7"),
    ("shmem.h", "man7/shmem.h.7"),
    ("shmem_team_config_t", "man7/shmem_team_config_t.7"),
    ("cargo-oxrun", "man1/cargo-oxrun.1"),
    ("oshfort", "man1/oshcc.1"),
    ("oxshmem-bench", "man1/oxshmem-bench.1"),
    ("oxshmem-doctor", "man1/oxshmem-doctor.1"),
    ("oxshmem-why", "man1/oxshmem-why.1"),
    ("oxshmem-top", "man1/oxshmem-top.1"),
    ("oxshmem-profile", "man1/oxshmem-profile.1"),
    ("oxshmem-races", "man1/oxshmem-races.1"),
    ("oxshmem-sim", "man1/oxshmem-sim.1"),
    ("oxshmem-simulate", "man1/oxshmem-explain.1"),
    ("shmem_long_max_to_all", "man3/shmem_max_to_all.3"),
];

/// Asks `man` as a user does who has the tools in `PATH`.
fn found(prefix: &Path, name: &str, file: &str) -> Outcome {
    let mut man = command::with_tools("man", prefix);
    let shown = command::read(man.env_remove("MANPATH").args(["-w", name]))?;
    if shown.trim_end().ends_with(file) { Ok(()) } else { Err(format!("shows {}", shown.trim_end())) }
}

/// Asks `apropos` for a word of a page's purpose.
fn known(prefix: &Path) -> Outcome {
    let mut apropos = Command::new("apropos");
    let listing = command::read(apropos.arg("-M").arg(prefix.join("share/man")).arg("maximum"))?;
    if listing.contains("shmem_long_max_to_all") { Ok(()) } else { Err(format!("does not find it:\n{listing}")) }
}

fn run(prefix: &Path, compiler: &Path, options: &[&str], source: &Path) -> Outcome {
    let program: PathBuf = source.with_extension("");
    let mut compile = Command::new(compiler);
    compile.args(options).args(["-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(source);
    command::read(compile.current_dir(source.parent().unwrap_or(source)))?;
    PES.into_iter().try_for_each(|pes| {
        let mut oshrun = Command::new(prefix.join("bin/oshrun"));
        // A transfer beyond an array ends the program.
        oshrun.env("SHMEM_CHECK", "2").args(["--timeout", "60", "-n", pes]).arg(&program);
        command::read(&mut oshrun).map(drop)
    })
}

/// Warnings go to the standard error output; the status does not tell of them.
fn set(prefix: &Path, page: &Page) -> Outcome {
    let file = prefix.join(format!("share/man/man{0}/{1}.{0}", page.section, page.name));
    let output = command::output(Command::new("groff").args(["-man", "-ww", "-Tutf8", "-z"]).arg(&file))?;
    let warnings = String::from_utf8_lossy(&output.stderr);
    if output.status.success() && warnings.is_empty() { Ok(()) } else { Err(warnings.into_owned()) }
}
