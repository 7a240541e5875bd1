//! Names of providers outside the provider's crate and the one table.
//!
//! The rest of the product knows a provider by its properties only. Words for users (messages, names of variables) may name a
//! library; code may not: neither a provider's crate nor a string that is exactly a provider's name.

use std::collections::BTreeSet;

use proc_macro2::TokenTree;

use super::{Breach, SourceFile, leaves};

/// The folders of providers' crates begin with this.
const CRATES: &str = "crates/transport-";
const TABLE: &str = "crates/runtime/src/network/vote/providers.rs";

pub(super) fn named(sources: &[SourceFile]) -> Vec<Breach> {
    let providers: BTreeSet<&str> = sources.iter().filter_map(|source| provider_of(&source.path)).collect();
    let product = sources.iter().filter(|source| source.is_product() && source.path.starts_with("crates/"));
    let others = product.filter(|source| provider_of(&source.path).is_none() && source.path != TABLE);
    others
        .flat_map(|source| {
            let named = leaves(source.tokens()).filter_map(|token| name_of_provider(&token, &providers));
            let breach = |name| Breach { place: source.path.clone(), detail: format!("{} names {name}", source.path) };
            named.map(breach).collect::<Vec<_>>()
        })
        .collect()
}

fn provider_of(path: &str) -> Option<&str> {
    path.strip_prefix(CRATES)?.split('/').next()
}

fn name_of_provider(token: &TokenTree, providers: &BTreeSet<&str>) -> Option<String> {
    let text = token.to_string();
    let named = match token {
        TokenTree::Ident(_) => text.strip_prefix("oxshmem_transport_")?,
        TokenTree::Literal(_) => text.trim_matches('"'),
        _ => return None,
    };
    providers.contains(named).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_named_in_its_crate_and_in_the_table_only() {
        let sources = [
            SourceFile::made("crates/transport-pigeon/src/lib.rs", r#"const NAME: &str = "pigeon";"#),
            SourceFile::made(TABLE, "const ALL: &[&Provider] = &[&oxshmem_transport_pigeon::PROVIDER];"),
            SourceFile::made("crates/runtime/src/a.rs", "use oxshmem_transport_pigeon as carrier;"),
            SourceFile::made("crates/runtime/src/b.rs", r#"fn f(name: &str) -> bool { name == "pigeon" }"#),
            SourceFile::made(
                "crates/runtime/src/c.rs",
                r#"/// pigeon
                fn f() -> &'static str { "set SHMEM_TRANSPORT=pigeon" } #[cfg(test)] #[allow(unused)] mod tests { const N: &str = "pigeon"; }"#,
            ),
        ];
        let places: Vec<String> = named(&sources).into_iter().map(|breach| breach.place).collect();
        assert_eq!(places, ["crates/runtime/src/a.rs", "crates/runtime/src/b.rs"]);
    }
}
