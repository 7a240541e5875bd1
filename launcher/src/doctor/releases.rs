//! The releases of libraries that are opened at run time. The number in a file's name is that of its interface.
//!
//! The tools open none of these libraries, so the release is read from the file: each of them can tell it, and keeps it as a text.

use std::collections::BTreeSet;
use std::path::Path;

use oxshmem_base::file;

/// Libraries that keep their release as a text of its own.
const NUMBERED: [&str; 3] = ["libfabric", "UCX", "hwloc"];
/// A longer file is not read.
const LONGEST: u64 = 128 << 20;

/// The release of a library with its file: `1.17.0 (/usr/lib/libfabric.so.1.20.0)`; the file alone if it is not known.
pub(super) fn with_file(name: &str, path: &str) -> String {
    release(name, path).map_or_else(|| path.to_owned(), |release| format!("{release} ({path})"))
}

/// The release that a library's file names.
pub(super) fn release(name: &str, path: &str) -> Option<String> {
    if !NUMBERED.contains(&name) {
        return None;
    }
    only(&file::found(Path::new(path), LONGEST).ok()?)
}

/// The text of three numbers that ends with a zero byte, if there is no other one.
fn only(bytes: &[u8]) -> Option<String> {
    let texts: BTreeSet<&[u8]> = bytes.split(|&byte| byte == 0).filter_map(numbers).collect();
    let mut texts = texts.into_iter();
    let first = texts.next()?;
    texts.next().is_none().then(|| String::from_utf8_lossy(first).into_owned())
}

/// The three numbers at the end of a text, unless they are part of a word, as in `GLIBC_2.3.4`.
fn numbers(text: &[u8]) -> Option<&[u8]> {
    let is_part = |byte: &u8| byte.is_ascii_digit() || *byte == b'.';
    let start = text.iter().rposition(|byte| !is_part(byte)).map_or(0, |at| at + 1);
    let (before, numbers) = text.split_at(start);
    let is_letter = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    let is_word = before.iter().rev().take(2).filter(is_letter).count() == 2;
    let mut parts = numbers.split(|&byte| byte == b'.');
    let are_three = parts.clone().count() == 3 && parts.all(|part| (1..=4).contains(&part.len()));
    (are_three && !is_word).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_is_the_only_text_of_three_numbers() {
        assert_eq!(only(b"\x7fELF\0GLIBC_2.3.4\0fi_info\x001.17.0\0FABRIC_1.0\0").as_deref(), Some("1.17.0"));
        // A number of another kind may stand before the text.
        assert_eq!(only(b"\x80\x84.A1.13.1\0ucp\x001.13.1\0").as_deref(), Some("1.13.1"));
        for unknown in [&b"2.9.0\x004.2.1\0"[..], b"version 4.2.2rc2\0", b"1.2\0a.b.c\x001..2\0", b""] {
            assert_eq!(only(unknown), None, "{}", unknown.escape_ascii());
        }
        assert_eq!(with_file("PMIx", "/proc/self/exe"), "/proc/self/exe");
    }
}
