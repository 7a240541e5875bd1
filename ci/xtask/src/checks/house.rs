//! Rules of the house that a compiler does not know: no circle of imports, no file too long to read, no SAFETY sentence that only
//! relays, no comment that hides its subject, no act that is called like a question, no type name and no word of the glossary with two
//! meanings, no word that the glossary has given up, no path to nothing, no provider's name outside its crate and the one table.

mod glossary;
mod imports;
mod lines;
mod paths;
mod providers;
mod sources;
mod vocabulary;

use proc_macro2::{TokenStream, TokenTree};

use crate::Outcome;
use crate::counts::{CheckCounts, failed};

use sources::SourceFile;

/// A rule: its name, what a breach means, and how it is found.
struct Rule {
    name: &'static str,
    meaning: &'static str,
    find: fn(&[SourceFile]) -> Vec<Breach>,
}

const fn rule(name: &'static str, meaning: &'static str, find: fn(&[SourceFile]) -> Vec<Breach>) -> Rule {
    Rule { name, meaning, find }
}

/// All rules. A new one is a new line here and a function.
const RULES: &[Rule] = &[
    rule("circle", "files import each other in a circle", imports::circles),
    rule("long", "a file has more than 400 lines", lines::long),
    rule("relay", "a SAFETY sentence names no promise of its own", lines::relays),
    rule("subject", "a comment begins with a free relative instead of its subject", lines::subjects),
    rule("question", "a function that changes its object is called like a question", lines::questions),
    rule("name", "one type name has several meanings", glossary::types),
    rule("word", "a word of the glossary names files of several packages", glossary::files),
    rule("vocabulary", "a word stands there that the glossary has given up", vocabulary::given_up),
    rule("path", "a page or a comment names a file that does not exist", paths::missing),
    rule("provider", "code outside a provider's crate and the table of providers names it", providers::named),
];

/// One breach of a rule: where it is, and a sentence for the reader.
struct Breach {
    place: String,
    detail: String,
}

/// The words, texts and signs among tokens, inside of all brackets.
pub(crate) fn leaves(tokens: TokenStream) -> Box<dyn Iterator<Item = TokenTree>> {
    Box::new(tokens.into_iter().flat_map(|token| match token {
        TokenTree::Group(group) => leaves(group.stream()),
        leaf => Box::new(std::iter::once(leaf)),
    }))
}

pub(crate) fn run() -> Outcome<CheckCounts> {
    let sources = sources::read()?;
    let mut counts = CheckCounts::default();
    for rule in RULES {
        let breaches = (rule.find)(&sources);
        for Breach { place, detail } in &breaches {
            failed!("{} {place}: {}\n    {detail}", rule.name, rule.meaning);
        }
        counts += CheckCounts::one(breaches.is_empty());
        println!("{:<10} {} places: {}", rule.name, breaches.len(), rule.meaning);
    }
    Ok(counts)
}
