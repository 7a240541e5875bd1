//! The variables of the executable, as its table of symbols tells them: where each begins, how long it is, its name.
//!
//! Only `SHMEM_CHECK=2` and higher look. A stripped program has no table, so nothing is known of its variables.
//!
//! A transfer that begins in no variable is wrong, too, but a table may lack variables: `strip -x` takes the static ones away, from
//! a program or a single file of it, and assembly may give a name without a size. So such a transfer is reported only if the table has
//! static variables, and only in a gap that the alignment of what follows explains.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::OnceLock;

use oxshmem_base::{names, size};
use oxshmem_os::{cpp, program, statics};

/// A table of symbols or names that is longer is left alone.
const LONGEST: u64 = 1 << 30;
/// The kind of a section with a program's own symbols.
const SYMBOLS: u32 = 2;
/// Bytes of a symbol, and of a section's description.
const SYMBOL: usize = 24;
const SECTION: usize = 64;
/// The types of symbols that are variables: those of assembly that says none, ordinary ones and common blocks.
const VARIABLES: [u8; 3] = [0, 1, 5];
/// The flags of sections: written by the program and in memory, and that each thread has its own copy.
const WRITABLE: u64 = 0b11;
const OF_THREADS: u64 = 0x400;
/// Names that linkers and start files give to ends and beginnings of sections. They are no variables.
const MARKS: [&str; 6] = ["_edata", "edata", "__bss_start", "__TMC_END__", "_end", "end"];
/// The static variables of the compiler's start files, which are there in every program.
const OF_START_FILES: [&str; 3] = ["completed", "dtor_idx", "object"];
/// The part of a name that says from which library the linker has copied the variable.
const OF_THIS_LIBRARY: &str = "@OXSHMEM";
/// The linker's least alignment of what follows a section.
const LEAST_ALIGNMENT: u64 = 8;
/// How far away a variable may be to be named beside one of the library.
const NEAR: u64 = 256;

/// A variable of the program. One without a size is known by its beginning alone.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProgramVariable {
    start: u64,
    size: u64,
    name: String,
}

impl ProgramVariable {
    fn end(&self) -> u64 {
        self.start.saturating_add(self.size)
    }
}

/// A section that the program writes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DataSection {
    start: u64,
    end: u64,
    alignment: u64,
    /// Whether its name is one of C, so that the linker names its beginning and its end.
    is_collected: bool,
}

/// The part of an executable's table of symbols that is of variables.
#[derive(Debug, Default, PartialEq, Eq)]
struct SymbolTable {
    /// In the order of their addresses.
    variables: Vec<ProgramVariable>,
    sections: Vec<DataSection>,
    /// Whether there is a static variable of the program.
    has_static: bool,
}

/// The reason if `bytes` bytes at an own address, which lies in the static variables, are not inside one variable of the program.
pub(super) fn beyond(address: usize, bytes: usize) -> Option<String> {
    static TABLE: OnceLock<(u64, SymbolTable)> = OnceLock::new();
    let (bias, table) = TABLE.get_or_init(|| {
        let bias = statics::executable().map_or(0, |executable| executable.bias as u64);
        (bias, program::file().and_then(File::open).ok().and_then(read).unwrap_or_default())
    });
    table.outside((address as u64).wrapping_sub(*bias), bytes as u64)
}

impl SymbolTable {
    fn outside(&self, start: u64, bytes: u64) -> Option<String> {
        if bytes == 0 {
            return None;
        }
        let begun = self.variables.partition_point(|variable| variable.start <= start);
        let (before, behind) = self.variables.split_at(begun);
        let Some(variable) = before.last().filter(|variable| start < variable.end()) else {
            return self.in_gap(before, behind, start);
        };
        // A name for a part of a variable, and one of many variables that the linker has put together, are no ends of the transfer.
        let last = start.saturating_add(bytes);
        let is_inside = |around: &ProgramVariable| last <= around.end() && !around.name.contains(OF_THIS_LIBRARY);
        if before.iter().rev().any(is_inside) || self.is_collected(start, last) {
            return None;
        }
        let (size, end) = (variable.size, last - variable.start);
        match variable.name.split_once(OF_THIS_LIBRARY) {
            Some((name, _)) => {
                let near = nearest(before, behind, start).filter(|(distance, _)| *distance <= NEAR);
                let near = near.map_or_else(String::new, |(_, words)| format!("; {words}"));
                let name = name.trim_end_matches('@');
                Some(format!("the transfer begins in a variable of the library, `{name}`{near}"))
            }
            None => (end > size).then(|| {
                let size = size::counted(size);
                let name = in_source(&variable.name);
                format!("the variable `{name}` has {size} and the transfer ends at its byte {end}")
            }),
        }
    }

