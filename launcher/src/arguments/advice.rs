//! Advice on command lines that most likely mean something else than they say.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use oxshmem_base::Error;

use super::values::number_of_pes;
use super::{OshrunOptions, Refusal, is_option};

/// Options of other launchers (Hydra, Open MPI's, Slurm's), and what stands for them here.
const FOREIGN: &[(&[&str], &str)] = &[
    (&["-c", "--ntasks", "--pes", "--processes", "--procs"], "say the number of PEs with -n N"),
    (
        &["-ppn", "-perhost", "-npernode", "--npernode", "--ntasks-per-node"],
        "say the number of PEs on each host with -N N",
    ),
    (&["-p"], "say the number of PEs with -n N, and how many of them are on each host with -N N"),
    (&["-host", "-hosts", "--hosts", "--nodelist"], "name hosts with -H HOSTS"),
    (&["-f", "-hostfile", "-machinefile"], "name the file of hosts with --hostfile FILE"),
    (
        &["-env", "-genv", "-envlist", "-genvlist", "-genvall", "--export"],
        "give PEs a variable with -x NAME or -x NAME=VALUE; SHMEM_*, SMA_*, FI_* and UCX_* they get anyway",
    ),
    (
        &["-mca", "--mca", "-gmca", "--gmca", "--prtemca", "--pmixmca"],
        "set a variable instead: SHMEM_TRANSPORT chooses what carries messages, and `osh_info` lists all",
    ),
    (
        &["-iface", "--iface", "--netmod"],
        "choose the network's interface with SHMEM_TCP_INTERFACE, the transport with SHMEM_TRANSPORT",
    ),
    (&["-map-by", "--map-by", "-rank-by", "--rank-by"], "deal PEs to hosts with --map block, cyclic or numa"),
    (&["-bind-to", "--bind-to", "--cpu-bind"], "bind PEs with --bind=core, numa or none"),
    (&["-report-bindings", "--report-bindings", "--display-map"], "show where PEs are with --display map"),
    (&["-prepend-rank", "--prepend-rank", "-ordered-output"], "begin lines with the PE's number with --label"),
    (&["-wdir", "-wd", "-workdir"], "choose the directory with --wdir DIR"),
];

/// Words by which other launchers (Open MPI's, Hydra) deal PEs, and what stands for them here.
const ORDERS: &[(&[&str], &str)] = &[
    (&["slot", "byslot"], "fill one host after the other with --map block, which is the default"),
    (&["node", "bynode", "host"], "deal PEs to hosts in turn with --map cyclic"),
    (
        &["socket", "package", "board", "l3cache"],
        "deal the PEs of each host to its NUMA nodes in turn with --map numa --bind=core",
    ),
    (
        &["core", "hwthread", "thread", "cpu", "l2cache", "l1cache"],
        "bind each PE to a core with --bind=core; --map block, the default, places neighbours together",
    ),
    (&["ppr"], "say the number of PEs on each host with -N N"),
];

/// Options that some try, and the variables of the library that stand for them.
const VARIABLES: &[(&str, &str)] = &[
    ("--check", "SHMEM_CHECK=3"),
    ("--debug", "SHMEM_DEBUG=1"),
    ("--info", "SHMEM_INFO=1"),
    ("--transport", "SHMEM_TRANSPORT=tcp"),
    ("--backtrace", "SHMEM_BACKTRACE=1"),
    ("--heap-size", "SHMEM_SYMMETRIC_SIZE=1G"),
];

