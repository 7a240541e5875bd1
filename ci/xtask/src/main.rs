//! Project tasks: generate, build, link, install, test, demo.
#![forbid(unsafe_code)]

mod abi;
mod bindgen;
mod build;
mod command;
mod conformance;
mod counts;
mod fuzz;
mod generate;
mod hosts;
mod house;
mod install;
mod launchers;
mod library;
mod manual;
mod matrix;
mod namespaces;
mod packages;
mod placement;
mod problems;
mod public_api;
mod rails;
mod rdma;
mod rig;
mod semver;
mod starts;
mod test;
mod tuning;

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::LazyLock;

use lexopt::prelude::*;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  generate [--check]                      write what comes from the routine table; --check fails when it is stale
  bindgen [--check] [LIBRARY...]          write the bindings to libraries from the installed headers, or compare them
  public-api [--check]                    write the list of the Rust API's public items, or compare with it
  semver [REVISION]                       cargo semver-checks on the Rust API, against a revision or the committed baseline
  house [--list | --write]                rules that the compiler does not know (imports, names, comments); the places that break
                                          them, or their list written anew
  build [--profile NAME] [--prefix DIR]   build and link everything; lay it out below DIR (target/oxshmem)
  install --prefix DIR                    the same, released, for use outside this folder
  check-abi [--prefix DIR]                symbols, prototypes, macros and headers of the library below DIR
  rig NAME COMMAND [ARGUMENT...]          run a command in a rig: `rdma` (a virtual machine with InfiniBand verbs), `hosts`, `slurm`
  matrix [--transport NAMES] [--nodes NUMBERS] [--pes NUMBERS] [--filter TEXT]
                                          every conformance case over every transport between 2 and 4 virtual nodes, at 2,
                                          4 and 8 PEs, with a line for each, which takes hours
  rdma [--transport NAMES] [--amo processor,network] [--pes NUMBERS] [--from PROGRAM] [--limit SECONDS] [FILTER]
                                          conformance programs over emulated InfiniBand (ucx:rc), at 2 PEs; --everything runs
                                          all of them in one machine, which takes hours; --from begins with a program
  launchers [WORD...]                     one program under every launcher here, or under those whose names have a WORD
  starts [--prefix DIR]                   how long 64 empty programs take to start, and 1,000 PEs over 8 made-up hosts
  rails                                   what two rails carry between two hosts with two cables, and what one does
  problems                                what users suffer from elsewhere, reproduced, with the messages that they get here
  fuzz [--seconds N] [--keep] [TARGET...] run the fuzzers, each for a minute; --keep adds what they find to `ci/fuzz/corpus`
  bad-cable [FILTER]                      inside `rig rdma`: transfers and conformance programs, as they were built, over
                                          a cable with delay, reordering and loss; an empty FILTER means all programs
  demo                                    build, then run the demonstration on 4 PEs
  test [STEP...]                          every check, or the named steps; `test --list` names them";

/// The result of a task; an error is a sentence for the user.
type Outcome<T = ()> = Result<T, String>;

