//! The manual: installed below `share/man`; its programs run, and its pages set without a warning.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use oxshmem_api::manual::{Page, pages};

use crate::checks::packages;
use crate::counts::Counts;
use crate::product::library::write;
use crate::{Outcome, command, target};

/// Languages of programs on pages: the compiler, its options, the ending of a file's name.
const LANGUAGES: &[(&str, &str, &[&str], &str)] =
    &[("c", "oshcc", &["-std=c11"], "c"), ("fortran", "oshfort", &[], "f90")];

/// Compiles every program of the manual as a user would, runs it on 4 PEs, and lets groff look at every page.
pub(crate) fn check(prefix: &Path) -> Outcome<Counts> {
    let scratch = target().join("manual");
    fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let mut counts = Counts::default();
    let mut record = |what: String, outcome: Outcome| match outcome {
        Ok(()) => counts.passed += 1,
        Err(message) => {
            println!("FAILED {what}: {message}");
            counts.failed += 1;
        }
    };
    let mut skipped = 0;
    for page in pages()? {
        for (language, compiler, options, ending) in LANGUAGES {
            if page.programs(language).next().is_some() && *language == "fortran" && !packages::exists("gfortran") {
                println!("SKIPPED the Fortran program of {}: there is no gfortran", page.name);
                skipped += 1;
                continue;
            }
            for (number, lines) in page.programs(language).enumerate() {
                let source = scratch.join(format!("{}-{number}.{ending}", page.name));
                let outcome = write(&source, &(lines.join("\n") + "\n"))
                    .and_then(|()| run(prefix, &prefix.join("bin").join(compiler), options, &source));
                record(format!("the program of {}", source.display()), outcome);
            }
        }
        if packages::exists("groff") {
            record(format!("the page {}", page.name), set(prefix, &page));
        }
    }
    if !packages::exists("groff") {
        println!("SKIPPED: pages are not set, because there is no groff");
        skipped += 1;
    }
    counts.skipped += skipped;
    println!("{} passed, {} failed", counts.passed, counts.failed);
    Ok(counts)
}

fn run(prefix: &Path, compiler: &Path, options: &[&str], source: &Path) -> Outcome {
    let program: PathBuf = source.with_extension("");
    let mut compile = Command::new(compiler);
    compile.args(options).args(["-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(source);
    command::read(compile.current_dir(source.parent().unwrap_or(source)))?;
    command::read(Command::new(prefix.join("bin/oshrun")).args(["--timeout", "60", "-n", "4"]).arg(&program)).map(drop)
}

/// Warnings go to the standard error output; the status does not tell of them.
fn set(prefix: &Path, page: &Page) -> Outcome {
    let file = prefix.join(format!("share/man/man{0}/{1}.{0}", page.section, page.name));
    let output = command::output(Command::new("groff").args(["-man", "-ww", "-Tutf8", "-z"]).arg(&file))?;
    let warnings = String::from_utf8_lossy(&output.stderr);
    if output.status.success() && warnings.is_empty() { Ok(()) } else { Err(warnings.into_owned()) }
}
