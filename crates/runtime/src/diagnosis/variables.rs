//! The variables of the executable, as its table of symbols tells them: where each begins, how long it is, its name.
//!
//! Only `SHMEM_CHECK=2` and higher look. A stripped program has no table, so nothing is known of its variables.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::sync::OnceLock;

use oxshmem_os::statics;

/// A table of symbols or names that is longer is left alone.
const LONGEST: u64 = 1 << 30;
/// The kind of a section with a program's own symbols.
const SYMBOLS: u32 = 2;
/// Bytes of a symbol, and of a section's description.
const SYMBOL: usize = 24;
const SECTION: usize = 64;
/// The types of symbols that are variables: ordinary ones and common blocks.
const VARIABLES: [u8; 2] = [1, 5];

/// A variable of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ProgramVariable {
    start: u64,
    size: u64,
    name: String,
}

/// The reason if `bytes` bytes at an own address begin in a variable of the program and end behind it.
pub(super) fn beyond(address: usize, bytes: usize) -> Option<String> {
    static TABLE: OnceLock<(u64, Vec<ProgramVariable>)> = OnceLock::new();
    let (bias, variables) = TABLE.get_or_init(|| {
        let bias = statics::executable().map_or(0, |executable| executable.bias as u64);
        (bias, File::open("/proc/self/exe").ok().and_then(read).unwrap_or_default())
    });
    outside(variables, (address as u64).wrapping_sub(*bias), bytes as u64)
}

fn outside(variables: &[ProgramVariable], start: u64, bytes: u64) -> Option<String> {
    let before = variables.partition_point(|variable| variable.start <= start);
    let ProgramVariable { start: begin, size, name } = variables[..before].last()?;
    let (offset, end) = (start - begin, (start - begin).saturating_add(bytes));
    (offset < *size && end > *size)
        .then(|| format!("the variable `{name}` has {size} bytes and the transfer ends at its byte {end}"))
}

/// The variables in a file of the format ELF, 64 bits, in the order of their addresses.
fn read(mut file: impl Read + Seek) -> Option<Vec<ProgramVariable>> {
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
    let mut variables: Vec<ProgramVariable> = symbols
        .as_chunks::<SYMBOL>()
        .0
        .iter()
        .filter(|symbol| VARIABLES.contains(&(symbol[4] & 15)) && half(&symbol[..], 6) != Some(0))
        .filter_map(|symbol| {
            let name = names.get(quarter(symbol, 0)? as usize..)?.split(|byte| *byte == 0).next()?;
            let name = without_number(&String::from_utf8_lossy(name)).to_owned();
            Some(ProgramVariable { start: word(symbol, 8)?, size: word(symbol, 16)?, name })
        })
        .filter(|variable| variable.size > 0)
        .collect();
    // Of several names for one place the last one decides: the longest.
    variables.sort_by_key(|variable| (variable.start, variable.size));
    Some(variables)
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

    use super::*;

    static OWN: [u64; 37] = [0; 37];

    #[test]
    fn the_variables_of_this_program_are_found_and_damaged_files_are_not_read() {
        let file = std::fs::read("/proc/self/exe").unwrap();
        let variables = read(Cursor::new(&file[..])).expect("a test has symbols");
        assert!(variables.is_sorted_by_key(|variable| variable.start));
        let own = variables.iter().find(|variable| variable.size == 37 * 8 && variable.name.contains("OWN"));
        assert_eq!(own.map(|variable| variable.size), Some(size_of_val(&std::hint::black_box(&OWN)[..]) as u64));
        for length in [0, 3, 63, 64, 4096, file.len() / 2] {
            // A table that is cut off is none.
            let _ = read(Cursor::new(&file[..length]));
        }
        assert_eq!(read(Cursor::new(b"#!/bin/sh\n")), None);
    }

    #[test]
    fn a_range_that_leaves_the_variable_in_which_it_begins_is_told() {
        let variable = |start, size, name: &str| ProgramVariable { start, size, name: name.into() };
        let variables = [variable(100, 4, "alias"), variable(100, 32, "numbers"), variable(132, 8, "next")];
        assert_eq!(outside(&variables, 100, 32), None);
        assert_eq!(outside(&variables, 124, 8), None);
        let why = outside(&variables, 124, 16).unwrap();
        assert_eq!(why, "the variable `numbers` has 32 bytes and the transfer ends at its byte 40");
        assert_eq!([without_number("numbers.0"), without_number("a.cold")], ["numbers", "a.cold"]);
        // Nothing is known of what lies between variables, or before all.
        assert_eq!((outside(&variables, 144, 8), outside(&variables, 10, 500)), (None, None));
    }
}
