//! Project tasks: generate, build, link, install, test, demo.
#![forbid(unsafe_code)]

mod generate;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  generate [--check]    write the files that come from the routine table; --check fails when one is stale
";

/// What a task gives back: an error is a sentence for the user.
type Outcome = Result<(), String>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().ok_or(USAGE)?;
    let rest: Vec<String> = arguments.collect();
    match command.as_str() {
        "generate" => generate::run(&rest),
        _ => Err(format!("`{command}` is not a task\n{USAGE}")),
    }
}

/// The repository's top folder.
fn top() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("this crate lies two folders below the top")
        .to_path_buf()
}
