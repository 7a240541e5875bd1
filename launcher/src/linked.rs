//! The OpenSHMEM library that a program is linked with.

use std::fs::File;
use std::path::Path;

use object::elf::{DT_NEEDED, FileHeader64};
use object::read::ReadCache;
use object::read::elf::{Dyn, FileHeader, SectionHeader, SectionTable};
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

type Sections<'data, R> = (Endianness, SectionTable<'data, FileHeader64<Endianness>, R>);

fn sections<'data, R: ReadRef<'data>>(file: R) -> Option<Sections<'data, R>> {
    let header = FileHeader64::<Endianness>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    Some((endian, header.sections(endian, file).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert!(needed(path).is_none() && !holds_rust(path), "{}", path.display());
        }
    }
}
