//! The lines of a program around a place.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use oxshmem_report::page::escape;

use super::found::RaceSide;

/// Lines before and behind the one that is shown.
const AROUND: usize = 4;
/// A longer source file is not read.
const LONGEST_SOURCE: u64 = 16 << 20;

/// The lines around the access as HTML; `None` if its file is not found in its own folder or in one of these.
pub(super) fn excerpt(side: &RaceSide, folders: &[PathBuf]) -> Option<String> {
    let (name, line) = side.place.rsplit_once(':')?;
    let line: usize = line.parse().ok()?;
    let own = side.path.iter().map(PathBuf::from);
    let others = folders.iter().map(|folder| folder.join(name));
    let text = own.chain([PathBuf::from(name)]).chain(others).find_map(|path| read(&path))?;
    around(&text, line)
}

fn read(path: &Path) -> Option<String> {
    fs::metadata(path).ok().filter(|about| about.is_file() && about.len() <= LONGEST_SOURCE)?;
    Some(String::from_utf8_lossy(&fs::read(path).ok()?).into_owned())
}

fn around(text: &str, line: usize) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    if line == 0 || line > lines.len() {
        return None;
    }
    let (first, last) = (line.saturating_sub(AROUND).max(1), (line + AROUND).min(lines.len()));
    let width = last.to_string().len();
    let mut html = String::from("<pre class=\"source\">");
    for number in first..=last {
        let words = escape(&lines[number - 1].replace('\t', "    "));
        let _ = if number == line {
            writeln!(html, "<mark>{number:>width$}  {words}</mark>")
        } else {
            writeln!(html, "{number:>width$}  {words}")
        };
    }
    Some(html + "</pre>")
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;

    #[test]
    fn the_line_is_marked_between_its_neighbours_and_its_letters_are_escaped() {
        let text: String = (1..=12).map(|number| format!("if (a < {number})\n")).collect();
        let html = around(&text, 10).expect("there is such a line");
        assert!(html.contains("<mark>10  if (a &lt; 10)</mark>") && html.contains(" 6  if (a &lt; 6)"), "{html}");
        assert!(!html.contains("a &lt; 5)") && html.contains("12  if"), "{html}");
        assert!(around(&text, 1).expect("the first line").contains("<mark>1  if"));
        assert_eq!([around(&text, 13), around(&text, 0), around("", 1)], [None, None, None]);
    }

    #[test]
    fn a_file_is_looked_for_where_the_program_names_it_and_then_in_other_folders() {
        let folder = TestFolder::new("excerpt");
        let folders = [folder.to_path_buf()];
        let side = |place: &str, path: Option<&str>| RaceSide {
            call: "a load".into(),
            pe: 0,
            thread: String::new(),
            place: place.into(),
            path: path.map(str::to_owned),
        };
        let there = folder.write("race.c", "one\ntwo\n").display().to_string();
        assert!(excerpt(&side("race.c:2", Some(&there)), &[]).is_some());
        assert!(excerpt(&side("race.c:2", Some("/nowhere/race.c")), &folders).is_some());
        assert_eq!(excerpt(&side("race.c:2", None), &[]), None);
        assert_eq!(excerpt(&side("main+0x10", None), &folders), None);
    }
}
