//! Circles of imports between the files of a package.
//!
//! A file imports another one when a path that begins with `crate` or `super` leads there. A module owns its submodules, so a path
//! from a module down into itself is no import. Tests inside a file are left out.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::{Breach, SourceFile};

/// Each circle as one breach: its files in alphabetical order.
pub(super) fn circles(sources: &[SourceFile]) -> Vec<Breach> {
    let mut packages: BTreeMap<&str, Vec<&SourceFile>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.is_product()) {
        packages.entry(source.package.as_deref().unwrap_or_default()).or_default().push(source);
    }
    packages.values().flat_map(|files| circles_of_package(files)).collect()
}

fn circles_of_package(files: &[&SourceFile]) -> Vec<Breach> {
    let index: BTreeMap<&[String], usize> = files.iter().enumerate().map(|(at, file)| (&*file.module, at)).collect();
    let arrows: Vec<BTreeSet<usize>> = files.iter().map(|file| imports(file, &index)).collect();
    let reach: Vec<BTreeSet<usize>> = (0..files.len()).map(|from| reached(from, &arrows)).collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for from in 0..files.len() {
        let circle: BTreeSet<usize> = reach[from].iter().copied().filter(|&to| reach[to].contains(&from)).collect();
        if circle.len() > 1 && seen.insert(circle.clone()) {
            let mut names: Vec<&str> = circle.iter().map(|&at| &*files[at].path).collect();
            names.sort_unstable();
            let ties = circle.iter().flat_map(|&a| arrows[a].intersection(&circle).map(move |&b| (a, b)));
            let ties: Vec<String> = ties.map(|(a, b)| format!("{} -> {}", files[a].path, files[b].path)).collect();
            found.push(Breach { place: names.join(","), detail: ties.join("; ") });
        }
    }
    found
}

fn reached(from: usize, arrows: &[BTreeSet<usize>]) -> BTreeSet<usize> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(at) = open.pop() {
        open.extend(arrows[at].iter().copied().filter(|&next| seen.insert(next)));
    }
    seen
}

fn imports(file: &SourceFile, index: &BTreeMap<&[String], usize>) -> BTreeSet<usize> {
    let mut paths = Vec::new();
    collect(file.tokens(), &file.module, &mut paths);
    let own = index.get(&*file.module).copied();
    let target = |path: Vec<String>| {
        (0..=path.len()).rev().find_map(|length| index.get(&path[..length]).copied().map(|at| (at, length)))
    };
    let is_below = |length: usize, path: &[String]| length > file.module.len() && path.starts_with(&file.module);
    paths
        .into_iter()
        .filter_map(|path| target(path.clone()).filter(|(_, length)| !is_below(*length, &path)))
        .map(|(at, _)| at)
        .filter(|at| Some(*at) != own)
        .collect()
}

/// Collects the absolute paths that the tokens name. `module` is the module around them.
fn collect(tokens: TokenStream, module: &[String], paths: &mut Vec<Vec<String>>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => collect(group.stream(), module, paths),
            TokenTree::Ident(word) if *word == "mod" => {
                if let (Some(TokenTree::Ident(name)), Some(TokenTree::Group(body))) =
                    (tokens.get(at + 1), tokens.get(at + 2))
                {
                    let inner: Vec<String> = module.iter().cloned().chain([name.to_string()]).collect();
                    collect(body.stream(), &inner, paths);
                    at += 2;
                }
            }
            TokenTree::Ident(word) if *word == "crate" || *word == "super" => {
                let mut base = if *word == "crate" { Vec::new() } else { above(module) };
                let mut next = at + 1;
                while is_separator(&tokens, next)
                    && matches!(&tokens.get(next + 2), Some(TokenTree::Ident(w)) if *w == "super")
                {
                    base = above(&base);
                    next += 3;
                }
                at = path(&tokens, next, base, paths) - 1;
            }
            _ => {}
        }
        at += 1;
    }
}

fn above(module: &[String]) -> Vec<String> {
    module[..module.len().saturating_sub(1)].to_vec()
}

fn is_separator(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    colon(at) && colon(at + 1)
}

/// Follows `::a::b::{c, d::e}` from `at`; returns where it ends.
fn path(tokens: &[TokenTree], mut at: usize, mut base: Vec<String>, paths: &mut Vec<Vec<String>>) -> usize {
    while is_separator(tokens, at) {
        match tokens.get(at + 2) {
            Some(TokenTree::Ident(name)) => base.push(name.to_string()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                tree(group.stream(), &base, paths);
                return at + 3;
            }
            _ => break,
        }
        at += 3;
    }
    paths.push(base);
    at
}

/// The branches of a braced import.
fn tree(tokens: TokenStream, base: &[String], paths: &mut Vec<Vec<String>>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        if let TokenTree::Ident(name) = &tokens[at] {
            let branch = match name.to_string().as_str() {
                "self" => base.to_vec(),
                other => base.iter().cloned().chain([other.to_owned()]).collect(),
            };
            at = path(&tokens, at + 1, branch, paths);
        }
        // The rest of the branch: `as other`.
        while at < tokens.len() && !matches!(&tokens[at], TokenTree::Punct(punct) if punct.as_char() == ',') {
            at += 1;
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::{SourceFile, circles};

    fn places(files: &[(&str, &str)]) -> Vec<String> {
        let sources: Vec<SourceFile> = files.iter().map(|(path, text)| SourceFile::made(path, text)).collect();
        circles(&sources).into_iter().map(|breach| breach.place).collect()
    }

    #[test]
    fn two_files_that_import_each_other_are_a_circle() {
        let files = [
            ("a/src/lib.rs", "mod team; mod context;"),
            ("a/src/team.rs", "use crate::{context::{self, Context}, other};"),
            ("a/src/context.rs", "fn f() { super::team::g() }"),
        ];
        assert_eq!(places(&files), ["a/src/context.rs,a/src/team.rs"]);
    }

    #[test]
    fn a_longer_way_round_is_a_circle_too() {
        let files = [
            ("a/src/x.rs", "use crate::y::Y;"),
            ("a/src/y/mod.rs", "use crate::z::deep::Z;"),
            ("a/src/z.rs", ""),
            ("a/src/z/deep.rs", "use super::super::x::X;"),
        ];
        assert_eq!(places(&files), ["a/src/x.rs,a/src/y/mod.rs,a/src/z/deep.rs"]);
    }

    #[test]
    fn a_module_owns_what_is_below_it_and_tests_do_not_count() {
        let files = [
            ("a/src/x.rs", "mod inner; use crate::x::inner::I; mod own { use super::z; }"),
            ("a/src/x/inner.rs", "use super::Thing;"),
            ("a/src/y.rs", "use crate::x; #[cfg(test)] use crate::w;"),
            ("a/src/w.rs", "use crate::y; #[cfg(test)] mod tests { use crate::v; }"),
            ("a/src/v.rs", "use crate::w;"),
        ];
        assert_eq!(places(&files), Vec::<String>::new());
    }

    #[test]
    fn an_item_behind_one_of_tests_counts() {
        let files = [
            ("a/src/x.rs", "#[cfg(test)] use crate::z; mod inner { use crate::y; }"),
            ("a/src/y.rs", "#[cfg(test)] fn made() { crate::z::made() } use crate::x;"),
        ];
        assert_eq!(places(&files), ["a/src/x.rs,a/src/y.rs"]);
    }
}
