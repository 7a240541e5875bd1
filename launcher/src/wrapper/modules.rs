//! The compiled Fortran modules of an installation. They are missing where gfortran came after the installation, and those of one
//! compiler cannot be read by another one. `oshfort --make-modules` makes them from the installed sources.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use oxshmem_base::{Error, file};

use crate::results::unwritten;

/// The option that makes them.
pub const OPTION: &str = "--make-modules";

/// The sources in the order of their use. The last one has an object file.
const SOURCES: [&str; 3] = ["shmem.f90", "shmemx.f90", "shmem_f08.f90"];
/// The archive of that object file.
pub(super) const ARCHIVE: &str = "liboxshmem_f08.a";
/// The description of libraries for programs in Fortran that pkg-config reads, below the folder of the libraries.
const DESCRIPTION: &str = "pkgconfig/oxshmem-fortran.pc";
/// The list of an installation's files below its prefix. They are removed with the installation, and by another one that lacks them.
const LIST: &str = "share/oxshmem/files.txt";
/// The remedy where the modules cannot be made.
const AS_OWNER: &str = "run it as the owner of the installation, with gfortran or the compiler that OSHFORT names";
/// Endings of files that compilers take for Fortran.
const ENDINGS: [&str; 17] =
    ["f", "for", "ftn", "f77", "f90", "f95", "f03", "f08", "F", "FOR", "FTN", "fpp", "FPP", "F90", "F95", "F03", "F08"];
/// No source of a program is longer.
const LONGEST: u64 = 64 << 20;

/// Where the modules of an installation are, and the compiler that makes them.
#[derive(Debug, PartialEq, Eq)]
pub struct FortranModules {
    pub(super) compiler: Vec<OsString>,
    pub(super) include: PathBuf,
    pub(super) lib: PathBuf,
}

/// Whether an installation has the sources of modules that are not compiled.
pub fn are_missing(include: &Path) -> bool {
    SOURCES.iter().any(|source| include.join(source).exists() && !include.join(source).with_extension("mod").exists())
}

/// The note for a program that uses a module of ours where none is compiled.
pub fn note(include: &Path, arguments: &[OsString]) -> Option<Error> {
    let user = are_missing(include).then(|| arguments.iter().map(Path::new).find(|path| uses_a_module(path)))??;
    Some(
        missing(include)
            .because(format!("{} uses them, and gfortran was not there when oxshmem was installed", user.display())),
    )
}

/// The sentence about missing modules, with its fix.
pub fn missing(include: &Path) -> Error {
    Error::new(format!("the Fortran modules in {} are not compiled", include.display()))
        .fix(format!("run `oshfort {OPTION}` as the owner of the installation, or include 'shmem.fh' instead"))
}

/// Whether an argument names a source in Fortran.
pub(super) fn is_fortran(argument: impl AsRef<Path>) -> bool {
    let ending = argument.as_ref().extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ENDINGS.contains(&ending)
}

fn uses_a_module(path: &Path) -> bool {
    if !is_fortran(path) {
        return false;
    }
    let text = file::found(path, LONGEST).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().any(is_use)
}

/// Whether a line is `use shmem`, `use, non_intrinsic :: shmem_f08` or the like.
fn is_use(line: &str) -> bool {
    let words = line.to_ascii_lowercase();
    let Some(rest) = words.trim_start().strip_prefix("use").filter(|rest| rest.starts_with([' ', '\t', ',', ':']))
    else {
        return false;
    };
    let module = rest.rsplit("::").next().unwrap_or(rest).trim_start();
    let name: String = module.chars().take_while(|&letter| letter.is_ascii_alphanumeric() || letter == '_').collect();
    SOURCES.iter().any(|source| source.strip_suffix(".f90") == Some(&name))
}

impl FortranModules {
    /// Compiles the modules into the installation. The text says where they are.
    pub fn make(&self) -> Result<String, Error> {
        let object = self.lib.join("shmem_f08.o");
        for source in SOURCES.iter().filter(|source| self.include.join(source).exists()) {
            let mut compiler = Command::new(&self.compiler[0]);
            // A module's file repeats the name of its source as the compiler was given it.
            compiler.args(&self.compiler[1..]).current_dir(&self.include);
            match options(&self.compiler[0], source) {
                Some(options) => compiler.args(options).args(["-c", "-o"]).arg(&object),
                None => compiler.arg("-fsyntax-only"),
            };
            run(compiler.arg(source))?;
        }
        if object.exists() {
            run(Command::new("ar").arg("crsD").arg(self.lib.join(ARCHIVE)).arg(&object))?;
            // It is in the archive.
            let _ = std::fs::remove_file(&object);
            self.describe()?;
        }
        self.enlist()?;
        Ok(format!("the Fortran modules are in {}", self.include.display()))
    }

