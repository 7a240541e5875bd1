//! `cargo oxrun`: builds a program and runs it as a job.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use clap::CommandFactory;
use oxshmem_base::Error;
use serde_json::Value;

use crate::arguments::{OshrunOptions, Refusal};
use crate::plan::JobPlan;
use crate::verdict;

/// The arguments, sorted by the program that gets them.
#[derive(Debug, PartialEq, Eq)]
pub struct OxrunRequest {
    /// `cargo build`.
    pub build: Vec<OsString>,
    /// `oshrun`.
    pub run: Vec<OsString>,
    /// The program.
    pub program: Vec<OsString>,
}

/// The exit status when there is nothing to run.
pub const FAILED: u8 = 2;

/// Options of `cargo build` with a value.
const WITH_VALUE: &[&str] = &[
    "-p",
    "--package",
    "--bin",
    "--example",
    "--test",
    "--bench",
    "--profile",
    "--features",
    "-F",
    "--manifest-path",
    "--target-dir",
    "--target",
    "--config",
];

/// Its options without.
const ALONE: &[&str] = &[
    "-q",
    "--quiet",
    "-r",
    "--release",
    "--all-features",
    "--no-default-features",
    "--locked",
    "--offline",
    "--frozen",
];

/// The option that builds the race detector into the program, and what it is for `cargo build`.
const RACE: &str = "--race";
const RACE_FEATURE: [&str; 2] = ["--features", "oxshmem/race"];

/// The text of `cargo oxrun --help`: the options of both programs, from their own lists.
pub fn help() -> String {
    // The option of this name goes to `cargo build`, and programs in Rust have no profile.
    let oshrun = OshrunOptions::command().mut_arg("profile", |option| option.hide(true));
    let oshrun = oshrun.help_template("{options}").render_help();
    format!(
        "usage: cargo oxrun [OPTIONS] [-- ARGUMENTS]\n\n\
         Builds a program with cargo build and runs it with oshrun. ARGUMENTS are the program's.\n\n\
         --race builds the program so that it finds its data races: cargo build --features oxshmem/race.\n\n\
         Options of cargo build:\n  {}\n  {} VALUE\n\n\
         Options of oshrun:\n{oshrun}",
        ALONE.join(", "),
        WITH_VALUE.join(", "),
    )
}

impl OxrunRequest {
    /// Sorts the arguments behind `cargo oxrun`: what `cargo build` knows is for it, what comes after `--` for the
    /// program, and everything else for `oshrun`.
    pub fn of(arguments: impl IntoIterator<Item = OsString>) -> Self {
        let mut request = Self { build: Vec::new(), run: Vec::new(), program: Vec::new() };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let text = argument.to_string_lossy().into_owned();
            let name = text.split_once('=').map_or(text.as_str(), |(name, _)| name);
            if text == "--" {
                request.program.extend(arguments);
                break;
            } else if WITH_VALUE.contains(&name) {
                request.build.push(argument);
                // The value may have come with the option.
                request.build.extend(if name == text { arguments.next() } else { None });
            } else if text == RACE {
                request.build.extend(RACE_FEATURE.map(OsString::from));
            } else if ALONE.contains(&name) {
                request.build.push(argument);
            } else {
                request.run.push(argument);
            }
        }
        request
    }

    /// Checks before a build whether `oshrun` accepts its options.
    pub fn check(&self) -> Result<(), Refusal> {
        const PROGRAM: &str = "program";
        let plan = JobPlan::from_arguments(self.run.iter().cloned().chain([PROGRAM.into()]).collect())?;
        match plan.programs[0].command.first().filter(|first| *first != PROGRAM) {
            None => Ok(()),
            Some(first) => Err(Refusal::Error(
                Error::new(format!("{} is neither an option of oshrun nor one of cargo build", first.display()))
                    .fix("put arguments of the program behind `--`"),
            )),
        }
    }

    /// Builds, and returns the one executable that the options choose. An error comes with the exit status for it.
    pub fn build(&self) -> Result<PathBuf, (u8, Error)> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["build", "--message-format=json-render-diagnostics"])
            .args(&self.build)
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| (FAILED, Error::new("cargo cannot be run").because(error).fix("install Rust's cargo")))?;
        if !output.status.success() {
            return Err(unbuilt(output.status));
        }
        let found = executables(&String::from_utf8_lossy(&output.stdout));
        let error = match &found[..] {
            [only] => return Ok(only.clone()),
            [] => Error::new("cargo has built no executable")
                .because("the package has a library only, or the options choose nothing else")
                .fix("name an example with --example NAME, or a package with -p NAME"),
            several => {
                let names: Vec<_> = several.iter().filter_map(|path| path.file_name()?.to_str()).collect();
                Error::new("cargo has built several executables")
                    .because(names.join(", "))
                    .fix("choose one with --bin NAME or --example NAME")
            }
        };
        Err((FAILED, error))
    }
}