    /// Whether both ends lie in a section that the linker makes of variables of all files, for a loop from its beginning to its end: its
    /// name is one of C (`__start_NAME`).
    fn is_collected(&self, start: u64, last: u64) -> bool {
        self.sections.iter().any(|section| section.is_collected && section.start <= start && last <= section.end)
    }

    /// Why no variable can begin at `start`, which lies in none of those before it, as far as their sizes tell.
    fn in_gap(&self, before: &[ProgramVariable], behind: &[ProgramVariable], start: u64) -> Option<String> {
        let end = before.iter().map(ProgramVariable::end).max().unwrap_or(0);
        let has_no_size = before.last().is_some_and(|last| last.size == 0);
        if !self.has_static || end > start || has_no_size {
            return None;
        }
        if let Some(section) = self.sections.iter().find(|section| (section.start..section.end).contains(&start)) {
            let low = end.max(section.start);
            // No variable has a greater alignment than its section: an address may be a multiple of more by chance.
            let most = section.alignment.max(LEAST_ALIGNMENT);
            let (high, alignment) = match behind.first() {
                Some(next) if next.start < section.end => (next.start, most.min(1 << next.start.trailing_zeros())),
                _ => (section.end, most),
            };
            if high - low >= alignment {
                return None;
            }
        }
        let near = nearest(before, behind, start).map_or_else(String::new, |(_, words)| format!(": {words}"));
        Some(format!("the transfer begins in no variable{near}"))
    }
}

/// How far from `start`, which lies in no variable of the program, the nearest one is, and a sentence about it.
fn nearest(before: &[ProgramVariable], behind: &[ProgramVariable], start: u64) -> Option<(u64, String)> {
    let is_of_program = |variable: &&ProgramVariable| variable.size > 0 && !variable.name.contains('@');
    let last = before.iter().filter(is_of_program).max_by_key(|variable| variable.end());
    let next = behind.iter().find(is_of_program);
    let last = last.map(|variable| (start.saturating_sub(variable.end()), variable, "ends", "before"));
    let next = next.map(|variable| (variable.start - start, variable, "begins", "after"));
    let (distance, variable, happens, side) = last.into_iter().chain(next).min_by_key(|(distance, ..)| *distance)?;
    let place = match distance {
        0 => "there".to_owned(),
        _ => format!("{} {side} that address", size::counted(distance)),
    };
    let name = in_source(&variable.name);
    Some((distance, format!("`{name}` ({}) {happens} {place}", size::counted(variable.size))))
}

/// The name of a variable in the program's source.
fn in_source(symbol: &str) -> String {
    names::with_demangler(symbol, cpp::in_source)
}

