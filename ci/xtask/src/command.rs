//! Running other programs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use oxshmem_faults::wrapper;

use crate::{Outcome, disk, top};

/// The cargo that runs this program, in the repository's top folder.
pub(crate) fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(top());
    cargo
}

/// The output of a part of this program that prints, which is built with that part's feature. The inner error says why it has none
/// here; the words of `obstacle` in a message tell.
pub(crate) fn printed(arguments: &[&OsStr], obstacle: (&str, &str)) -> Outcome<Result<String, String>> {
    let mut cargo = cargo();
    cargo.args(["run", "--quiet", "--package", "xtask", "--features", "printers", "--"]);
    match read(cargo.args(arguments)) {
        Err(why) if why.contains(obstacle.0) => Ok(Err(obstacle.1.into())),
        other => other.map(Ok),
    }
}

/// Git in the repository's top folder.
pub(crate) fn git(arguments: &[&str]) -> Command {
    let mut git = Command::new("git");
    git.args(arguments).current_dir(top());
    git
}

/// A program that finds the tools of an installation.
pub(crate) fn with_tools(program: &str, prefix: &Path) -> Command {
    let paths = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command.env("PATH", format!("{}:{paths}", prefix.join("bin").display()));
    command
}

pub(crate) fn run_cargo(arguments: &[&str]) -> Outcome {
    run(cargo().args(arguments))
}

/// Runs a program that speaks for itself; anything but success is an error.
pub(crate) fn run(command: &mut Command) -> Outcome {
    let status = command.status().map_err(|error| cannot_start(command, &error))?;
    if status.success() { Ok(()) } else { Err(format!("{} ended with {status}", shown(command))) }
}

/// Runs a program and returns what it printed; anything but success is an error that shows its messages.
pub(crate) fn read(command: &mut Command) -> Outcome<String> {
    let output = output(command)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let messages = String::from_utf8_lossy(&output.stderr);
    Err(format!("{} ended with {}\n{}", shown(command), output.status, messages.trim_end()))
}

/// Runs a program whose failure means something to the caller.
pub(crate) fn output(command: &mut Command) -> Outcome<Output> {
    command.output().map_err(|error| cannot_start(command, &error))
}

/// Compiles a program with the wrapper of its language, as a user does. The other lane may build and run the same program: its name
/// stands for a whole one at any time.
pub(crate) fn compile(prefix: &Path, options: &[&str], sources: &[PathBuf], program: &Path) -> Outcome {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    disk::make_folder(program.parent().unwrap_or(program))?;
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let fresh = disk::added(program, &format!(".{}-{number}", std::process::id()));
    let wrapper =
        sources.first().and_then(|source| wrapper(source)).ok_or("no source is in a language with a wrapper")?;
    read(Command::new(prefix.join("bin").join(wrapper)).args(options).args(sources).arg("-o").arg(&fresh))?;
    std::fs::rename(&fresh, program).map_err(|error| format!("{}: {error}", program.display()))
}

/// Whether a program, or the file with this path, is on this machine.
pub(crate) fn exists(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("{} cannot be started: {error}", command.get_program().to_string_lossy())
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let text = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text,
    }
}
