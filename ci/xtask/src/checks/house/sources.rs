//! The Rust files of the project, each with the module that it is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::{Outcome, command, top};

pub(super) struct SourceFile {
    /// From the top of the repository.
    pub(super) path: String,
    /// The folder of its package; `None` for files outside of `src`.
    pub(super) package: Option<String>,
    /// Its path as a module of the package: empty for the root.
    pub(super) module: Vec<String>,
    pub(super) text: String,
}

impl SourceFile {
    /// Whether the file is a test, an example or generated, where names and lengths follow other rules.
    pub(super) fn is_product(&self) -> bool {
        self.package.is_some()
            && !self.module.iter().any(|part| ["tests", "loom_models", "bindings"].contains(&&**part))
    }

    /// Its tokens, but for the items that only tests have. A file that does not lex has none, and does not compile either: the compiler
    /// says so.
    pub(super) fn tokens(&self) -> TokenStream {
        without_tests(self.text.parse().unwrap_or_default())
    }

    #[cfg(test)]
    pub(super) fn made(path: &str, text: &str) -> SourceFile {
        let (package, module) = place(Path::new(path));
        SourceFile { path: path.into(), package, module, text: text.into() }
    }
}

/// The tokens, but for the items that an attribute leaves to tests.
fn without_tests(tokens: TokenStream) -> TokenStream {
    let mut is_test = false;
    let mut kept = Vec::new();
    for token in tokens {
        is_test |= matches!(&token, TokenTree::Group(group) if leaves_to_tests(group));
        if is_test {
            is_test = !ends_item(&token);
            continue;
        }
        kept.push(match token {
            TokenTree::Group(group) => TokenTree::Group(Group::new(group.delimiter(), without_tests(group.stream()))),
            token => token,
        });
    }
    kept.into_iter().collect()
}

/// Whether these are the brackets of `#[cfg(test)]`, or of another `cfg` that asks for tests.
fn leaves_to_tests(group: &Group) -> bool {
    let is_cfg = matches!(group.stream().into_iter().next(), Some(TokenTree::Ident(word)) if word == "cfg");
    is_cfg && group.delimiter() == Delimiter::Bracket && group.stream().to_string().contains("test")
}

/// Whether an item ends with this token: its body or its semicolon.
fn ends_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    }
}

/// All Rust files that git knows, but generated ones.
pub(super) fn read() -> Outcome<Vec<SourceFile>> {
    let listed = command::read(&mut command::git(&["ls-files", "--cached", "--others", "--exclude-standard", "*.rs"]))?;
    let mut sources = Vec::new();
    // In the middle of a merge git lists a file once for each side.
    for path in listed.lines().collect::<BTreeSet<_>>() {
        // A file that was deleted and not yet committed is listed still.
        let Ok(text) = std::fs::read_to_string(top().join(path)) else { continue };
        if text.starts_with("// Generated") || text.starts_with("/* automatically generated") {
            continue;
        }
        let (package, module) = place(Path::new(path));
        sources.push(SourceFile { path: path.into(), package, module, text });
    }
    Ok(sources)
}

/// All pages that git knows: their paths and texts.
pub(super) fn pages() -> Vec<(String, String)> {
    let listed = command::read(&mut command::git(&["ls-files", "--cached", "*.md"])).unwrap_or_default();
    let read = |path: &str| Some((path.to_owned(), std::fs::read_to_string(top().join(path)).ok()?));
    listed.lines().filter_map(read).collect()
}

/// The package and the module of a file by its path.
fn place(path: &Path) -> (Option<String>, Vec<String>) {
    let parts: Vec<String> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let Some(src) = parts.iter().position(|part| part == "src") else { return (None, Vec::new()) };
    let package: PathBuf = parts[..src].iter().collect();
    let mut module: Vec<String> = parts[src + 1..].to_vec();
    let name = module.pop().unwrap_or_default();
    match name.trim_end_matches(".rs") {
        "lib" | "main" | "mod" => {}
        stem => module.push(stem.to_owned()),
    }
    (Some(package.to_string_lossy().into_owned()), module)
}
