//! Project tasks: build the product, check it, run things in rigs.
#![forbid(unsafe_code)]

mod checks;
mod command;
mod counts;
mod disk;
mod processors;
mod product;
mod rigs;
mod tasks;
mod watchdog;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::Parser;
use oxshmem_faults::{target, top};

/// The result of a task; an error is a sentence for the user.
type Outcome<T = ()> = Result<T, String>;

fn main() -> ExitCode {
    LazyLock::force(&OWN_PATH);
    match tasks::CommandLine::parse().run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The path of this program, read before anything else: when cargo builds it anew beside the tests of the workspace, this
/// process runs a deleted file, but the file that replaced it does the same.
static OWN_PATH: LazyLock<PathBuf> = LazyLock::new(|| std::env::current_exe().expect("a program has a path"));

/// The installation that builds and tests share.
fn default_prefix() -> PathBuf {
    target().join("oxshmem")
}
