//! Words of the glossary that name files of several packages.
//!
//! The glossary of ARCHITECTURE.md gives each word one meaning, so one package has the file of that name. The provider crates
//! and the crate of their traits are one package here: equal things have equal file names there.

use std::collections::{BTreeMap, BTreeSet};

use super::{Breach, SourceFile};
use crate::top;

/// Words that two packages use for a file, unless their row is marked `(per provider)` or `(per crate)`.
pub(super) fn shared(sources: &[SourceFile]) -> Vec<Breach> {
    let page = std::fs::read_to_string(top().join("ARCHITECTURE.md")).unwrap_or_default();
    shared_words(sources, &glossary(&page))
}

/// The words that have one meaning everywhere.
fn glossary(page: &str) -> BTreeSet<String> {
    let rows =
        page.lines().skip_while(|line| *line != "## Glossary").skip(1).take_while(|line| !line.starts_with("## "));
    let rows = rows.filter(|row| !row.contains("(per provider)") && !row.contains("(per crate)"));
    let words = rows.filter_map(|row| row.strip_prefix("| ")?.split(" | ").next());
    words
        .flat_map(|cell| cell.split(", "))
        .map(|word| word.trim_matches('`').to_lowercase().replace(' ', "_"))
        .collect()
}

fn shared_words(sources: &[SourceFile], words: &BTreeSet<String>) -> Vec<Breach> {
    let mut places: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.is_product()) {
        let Some(name) = source.module.last().filter(|name| words.contains(*name)) else { continue };
        let package = source.package.as_deref().unwrap_or_default();
        let package = if package.starts_with("crates/transport") { "crates/transport" } else { package };
        places.entry(name).or_default().insert(package, &source.path);
    }
    let shared = places.into_iter().filter(|(_, packages)| packages.len() > 1);
    shared
        .map(|(word, packages)| {
            let files: Vec<&str> = packages.into_values().collect();
            Breach { place: word.into(), detail: format!("{word}: {}", files.join(", ")) }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "| place | not in the glossary |\n\n## Glossary\n\n| word | meaning |\n|---|---|\n| plan | arguments |\n\
                        | `Lane` | operations (per provider) |\n| memory key, place | two rows in one |\n\n## Next\n| line | no |\n";

    #[test]
    fn a_word_that_names_files_of_two_packages_is_found() {
        let sources = [
            SourceFile::made("crates/a/src/plan.rs", ""),
            SourceFile::made("b/src/deep/plan.rs", ""),
            SourceFile::made("crates/a/src/lane.rs", ""),
            SourceFile::made("b/src/lane.rs", ""),
            SourceFile::made("b/src/line.rs", ""),
            SourceFile::made("crates/a/src/line.rs", ""),
            SourceFile::made("crates/transport-x/src/place.rs", ""),
            SourceFile::made("crates/transport/src/place.rs", ""),
        ];
        let found: Vec<String> =
            shared_words(&sources, &glossary(PAGE)).into_iter().map(|breach| breach.place).collect();
        assert_eq!(found, ["plan"]);
    }
}
