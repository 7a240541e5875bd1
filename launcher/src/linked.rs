//! The OpenSHMEM library that a program is linked with.

use std::fs::File;
use std::path::Path;

use object::elf::{DT_NEEDED, FileHeader64, SHT_DYNSYM, STB_GLOBAL};
use object::read::ReadCache;
use object::read::elf::{Dyn, FileHeader, SectionHeader, SectionTable, Sym};
use object::{Endianness, ReadRef};
use oxshmem_base::Error;

/// The beginnings of the names of other OpenSHMEM libraries: Open MPI's, and those of Sandia and Cray.
const OTHERS: [&str; 3] = ["liboshmem.so", "libsma.so", "libshmem.so"];

/// The note about a program that is linked with another OpenSHMEM library: its PEs would not be those of this job.
pub(crate) fn note(program: &Path) -> Option<Error> {
    let other = needed(program)?.into_iter().find(|name| OTHERS.iter().any(|other| name.starts_with(other)))?;
    Some(
        Error::new(format!("note: {} is linked with {other}, another OpenSHMEM library", program.display()))
            .because("each of its processes starts a job of its own, if it starts at all")
            .fix("compile and link it with the oshcc, oshc++ or oshfort that belongs to this oshrun"),
    )
}

/// The names of the shared libraries that a program needs; nothing for what is no program of the machine.
pub(crate) fn needed(program: &Path) -> Option<Vec<String>> {
    let file = ReadCache::new(File::open(program).ok()?);
    let (endian, sections) = sections(&file)?;
    let (entries, names) = sections.dynamic(endian, &file).ok()??;
    let names = sections.strings(endian, &file, names).ok()?;
    let needed = entries.iter().filter(|entry| entry.tag32(endian) == Some(DT_NEEDED));
    let name = |entry: &_| names.get(Dyn::val32(entry, endian)?).ok();
    Some(needed.filter_map(name).map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// Whether a program has code of Rust in itself: it was written in Rust, or has our library from its archive.
pub(crate) fn holds_rust(program: &Path) -> bool {
    section_holds(program, COMPILERS, |lines| lines.windows(RUST.len()).any(|part| part == RUST))
}

/// Whether a program of the Rust API looks for its races: its crate `oxshmem` has the feature `race`.
pub(crate) fn looks_for_races(program: &Path) -> bool {
    section_holds(program, RACE, |_| true)
}

/// The section that the crate leaves in such a program (`crates/shmem/src/told/detector.rs`).
const RACE: &[u8] = b".oxshmem.race";

/// The section with the lines of the compilers that have made the parts of a program.
const COMPILERS: &[u8] = b".comment";

/// The beginning of the line that Rust's compiler leaves in what it makes; stripping a program keeps it.
const RUST: &[u8] = b"rustc version";

/// Whether a program has the section of this name, and something holds for what is in it.
fn section_holds(program: &Path, name: &[u8], holds: impl Fn(&[u8]) -> bool) -> bool {
    let Ok(file) = File::open(program) else { return false };
    let file = ReadCache::new(file);
    let content = sections(&file).and_then(|(endian, sections)| {
        let (_, section) = sections.section_by_name(endian, name)?;
        section.data(endian, &file).ok()
    });
    content.is_some_and(holds)
}

/// Functions of the C library that our library calls, as far as their names are words that a program may use. The dynamic linker looks for
/// each in the program first, as it does for every library. Programs replace functions for memory (`malloc`, `memcpy`) on purpose, so
/// these are not here.
const CALLED: [&str; 46] = [
    "abort",
    "bind",
    "close",
    "closedir",
    "connect",
    "exit",
    "fcntl",
    "fflush",
    "flock",
    "fstat",
    "getenv",
    "getpid",
    "getppid",
    "getrandom",
    "gettid",
    "ioctl",
    "kill",
    "listen",
    "lseek",
    "madvise",
    "mkdir",
    "mmap",
    "mprotect",
    "munmap",
    "open",
    "opendir",
    "pause",
    "poll",
    "ppoll",
    "pread",
    "pwrite",
    "read",
    "readlink",
    "realpath",
    "recv",
    "recvmsg",
    "send",
    "sendmsg",
    "setenv",
    "sigaction",
    "signal",
    "socket",
    "syscall",
    "sysconf",
    "write",
    "writev",
];

/// The [`CALLED`] functions whose place a function or a variable of the program takes, if it is linked with our library: shells have such
/// functions, too.
pub(crate) fn taken(program: &Path) -> Vec<&'static str> {
    let is_ours = needed(program).is_some_and(|needed| needed.iter().any(|name| name.starts_with("liboxshmem.so")));
    let names = exported(program).filter(|_| is_ours).unwrap_or_default();
    CALLED.into_iter().filter(|called| names.iter().any(|name| name == called)).collect()
}

/// The names that a program defines for the libraries of its process. Weak ones are left out: the runtime of a sanitizer in the program takes
/// functions of the C library rightly, by weak names.
fn exported(program: &Path) -> Option<Vec<String>> {
    let file = ReadCache::new(File::open(program).ok()?);
    let (endian, sections) = sections(&file)?;
    let symbols = sections.symbols(endian, &file, SHT_DYNSYM).ok()?;
    let defined = symbols.iter().filter(|symbol| !symbol.is_undefined(endian) && symbol.st_bind() == STB_GLOBAL);
    let name = |symbol: &_| symbols.symbol_name(endian, symbol).ok();
    Some(defined.filter_map(name).map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

type Sections<'data, R> = (Endianness, SectionTable<'data, FileHeader64<Endianness>, R>);

fn sections<'data, R: ReadRef<'data>>(file: R) -> Option<Sections<'data, R>> {
    let header = FileHeader64::<Endianness>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    Some((endian, header.sections(endian, file).ok()?))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use oxshmem_os::library;
    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn names_that_a_program_takes_from_the_c_library_are_told() {
        let folder = TestFolder::new("taken");
        let cc = |arguments: &[&str]| {
            let built = Command::new("cc").current_dir(&*folder).args(arguments).status();
            assert!(built.expect("a compiler").success(), "{arguments:?}");
        };
        folder.write("library.c", "int shmem_my_pe(void) { return 0; }\n");
        cc(&["-shared", "-fPIC", "-Wl,-soname,liboxshmem.so.1", "library.c", "-o", "liboxshmem.so.1"]);
        let made_with = |text: &str, library: &[&str]| {
            folder.write("main.c", format!("{text}\nint main(void) {{ return 0; }}\n"));
            let options = ["-Wno-builtin-declaration-mismatch", "-rdynamic", "main.c", "-o", "main"];
            cc(&[&options[..], library].concat());
            taken(&folder.join("main"))
        };
        let taken_by = |text: &str| made_with(text, &["-L.", "-Wl,--no-as-needed", "-l:liboxshmem.so.1"]);
        assert!(made_with("int write(void) { return 1; }", &[]).is_empty());
        assert_eq!(taken_by("int write(void) { return 1; }\nlong read[3];\nint ready;"), ["read", "write"]);
        assert!(taken_by("static int read(void) { return 1; }\nint (*used)(void) = read;").is_empty());
        assert!(taken_by("__attribute__((weak)) int read(void) { return 1; }").is_empty());
    }

    #[test]
    fn all_names_that_may_be_taken_are_functions_of_the_c_library() {
        for name in CALLED {
            let name = std::ffi::CString::new(name).expect("a name");
            assert!(library::of_any(&name).is_some(), "{name:?}");
        }
    }

    #[test]
    fn a_program_says_what_it_needs() {
        let this = std::env::current_exe().expect("a path");
        let needed = needed(&this).expect("a program");
        assert!(needed.iter().any(|name| name.starts_with("libc.so")), "{needed:?}");
        assert!(note(&this).is_none() && holds_rust(&this) && !looks_for_races(&this));
    }

    #[test]
    fn what_is_no_program_needs_nothing() {
        for path in [Path::new(file!()), Path::new("/nowhere")] {
            assert!(needed(path).is_none() && !holds_rust(path) && taken(path).is_empty(), "{}", path.display());
        }
    }
}
