//! Words that the glossary has given up, each with the word of the field that says the same.
//!
//! The rule looks at code, comments and file names of the crates that had the words, and at the pages that describe these crates.
//! Elsewhere the same words may have other meanings.

use super::Breach;
use super::sources::{SourceFile, pages};

/// A word, what to say in its place, and where it had its meaning.
const GIVEN_UP: &[(&str, &str, &[&str])] = &[
    ("letter", "active message, or message", LIBRARY),
    ("letters", "active messages, batch or mailbox", LIBRARY),
    ("mail", "mailbox, or inline message", LIBRARY),
    ("company", "coalescing, or batch", LIBRARY),
    ("board", "gather buffer", COLLECTIVES),
    ("boards", "gather buffers", COLLECTIVES),
    ("zone", "buffers that a team leases, or scratch", LIBRARY),
    ("zones", "buffers that a team leases, or scratch", LIBRARY),
    ("lend", "lease, or local completion", LIBRARY),
    ("lends", "leases, or local completion", LIBRARY),
    ("lent", "leased, or in flight", LIBRARY),
    ("lending", "lease", LIBRARY),
    ("farewell", "disconnect", LIBRARY),
    ("nap", "sleep of a wait, or backoff of a thread", LIBRARY),
    ("naps", "sleeps of a wait, or backoff of a thread", LIBRARY),
];

const LIBRARY: &[&str] = &[
    "crates/runtime/src/",
    "crates/schedule/src/",
    "crates/transport/src/",
    "crates/transport-ofi/src/",
    "crates/transport-sim/src/",
    "crates/transport-tcp/src/",
    "crates/transport-ucx/src/",
    "docs/src/internals/",
    "ARCHITECTURE.md",
];

const COLLECTIVES: &[&str] = &[
    "crates/runtime/src/collectives",
    "crates/runtime/src/memory/",
    "crates/schedule/src/",
    "docs/src/internals/",
    "ARCHITECTURE.md",
];

/// Lines with such a word.
pub(super) fn given_up(sources: &[SourceFile]) -> Vec<Breach> {
    let files = sources.iter().map(|source| (source.path.clone(), source.text.clone()));
    pages().into_iter().chain(files).flat_map(|(path, text)| given_up_in(&path, &text)).collect()
}

fn given_up_in(path: &str, text: &str) -> Vec<Breach> {
    let is_within = |places: &[&str]| places.iter().any(|place| path.starts_with(place));
    let given_up: Vec<_> = GIVEN_UP.iter().filter(|(.., places)| is_within(places)).collect();
    if given_up.is_empty() {
        return Vec::new();
    }
    let instead = |word: &str| given_up.iter().find(|(old, ..)| *old == word).map(|(_, new, _)| *new);
    let named = words(path).into_iter().map(|word| (word, path.to_owned()));
    let lines = text.lines().enumerate();
    let said =
        lines.flat_map(|(at, line)| words(line).into_iter().map(move |word| (word, format!("{path}:{}", at + 1))));
    let breach = |(word, place): (String, String)| {
        let detail = format!("{place}: {word}; say {}", instead(&word)?);
        Some(Breach { place: path.to_owned(), detail })
    };
    named.chain(said).filter_map(breach).collect()
}

/// The words of a line in lower case; a name in code is several words.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut last = ' ';
    for c in line.chars() {
        if !c.is_ascii_alphabetic() || c.is_ascii_uppercase() && last.is_ascii_lowercase() {
            words.push(String::new());
        }
        if c.is_ascii_alphabetic() {
            words.last_mut().expect("there is always one").push(c.to_ascii_lowercase());
        }
        last = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> usize {
        given_up_in(path, text).len()
    }

    #[test]
    fn a_word_that_was_given_up_is_found_in_comments_names_and_pages() {
        let code = "crates/runtime/src/collectives/a.rs";
        for line in
            ["// The letters wait.", "fn has_letters() {}", "struct LentRing;", "const OPEN_BOARD: u8 = 0;", "Mail"]
        {
            assert_eq!(found(code, line), 1, "{line}");
        }
        assert_eq!(found("docs/src/internals/networks.md", "**Company.** Two zones."), 2);
        assert_eq!(found("crates/transport-ofi/src/naps.rs", ""), 1);
        assert!(
            given_up_in(code, "// A nap.")[0]
                .detail
                .ends_with("a.rs:1: nap; say sleep of a wait, or backoff of a thread")
        );
    }

    #[test]
    fn parts_of_words_and_other_places_are_not() {
        let code = "crates/runtime/src/collectives/a.rs";
        assert_eq!(found(code, "// A snapshot of the mailbox, silent on the keyboard; equivalent talent."), 0);
        assert_eq!(found("crates/base/src/size.rs", "// Letters behind a number."), 0);
        assert_eq!(found("docs/src/fortran.md", "letters of both sizes"), 0);
        assert_eq!(found("crates/transport/src/due.rs", "struct DueBoard;"), 0);
    }

    #[test]
    fn every_word_has_another_one_in_its_place() {
        for (word, new, _) in GIVEN_UP {
            assert_eq!(words(word), [*word], "the rule compares single words in lower case");
            assert!(words(new).iter().all(|new| !GIVEN_UP.iter().any(|(old, ..)| old == new)), "{word}: {new}");
        }
    }
}