    /// Tells pkg-config of the archive. An installation may lack the description.
    fn describe(&self) -> Result<(), Error> {
        let file = self.lib.join(DESCRIPTION);
        let described = std::fs::read_to_string(&file).ok();
        let Some(text) = described.and_then(|text| with_archive(&text)) else { return Ok(()) };
        write(&file, &text)
    }

    /// Puts what was made on the list of the installation's files. Modules that an upgrade left there would be those of the version
    /// before. An installation may lack the list.
    fn enlist(&self) -> Result<(), Error> {
        let prefix = self.include.parent().unwrap_or(Path::new("/"));
        let file = prefix.join(LIST);
        let Ok(list) = std::fs::read_to_string(&file) else { return Ok(()) };
        let modules = SOURCES.iter().map(|source| self.include.join(source).with_extension("mod"));
        let made = modules.chain([self.lib.join(ARCHIVE)]).filter(|path| path.exists());
        let made = made.filter_map(|path| Some(path.strip_prefix(prefix).ok()?.display().to_string()));
        let files: BTreeSet<String> = list.lines().map(str::to_owned).chain(made).collect();
        write(&file, &files.iter().map(|file| format!("{file}\n")).collect::<String>())
    }
}

fn write(file: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(file, text).map_err(unwritten(file, AS_OWNER))
}

/// A description from an installation without the archive, with it before the library; nothing if it has the archive.
fn with_archive(description: &str) -> Option<String> {
    let named = format!("\nLibs: ${{libdir}}/{ARCHIVE} ");
    (!description.contains(ARCHIVE)).then(|| description.replacen("\nLibs: ", &named, 1))
}

/// The options by which a source becomes an object file; `None` if it need not. Only gfortran is known to write a module without an
/// object, and to take its own options: flang refuses a warning that it does not know. Programs whose addresses the loader
/// chooses are linked with the last object.
fn options(compiler: &OsStr, source: &str) -> Option<&'static [&'static str]> {
    let name = Path::new(compiler).file_name().unwrap_or_default().to_string_lossy();
    match (name.contains("gfortran"), source == SOURCES[SOURCES.len() - 1]) {
        (true, false) => None,
        (true, true) => Some(&["-O2", "-fPIC", "-std=f2018", "-Wno-c-binding-type"]),
        (false, _) => Some(&["-O2", "-fPIC"]),
    }
}

fn run(command: &mut Command) -> Result<(), Error> {
    let why = match command.status() {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    Err(Error::new(format!("the Fortran modules cannot be made: {command:?}")).because(why).fix(AS_OWNER))
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn modules_go_with_the_installation_that_they_were_made_for() {
        let prefix = TestFolder::new("modules");
        let list = prefix.write(LIST, "bin/oshfort\nshare/oxshmem/files.txt\n");
        for made in ["include/shmem.mod", "lib/liboxshmem_f08.a"] {
            prefix.write(made, "");
        }
        let modules = FortranModules { compiler: Vec::new(), include: prefix.join("include"), lib: prefix.join("lib") };
        for _ in 0..2 {
            modules.enlist().expect("the list can be written");
            let listed = std::fs::read_to_string(&list).expect("there is a list");
            assert_eq!(listed, "bin/oshfort\ninclude/shmem.mod\nlib/liboxshmem_f08.a\nshare/oxshmem/files.txt\n");
        }
    }

    #[test]
    fn other_compilers_get_no_option_of_gfortran() {
        let made = |compiler: &str, source| options(compiler.as_ref(), source).map(|options| options.join(" "));
        for gfortran in ["gfortran", "/opt/gcc/bin/x86_64-linux-gnu-gfortran-13"] {
            assert_eq!(made(gfortran, "shmem.f90"), None);
            assert!(made(gfortran, "shmem_f08.f90").is_some_and(|options| options.contains("-std=f2018")));
        }
        for source in SOURCES {
            assert_eq!(made("/usr/bin/flang", source).as_deref(), Some("-O2 -fPIC"), "{source}");
        }
    }

    #[test]
    fn the_description_for_pkg_config_names_the_archive_once() {
        let before = "libdir=${prefix}/lib\n\nCflags: -I${includedir}\nLibs: -L${libdir} -loxshmem\n";
        let after = with_archive(before).expect("the archive was not there");
        assert!(after.ends_with("\nLibs: ${libdir}/liboxshmem_f08.a -L${libdir} -loxshmem\n"), "{after}");
        assert_eq!(with_archive(&after), None);
    }

    #[test]
    fn lines_that_use_a_module_are_known() {
        for line in ["use shmem", "  USE shmem_f08, only: shmem_init", "use, non_intrinsic :: shmemx", "use :: shmem"] {
            assert!(is_use(line), "{line}");
        }
        for line in ["use mpi", "user = shmem", "! use shmem", "use shmem_mine", "include 'shmem.fh'", "use"] {
            assert!(!is_use(line), "{line}");
        }
    }
}
