//! Type names with several meanings.
//!
//! A word means one thing, so a type name is defined once in the project. Names in the glossary of ARCHITECTURE.md that are marked
//! `(per provider)` or `(per crate)` mean the same thing everywhere and may be defined in each.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{Breach, SourceFile};
use crate::top;

/// Names that are defined in more than one file without being allowed to.
pub(super) fn shared(sources: &[SourceFile]) -> Vec<Breach> {
    let page = std::fs::read_to_string(top().join("ARCHITECTURE.md")).unwrap_or_default();
    shared_but(sources, &allowed(&page))
}

/// The rows of the glossary that speak of a word defined in several places.
fn allowed(page: &str) -> Vec<String> {
    let marked = |line: &&str| line.contains("(per provider)") || line.contains("(per crate)");
    page.lines().filter(marked).filter_map(|line| Some(line.split('`').nth(1)?.to_owned())).collect()
}

fn shared_but(sources: &[SourceFile], allowed: &[String]) -> Vec<Breach> {
    let mut places: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.is_product() && !source.path.starts_with("sys/")) {
        let mut names = Vec::new();
        types(source.tokens(), &mut names);
        names.sort_unstable();
        names.dedup();
        names.into_iter().for_each(|name| places.entry(name).or_default().push(&source.path));
    }
    let shared = places.into_iter().filter(|(name, files)| files.len() > 1 && !allowed.contains(name));
    shared
        .flat_map(|(name, files)| {
            let detail = format!("{name}: {}", files.join(", "));
            files.iter().skip(1).map(|_| Breach { place: name.clone(), detail: detail.clone() }).collect::<Vec<_>>()
        })
        .collect()
}

/// The names of types and traits that the tokens define.
fn types(tokens: TokenStream, names: &mut Vec<String>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => types(group.stream(), names),
            TokenTree::Ident(word) if ["struct", "enum", "trait", "union"].iter().any(|keyword| word == keyword) => {
                if let Some(TokenTree::Ident(name)) = tokens.get(at + 1) {
                    names.push(name.to_string());
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_two_meanings_is_found_unless_the_glossary_allows_it() {
        let sources = [
            SourceFile::made("a/src/lib.rs", "pub struct Place; #[cfg(test)] mod tests { struct Own; }"),
            SourceFile::made("b/src/lib.rs", "enum Place { Here } struct Own; trait Lane {}"),
            SourceFile::made("c/src/lib.rs", "struct Lane;"),
        ];
        let allowed = allowed("| `Lane` | the operations of one context (per provider) |");
        let found: Vec<String> = shared_but(&sources, &allowed).into_iter().map(|breach| breach.place).collect();
        assert_eq!(found, ["Place"]);
    }
}
