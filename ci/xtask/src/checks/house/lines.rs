//! Rules that a look at the lines of a file decides.

use super::{Breach, SourceFile};

/// The most lines of a file that one reads at a sitting.
const LONGEST: usize = 400;

/// Files that are longer, tests and lists of generated declarations aside.
pub(super) fn long(sources: &[SourceFile]) -> Vec<Breach> {
    let is_long = |source: &&SourceFile| source.is_product() && source.text.lines().count() > LONGEST;
    let breach = |source: &SourceFile| Breach {
        place: source.path.clone(),
        detail: format!("{} has {} lines", source.path, source.text.lines().count()),
    };
    sources.iter().filter(is_long).map(breach).collect()
}

/// What a SAFETY sentence begins with that points elsewhere or says nothing.
const RELAYS: &[&str] = &[
    "as above",
    "as below",
    "as before",
    "as for ",
    "as in ",
    "see above",
    "see `",
    "passed on",
    "the caller's promise",
    "the caller's promises",
    "what the caller promised",
    "no obligations",
    "no preconditions",
    "it takes nothing",
];

/// SAFETY sentences that only relay. A sentence that goes on after the relay ("the caller's promise that `n` bytes are readable") names
/// its promise and is none.
pub(super) fn relays(sources: &[SourceFile]) -> Vec<Breach> {
    each_line(sources, |line| {
        let sentence = line.split_once("SAFETY:")?.1.trim().to_lowercase();
        let first = sentence.split(['.', ';']).next().unwrap_or_default();
        let relay = RELAYS.iter().find(|relay| first.starts_with(**relay))?;
        // A few words after the relay are still only a relay: "as in `put`", "the caller's promises for both".
        (first[relay.len()..].split_whitespace().count() <= 3).then_some(())
    })
}

/// Words that begin a clause in the place of a subject.
const FREE_RELATIVES: &[&str] = &["Who ", "Whoever ", "Whom ", "Whatever ", "What "];

/// Comments whose first sentence begins with such a clause.
pub(super) fn subjects(sources: &[SourceFile]) -> Vec<Breach> {
    each_line(sources, |line| {
        let comment = line.trim_start().strip_prefix("//")?.trim_start_matches(['/', '!']).trim_start();
        let begins = FREE_RELATIVES.iter().any(|word| comment.starts_with(word));
        // A question is a sentence of its own.
        (begins && !comment.trim_end().ends_with('?')).then_some(())
    })
}

fn each_line(sources: &[SourceFile], breaks: impl Fn(&str) -> Option<()>) -> Vec<Breach> {
    let breaks = &breaks;
    let of_file = |source: &'_ SourceFile| {
        let path = source.path.clone();
        let found = source.text.lines().enumerate().filter(|(_, line)| breaks(line).is_some());
        let breach = move |(at, line): (usize, &str)| Breach {
            place: path.clone(),
            detail: format!("{path}:{}: {}", at + 1, line.trim()),
        };
        found.map(breach).collect::<Vec<_>>()
    };
    // This file has the sentences that it looks for.
    sources.iter().filter(|source| !source.path.ends_with("house/lines.rs")).flat_map(of_file).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: fn(&[SourceFile]) -> Vec<Breach>, text: &str) -> usize {
        rule(&[SourceFile::made("a/src/b.rs", text)]).len()
    }

    #[test]
    fn a_sentence_that_only_relays_is_found() {
        for text in [
            "// SAFETY: as above.",
            "// SAFETY: the caller's promise.",
            "// SAFETY: no obligations.",
            "    // SAFETY: Passed on; so below.",
        ] {
            assert_eq!(found(relays, text), 1, "{text}");
        }
    }

    #[test]
    fn a_sentence_that_names_its_promise_is_not() {
        for text in [
            "// SAFETY: the caller promises that `source` is readable for `n` bytes.",
            "// SAFETY: the descriptor is new, so nobody else owns it.",
            "// SAFETY: as the caller promises, `dest` is writable until completion.",
            "// SAFETY: the caller's promise that the team lives until `destroy`.",
        ] {
            assert_eq!(found(relays, text), 0, "{text}");
        }
    }

    #[test]
    fn a_comment_without_a_subject_is_found() {
        assert_eq!(
            found(subjects, "/// Who has passed the barrier serves nobody any more.\n// What waits is sent."),
            2
        );
        assert_eq!(found(subjects, "/// A PE that has passed the barrier serves nobody.\n// What does it cost?"), 0);
    }

    #[test]
    fn a_long_file_is_found() {
        assert_eq!(found(long, &"\n".repeat(LONGEST + 1)), 1);
        assert_eq!(found(long, &"\n".repeat(LONGEST)), 0);
    }
}
