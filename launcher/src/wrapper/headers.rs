//! Headers that are compiled by themselves: compilers then write precompiled ones (`foo.h.gch`), and link nothing.

use std::ffi::OsString;
use std::path::Path;

const ENDINGS: [&str; 9] = ["h", "hh", "H", "hp", "hxx", "hpp", "HPP", "h++", "tcc"];

/// Options whose next word is no file to work on.
const WITH_VALUE: [&str; 14] = [
    "-o",
    "-I",
    "-D",
    "-U",
    "-L",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-MF",
    "-MT",
    "-MQ",
    "--param",
];

/// Whether all that the compiler is given to work on are headers. Another file or a library makes a program of it.
pub(super) fn are_alone(arguments: &[OsString]) -> bool {
    let (mut language, mut headers) = (String::new(), 0);
    let mut words = arguments.iter().map(|argument| argument.to_string_lossy());
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&&*word) {
            words.next();
        } else if let Some(joined) = word.strip_prefix("-x") {
            language = if joined.is_empty() { words.next().unwrap_or_default().into() } else { joined.into() };
        } else if word.starts_with("-l") || (is_file(&word) && !is_header(&word, &language)) {
            return false;
        } else if is_file(&word) {
            headers += 1;
        }
    }
    headers > 0
}

fn is_file(word: &str) -> bool {
    word == "-" || !word.starts_with('-')
}

/// Whether the file is a header, by its name or by the language (`-x`) that is named before it.
fn is_header(file: &str, language: &str) -> bool {
    if !["", "none"].contains(&language) {
        return language.ends_with("-header");
    }
    let ending = Path::new(file).extension().unwrap_or_default();
    ENDINGS.iter().any(|header| ending == *header)
}
