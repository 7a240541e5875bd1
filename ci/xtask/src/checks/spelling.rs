//! Spelling, by the program `typos`: English words, and those that `typos.toml` adds.

use std::path::PathBuf;
use std::process::Command;

use crate::counts::{CheckCounts, skipped};
use crate::{Outcome, command, target, top};

/// The version that the checks bring. Newer ones know more words, which would fail a tree that has not changed.
const VERSION: &str = "1.52.0";

/// Checks every file that git knows.
pub(crate) fn check() -> Outcome<CheckCounts> {
    let Some(program) = program()? else {
        return Ok(skipped!("spelling (`pip install typos=={VERSION}` brings what checks it)"));
    };
    let passed = command::run(Command::new(program).args(["--format", "brief"]).current_dir(top())).is_ok();
    Ok(CheckCounts::one(passed))
}

/// The program: the one in `target`, which Python's installer brings ready to run if there is a network.
fn program() -> Outcome<Option<PathBuf>> {
    let folder = target().join("typos").join(VERSION);
    let program = folder.join("bin/typos");
    if !program.is_file() && command::exists("python3") {
        let wanted = format!("typos=={VERSION}");
        let arguments =
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action=ignore", "--target"];
        command::output(Command::new("python3").args(arguments).arg(&folder).arg(wanted))?;
    }
    Ok(program.is_file().then_some(program))
}
