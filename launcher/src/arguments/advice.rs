//! Advice on command lines that most likely mean something else than they say.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::number_of_pes;

/// Options of other launchers for the number of PEs, and ours.
const FOREIGN: [(&str, &str); 5] =
    [("-c", "-n N"), ("--ntasks", "-n N"), ("-p", "-N N"), ("--npernode", "-N N"), ("--ntasks-per-node", "-N N")];

/// An error about an option of another launcher names ours.
pub(super) fn translated(mut error: clap::Error) -> clap::Error {
    let ours = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(name)) if error.kind() == ErrorKind::UnknownArgument => {
            FOREIGN.iter().find(|(foreign, _)| foreign == name)
        }
        _ => None,
    };
    if let Some((_, ours)) = ours {
        let what = if *ours == "-n N" { "the number of PEs" } else { "the number of PEs on each host" };
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![format!("{what} is {ours} here").into()]));
        error.remove(ContextKind::SuggestedArg);
    }
    error
}

/// A note about a number of PEs behind the program, which gets it as an argument, in a job of one PE.
pub(super) fn stray_count(command: &[OsString]) -> Option<String> {
    let arguments = command.get(1..)?;
    let names_count = |pair: &&[OsString]| {
        matches!(pair[0].to_str(), Some("-n" | "-np" | "--np"))
            && pair[1].to_str().is_some_and(|n| number_of_pes(n).is_ok())
    };
    let found = arguments.windows(2).find(names_count)?;
    let (option, count, program) = (found[0].display(), found[1].display(), command[0].display());
    Some(format!(
        "note: one PE runs, and {option} {count} goes to {program}: options of oshrun stand before the program, \
         `oshrun -n {count} {program}`"
    ))
}
