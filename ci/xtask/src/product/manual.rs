//! The pages of the manual, below `share/man` of an installation.

use std::fs;
use std::path::Path;
use std::process::Command;

use oxshmem_api::generate::{Help, manual_pages};
use oxshmem_api::manual::pages;

use crate::disk::write;
use crate::product::recipe::Recipe;
use crate::{Outcome, command};

/// The help texts of tools that become part of their pages: the command, and its arguments.
const HELP: &[(&str, &str)] = &[
    ("oshrun", "--help"),
    ("oshcc", "-showme:help"),
    ("osh_info", "--help"),
    ("cargo-oxrun", "--help"),
    ("oxshmem bench", "--help"),
    ("oxshmem doctor", "--help"),
    ("oxshmem why", "--help"),
    ("oxshmem top", "--help"),
    ("oxshmem explain", "--help"),
    ("oxshmem profile", "--help"),
    ("oxshmem races", "--help"),
    ("oxshmem sim", "--help"),
    ("oxshmem schedule", "--help"),
    ("oxshmem simulate", "--help"),
    ("oxshmem trace", "--help"),
    ("oxshmem tune", "--help"),
];

/// The file that mandb writes.
const INDEX: &str = "index.db";

/// Writes the pages into a staged installation.
pub(crate) fn install(recipe: &Recipe, prefix: &Path) -> Outcome {
    let folder = prefix.join("share/man");
    let mut help = Vec::new();
    for (command, question) in HELP {
        let mut words = command.split(' ');
        let tool = prefix.join("bin").join(words.next().expect("a command has a name"));
        let text = command::read(recipe.toolchain.start(&tool).args(words.clone()).arg(question).env("COLUMNS", "80"))?;
        help.push(Help { command: command.to_string(), text });
    }
    manual_pages(&pages()?, &help).iter().try_for_each(|file| write(&folder.join(&file.path), &file.text))
}

/// Lets `apropos` find the pages of an installation. The answer is the name of the index, if there is one.
pub(crate) fn index(folder: &Path) -> Outcome<Option<&'static str>> {
    if !command::exists("mandb") {
        println!("not installed: the index for apropos (mandb is not there)");
        return Ok(None);
    }
    command::read(Command::new("mandb").args(["--quiet", "--create"]).arg(folder))?;
    for section in ["cat1", "cat3", "cat7"] {
        // mandb makes folders for formatted pages, which stay empty.
        let _ = fs::remove_dir(folder.join(section));
    }
    Ok(folder.join(INDEX).exists().then_some(INDEX))
}