/// The error about an option of another launcher, or one that is a variable of the library.
pub(super) fn foreign(option: &str) -> Option<Error> {
    let name = option.split_once('=').map_or(option, |(name, _)| name);
    if let Some((_, variable)) = VARIABLES.iter().find(|(known, _)| *known == name) {
        return Some(
            Error::new(format!("{name} is no option of oshrun"))
                .because("the library reads it from its environment")
                .fix(format!("set the variable: {variable} oshrun -n 2 ./program")),
        );
    }
    if name == "--race" {
        return Some(
            Error::new("--race is no option of oshrun")
                .because("the compiler must add the checks to the program")
                .fix("compile with oshcc --race, oshc++ --race or oshfort --race, and run that program"),
        );
    }
    // Clap would take `p4` for the value of -n.
    let count = option.strip_prefix("-np").map(|count| count.trim_start_matches('='));
    if let Some(count) = count.filter(|count| number_of_pes(count).is_ok()) {
        return Some(Error::new(format!("{option} is no option of oshrun")).fix(format!("write -np {count}")));
    }
    let (_, ours) = FOREIGN.iter().find(|(names, _)| names.contains(&name))?;
    Some(Error::new(format!("{name} is an option of another launcher")).fix(*ours))
}

/// The error about a value of `--map` that is a word of another launcher. Clap would name the word of its own that looks most like
/// it. `next`: the word behind the option. A launcher's word may have more behind a colon.
pub(super) fn foreign_order(option: &str, next: Option<&str>) -> Option<Error> {
    let word = match option.split_once('=') {
        Some(("--map", word)) => word,
        None if option == "--map" => next?,
        _ => return None,
    };
    let order = word.split_once(':').map_or(word, |(order, _)| order);
    let (_, ours) = ORDERS.iter().find(|(words, _)| words.contains(&order))?;
    Some(
        Error::new(format!("--map has no order `{word}`, a word of other launchers"))
            .because("oshrun takes block, cyclic or numa")
            .fix(*ours),
    )
}

/// The error of clap behind a colon. An option of the whole job has a remedy.
pub(super) fn behind_a_colon(error: clap::Error) -> Refusal {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) if error.kind() == ErrorKind::UnknownArgument && is_option(option) => {
            Error::new(format!("{option} stands behind a colon, and is an option of the whole job"))
                .because("behind a colon a program has -n, -x and --wdir of its own")
                .fix(format!("let it stand before the first program: `oshrun {option} ... ./a : ... ./b`"))
                .into()
        }
        _ => error.into(),
    }
}

/// A note about a number of PEs behind the program, which gets it as an argument, in a job of one PE.
pub(super) fn stray_count(command: &[OsString]) -> Option<String> {
    let names_count = |pair: &[OsString]| {
        matches!(pair[0].to_str(), Some("-n" | "-np" | "--np"))
            && pair[1].to_str().is_some_and(|n| number_of_pes(n).is_ok())
    };
    let found = 1 + command.get(1..)?.windows(2).position(names_count)?;
    let (option, count) = (command[found].display(), command[found + 1].display());
    let program: Vec<String> = program_words(&command[..found]).iter().map(|word| word.display().to_string()).collect();
    let program = program.join(" ");
    Some(format!(
        "note: one PE runs, and {option} {count} goes to {program}: options of oshrun stand before the program, \
         `oshrun -n {count} {program}`"
    ))
}

/// The words that name the program: the first one, and those of Python up to its script or module.
fn program_words(command: &[OsString]) -> &[OsString] {
    let is_python = command[0].to_string_lossy().rsplit('/').next().is_some_and(|name| name.starts_with("python"));
    let script = command.iter().skip(1).position(|word| !word.to_string_lossy().starts_with('-'));
    match script {
        Some(place) if is_python => &command[..place + 2],
        _ => &command[..1],
    }
}

/// Refuses options for output that is shown where it goes to files as it is.
pub(super) fn unshown_output(options: &OshrunOptions) -> Result<(), Error> {
    let named = [
        (options.label, "--label"),
        (options.tag_output, "--tag-output"),
        (options.timestamp_output, "--timestamp-output"),
        (options.only.is_some(), "--only"),
    ];
    match named.iter().find(|(is_named, _)| *is_named) {
        Some((_, option)) if options.output_dir.is_some() => {
            Err(Error::new(format!("{option} is about output that is shown, and --output-dir shows none"))
                .because("--output-dir writes what each PE prints to files of its own, byte for byte")
                .fix("leave one out"))
        }
        _ => Ok(()),
    }
}
