//! `cargo oxrun -n 4`: builds the program of this folder and runs it as a job of 4 PEs.

use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use oxshmem_base::Error;
use oxshmem_launcher::cargo::{self, FAILED, OxrunRequest};
use oxshmem_launcher::stdout;
use oxshmem_os::process;

fn main() -> ExitCode {
    // Cargo repeats the name of the command.
    let mut arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "oxrun") {
        arguments.remove(0);
    }
    if arguments.iter().take_while(|word| *word != "--").any(|word| word == "-h" || word == "--help") {
        return stdout::print("cargo oxrun", &cargo::help()).map_or_else(ExitCode::from, |()| ExitCode::SUCCESS);
    }
    let request = OxrunRequest::of(arguments);
    if let Err(refusal) = request.check() {
        return ExitCode::from(u8::try_from(refusal.tell("cargo oxrun")).unwrap_or(FAILED));
    }
    let failed = |status, error| {
        process::say(&format!("cargo oxrun: {error}\n"));
        ExitCode::from(status)
    };
    let program = match request.build() {
        Ok(program) => program,
        Err((status, error)) => return failed(status, error),
    };
    // The launcher that was installed with this command, if it was.
    let beside = std::env::current_exe().ok().map(|this| this.with_file_name("oshrun")).filter(|path| path.exists());
    if beside.is_none() {
        // Other implementations of OpenSHMEM have an oshrun, too, which does not know our options.
        process::say("cargo oxrun: no oshrun is beside cargo-oxrun, so that of PATH runs, perhaps another library's\n");
    }
    let mut oshrun = Command::new(beside.unwrap_or_else(|| "oshrun".into()));
    let error = oshrun.args(request.run).arg(program).args(request.program).exec();
    let error = Error::new("oshrun cannot be run")
        .because(format!("it is neither beside cargo-oxrun nor in PATH ({error})"))
        .fix("run `cargo xtask install --prefix DIR` in a checkout of oxshmem, and put DIR/bin into PATH");
    failed(FAILED, error)
}
