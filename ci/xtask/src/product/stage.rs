//! The layout of an installation. Everything in it finds its neighbours by relative paths, so it can be moved.

use std::path::{Path, PathBuf};

use crate::disk::{entries, link_to};
use crate::product::recipe::Recipe;
use crate::product::strip::strip;
use crate::product::{descriptions, fortran, installation, library, notices};
use crate::{Outcome, command, top};

/// The tools, and the other names they answer to.
const TOOLS: &[(&str, &[&str])] =
    &[("oshrun", &[]), ("oshcc", WRAPPERS), ("osh_info", &["oshmem_info"]), ("oxshmem", &[]), ("cargo-oxrun", &[])];

/// The names of the compiler wrapper, beside `oshcc`.
pub(super) const WRAPPERS: &[&str] =
    &["oshc++", "oshcxx", "oshCC", "oshfort", "shmemcc", "shmemc++", "shmemcxx", "shmemCC", "shmemfort"];

/// The files that programs include, below `include`.
const HEADERS: &[&str] = &["shmem.h", "shmemx.h", "pshmem.h", "mpp/shmem.h", "mpp/shmemx.h"];

/// The same for Fortran, and the sources of its modules in the order of their use.
const FORTRAN: &[&str] = &[
    "shmem.fh",
    "shmem_functions.fh",
    "shmemx.fh",
    "shmemx_functions.fh",
    "mpp/shmem.fh",
    "mpp/shmem_functions.fh",
    "mpp/shmemx.fh",
    "mpp/shmemx_functions.fh",
    "shmem.f90",
    "shmemx.f90",
];

/// Programs in one file that tools run, so that `oshrun --demo` and `oxshmem simulate --calibrate` need no compiler.
const HELPER_PROGRAMS: &[&str] = &["oshdemo", "oshmeasure", "oshtune"];

/// The folder of programs that tools run, and of the library that records.
pub(crate) const HELPERS: &str = "libexec/oxshmem";

/// Puts tools, headers, the manual and package descriptions in place. A tool that is not built yet is reported, not forgotten.
pub(crate) fn files(recipe: &Recipe, built: &Path, prefix: &Path) -> Outcome {
    for (tool, aliases) in TOOLS {
        let (from, to) = (built.join(tool), Path::new("bin").join(tool));
        if !from.exists() {
            println!("not installed: {tool} (nothing in this tree builds it)");
            continue;
        }
        installation::copy(&from, &prefix.join(&to))?;
        strip(recipe, prefix, &to)?;
        for alias in *aliases {
            link_to(tool, &prefix.join("bin").join(alias))?;
        }
    }
    for header in HEADERS.iter().chain(FORTRAN) {
        installation::copy(&top().join("crates/shmem-c/include").join(header), &prefix.join("include").join(header))?;
    }
    fortran::modules(recipe, prefix, FORTRAN)?;
    for helper in HELPER_PROGRAMS {
        compile(recipe, prefix, helper, &[top().join(format!("launcher/demo/{helper}.c"))])?;
    }
    bench(recipe, prefix)?;
    super::manual::install(recipe, prefix)?;
    super::python::install(recipe, prefix)?;
    examples(prefix)?;
    descriptions::install(prefix, recipe.libdir)?;
    notices::install(recipe, prefix)?;
    strip(recipe, prefix, &Path::new(HELPERS).join(library::RECORDER))?;
    strip(recipe, prefix, &recipe.libdir.join(library::FILE))
}

/// The examples, with the files that build them.
fn examples(prefix: &Path) -> Outcome {
    let to = prefix.join("share/oxshmem/examples");
    for part in ["", "c", "fortran", "kubernetes", "python"] {
        let (from, to) = (top().join("examples").join(part), to.join(part));
        for file in entries(&from)?.iter().filter(|path| path.is_file()) {
            installation::copy(file, &to.join(file.file_name().unwrap_or_default()))?;
        }
    }
    Ok(())
}

/// Compiles a program of the tools, which finds the library by a path relative to its own place.
fn compile(recipe: &Recipe, prefix: &Path, name: &str, sources: &[PathBuf]) -> Outcome {
    let program = Path::new(HELPERS).join(name);
    let library = format!("-Wl,-rpath,$ORIGIN/../../{}", recipe.libdir.display());
    let mut compiler = recipe.toolchain.cc();
    compiler.args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(prefix.join(&program)).args(sources);
    compiler.arg("-I").arg(prefix.join("include")).arg("-L").arg(prefix.join(recipe.libdir));
    command::run(compiler.args(["-loxshmem", "-lm", "-ldl", &library]))?;
    strip(recipe, prefix, &program)
}

/// Compiles the patterns of `oxshmem bench`, and installs their sources, which it compiles for other libraries.
fn bench(recipe: &Recipe, prefix: &Path) -> Outcome {
    let (from, to) = (top().join("launcher/bench"), prefix.join("share/oxshmem/bench"));
    let mut sources = entries(&from)?;
    for file in &sources {
        installation::copy(file, &to.join(file.file_name().unwrap_or_default()))?;
    }
    sources.retain(|file| file.extension().is_some_and(|ending| ending == "c"));
    compile(recipe, prefix, "oshbench", &sources)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_a_compiler_wrapper_is_installed() {
        let source = std::fs::read_to_string(top().join("launcher/src/wrapper.rs")).expect("the wrapper's source");
        let (_, names) = source.split_once("Some(match name {").expect("its names");
        let (names, _) = names.split_once("_ => return None").expect("their end");
        let installed: Vec<&str> =
            TOOLS.iter().flat_map(|(tool, others)| [tool].into_iter().chain(others.iter())).copied().collect();
        let names: Vec<&str> = names.split('"').skip(1).step_by(2).collect();
        assert!(names.contains(&"oshcc"), "{names:?}");
        for name in names {
            assert!(installed.contains(&name), "{name}");
        }
    }
}
