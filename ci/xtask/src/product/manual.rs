//! The pages of the manual, below `share/man` of an installation.

use std::fs;
use std::path::Path;
use std::process::Command;

use oxshmem_api::generate::{Help, manual_pages};
use oxshmem_api::manual::pages;

use crate::product::library::write;
use crate::{Outcome, command};

/// The help texts of tools that become part of their pages: the command, and its arguments.
const HELP: &[(&str, &str)] = &[
    ("oshrun", "--help"),
    ("oshcc", "-showme:help"),
    ("osh_info", "--help"),
    ("cargo-oxrun", "--help"),
    ("oxshmem bench", "--help"),
    ("oxshmem doctor", "--help"),
    ("oxshmem explain", "--help"),
    ("oxshmem schedule", "--help"),
    ("oxshmem simulate", "--help"),
    ("oxshmem tune", "--help"),
];

/// Pages of former versions that would hide those of today.
const FORMER: &[&str] = &["man1/oxshmem.1"];

/// Writes the pages into an installation. The folder may hold the pages of others, so nothing but our own former pages is removed.
pub(crate) fn install(prefix: &Path) -> Outcome {
    let folder = prefix.join("share/man");
    for section in ["man1", "man3", "man7"] {
        let path = folder.join(section);
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    for former in FORMER {
        let _ = fs::remove_file(folder.join(former));
    }
    let mut help = Vec::new();
    for (command, question) in HELP {
        let mut words = command.split(' ');
        let tool = prefix.join("bin").join(words.next().expect("a command has a name"));
        let text = command::read(Command::new(tool).args(words.clone()).arg(question).env("COLUMNS", "80"))?;
        help.push(Help { command: command.to_string(), text });
    }
    manual_pages(&pages()?, &help).iter().try_for_each(|file| write(&folder.join(&file.path), &file.text))?;
    index(&folder)
}

/// Lets `apropos` find the pages.
fn index(folder: &Path) -> Outcome {
    if !command::exists("mandb") {
        println!("not installed: the index for apropos (mandb is not there)");
        return Ok(());
    }
    command::read(Command::new("mandb").args(["--quiet", "--create"]).arg(folder))?;
    for section in ["cat1", "cat3", "cat7"] {
        // mandb makes folders for formatted pages, which stay empty.
        let _ = fs::remove_dir(folder.join(section));
    }
    Ok(())
}