fn main() -> ExitCode {
    LazyLock::force(&OWN_PATH);
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

/// Where this program lies, found out before anything else: when cargo builds it anew beside the tests of the workspace, this
/// process is one of a deleted file, but what has taken its place does the same.
static OWN_PATH: LazyLock<PathBuf> = LazyLock::new(|| std::env::current_exe().expect("a program has a path"));

fn run() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|word| word == "conformance") {
        return test::finish(conformance::run(&conformance::Options::from_arguments(&arguments[1..])?));
    }
    if arguments.first().is_some_and(|word| word == "matrix") {
        return test::finish(matrix::run(&arguments[1..])?);
    }
    if arguments.first().is_some_and(|word| word == "launchers") {
        return test::finish(launchers::run(&arguments[1..])?);
    }
    if arguments.first().is_some_and(|word| word == "rdma") {
        return test::finish(rdma::run(&arguments[1..])?);
    }
    if arguments.first().is_some_and(|word| word == "problems") {
        return test::finish(problems::run()?);
    }
    if arguments.first().is_some_and(|word| word == "rig") {
        return rig::run(&arguments[1..]);
    }
    if arguments.first().is_some_and(|word| word == "fuzz") {
        return test::finish(fuzz::run(&fuzz::Options::from_arguments(&arguments[1..])?)?);
    }
    let request = Request::parse().map_err(|error| format!("{error}\n{USAGE}"))?;
    match request.command.as_str() {
        "help" => {
            println!("{USAGE}");
            Ok(())
        }
        "generate" if request.check => generate::check(),
        "generate" => generate::write(),
        "bindgen" if request.check => test::finish(bindgen::check(&request.names)?),
        "bindgen" if request.print => bindgen::print(&request.names),
        "bindgen" => bindgen::write(&request.names),
        "public-api" if request.check => test::finish(public_api::check()?),
        "public-api" if request.print => public_api::print(&request.names),
        "public-api" => public_api::write(),
        "house" => test::finish(house::run(request.write, request.list)?),
        "semver" => test::finish(semver::check(request.names.first().map(String::as_str))?),
        "build" => build::build(&request.profile, &request.prefix_or_default()),
        "install" => match &request.prefix {
            Some(prefix) => build::build("release", prefix),
            None => Err(format!("install needs to know where to: --prefix DIR\n{USAGE}")),
        },
        "check-abi" => test::finish(abi::check(&request.prefix_or_default())?),
        "rails" => test::finish(rails::run(&request.prefix_or_default())?),
        "starts" => test::finish(starts::run(&request.prefix_or_default())?),
        "demo" => demo(),
        "bad-cable" => test::finish(namespaces::bad_cable(
            &request.prefix_or_default(),
            request.names.first().map(String::as_str),
        )?),
        "test" if request.list => {
            test::STEPS.iter().for_each(|step| println!("{:<14}{}", step.name, step.what));
            Ok(())
        }
        "test" => test::run(&request.names),
        other => Err(format!("`{other}` is not a task\n{USAGE}")),
    }
}

/// The command line.
struct Request {
    command: String,
    check: bool,
    list: bool,
    print: bool,
    write: bool,
    profile: String,
    prefix: Option<PathBuf>,
    names: Vec<String>,
}

impl Request {
    fn parse() -> Result<Request, lexopt::Error> {
        let mut parser = lexopt::Parser::from_env();
        let mut request = Request {
            command: String::new(),
            check: false,
            list: false,
            print: false,
            write: false,
            profile: "release".into(),
            prefix: None,
            names: Vec::new(),
        };
        while let Some(argument) = parser.next()? {
            match argument {
                Short('h') | Long("help") => request.command = "help".into(),
                Long("check") => request.check = true,
                Long("write") => request.write = true,
                Long("print") => request.print = true,
                Long("list") => request.list = true,
                Long("profile") => request.profile = parser.value()?.string()?,
                Long("prefix") => {
                    let path = std::path::absolute(parser.value()?);
                    request.prefix = Some(path.map_err(|error| format!("--prefix: {error}"))?);
                }
                Value(word) if request.command.is_empty() => request.command = word.string()?,
                Value(word) => request.names.push(word.string()?),
                other => return Err(other.unexpected()),
            }
        }
        if request.command.is_empty() {
            request.command = "help".into();
        }
        Ok(request)
    }

    fn prefix_or_default(&self) -> PathBuf {
        self.prefix.clone().unwrap_or_else(default_prefix)
    }
}

/// The installation that builds and tests share.
fn default_prefix() -> PathBuf {
    target().join("oxshmem")
}

/// The repository's top folder.
fn top() -> PathBuf {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("this crate lies two folders below the top").to_path_buf()
}

/// Where cargo builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| top().join("target"), |folder| top().join(folder))
}

fn demo() -> Outcome {
    let prefix = default_prefix();
    build::build("release", &prefix)?;
    command::run(Command::new(prefix.join("bin/oshrun")).args(["-n", "4", "--demo"]))
}