/// The variables in a file of the format ELF, 64 bits.
fn read(mut file: impl Read + Seek) -> Option<SymbolTable> {
    let head = part(&mut file, 0, 64)?;
    if head.get(..5)? != b"\x7fELF\x02" {
        return None;
    }
    let sections = part(&mut file, word(&head, 0x28)?, u64::from(half(&head, 0x3c)?) * SECTION as u64)?;
    let (sections, _) = sections.as_chunks::<SECTION>();
    let symbols = sections.iter().find(|section| quarter(&section[..], 4) == Some(SYMBOLS))?;
    let names = sections.get(quarter(symbols, 40)? as usize)?;
    let content = |file: &mut _, section: &[u8]| part(file, word(section, 24)?, word(section, 32)?);
    let (symbols, names) = (content(&mut file, symbols)?, content(&mut file, names)?);
    let names_of_sections = content(&mut file, sections.get(usize::from(half(&head, 0x3e)?))?)?;
    let named = |section: &[u8; SECTION]| {
        let name = terminated(&names_of_sections, quarter(section, 0)?)?;
        Some(DataSection { is_collected: is_name_of_c(name), ..data_section(section)? })
    };
    let written = sections.iter().filter_map(named).collect();
    let mut table = SymbolTable { sections: written, ..SymbolTable::default() };
    for symbol in symbols.as_chunks::<SYMBOL>().0.iter().filter(|symbol| VARIABLES.contains(&(symbol[4] & 15))) {
        if sections.get(usize::from(half(symbol, 6)?)).and_then(data_section).is_none() {
            continue;
        }
        let Some(name) = terminated(&names, quarter(symbol, 0)?) else { continue };
        let name = without_number(&String::from_utf8_lossy(name)).to_owned();
        let variable = ProgramVariable { start: word(symbol, 8)?, size: word(symbol, 16)?, name };
        if variable.size == 0 && (variable.name.is_empty() || MARKS.contains(&variable.name.as_str())) {
            continue;
        }
        let is_static = symbol[4] >> 4 == 0 && variable.size > 0;
        table.has_static |= is_static && !OF_START_FILES.contains(&variable.name.as_str());
        table.variables.push(variable);
    }
    // Of several names for one place the last one decides: the longest.
    table.variables.sort_by_key(|variable| (variable.start, variable.size));
    Some(table)
}

/// The section that is described so, if the program writes it.
fn data_section(description: &[u8; SECTION]) -> Option<DataSection> {
    let (flags, start, size) = (word(description, 8)?, word(description, 16)?, word(description, 32)?);
    let (end, alignment) = (start.checked_add(size)?, word(description, 48)?);
    let section = DataSection { start, end, alignment, is_collected: false };
    (flags & (WRITABLE | OF_THREADS) == WRITABLE).then_some(section)
}

fn is_name_of_c(name: &[u8]) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    name.first().is_some_and(|first| !first.is_ascii_digit()) && name.iter().all(is_of_name)
}

/// The text at this place of a table of names, which a zero ends.
fn terminated(names: &[u8], at: u32) -> Option<&[u8]> {
    names.get(at as usize..)?.split(|byte| *byte == 0).next()
}

/// The name without the number by which compilers tell variables of functions apart.
fn without_number(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => name,
    }
}

