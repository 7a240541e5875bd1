//! The sources of the manual: one file for each page in `crates/api/manual`, in a small part of Markdown.
//!
//! ```text
//! # shmem_put(3): copy a block to or from a PE
//!
//! Routines: `shmem_<T>_put<N>`, `shmem_<T>_get<N>`
//! Fortran: `SHMEM_<K>_PUT`, `SHMEM_<K>_GET`
//!
//! ## Description
//!
//! Copies a block. <!-- RMA-1 RMA-3 -->
//! ```
//!
//! The two lists name rows of the routine tables; all that these know (declarations, types, editions) is not typed on
//! the page but generated. A page may have one list more, `Names`, of further names: those of commands and types, and macros that are no
//! row. It is a paragraph of its own, behind the other lists. Then come sections of paragraphs, items, tables and programs. A comment lists
//! the numbers of the behaviours that its paragraph states.

use std::fs;
use std::path::{Path, PathBuf};

use crate::fortran::{self, FortranEntry};
use crate::table::{Family, families};

/// One page.
#[derive(Debug)]
pub struct Page {
    /// The name that `man` is asked for.
    pub name: String,
    /// Section of the manual: 1 for commands, 3 for routines, 7 for concepts.
    pub section: u8,
    /// Its purpose, in one line.
    pub purpose: String,
    /// Other names of its subject that are no routines, such as macros.
    pub names: Vec<String>,
    /// The C routines it documents.
    pub families: Vec<&'static Family>,
    /// The Fortran routines it documents.
    pub entries: Vec<FortranEntry>,
    /// The text.
    pub sections: Vec<Section>,
}

/// A section of a page.
#[derive(Debug)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// Its contents.
    pub blocks: Vec<ManualBlock>,
}

/// A piece of a section.
#[derive(Debug, PartialEq, Eq)]
pub enum ManualBlock {
    /// A heading inside the section.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// The text about the things before the colon.
    Term(String, String),
    /// An item of a list.
    Item(String),
    /// Rows of cells; the first is the heading.
    Table(Vec<Vec<String>>),
    /// Lines to be shown as they are, and their language: `c` and `fortran` are complete programs.
    Code(String, Vec<String>),
    /// Numbers of the behaviours that the block before states.
    Behaviours(Vec<String>),
}

/// The folder of the sources.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("manual")
}

/// All pages, by name; or what is wrong with their sources.
pub fn pages() -> Result<Vec<Page>, String> {
    let listing = fs::read_dir(folder()).map_err(|error| format!("{}: {error}", folder().display()))?;
    let mut paths: Vec<PathBuf> = listing.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path).map_err(|error| error.to_string());
        text.and_then(|text| Page::parse(&text)).map_err(|error| format!("{}: {error}", path.display()))
    };
    paths.iter().map(read).collect()
}

impl Page {
    /// Reads the source of a page.
    pub fn parse(text: &str) -> Result<Page, String> {
        let (head, body) = text.split_once("\n## ").ok_or("there is no section")?;
        let title = head.lines().next().and_then(|line| line.strip_prefix("# "));
        let (name, rest) =
            title.and_then(|title| title.split_once('(')).ok_or("line 1 is not `# NAME(SECTION): ...`")?;
        let (section, purpose) = rest.split_once("): ").ok_or("line 1 does not say what the page is for")?;
        let mut page = Page {
            name: name.into(),
            section: section.parse().map_err(|_| format!("`{section}` is not a section"))?,
            purpose: purpose.into(),
            names: listed(head, "Names: ").into_iter().map(String::from).collect(),
            families: Vec::new(),
            entries: Vec::new(),
            sections: body.split("\n## ").map(Section::parse).collect::<Result<_, _>>()?,
        };
        for pattern in listed(head, "Routines: ") {
            let mut rows = families().filter(|family| family.pattern() == pattern);
            page.families.push(rows.next().ok_or_else(|| format!("the table has no row `{pattern}`"))?);
        }
        for pattern in listed(head, "Fortran: ") {
            let before = page.entries.len();
            page.entries.extend(fortran::entries().into_iter().filter(|entry| entry.pattern == pattern));
            if page.entries.len() == before {
                return Err(format!("Fortran's table has no row `{pattern}`"));
            }
        }
        Ok(page)
    }

    /// Its source: the name, and the section where it is not 3.
    pub fn file(&self) -> String {
        let Page { name, section, .. } = self;
        if *section == 3 { format!("{name}.md") } else { format!("{name}.{section}.md") }
    }

    /// Where `man` finds a name of its section, below `share/man`.
    pub fn path(&self, name: &str) -> String {
        format!("man{0}/{name}.{0}", self.section)
    }

    /// The section of that title.
    pub fn section(&self, title: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.title == title)
    }

    /// All blocks of all sections.
    pub fn blocks(&self) -> impl Iterator<Item = &ManualBlock> {
        self.sections.iter().flat_map(|section| &section.blocks)
    }

    /// The programs shown in that language.
    pub fn programs(&self, wanted: &str) -> impl Iterator<Item = &[String]> {
        self.blocks().filter_map(move |block| match block {
            ManualBlock::Code(language, lines) if language == wanted => Some(&lines[..]),
            _ => None,
        })
    }

    /// Other names under which the page is found: those that it lists, its C routines with all types, their macros, its Fortran
    /// routines.
    pub fn aliases(&self) -> Vec<String> {
        let mut names = self.names.clone();
        for &family in &self.families {
            names.push(family.generic_name());
            let contexts = if family.ctx { &[false, true][..] } else { &[false] };
            names.extend(contexts.iter().flat_map(|&ctx| crate::expand::expand(family, ctx)).map(|symbol| symbol.name));
        }
        names.extend(self.entries.iter().map(|entry| entry.name().to_ascii_lowercase()));
        names.sort();
        names.dedup();
        names.retain(|name| *name != self.name);
        names
    }
}

