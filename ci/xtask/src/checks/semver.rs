//! `cargo semver-checks` on the Rust API: does a program that compiled with the baseline still compile?
//!
//! No version is published yet, so the baseline is a revision of this repository, named in a committed file. The tool is
//! not small, so the checks of the project go without it: they compare the list of public items ([`crate::checks::public_api`]).

use crate::counts::{CheckCounts, skipped};
use crate::{Outcome, command, disk, top};

/// The crate that users depend on.
const PACKAGE: &str = "oxshmem";

/// Compares the interface with that of `revision`, or of the baseline.
pub(crate) fn check(revision: Option<&str>) -> Outcome<CheckCounts> {
    let revision = match revision {
        Some(revision) => revision.to_owned(),
        // It moves when the interface is meant to break, together with the version.
        None => disk::read(&top().join("crates/shmem/semver-baseline.txt"))?.trim().to_owned(),
    };
    let installed = command::output(command::cargo().args(["semver-checks", "--version"]))?;
    if !installed.status.success() {
        return Ok(skipped(
            "cargo-semver-checks is not installed; `cargo install --locked cargo-semver-checks` does that \
             (with `--root DIR` into DIR/bin, to be added to PATH)",
        ));
    }
    let tool = String::from_utf8_lossy(&installed.stdout).trim().to_owned();
    let known = command::git(&["cat-file", "-e", &format!("{revision}^{{commit}}")]).output();
    if !known.is_ok_and(|known| known.status.success()) {
        return Ok(skipped(&format!("revision {revision} is not in this clone; `git fetch --unshallow` may bring it")));
    }
    println!("{PACKAGE} against {revision}, by {tool}");
    let mut semver = command::cargo();
    semver.args(["semver-checks", "--package", PACKAGE, "--baseline-rev", &revision]);
    let status = semver.status().map_err(|error| format!("cargo cannot be started: {error}"))?;
    Ok(CheckCounts::one(status.success()))
}

fn skipped(why: &str) -> CheckCounts {
    skipped!("semver checks of {PACKAGE}: {why}")
}
