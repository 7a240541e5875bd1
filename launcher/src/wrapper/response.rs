//! Files of arguments, `@FILE`, which compilers read in the place of the words in them.
//!
//! A command line has room for fewer words than a file, so the file is left to the compiler. Only where the wrapper acts by one of its
//! words do they stand in its place.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use oxshmem_base::file;

/// No compiler is given a longer file.
const LONGEST: u64 = 64 << 20;
/// How many files deep one is opened that is named in another: one may name itself.
const DEEPEST: usize = 8;

/// The arguments, with the words of a file in the place of its name where `matters` holds for one of them.
pub(super) fn opened(arguments: Vec<OsString>, matters: impl Fn(&OsString) -> bool) -> Vec<OsString> {
    let mut opened = Vec::with_capacity(arguments.len());
    for argument in arguments {
        match words_of(&argument, DEEPEST).filter(|words| words.iter().any(&matters)) {
            Some(words) => opened.extend(words),
            None => opened.push(argument),
        }
    }
    opened
}

/// The words of the file that an argument names, perhaps by a link. An argument whose file is not there is a word, as it is for
/// compilers. A pipe can be read once only, and is left to them, too.
fn words_of(argument: &OsStr, depth: usize) -> Option<Vec<OsString>> {
    let name = argument.as_bytes().strip_prefix(b"@")?;
    let depth = depth.checked_sub(1)?;
    let path = std::fs::canonicalize(OsStr::from_bytes(name)).ok()?;
    let text = file::found(path, LONGEST).ok()?;
    let words = split(&text).into_iter();
    Some(words.flat_map(|word| words_of(&word, depth).unwrap_or_else(|| vec![word])).collect())
}

/// The words of a text: blanks end them, quotes hold them together, and a backslash stands before a byte that is taken as it is.
fn split(text: &[u8]) -> Vec<OsString> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<Vec<u8>>, None);
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match (quote, byte) {
            (_, b'\\') => word.get_or_insert_default().extend(bytes.next()),
            (Some(open), _) if open == byte => quote = None,
            (None, b'\'' | b'"') => {
                word.get_or_insert_default();
                quote = Some(byte);
            }
            (None, _) if byte.is_ascii_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(byte),
        }
    }
    words.extend(word);
    words.into_iter().map(OsString::from_vec).collect()
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn words_are_those_that_the_compiler_reads() {
        assert_eq!(split(b"-c  'a b.c'\n-DX=\\\"y\\\" \"\" it\\'s\n"), ["-c", "a b.c", "-DX=\"y\"", "", "it's"]);
        assert_eq!(split(b" \n"), [""; 0]);
    }

    #[test]
    fn a_file_is_opened_where_the_wrapper_acts_by_a_word_of_it() {
        let folder = TestFolder::new("response");
        let named = |path: std::path::PathBuf| format!("@{}", path.display());
        let plain = named(folder.write("plain", "a.o b.o -lm"));
        let inner = named(folder.write("inner", "-c x.c"));
        let outer = named(folder.write("outer", format!("-O2 {inner}")));
        let given = [&plain[..], &outer[..], "@/nowhere/file"].map(OsString::from).to_vec();
        let words = opened(given, |word| word == "-c");
        assert_eq!(words, [&plain[..], "-O2", "-c", "x.c", "@/nowhere/file"]);
        let link = folder.join("link");
        std::os::unix::fs::symlink("inner", &link).expect("a link in the folder");
        assert_eq!(opened(vec![named(link).into()], |word| word == "-c"), ["-c", "x.c"]);
        let endless = format!("@{}", folder.join("endless").display());
        folder.write("endless", format!("-c {endless}"));
        let words = opened(vec![endless.clone().into()], |word| word == "-c");
        assert_eq!((words.len(), words.last()), (DEEPEST + 1, Some(&endless.into())));
    }
}
