//! Rules of the house that a compiler does not know: no circle of imports, no file too long to read, no SAFETY sentence that only
//! relays, no comment that hides its subject, no type name and no word of the glossary with two meanings, no word that the glossary
//! has given up, no path to nothing, no provider's name outside its crate and the one table.
//!
//! A place that breaks a rule today stands in `ci/house-debts.txt`, with its number of breaches. The check fails when a place gets
//! worse or a new one appears, and also when a place has become better than its line says: so the list only shrinks.
//! `cargo xtask house --write` writes the list anew; a commit that makes it longer has to say why.

mod debts;
mod imports;
mod lines;
mod names;
mod paths;
mod providers;
mod sources;
mod vocabulary;
mod words;

use std::collections::BTreeMap;

use crate::counts::{CheckCounts, failed};
use crate::{Outcome, top};

use sources::SourceFile;

/// A rule: its name in the list of debts, what a breach means, and how it is found.
struct Rule {
    name: &'static str,
    meaning: &'static str,
    find: fn(&[SourceFile]) -> Vec<Breach>,
}

/// All rules. A new one is a new line here and a function.
const RULES: &[Rule] = &[
    Rule { name: "circle", meaning: "files import each other in a circle", find: imports::circles },
    Rule { name: "long", meaning: "a file has more than 400 lines", find: lines::long },
    Rule { name: "relay", meaning: "a SAFETY sentence names no promise of its own", find: lines::relays },
    Rule {
        name: "subject",
        meaning: "a comment begins with a free relative instead of its subject",
        find: lines::subjects,
    },
    Rule { name: "name", meaning: "one type name has several meanings", find: names::shared },
    Rule { name: "word", meaning: "a word of the glossary names files of several packages", find: words::shared },
    Rule {
        name: "vocabulary",
        meaning: "a word stands there that the glossary has given up",
        find: vocabulary::given_up,
    },
    Rule { name: "path", meaning: "a page or a comment names a file that does not exist", find: paths::missing },
    Rule {
        name: "provider",
        meaning: "code outside a provider's crate and the table of providers names it",
        find: providers::named,
    },
];

/// One breach of a rule: `place` is what the list of debts counts by, `detail` is for the reader.
struct Breach {
    place: String,
    detail: String,
}

/// How often each place breaks each rule: the key is `rule place`.
type Tally = BTreeMap<String, usize>;

/// Compares the breaches with the list of debts, or writes the list.
pub(crate) fn run(write: bool, show: bool) -> Outcome<CheckCounts> {
    let sources = sources::read(&top())?;
    let mut counts = CheckCounts::default();
    let mut tally = Tally::new();
    let mut details: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for rule in RULES {
        for breach in (rule.find)(&sources) {
            let key = format!("{} {}", rule.name, breach.place);
            *tally.entry(key.clone()).or_default() += 1;
            details.entry(key).or_default().push(breach.detail);
        }
    }
    if show {
        details.values().flatten().for_each(|detail| println!("{detail}"));
    }
    if write {
        debts::write(&tally)?;
        println!("{} debts in {}", tally.values().sum::<usize>(), debts::FILE);
        return Ok(CheckCounts { passed: 1, ..counts });
    }
    let known = debts::read()?;
    for rule in RULES {
        let of_rule = |tally: &Tally| {
            let prefix = format!("{} ", rule.name);
            tally.iter().filter(|(key, _)| key.starts_with(&prefix)).map(|(k, n)| (k.clone(), *n)).collect::<Tally>()
        };
        let (found, allowed) = (of_rule(&tally), of_rule(&known));
        let worse: Vec<_> = found.iter().filter(|(key, n)| allowed.get(*key).is_none_or(|old| old < n)).collect();
        let better: Vec<_> = allowed.iter().filter(|(key, n)| found.get(*key).is_none_or(|new| new < n)).collect();
        for (key, _) in &worse {
            failed!("{key}: {} ({} known)", rule.meaning, allowed.get(*key).unwrap_or(&0));
            details[*key].iter().for_each(|detail| println!("    {detail}"));
        }
        for (key, n) in &better {
            let now = found.get(*key).unwrap_or(&0);
            failed!("{key}: {now} left of {n}; cargo xtask house --write takes the paid debts off the list");
        }
        counts += CheckCounts::one(worse.is_empty() && better.is_empty());
        println!("{:<8} {} known places: {}", rule.name, allowed.len(), rule.meaning);
    }
    Ok(counts)
}