fn part(file: &mut (impl Read + Seek), offset: u64, length: u64) -> Option<Vec<u8>> {
    file.seek(SeekFrom::Start(offset)).ok()?;
    let mut bytes = Vec::new();
    file.by_ref().take(length.min(LONGEST)).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 == length).then_some(bytes)
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn quarter(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;
    use std::sync::atomic::AtomicU64;

    use super::*;

    static OWN: [AtomicU64; 37] = [const { AtomicU64::new(0) }; 37];

    #[test]
    fn the_variables_of_this_program_are_found_and_damaged_files_are_not_read() {
        let file = std::fs::read("/proc/self/exe").unwrap();
        let table = read(Cursor::new(&file[..])).expect("a test has symbols");
        assert!(table.variables.is_sorted_by_key(|variable| variable.start) && table.has_static);
        let own = table.variables.iter().find(|variable| variable.size == 37 * 8 && variable.name.contains("OWN"));
        let own = own.expect("a static variable has a name");
        assert_eq!(own.size, size_of_val(&std::hint::black_box(&OWN)[..]) as u64);
        let is_inside = |section: &DataSection| section.start <= own.start && own.end() <= section.end;
        assert!(table.sections.iter().any(is_inside), "{own:?} {:?}", table.sections);
        for length in [0, 3, 63, 64, 4096, file.len() / 2] {
            // A table that is cut off is none.
            let _ = read(Cursor::new(&file[..length]));
        }
        assert_eq!(read(Cursor::new(b"#!/bin/sh\n")), None);
    }

    /// A table with these variables in sections of 64 to 256 and 256 to 512 bytes.
    fn table(variables: &[(u64, u64, &str)]) -> SymbolTable {
        let variable = |&(start, size, name): &(u64, u64, &str)| ProgramVariable { start, size, name: name.into() };
        let section = |start, end| DataSection { start, end, alignment: 32, is_collected: false };
        let sections = vec![section(64, 256), section(256, 512)];
        SymbolTable { variables: variables.iter().map(variable).collect(), sections, has_static: true }
    }

    #[test]
    fn a_range_that_leaves_the_variable_in_which_it_begins_is_told() {
        let table = table(&[(100, 4, "alias"), (100, 32, "numbers"), (132, 8, "next")]);
        assert_eq!(table.outside(100, 32), None);
        assert_eq!(table.outside(124, 8), None);
        let why = table.outside(124, 16).unwrap();
        assert_eq!(why, "the variable `numbers` has 32 bytes and the transfer ends at its byte 40");
        assert_eq!([without_number("numbers.0"), without_number("a.cold")], ["numbers", "a.cold"]);
    }

    #[test]
    fn a_range_inside_a_larger_variable_or_a_collection_is_right() {
        let inner = table(&[(96, 64, "whole"), (112, 8, "part"), (160, 8, "next")]);
        assert_eq!((inner.outside(112, 16), inner.outside(112, 48)), (None, None));
        let why = inner.outside(112, 56).unwrap();
        assert_eq!(why, "the variable `part` has 8 bytes and the transfer ends at its byte 56");
        let mut collected = table(&[(256, 8, "first"), (264, 8, "second"), (272, 8, "third")]);
        assert!(collected.outside(256, 24).is_some());
        collected.sections[1].is_collected = true;
        assert_eq!(collected.outside(256, 24), None);
        assert!(collected.outside(256, 300).is_some());
        let names = [&b".bss"[..], b"table", b"_t2", b"2t", b"", b".data.rel.ro"];
        assert_eq!(names.map(is_name_of_c), [false, true, true, false, false, false]);
    }

    #[test]
    fn a_range_that_begins_in_no_variable_is_told() {
        let table = table(&[(96, 40, "a"), (160, 80, "s"), (256, 1, "flag"), (288, 200, "last")]);
        let begins = |start, words: &str| {
            let why = table.outside(start, 4).unwrap_or_default();
            assert_eq!(why, format!("the transfer begins in no variable: {words}"));
        };
        begins(136, "`a` (40 bytes) ends there");
        begins(140, "`a` (40 bytes) ends 4 bytes before that address");
        begins(156, "`s` (80 bytes) begins 4 bytes after that address");
        // Behind the last variable of a section, and behind all sections.
        begins(241, "`s` (80 bytes) ends 1 byte before that address");
        begins(258, "`flag` (1 byte) ends 1 byte before that address");
        begins(600, "`last` (200 bytes) ends 112 bytes before that address");
        // A transfer of nothing touches nothing.
        assert_eq!(table.outside(136, 0), None);
    }

    #[test]
    fn nobody_is_accused_where_a_variable_may_be_hidden() {
        // A gap that no alignment explains: 48 bytes before an address that is a multiple of 16.
        let gap = table(&[(96, 32, "a"), (176, 8, "b")]);
        assert_eq!(gap.outside(136, 4), None);
        // 120 bytes before a multiple of 128, in a section whose variables are aligned to 32 at most.
        let chance = table(&[(256, 8, "a"), (384, 8, "b")]);
        assert_eq!((chance.outside(300, 4), chance.outside(264, 4)), (None, None));
        // A name of assembly without a size, before and behind the address.
        let assembly = table(&[(96, 40, "a"), (140, 0, "buffer"), (160, 8, "b")]);
        assert_eq!((assembly.outside(144, 4), assembly.outside(136, 4)), (None, None));
        // A name inside another variable.
        let inner = table(&[(96, 64, "a"), (112, 8, "part"), (160, 8, "b")]);
        assert_eq!(inner.outside(128, 4), None);
        let stripped = SymbolTable { has_static: false, ..table(&[(96, 40, "a"), (160, 80, "s")]) };
        assert_eq!(stripped.outside(136, 4), None);
        assert!(stripped.outside(132, 8).is_some());
    }

    #[test]
    fn a_variable_of_the_library_is_no_place_for_data() {
        let table =
            table(&[(96, 40, "a"), (136, 16, "oxshmem_team_world@OXSHMEM_1.0"), (160, 8, "stdout@GLIBC_2.2.5")]);
        let words = "the transfer begins in a variable of the library, `oxshmem_team_world`; `a` (40 bytes) ends there";
        assert_eq!(table.outside(136, 8).as_deref(), Some(words));
        assert_eq!(table.outside(160, 8), None);
    }
}
