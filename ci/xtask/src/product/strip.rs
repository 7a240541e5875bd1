//! Moves debug information from programs and libraries into files of its own, or removes it.

use std::path::Path;

use crate::product::recipe::Recipe;
use crate::{Outcome, command, disk};

/// The folder of such files below a prefix, as debuggers expect it.
const FOLDER: &str = "lib/debug";

/// Strips a program or a shared library of a tree. A debugger finds what went away below the folder of the recipe, if it has one.
pub(crate) fn strip(recipe: &Recipe, tree: &Path, file: &Path) -> Outcome {
    if recipe.is_for_debugging() {
        return Ok(());
    }
    let path = tree.join(file);
    let apart = recipe.debug.map(|folder| folder.join(FOLDER).join(disk::added(file, ".debug")));
    if let Some(apart) = &apart {
        disk::make_folder(apart.parent().expect("it lies in a folder"))?;
        command::run(recipe.toolchain.tool("objcopy").arg("--only-keep-debug").arg(&path).arg(apart))?;
        // It is data, though it is made from a program.
        command::run(std::process::Command::new("chmod").arg("0644").arg(apart))?;
    }
    command::run(recipe.toolchain.tool("strip").arg("--strip-unneeded").arg(&path))?;
    let Some(apart) = apart else { return Ok(()) };
    let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
    link.push(&apart);
    command::run(recipe.toolchain.tool("objcopy").arg(link).arg(&path))
}
