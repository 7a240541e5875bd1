//! Descriptions of an installation for build systems: files of pkg-config and CMake, and the environment module.

use std::path::Path;

use crate::disk::{self, write};
use crate::product::fortran;
use crate::product::library::{FORKS, SYSTEM};
use crate::product::recipe::VERSION;
use crate::{Outcome, top};

/// Names of other libraries, for build files that were written for them. They lie in a folder of their own, so that
/// they hide no file of those libraries.
const BORROWED_NAMES: &[&str] = &["oshmem", "sandia-openshmem"];

pub(crate) fn install(prefix: &Path, libdir: &Path) -> Outcome {
    let here = format!("${{pcfiledir}}/{}", up(libdir, 1));
    // Where no Fortran compiler was, the module has no object file.
    let module = if prefix.join(libdir).join(fortran::ARCHIVE).exists() {
        format!("${{libdir}}/{} ", fortran::ARCHIVE)
    } else {
        String::new()
    };
    for (name, libraries) in [
        ("oxshmem", SHARED.to_owned()),
        ("oxshmem-static", format!("${{libdir}}/liboxshmem.a {}", beside_archive().join(" "))),
        ("oxshmem-fortran", format!("{module}{SHARED}")),
    ] {
        let text = pkg_config(name, &here, libdir, &libraries);
        write(&prefix.join(libdir).join(format!("pkgconfig/{name}.pc")), &text)?;
    }
    for name in BORROWED_NAMES {
        let text = pkg_config(name, "${pcfiledir}/../../..", libdir, SHARED);
        write(&prefix.join(format!("share/oxshmem/pkgconfig/{name}.pc")), &text)?;
    }
    let cmake = prefix.join(libdir).join("cmake/oxshmem");
    let config = CMAKE.replace("@UP@", &up(libdir, 2)).replace("@LIBDIR@", &libdir.display().to_string());
    write(&cmake.join("oxshmemConfig.cmake"), &config.replace("@SYSTEM@", &beside_archive().join(";")))?;
    write(&cmake.join("oxshmemConfigVersion.cmake"), &CMAKE_VERSION.replace("@THIS@", VERSION))?;
    let from = top().join("ci/packages/modulefile.tcl");
    let module = disk::read(&from)?.replace("@VERSION@", VERSION).replace("@LIBDIR@", &libdir.display().to_string());
    write(&prefix.join(format!("share/oxshmem/modulefiles/oxshmem/{VERSION}")), &module)
}

/// The libraries that a program with the archive names. The one that unwinds is not among them: compilers add it, from an archive for a
/// program that is static in all (`-static`), where `-lgcc_s` does not exist. The last words are for such a program; elsewhere they have
/// no effect on `fork`. pkgconf does not escape a blank in a path right before a word with a comma, so they do not stand behind the archive.
fn beside_archive() -> Vec<&'static str> {
    let libraries = SYSTEM.iter().copied().filter(|library| *library != "-lgcc_s");
    libraries.chain([FORKS]).collect()
}

/// From a folder that lies `below` folders below `libdir` to the prefix.
pub(crate) fn up(libdir: &Path, below: usize) -> String {
    vec![".."; libdir.components().count() + below].join("/")
}

/// The libraries of a program that takes the shared one.
const SHARED: &str = "-L${libdir} -Wl,-rpath,${libdir} -loxshmem";

fn pkg_config(name: &str, prefix: &str, libdir: &Path, libraries: &str) -> String {
    format!(
        "prefix={prefix}\n\
         includedir=${{prefix}}/include\n\
         libdir=${{prefix}}/{}\n\
         \n\
         Name: {name}\n\
         Description: OpenSHMEM 1.6 library oxshmem\n\
         Version: {VERSION}\n\
         Cflags: -I${{includedir}}\n\
         Libs: {libraries}\n",
        libdir.display()
    )
}

const CMAKE: &str = include_str!("../../../packages/oxshmemConfig.cmake.in");
/// Versions before 1.0 are compatible within a minor version, later ones within a major version. Where the program asks for a range, it
/// says itself which versions it takes.
const CMAKE_VERSION: &str = include_str!("../../../packages/oxshmemConfigVersion.cmake.in");

#[cfg(test)]
mod tests {
    use std::process::Command;

    use oxshmem_faults::{TestFolder, not_run};