impl Section {
    fn parse(text: &str) -> Result<Section, String> {
        let (title, body) = text.split_once('\n').ok_or("a section has no text")?;
        let mut section = Section { title: title.trim().into(), blocks: Vec::new() };
        let mut lines = body.lines().peekable();
        while let Some(line) = lines.next() {
            if let Some(language) = line.strip_prefix("```") {
                let code: Vec<String> = lines.by_ref().take_while(|line| *line != "```").map(String::from).collect();
                section.blocks.push(ManualBlock::Code(language.into(), code));
                continue;
            }
            if line.is_empty() {
                continue;
            }
            let mut block = vec![line];
            while let Some(line) = lines.next_if(|line| !line.is_empty() && !is_start(line)) {
                block.push(line.trim_start());
            }
            section.add(&block);
        }
        Ok(section)
    }

    /// Adds a block of lines that belong together.
    fn add(&mut self, lines: &[&str]) {
        if lines[0].starts_with('|') {
            let rows = lines.iter().filter(|line| !line.starts_with("|--"));
            let cells = |line: &&str| line.trim_matches('|').split('|').map(|cell| cell.trim().into()).collect();
            return self.blocks.push(ManualBlock::Table(rows.map(cells).collect()));
        }
        let (text, behaviours) = without_comments(&lines.join(" "));
        let block = match text.strip_prefix("- ") {
            _ if text.is_empty() => None,
            Some(item) => Some(match item.split_once("`: ") {
                Some((term, rest)) if term.starts_with('`') => ManualBlock::Term(format!("{term}`"), rest.into()),
                _ => ManualBlock::Item(item.into()),
            }),
            None => Some(match text.strip_prefix("### ") {
                Some(heading) => ManualBlock::Heading(heading.into()),
                None => ManualBlock::Text(text),
            }),
        };
        self.blocks.extend(block);
        if !behaviours.is_empty() {
            self.blocks.push(ManualBlock::Behaviours(behaviours));
        }
    }
}

/// Whether the line begins a block although none has ended.
fn is_start(line: &str) -> bool {
    line.starts_with("- ") || line.starts_with("```") || line.starts_with("<!--")
}

/// The names in the list that begins with `key` and may go on in the next lines.
fn listed<'t>(head: &'t str, key: &str) -> Vec<&'t str> {
    let Some((_, list)) = head.split_once(&format!("\n{key}")) else {
        return Vec::new();
    };
    let end = list.find("\nFortran: ").or_else(|| list.find("\n\n")).unwrap_or(list.len());
    quoted(&list[..end])
}

/// The words in backticks.
pub fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The text without its comments, and the words of these.
fn without_comments(text: &str) -> (String, Vec<String>) {
    let mut rest = text;
    let (mut kept, mut words) = (String::new(), Vec::new());
    while let Some((before, comment)) = rest.split_once("<!--") {
        let (comment, after) = comment.split_once("-->").unwrap_or((comment, ""));
        kept += before.trim_end();
        words.extend(comment.split_whitespace().map(String::from));
        rest = after;
    }
    (kept + rest.trim_end(), words)
}

#[cfg(test)]
mod tests {
    use super::{ManualBlock, Page};

    #[test]
    fn the_grammar_is_read() {
        let text = "# shmem_ptr(3): an address\n\nRoutines: `shmem_ptr`\nFortran: `SHMEM_PTR`\n\n## Description\n\n\
                    One\nline. <!-- PTR-1 PTR-3 -->\n\n- `dest`: the\n  object.\n- item\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n\
                    ```c\nint x;\n\nint y;\n```\n";
        let page = Page::parse(text).expect("the text is well formed");
        assert_eq!((page.name.as_str(), page.section, page.purpose.as_str()), ("shmem_ptr", 3, "an address"));
        assert_eq!((page.families.len(), page.entries.len()), (1, 1));
        let strings = |list: &[&str]| list.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        assert_eq!(
            page.sections[0].blocks,
            [
                ManualBlock::Text("One line.".into()),
                ManualBlock::Behaviours(strings(&["PTR-1", "PTR-3"])),
                ManualBlock::Term("`dest`".into(), "the object.".into()),
                ManualBlock::Item("item".into()),
                ManualBlock::Table(vec![strings(&["a", "b"]), strings(&["1", "2"])]),
                ManualBlock::Code("c".into(), strings(&["int x;", "", "int y;"])),
            ]
        );
    }

    #[test]
    fn rows_that_are_not_there_are_refused() {
        let text = "# x(3): y\n\nRoutines: `shmem_nothing`\n\n## Description\n\nText.\n";
        assert!(Page::parse(text).is_err_and(|error| error.contains("shmem_nothing")));
    }
}
