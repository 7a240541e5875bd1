//! The pages of the manual, below `share/man` of an installation.

use std::fs;
use std::path::Path;
use std::process::Command;

use oxshmem_api::generate::{Help, manual_pages};
use oxshmem_api::manual::pages;

use crate::Outcome;
use crate::product::library::write;

/// The help texts of tools that become part of their pages: the command, and its arguments.
const HELP: &[(&str, &str)] = &[
    ("oshrun", "--help"),
    ("oshcc", "-showme:help"),
    ("osh_info", "--help"),
    ("oxshmem", "--help"),
    ("oxshmem simulate", "--help"),
    ("oxshmem schedule", "--help"),
    ("oxshmem explain", "--help"),
];

/// Writes the pages into an installation. The folder may hold the pages of others, so nothing is removed.
pub(crate) fn install(prefix: &Path) -> Outcome {
    let folder = prefix.join("share/man");
    for section in ["man1", "man3", "man7"] {
        let path = folder.join(section);
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let mut help = Vec::new();
    for (command, question) in HELP {
        let mut words = command.split(' ');
        let tool = prefix.join("bin").join(words.next().expect("a command has a name"));
        let text = crate::command::read(Command::new(tool).args(words.clone()).arg(question).env("COLUMNS", "80"))?;
        help.push(Help { command: command.to_string(), text });
    }
    manual_pages(&pages()?, &help).iter().try_for_each(|file| write(&folder.join(&file.path), &file.text))
}
