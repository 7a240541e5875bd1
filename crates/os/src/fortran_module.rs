//! Where the code of our Fortran module lies in a program. Its procedures call for the program, and are linked into it.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use crate::executable::Executable;
use crate::program;

/// The beginning of the names of its procedures, as gfortran makes them.
const PROCEDURES: &[u8] = b"__shmem_f08_MOD_";
/// The end of the names of parts that a compiler puts elsewhere because they run seldom.
const ELSEWHERE: &[u8] = b".cold";

/// The kind of a section that lists symbols.
const SHT_SYMTAB: u32 = 2;
/// The kind of a symbol that is a function.
const STT_FUNC: u8 = 2;
/// How long the head of a file is, the description of a section, and a symbol.
const HEAD: u64 = 64;
const SECTION: usize = 64;
const SYMBOL: usize = 24;

/// Addresses of the module's code in the executable; none if that was linked without the module, or has no symbols. The first call
/// reads the file.
pub fn code() -> &'static Range<usize> {
    static CODE: OnceLock<Range<usize>> = OnceLock::new();
    CODE.get_or_init(|| functions(PROCEDURES).unwrap_or(0..0))
}

/// From the first function of the executable whose name begins with `beginning` to the end of the last one: those of
/// the module come from one object file, so they lie side by side.
fn functions(beginning: &[u8]) -> Option<Range<usize>> {
    let bias = Executable::this()?.bias();
    let file = File::open(program::file().ok()?).ok()?;
    let size = file.metadata().ok()?.len();
    let read = |offset: u64, len: u64| {
        let is_there = offset.checked_add(len).is_some_and(|end| end <= size);
        let mut bytes = vec![0; usize::try_from(len).ok().filter(|_| is_there)?];
        file.read_exact_at(&mut bytes, offset).ok()?;
        Some(bytes)
    };
    let head = read(0, HEAD)?;
    let sections = read(word(&head, 40)?, SECTION as u64 * u64::from(half(&head, 60)?))?;
    let part = |section: &[u8]| read(word(section, 24)?, word(section, 32)?);
    let listing = sections.chunks_exact(SECTION).find(|section| int(section, 4) == Some(SHT_SYMTAB))?;
    let names = part(sections.chunks_exact(SECTION).nth(int(listing, 40)? as usize)?)?;
    let symbols = part(listing)?;
    let mut found: Option<Range<usize>> = None;
    for symbol in symbols.chunks_exact(SYMBOL).filter(|symbol| symbol[4] & 15 == STT_FUNC) {
        let behind = names.get(int(symbol, 0)? as usize..).unwrap_or_default();
        let name = behind.split(|&byte| byte == 0).next().unwrap_or_default();
        let (value, len) = (word(symbol, 8)? as usize, word(symbol, 16)? as usize);
        if value != 0 && name.starts_with(beginning) && !name.ends_with(ELSEWHERE) {
            let (start, end) = (bias.wrapping_add(value), bias.wrapping_add(value).wrapping_add(len));
            let so_far = found.unwrap_or(start..end);
            found = Some(so_far.start.min(start)..so_far.end.max(end));
        }
    }
    found
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn int(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_the_beginning_of_their_names() {
        let here = functions_are_found_by_the_beginning_of_their_names as *const () as usize;
        let all = functions(b"").expect("this program has symbols");
        assert!(all.contains(&here), "{all:x?}");
        let main = functions(b"main").expect("a program has a function `main`");
        assert!(all.start <= main.start && main.end <= all.end, "{all:x?} {main:x?}");
        assert_eq!(functions(b"no such function"), None);
        assert!(code().is_empty());
    }
}
