//! The book in `docs`, and the README: links lead somewhere, every page is in the summary, and what can be run is run. (The rules of
//! the house look whether the files exist that a page names.)
//!
//! A block with the language `sh run` is run by a shell that finds the installed tools, in a folder of its page; blocks of one page
//! follow each other there. Further words: `status=N` (the exit status that the page speaks of), `needs=PROGRAM`. A block
//! `text output` behind it shows some of the lines that it prints, on either stream; `…` stands for anything.

mod pages;
mod run;

use std::path::Path;
use std::process::Command;

use crate::counts::{CheckCounts, failed, skipped};
use crate::{Outcome, command, target, top};
use pages::{BookPage, pages};

/// Checks pages and runs their blocks with an installation.
pub(crate) fn check(prefix: &Path) -> Outcome<CheckCounts> {
    let source = top().join("docs/src");
    let mut counts = CheckCounts::default();
    let all = pages(&source)?;
    for page in all.iter().chain([&BookPage::read(&top(), Path::new("README.md"))?]) {
        let problems = page.problems();
        problems.iter().for_each(|problem| failed!("{}: {problem}", page.name.display()));
        counts += CheckCounts { passed: usize::from(problems.is_empty()), failed: problems.len(), skipped: 0 };
        counts += run::page(page, prefix)?;
    }
    let strays = pages::strays(&source, &all)?;
    strays.iter().for_each(|path| failed!("{}: SUMMARY.md does not name it", path.display()));
    counts.failed += strays.len();
    counts += by_mdbook()?;
    println!("{} passed, {} failed", counts.passed, counts.failed);
    Ok(counts)
}

/// mdBook makes the pages, if it is installed.
fn by_mdbook() -> Outcome<CheckCounts> {
    if !command::exists("mdbook") {
        return Ok(skipped!("the book by mdbook, which is not here (cargo install mdbook --version ^0.4)"));
    }
    let mut build = Command::new("mdbook");
    build.arg("build").arg(top().join("docs")).arg("--dest-dir").arg(target().join("book"));
    command::read(&mut build)?;
    Ok(CheckCounts::one(true))
}
