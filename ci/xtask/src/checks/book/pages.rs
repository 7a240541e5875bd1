//! Pages of Markdown: what they include, where they lead, and their blocks of code.

use std::path::{Path, PathBuf};

use crate::{Outcome, disk};

/// A page with what it includes.
pub(super) struct BookPage {
    /// Its path below the folder of all pages.
    pub(super) name: PathBuf,
    path: PathBuf,
    /// Its text, or what cannot be included.
    text: Result<String, String>,
}

pub(super) struct Listing {
    pub(super) words: Vec<String>,
    pub(super) lines: Vec<String>,
}

/// The pages that `SUMMARY.md` names, and the summary itself.
pub(super) fn pages(source: &Path) -> Outcome<Vec<BookPage>> {
    let summary = BookPage::read(source, Path::new("SUMMARY.md"))?;
    let names = summary.links();
    let mut pages = vec![summary];
    for name in names {
        pages.push(BookPage::read(source, Path::new(&name))?);
    }
    Ok(pages)
}

/// Pages in the folder that are none of these.
pub(super) fn strays(source: &Path, pages: &[BookPage]) -> Outcome<Vec<PathBuf>> {
    let is_stray = |path: &PathBuf| {
        path.extension().is_some_and(|ending| ending == "md") && pages.iter().all(|page| page.path != *path)
    };
    Ok(disk::files(source)?.into_iter().map(|file| source.join(file)).filter(is_stray).collect())
}

impl BookPage {
    pub(super) fn read(source: &Path, name: &Path) -> Outcome<BookPage> {
        let path = source.join(name);
        let text = disk::read(&path)?;
        let folder = path.parent().unwrap_or(source);
        Ok(BookPage { name: name.to_path_buf(), text: expanded(folder, &text), path })
    }

    /// Its faults: an include that is not there, a link that leads nowhere.
    pub(super) fn problems(&self) -> Vec<String> {
        if let Err(problem) = &self.text {
            return vec![problem.clone()];
        }
        self.links().iter().filter_map(|link| self.broken(link)).collect()
    }

    /// Why a link leads nowhere; those to other hosts are not followed.
    fn broken(&self, link: &str) -> Option<String> {
        if link.contains("://") || link.starts_with("mailto:") {
            return None;
        }
        let (file, heading) = link.split_once('#').unwrap_or((link, ""));
        let folder = self.path.parent().unwrap_or(&self.path);
        let target = if file.is_empty() { self.path.clone() } else { folder.join(file) };
        if !target.exists() {
            return Some(format!("the link {link} leads nowhere"));
        }
        if heading.is_empty() {
            return None;
        }
        let page = BookPage::read(Path::new("/"), &target).ok()?;
        let found = page.headings().iter().any(|found| found == heading);
        (!found).then(|| format!("{} has no heading #{heading}", target.display()))
    }

    fn text(&self) -> &str {
        self.text.as_deref().unwrap_or("")
    }

    /// The lines outside of blocks of code.
    fn prose(&self) -> impl Iterator<Item = &str> {
        let mut inside = false;
        self.text().lines().filter(move |line| {
            let fence = line.starts_with("```");
            inside ^= fence;
            !inside && !fence
        })
    }

    fn links(&self) -> Vec<String> {
        let mut links = Vec::new();
        for line in self.prose() {
            // Text between backticks is no link.
            let line: String = line.split('`').step_by(2).collect();
            let ends = line.match_indices("](").filter_map(|(at, _)| line[at + 2..].split_once(')'));
            links.extend(ends.map(|(link, _)| link.to_string()));
        }
        links
    }

    /// Its headings as links name them.
    fn headings(&self) -> Vec<String> {
        let titles = self.prose().filter(|line| line.starts_with('#'));
        let word = |title: &str| {
            let letters = title.trim_start_matches('#').trim().to_lowercase();
            letters.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>().replace(' ', "-")
        };
        titles.map(word).collect()
    }

    pub(super) fn blocks(&self) -> Vec<Listing> {
        let mut blocks = Vec::new();
        let mut lines = self.text().lines();
        while let Some(line) = lines.next() {
            if let Some(words) = line.strip_prefix("```") {
                let lines = lines.by_ref().take_while(|line| *line != "```").map(String::from).collect();
                blocks.push(Listing { words: words.split_whitespace().map(String::from).collect(), lines });
            }
        }
        blocks
    }
}

/// The text with the files that it includes.
fn expanded(folder: &Path, text: &str) -> Result<String, String> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{#include ") {
        let (name, after) = after.split_once("}}").ok_or("an include has no end")?;
        whole += before;
        whole += disk::read(&folder.join(name.trim()))?.trim_end();
        rest = after;
    }
    Ok(whole + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> BookPage {
        BookPage { name: "page.md".into(), path: "/nowhere/page.md".into(), text: Ok(text.into()) }
    }

    #[test]
    fn links_and_headings_are_found() {
        let page = page("# A b\n[x](y.md) and [z](#a-b), `[no](link)`\n```sh\n[no](block)\n```\n## C (d)\n");
        assert_eq!(page.links(), ["y.md", "#a-b"]);
        assert_eq!(page.headings(), ["a-b", "c-d"]);
        assert_eq!(page.problems()[0], "the link y.md leads nowhere");
    }

    #[test]
    fn a_missing_include_is_a_problem() {
        assert!(expanded(Path::new("/nowhere"), "a {{#include b.c}} c").is_err_and(|error| error.contains("b.c")));
    }

    #[test]
    fn blocks_have_words_and_lines() {
        let blocks = page("```sh run status=1\na\nb\n```\ntext\n```text output\nc\n```\n").blocks();
        assert_eq!(blocks[0].words, ["sh", "run", "status=1"]);
        assert_eq!((blocks[0].lines.len(), blocks[1].lines.len()), (2, 1));
    }
}
