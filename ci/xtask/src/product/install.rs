//! The layout of an installation. Everything in it finds its neighbours by relative paths, so it can be moved.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::product::library::{SYSTEM, link_to, write};
use crate::{Outcome, command, top};

/// The tools, and the other names they answer to.
const TOOLS: &[(&str, &[&str])] = &[
    ("oshrun", &[]),
    ("oshcc", &["oshc++", "oshcxx", "oshCC", "oshfort", "shmemcc", "shmemc++", "shmemcxx", "shmemfort"]),
    ("osh_info", &["oshmem_info"]),
    ("oxshmem", &[]),
    ("cargo-oxrun", &[]),
];

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

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Makes the folders.
pub(crate) fn folders(prefix: &Path) -> Outcome {
    for folder in ["bin", "include/mpp", "libexec/oxshmem", "lib/pkgconfig", "lib/cmake/oxshmem"] {
        let path = prefix.join(folder);
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Puts tools, headers, the manual and package descriptions in place. A tool that is not built yet is reported, not forgotten.
pub(crate) fn files(built: &Path, prefix: &Path) -> Outcome {
    for (tool, aliases) in TOOLS {
        let (from, to) = (built.join(tool), prefix.join("bin").join(tool));
        if !from.exists() {
            println!("not installed: {tool} (nothing in this tree builds it)");
            continue;
        }
        // A running tool's file cannot be written over, but it can be replaced.
        let _ = fs::remove_file(&to);
        copy(&from, &to)?;
        for alias in *aliases {
            link_to(tool, &prefix.join("bin").join(alias))?;
        }
    }
    for header in HEADERS.iter().chain(FORTRAN) {
        copy(&top().join("crates/shmem-c/include").join(header), &prefix.join("include").join(header))?;
    }
    modules(prefix)?;
    program(prefix, "oshdemo")?;
    program(prefix, "oshmeasure")?;
    program(prefix, "oshtune")?;
    bench(prefix)?;
    super::manual::install(prefix)?;
    examples(prefix)?;
    for package in ["oxshmem", "oshmem", "sandia-openshmem"] {
        write(&prefix.join(format!("lib/pkgconfig/{package}.pc")), &pkg_config(package))?;
    }
    let cmake = prefix.join("lib/cmake/oxshmem");
    write(&cmake.join("oxshmemConfig.cmake"), CMAKE)?;
    write(&cmake.join("oxshmemConfigVersion.cmake"), &CMAKE_VERSION.replace("@THIS@", VERSION))
}

/// The examples, with the files that build them.
fn examples(prefix: &Path) -> Outcome {
    let to = prefix.join("share/oxshmem/examples");
    for part in ["", "c", "fortran", "python"] {
        let (from, to) = (top().join("examples").join(part), to.join(part));
        fs::create_dir_all(&to).map_err(|error| format!("{}: {error}", to.display()))?;
        let entries = fs::read_dir(&from).map_err(|error| format!("{}: {error}", from.display()))?;
        for file in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()) {
            copy(&file, &to.join(file.file_name().unwrap_or_default()))?;
        }
    }
    Ok(())
}

/// Compiles the Fortran modules, which hold declarations only: nothing has to be linked. Every other compiler needs
/// modules of its own, made from the same sources.
fn modules(prefix: &Path) -> Outcome {
    if !command::exists("gfortran") {
        println!("not installed: the compiled Fortran modules (gfortran is not there)");
        return Ok(());
    }
    let include = prefix.join("include");
    for source in FORTRAN.iter().filter(|file| file.ends_with(".f90")) {
        command::run(Command::new("gfortran").arg("-fsyntax-only").arg("-J").arg(&include).arg(include.join(source)))?;
    }
    Ok(())
}

/// Compiles a program of the tools, so that `oshrun --demo` and `oxshmem simulate --calibrate` need no compiler.
fn program(prefix: &Path, name: &str) -> Outcome {
    compile(prefix, &prefix.join("bin").join(name), &[top().join(format!("launcher/demo/{name}.c"))], "$ORIGIN/../lib")
}

/// Compiles a program that finds the library by a path relative to its own place.
fn compile(prefix: &Path, program: &Path, sources: &[PathBuf], library: &str) -> Outcome {
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    command::run(
        Command::new(compiler)
            .args(["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(program)
            .args(sources)
            .arg("-I")
            .arg(prefix.join("include"))
            .arg("-L")
            .arg(prefix.join("lib"))
            .args(["-loxshmem", "-lm", &format!("-Wl,-rpath,{library}")]),
    )
}

/// Compiles the patterns of `oxshmem bench`, and installs their sources, which it compiles for other libraries.
fn bench(prefix: &Path) -> Outcome {
    let (from, to) = (top().join("launcher/bench"), prefix.join("share/oxshmem/bench"));
    fs::create_dir_all(&to).map_err(|error| format!("{}: {error}", to.display()))?;
    let entries = fs::read_dir(&from).map_err(|error| format!("{}: {error}", from.display()))?;
    let mut sources = Vec::new();
    for file in entries.flatten().map(|entry| entry.path()) {
        copy(&file, &to.join(file.file_name().unwrap_or_default()))?;
        sources.extend(Some(file).filter(|file| file.extension().is_some_and(|ending| ending == "c")));
    }
    sources.sort();
    compile(prefix, &prefix.join("libexec/oxshmem/oshbench"), &sources, "$ORIGIN/../../lib")
}

fn copy(from: &Path, to: &Path) -> Outcome {
    fs::copy(from, to).map(drop).map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}

fn pkg_config(name: &str) -> String {
    format!(
        "prefix=${{pcfiledir}}/../..\n\
         includedir=${{prefix}}/include\n\
         libdir=${{prefix}}/lib\n\
         \n\
         Name: {name}\n\
         Description: OpenSHMEM 1.6 library oxshmem\n\
         Version: {VERSION}\n\
         Cflags: -I${{includedir}}\n\
         Libs: -L${{libdir}} -Wl,-rpath,${{libdir}} -loxshmem\n\
         Libs.private: {}\n",
        SYSTEM.join(" ")
    )
}

const CMAKE: &str = r#"# find_package(oxshmem) gives the target oxshmem::oxshmem.
get_filename_component(_oxshmem "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
if(NOT TARGET oxshmem::oxshmem)
  add_library(oxshmem::oxshmem SHARED IMPORTED)
  set_target_properties(oxshmem::oxshmem PROPERTIES
    IMPORTED_LOCATION "${_oxshmem}/lib/liboxshmem.so.1"
    IMPORTED_SONAME "liboxshmem.so.1"
    INTERFACE_INCLUDE_DIRECTORIES "${_oxshmem}/include")
endif()
set(oxshmem_LAUNCHER "${_oxshmem}/bin/oshrun")
unset(_oxshmem)
"#;

const CMAKE_VERSION: &str = r#"set(PACKAGE_VERSION "@THIS@")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
"#;