/// A build that has failed ends with the exit status of cargo.
fn unbuilt(status: ExitStatus) -> (u8, Error) {
    let error = Error::new("cargo build has failed")
        .because("its messages are above")
        .fix("correct the errors that cargo printed");
    (u8::try_from(verdict::code(status)).unwrap_or(FAILED), error)
}

fn executables(messages: &str) -> Vec<PathBuf> {
    let message = |line: &str| serde_json::from_str::<Value>(line).ok();
    messages
        .lines()
        .filter_map(message)
        .filter_map(|message| Some(message.get("executable")?.as_str()?.into()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(line: &str) -> [String; 3] {
        let OxrunRequest { build, run, program } = OxrunRequest::of(line.split(' ').map(OsString::from));
        [build, run, program].map(|words| words.join(&OsString::from(" ")).into_string().expect("words"))
    }

    #[test]
    fn arguments_go_to_whom_they_are_for() {
        let [build, run, program] = sorted("-n 4 --release --label --bin=a -p b --timeout 5 -- -n -- x");
        assert_eq!(
            [build, run, program].map(|words| words.to_string()),
            ["--release --bin=a -p b", "-n 4 --label --timeout 5", "-n -- x"]
        );
        let [build, run, program] = sorted("--race -n 2 -- --race");
        assert_eq!([build, run, program].map(|words| words.to_string()), ["--features oxshmem/race", "-n 2", "--race"]);
    }

    #[test]
    fn wrong_options_are_found_before_the_build() {
        let refused = |line: &str| match OxrunRequest::of(line.split(' ').map(OsString::from)).check() {
            Ok(()) => String::new(),
            Err(Refusal::Usage(error)) => error.to_string(),
            Err(Refusal::Error(error)) => error.to_string(),
        };
        assert_eq!(refused("-n 4 --release --label -- --frob"), "");
        assert!(refused("-n 4 --frob").contains("--frob"));
        assert!(refused("-n many").contains("many"));
        assert!(refused("-n 4 input.txt").contains("put arguments of the program behind `--`"));
    }

    #[test]
    fn help_lists_the_options_of_both() {
        let help = help();
        assert!(help.contains("--example") && help.contains("--locked") && help.contains("--timeout"), "{help}");
        assert!(!help.contains("Record what the program does"), "--profile goes to cargo build: {help}");
    }

    #[test]
    fn a_build_that_fails_ends_with_the_status_of_cargo() {
        use std::os::unix::process::ExitStatusExt;
        let after = |raw| unbuilt(ExitStatus::from_raw(raw)).0;
        assert_eq!([after(101 << 8), after(1 << 8), after(libc::SIGINT)], [101, 1, 130]);
    }

    #[test]
    fn executables_are_found_among_messages() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null}\nnoise\n\
                        {\"reason\":\"compiler-artifact\",\"executable\":\"/t/hello\"}\n{\"reason\":\"build-finished\"}";
        assert_eq!(executables(messages), [PathBuf::from("/t/hello")]);
    }
}
