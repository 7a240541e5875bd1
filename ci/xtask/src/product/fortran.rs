//! The Fortran modules of an installation. Every other compiler needs modules of its own, made from the same sources.

use std::path::Path;

use oxshmem_api::generate::fortran_2008;

use crate::disk::{self, write};
use crate::product::recipe::Recipe;
use crate::{Outcome, command};

/// The module of the standard's edition, which has an object file, and the archive of that.
const MODERN: &str = "shmem_f08.f90";
pub(crate) const ARCHIVE: &str = "liboxshmem_f08.a";

/// Compiles those of the installed `sources` that are modules, in the order of their use, and the module `shmem_f08`.
pub(crate) fn modules(recipe: &Recipe, prefix: &Path, sources: &[&str]) -> Outcome {
    let (include, libraries) = (prefix.join("include"), prefix.join(recipe.libdir));
    write(&include.join(MODERN), &fortran_2008())?;
    let object = libraries.join("shmem_f08.o");
    for source in sources.iter().copied().filter(|source| source.ends_with(".f90")).chain([MODERN]) {
        let Some(mut compiler) = recipe.toolchain.fortran() else {
            println!("not installed: the compiled Fortran modules (gfortran is not there)");
            return Ok(());
        };
        // A module's file repeats the name of its source as the compiler was given it: the same in every folder.
        compiler.current_dir(&include);
        if source == MODERN {
            compiler.args(["-O2", "-fPIC", "-std=f2018", "-Wno-c-binding-type", "-c", "-o"]).arg(&object)
        } else {
            compiler.arg("-fsyntax-only")
        };
        command::run(compiler.arg(source))?;
    }
    command::run(recipe.toolchain.tool("ar").arg("crsD").arg(libraries.join(ARCHIVE)).arg(&object))?;
    disk::remove(&object)
}
