//! Files that a page or a comment names and that do not exist.
//!
//! A name in backticks that begins with a folder of the repository (`crates/`, `launcher/`, ...) is a path from the top. A word
//! in capitals in it (`NAME`) stands for any name, and so do `*` and braces; such paths are not looked at.

use std::path::Path;

use super::Breach;
use super::sources::{SourceFile, pages};
use crate::top;

/// The folders that a path from the top begins with.
const FOLDERS: &[&str] = &["crates/", "launcher/", "ci/", "sys/", "benches/", "docs/", "examples/", ".github/"];

/// Paths to nothing, in Rust files and in pages.
pub(super) fn missing(sources: &[SourceFile]) -> Vec<Breach> {
    // The changelog tells of files as they were.
    let pages = pages().into_iter().filter(|(path, _)| path != "CHANGELOG.md");
    let files = sources.iter().filter(|source| !source.path.ends_with("house/paths.rs"));
    let texts: Vec<(String, String)> =
        pages.chain(files.map(|source| (source.path.clone(), source.text.clone()))).collect();
    texts.iter().flat_map(|(path, text)| missing_in(path, text, &|named| top().join(named).exists())).collect()
}

fn missing_in(path: &str, text: &str, exists: &dyn Fn(&Path) -> bool) -> Vec<Breach> {
    let is_page = path.ends_with(".md");
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        // In a Rust file only comments speak of files.
        let Some(words) = (if is_page { Some(line) } else { line.split_once("//").map(|(_, comment)| comment) }) else {
            continue;
        };
        for named in words.split('`').skip(1).step_by(2).filter(|named| is_path(named)) {
            if !exists(Path::new(named)) {
                let detail = format!("{path}:{}: there is no {named}", at + 1);
                found.push(Breach { place: path.to_owned(), detail });
            }
        }
    }
    found
}

fn is_path(named: &str) -> bool {
    let is_capital = |part: &str| part.len() > 2 && part.chars().all(|letter| letter.is_ascii_uppercase());
    let part_is_open = |part: &str| is_capital(part) && !["README", "SUMMARY"].contains(&part);
    FOLDERS.iter().any(|folder| named.starts_with(folder))
        && named.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-".contains(letter))
        && !named.split(['/', '.', '_', '-']).any(part_is_open)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_to_nothing_is_found() {
        let exists = |named: &Path| named == Path::new("crates/os/src/lib.rs");
        let count = |path: &str, text: &str| missing_in(path, text, &exists).len();
        assert_eq!(count("page.md", "see `crates/os/src/lib.rs` and `crates/os/src/gone.rs`"), 1);
        assert_eq!(
            count("page.md", "`crates/NAME/src/lib.rs`, `crates/{a,b}`, `ci/*.rs`, `os::gone`, crates/os/gone.rs"),
            0
        );
        assert_eq!(count("a.rs", "let text = \"`ci/gone.rs`\"; // see `ci/gone.rs`"), 1);
    }
}
