//! Words with several meanings.
//!
//! A word means one thing, so a type name is defined once in the project, and a word of the glossary of ARCHITECTURE.md names files of one
//! package; the provider crates and the crate of their traits are one package here, where equal things have equal file names. Rows that
//! are marked `(per provider)` or `(per crate)` mean the same thing everywhere, and each crate may have its own.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{Breach, SourceFile};
use crate::top;

/// Type names that are defined in more than one file without being allowed to.
pub(super) fn types(sources: &[SourceFile]) -> Vec<Breach> {
    shared_types(sources, &page())
}

/// Words that two packages use for a file.
pub(super) fn files(sources: &[SourceFile]) -> Vec<Breach> {
    shared_files(sources, &words(&page()))
}

fn page() -> String {
    std::fs::read_to_string(top().join("ARCHITECTURE.md")).unwrap_or_default()
}

fn is_of_each(row: &str) -> bool {
    row.contains("(per provider)") || row.contains("(per crate)")
}

/// The words that have one meaning everywhere.
fn words(page: &str) -> BTreeSet<String> {
    let rows =
        page.lines().skip_while(|line| *line != "## Glossary").skip(1).take_while(|line| !line.starts_with("## "));
    let words = rows.filter(|row| !is_of_each(row)).filter_map(|row| row.strip_prefix("| ")?.split(" | ").next());
    words
        .flat_map(|cell| cell.split(", "))
        .map(|word| word.trim_matches('`').to_lowercase().replace(' ', "_"))
        .collect()
}

fn shared_types(sources: &[SourceFile], page: &str) -> Vec<Breach> {
    let allowed: Vec<&str> =
        page.lines().filter(|row| is_of_each(row)).filter_map(|row| row.split('`').nth(1)).collect();
    let mut places: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.is_product() && !source.path.starts_with("sys/")) {
        let mut names = Vec::new();
        collect_types(source.tokens(), &mut names);
        for name in names {
            places.entry(name).or_default().insert(&source.path);
        }
    }
    let shared = places.into_iter().filter(|(name, files)| files.len() > 1 && !allowed.contains(&name.as_str()));
    shared.map(|(name, files)| Breach::shared(&name, files)).collect()
}

/// Collects the names of types and traits that the tokens define.
fn collect_types(tokens: TokenStream, names: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => collect_types(group.stream(), names),
            TokenTree::Ident(word) if ["struct", "enum", "trait", "union"].iter().any(|keyword| word == keyword) => {
                if let Some(TokenTree::Ident(name)) = tokens.get(at + 1) {
                    names.push(name.to_string());
                }
            }
            _ => {}
        }
    }
}

fn shared_files(sources: &[SourceFile], words: &BTreeSet<String>) -> Vec<Breach> {
    let mut places: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.is_product()) {
        let Some(name) = source.module.last().filter(|name| words.contains(*name)) else { continue };
        let package = source.package.as_deref().unwrap_or_default();
        let package = if package.starts_with("crates/transport") { "crates/transport" } else { package };
        places.entry(name).or_default().insert(package, &source.path);
    }
    let shared = places.into_iter().filter(|(_, packages)| packages.len() > 1);
    shared.map(|(word, packages)| Breach::shared(word, packages.into_values())).collect()
}

impl Breach {
    fn shared<'a>(word: &str, files: impl IntoIterator<Item = &'a str>) -> Breach {
        let files: Vec<&str> = files.into_iter().collect();
        Breach { place: word.into(), detail: format!("{word}: {}", files.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "| place | not in the glossary |\n\n## Glossary\n\n| word | meaning |\n|---|---|\n| plan | arguments |\n\
                        | `Lane` | operations (per provider) |\n| memory key, place | two rows in one |\n\n## Next\n| line | no |\n";

    fn places(breaches: Vec<Breach>) -> Vec<String> {
        breaches.into_iter().map(|breach| breach.place).collect()
    }

    #[test]
    fn a_type_with_two_meanings_is_found_unless_the_glossary_allows_it() {
        let sources = [
            SourceFile::made("a/src/lib.rs", "pub struct Place; #[cfg(test)] mod tests { struct Own; }"),
            SourceFile::made("b/src/lib.rs", "enum Place { Here } struct Own; trait Lane {}"),
            SourceFile::made("c/src/lib.rs", "struct Lane;"),
        ];
        assert_eq!(places(shared_types(&sources, PAGE)), ["Place"]);
    }

    #[test]
    fn a_word_that_names_files_of_two_packages_is_found() {
        let names = ["crates/a/src/plan", "b/src/deep/plan", "crates/a/src/lane", "b/src/lane", "b/src/line"];
        let others = ["crates/a/src/line", "crates/transport-x/src/place", "crates/transport/src/place"];
        let made = |name: &&str| SourceFile::made(&format!("{name}.rs"), "");
        let sources: Vec<SourceFile> = names.iter().chain(&others).map(made).collect();
        assert_eq!(places(shared_files(&sources, &words(PAGE))), ["plan"]);
    }
}
