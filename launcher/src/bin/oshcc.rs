//! `oshcc`, `oshc++`, `oshfort`: compilers that know where OpenSHMEM is.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

use oxshmem_base::Error;
use oxshmem_launcher::stdout;
use oxshmem_launcher::wrapper::{self, Action, Wrapper};
use oxshmem_os::process;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os();
    let called = arguments.next().unwrap_or_else(|| "oshcc".into());
    let name = Path::new(&called).file_name().unwrap_or(&called).to_string_lossy().into_owned();
    // The system resolves symbolic links in this path, so the folder is the one of the real installation.
    let here = match std::env::current_exe() {
        Ok(here) => here,
        Err(error) => {
            return fail(&name, 1, &Error::new("cannot find its own installation").because(error));
        }
    };
    let arguments: Vec<OsString> = wrapper::opened(arguments.collect());
    let matters = arguments.iter().any(|argument| argument == "--race" || argument == "-race");
    let bin = here.parent().unwrap_or(Path::new("/"));
    let variable = |name: &str| std::env::var_os(name);
    let wrapper = Wrapper::new(&name, bin, variable, Path::exists, |compiler| matters && is_clang(compiler));
    match wrapper.act(&arguments) {
        Action::Print(text) => print(&name, &text),
        Action::Refuse(error) => fail(&name, 1, &error),
        Action::MakeModules(modules) => match modules.make() {
            Ok(text) => print(&name, &text),
            Err(error) => fail(&name, 1, &error),
        },
        Action::Run(command) => {
            if let Some(note) = wrapper.note(&arguments) {
                process::say(&format!("{name}: note: {note}\n"));
            }
            let error = Command::new(&command[0]).args(&command[1..]).exec();
            let status = if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
            let error = Error::new(format!("cannot run the compiler {}", command[0].display()))
                .because(error)
                .fix("install it, or name another one with OSHCC, OSHCXX or OSHFORT");
            fail(&name, status, &error)
        }
    }
}

/// Whether the compiler says that it is clang or built on it.
fn is_clang(compiler: &[OsString]) -> bool {
    let answer = Command::new(&compiler[0]).args(&compiler[1..]).arg("--version").output();
    answer.is_ok_and(|answer| String::from_utf8_lossy(&answer.stdout).contains("clang"))
}

fn print(name: &str, text: &str) -> ExitCode {
    stdout::print(name, &format!("{text}\n")).map_or_else(ExitCode::from, |()| ExitCode::SUCCESS)
}

fn fail(name: &str, status: u8, error: &Error) -> ExitCode {
    process::say(&format!("{name}: {error}\n"));
    ExitCode::from(status)
}
