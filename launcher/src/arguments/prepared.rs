//! The words of a command line, before clap reads them.

use std::ffi::{OsStr, OsString};

use clap::ValueEnum;
use oxshmem_base::Error;

use super::PROFILE;
use super::advice::{foreign, foreign_order};
use super::values::number_of_pes;
use crate::plan::BindTo;

/// Words as clap expects them.
pub(super) struct PreparedWords {
    pub(super) words: Vec<OsString>,
    /// The remedy if there is no such program: the word may be meant for the option before it.
    pub(super) hint: Option<String>,
    /// The option that took the last word, which may be meant as the program.
    pub(super) swallowed: Option<SwallowedWord>,
}

/// A word that is the value of an option, and the last one.
pub(super) struct SwallowedWord {
    pub(super) why: String,
    /// The remedy if it is meant as the program.
    pub(super) fix: String,
}

impl SwallowedWord {
    fn new(option: &str, value_name: &str, value: &OsStr) -> Self {
        let value = value.display();
        let sign = if option.starts_with("--") { '=' } else { ' ' };
        // Another word is the value that was meant, so the program is missing.
        let is_path = value.to_string().starts_with("./");
        let program = if is_path { value.to_string() } else { "./hello".into() };
        Self {
            why: format!("{value} is the value of {option}"),
            fix: format!("let the program follow the value: `oshrun {option}{sign}{value_name} {program}`"),
        }
    }
}

/// The word that follows, if it may be meant as a value: it is no option, and the program may follow it.
fn next_word(rest: &std::slice::Iter<'_, OsString>) -> Option<String> {
    let [word, _, ..] = rest.as_slice() else { return None };
    Some(word.to_string_lossy().into_owned()).filter(|word| !word.starts_with('-') && !word.starts_with("./"))
}

/// The option `--bind` with its word, which may be left out, so it is told from a program's name; and the remedy if the word that
/// follows is meant as one of its words.
fn bind(rest: &mut std::slice::Iter<'_, OsString>) -> (OsString, Option<String>) {
    let word = rest.as_slice().first().and_then(|word| BindTo::from_str(word.to_str()?, false).ok());
    if let Some(word) = word {
        rest.next();
        return (format!("--bind={}", word.word()).into(), None);
    }
    let hint = next_word(rest).map(|word| format!("--bind takes core, numa or none, and `{word}` is none of them"));
    (format!("--bind={}", BindTo::Core.word()).into(), hint)
}

/// Whether the value of an option may be meant as the program: a number is never one.
fn may_be_program(value: &OsStr) -> bool {
    value.to_str().is_none_or(|text| text.parse::<f64>().is_err())
}

/// The remedy if the word is a variable with its value, which the shell takes before a command, and `oshrun` behind `-x`.
fn variable(word: &OsStr) -> Option<String> {
    let (name, _) = word.to_str()?.split_once('=')?;
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let word = word.display();
    is_name
        .then(|| format!("a variable stands before oshrun, or behind -x: `{word} oshrun ...`, `oshrun -x {word} ...`"))
}

/// The name of the option's value, if the next word is that value: of several options behind one dash the last one may take it, as
/// in `-ln 4`, but `-n4` has its value.
fn value_name(command: &clap::Command, option: &str) -> Option<String> {
    let valued = |name: &str| {
        let mut all = command.get_arguments().filter(|known| known.get_action().takes_values());
        all.find(|known| is_called(known, name))
    };
    let known = match option.strip_prefix('-').filter(|letters| !letters.starts_with('-')) {
        None => valued(option)?,
        Some(letters) => {
            let mut names = letters.chars().map(|letter| format!("-{letter}"));
            let last = names.next_back()?;
            valued(&last).filter(|_| !names.any(|name| valued(&name).is_some()))?
        }
    };
    let name = known.get_value_names().and_then(|names| names.first());
    Some(name.map_or("VALUE".into(), |name| name.to_string()))
}

/// Whether a command line names the option so, as `-N` or `--ppn`.
pub(super) fn is_called(known: &clap::Arg, name: &str) -> bool {
    match name.strip_prefix("--") {
        Some(long) => known.get_long_and_visible_aliases().is_some_and(|names| names.contains(&long)),
        None => known.get_short().is_some_and(|short| name == format!("-{short}")),
    }
}

/// Makes the arguments what clap expects: the launcher's name in front, `-n` for the `-np` of OpenSHMEM's annex, and a `--`
/// before the program. The launcher does not read the program's arguments. It refuses an option of another launcher before clap
/// reads each character behind its dash as an option of its own.
pub(super) fn prepared(arguments: &[OsString], command: clap::Command) -> Result<PreparedWords, Error> {
    let mut prepared: Vec<OsString> = vec!["oshrun".into()];
    let (mut hint, mut swallowed) = (None, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        // The hint of the option before is about this word, if it is the program.
        let before = std::mem::take(&mut hint);
        swallowed = None;
        // The value that an option has behind its `=` need not be UTF-8.
        match &*argument.to_string_lossy() {
            "-np" => {
                prepared.push("-n".into());
                prepared.extend(rest.next().cloned());
            }
            "--profile" => {
                prepared.push(format!("--profile={PROFILE}").into());
                hint = next_word(&rest).map(|word| format!("--profile takes its directory with `=`: --profile={word}"));
            }
            "--sim" => {
                prepared.push(argument.clone());
                hint = next_word(&rest).map(|word| format!("--sim takes its seed with `=`: --sim={word}"));
            }
            "--bind" => {
                let (option, of_word) = bind(&mut rest);
                prepared.push(option);
                hint = of_word;
            }
            option if option.starts_with('-') && option != "--" => {
                let next = rest.as_slice().first().and_then(|word| word.to_str());
                if let Some(error) = foreign(option).or_else(|| foreign_order(option, next)) {
                    return Err(error);
                }
                prepared.push(argument.clone());
                if let Some(name) = value_name(&command, option) {
                    let value = rest.next();
                    let program = value.filter(|value| may_be_program(value));
                    swallowed = program.map(|value| SwallowedWord::new(option, &name, value));
                    prepared.extend(value.cloned());
                }
            }
            _ => {
                let count = argument.to_str().filter(|word| number_of_pes(word).is_ok());
                let is_counted = prepared.iter().any(|word| word == "-n");
                let meant = count.filter(|_| !is_counted).map(|count| format!("did you mean -n {count}?"));
                hint = before.or(meant).or_else(|| variable(argument));
                if argument != "--" {
                    prepared.push("--".into());
                }
                prepared.push(argument.clone());
                prepared.extend(rest.by_ref().cloned());
                break;
            }
        }
    }
    Ok(PreparedWords { words: prepared, hint, swallowed })
}