    use super::*;
    use crate::command;

    #[test]
    fn the_prefix_is_found_from_every_folder_of_libraries() {
        assert_eq!(up(Path::new("lib"), 1), "../..");
        assert_eq!(up(Path::new("lib/x86_64-linux-gnu"), 2), "../../../..");
    }

    #[test]
    fn what_the_archive_needs_is_there_for_a_program_that_is_static_in_all() {
        let folder = TestFolder::new("static");
        let source = folder.write("main.c", "int main(void) { return 0; }\n");
        let link = |libraries: &[&str]| {
            let mut compiler = Command::new("cc");
            command::read(compiler.arg("-static").arg(&source).arg("-o").arg(folder.join("main")).args(libraries))
        };
        if link(&[]).is_err() {
            return not_run("no static program can be linked here");
        }
        link(&beside_archive()).expect("the linker finds all");
    }

    #[test]
    fn a_range_of_versions_is_what_cmake_compares_with() {
        if !command::exists("cmake") {
            return not_run("there is no cmake here");
        }
        let folder = TestFolder::new("cmake-range");
        for (this, max, end, expected) in [
            ("0.1.0", "0.3", "INCLUDE", "TRUE"),
            ("0.2.1", "0.3", "INCLUDE", "TRUE"),
            ("0.3.0", "0.3", "INCLUDE", "TRUE"),
            ("0.3.0", "0.3", "EXCLUDE", "FALSE"),
            ("0.3.1", "0.3", "INCLUDE", "FALSE"),
            ("0.0.9", "0.3", "INCLUDE", "FALSE"),
            ("1.4.0", "2", "EXCLUDE", "TRUE"),
        ] {
            let file = CMAKE_VERSION.replace("@THIS@", this);
            // The variables that CMake sets for `find_package(oxshmem 0.1...0.3)`, with `<` before the end to leave that out.
            let text = format!(
                "set(PACKAGE_FIND_VERSION 0.1)\nset(PACKAGE_FIND_VERSION_COUNT 2)\n\
                 set(PACKAGE_FIND_VERSION_MAJOR 0)\nset(PACKAGE_FIND_VERSION_MINOR 1)\n\
                 set(PACKAGE_FIND_VERSION_RANGE 0.1...{max})\nset(PACKAGE_FIND_VERSION_RANGE_MAX {end})\n\
                 set(PACKAGE_FIND_VERSION_MIN 0.1)\nset(PACKAGE_FIND_VERSION_MAX {max})\n\
                 {file}message(STATUS \"${{PACKAGE_VERSION_COMPATIBLE}}\")\n"
            );
            let script = folder.write("ask.cmake", text);
            let told = command::read(Command::new("cmake").arg("-P").arg(script)).expect("it is run");
            assert_eq!(told.trim(), format!("-- {expected}"), "{this} in 0.1 to {max}, {end}");
        }
    }

    /// The words of a modulefile, without the programs that read it.
    const READER: &str = "proc setenv {name value} { puts \"$name=$value\" }\n\
                          proc prepend-path args {}\nproc conflict args {}\nproc module-whatis args {}\n\
                          set ModulesCurrentModulefile [lindex $argv 0]\nsource $ModulesCurrentModulefile\n";

    #[test]
    fn a_module_finds_its_installation_also_through_a_link() {
        if !command::exists("tclsh") {
            return not_run("there is no tclsh here");
        }
        let folder = TestFolder::new("module");
        let (prefix, others) = (folder.join("opt/oxshmem"), folder.join("usr/share/modulefiles/oxshmem"));
        let own = prefix.join("share/oxshmem/modulefiles/oxshmem");
        for folder in [&own, &others] {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        std::fs::copy(top().join("ci/packages/modulefile.tcl"), own.join(VERSION)).expect("the file is there");
        std::os::unix::fs::symlink(own.join(VERSION), others.join(VERSION)).expect("a link");
        let reader = folder.write("reader.tcl", READER);
        for file in [own.join(VERSION), others.join(VERSION)] {
            let told = command::read(Command::new("tclsh").arg(&reader).arg(&file)).expect("it is read");
            let real = prefix.canonicalize().expect("it is there");
            assert_eq!(told, format!("OXSHMEM_ROOT={}\n", real.display()), "{}", file.display());
        }
    }
}
