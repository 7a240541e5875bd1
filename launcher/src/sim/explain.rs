//! The story of a failing run: what was under way when its outcome turned.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// One line of the file that the simulated network writes: `STEP PE program|network TEXT`.
struct StoryLine<'a> {
    step: u64,
    pe: u32,
    is_program: bool,
    text: &'a str,
}

impl<'a> StoryLine<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let mut words = line.splitn(4, ' ');
        let (step, pe) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Self { step, pe, is_program: words.next()? == "program", text: words.next()? })
    }

    /// The number of the operation that the line speaks of, and its description.
    fn operation(&self) -> Option<(u64, &'a str)> {
        let at = self.text.find('#')?;
        let digits = self.text[at + 1..].split(' ').next()?;
        let start = self.text[..at].trim_end().rfind(' ').map_or(0, |space| space + 1);
        Some((digits.parse().ok()?, &self.text[start..]))
    }
}

/// An operation that is under way.
struct OpenOperation<'a> {
    what: &'a str,
    landed: u64,
}

impl OpenOperation<'_> {
    /// Its length, which its description ends with: `of N bytes`.
    fn len(&self) -> u64 {
        self.what.rsplit(' ').nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
    }

    /// Whether it moves what the library keeps for itself, and not the program's data.
    fn is_library(&self) -> bool {
        self.what.contains(" Control+")
    }
}

/// The bytes of a line that says what lands.
fn landed(text: &str) -> u64 {
    let range = text.strip_prefix("lands bytes ").and_then(|rest| rest.split(' ').next()?.split_once(".."));
    let ends = range.and_then(|(start, end)| Some((start.parse::<u64>().ok()?, end.parse::<u64>().ok()?)));
    ends.map_or(0, |(start, end)| end.saturating_sub(start))
}

/// Lines before the turn that are shown.
const BEFORE: usize = 12;
/// Operations under way that are shown.
const MOST: usize = 8;

/// The events around the step from which on the network was kind: the decision just before it is the one that matters.
pub(super) fn story(text: &str, kind: u64) -> String {
    let lines: Vec<StoryLine<'_>> = text.lines().filter_map(StoryLine::read).collect();
    let before = &lines[..lines.iter().take_while(|line| line.step < kind).count()];
    let mut out = format!("The outcome turns at step {}. ", kind.saturating_sub(1));
    match before.last() {
        Some(line) => {
            let who = if line.is_program { "PE" } else { "The network of PE" };
            let _ = writeln!(out, "{who} {} {}, while there were under way:", line.pe, line.text);
        }
        None => out += "There were under way:\n",
    }
    let under_way = under_way(before);
    if under_way.is_empty() {
        out += "    nothing: the order in which PEs run is what matters\n";
    }
    for (pe, operation) in under_way.iter().take(MOST) {
        let (what, landed) = (operation.what, operation.landed);
        let _ = writeln!(out, "    of PE {pe}: {what}, of which {landed} have landed");
    }
    if under_way.len() > MOST {
        let _ = writeln!(out, "    and {} more", under_way.len() - MOST);
    }
    if !under_way.is_empty() && under_way.iter().all(|(_, operation)| operation.is_library()) {
        out += "    all of this is the library's own, and nothing is the program's: the order in which PEs run is what matters. \
                Look for an access that no wait or barrier separates from a put or get of another PE\n";
    }
    out += "If the network had done all of this first, the job would have passed. The last steps before:\n";
    for line in &before[before.len().saturating_sub(BEFORE)..] {
        let who = if line.is_program { "PE" } else { "the network of PE" };
        let _ = writeln!(out, "    step {:>6}  {who} {} {}", line.step, line.pe, line.text);
    }
    out
}

/// The operations that have not landed at the end of these lines: the program's, or the library's own if there are no others.
fn under_way<'a>(lines: &[StoryLine<'a>]) -> Vec<(u32, OpenOperation<'a>)> {
    let mut issued: BTreeMap<(u32, u64), OpenOperation<'a>> = BTreeMap::new();
    for line in lines.iter().filter(|line| !line.is_program) {
        let Some((number, what)) = line.operation() else { continue };
        if line.text.starts_with("issues") {
            issued.insert((line.pe, number), OpenOperation { what, landed: 0 });
        } else if let Some(operation) = issued.get_mut(&(line.pe, number)) {
            operation.landed += landed(line.text);
        }
    }
    let open = issued.into_iter().map(|((pe, _), operation)| (pe, operation));
    let (library, program): (Vec<_>, Vec<_>) = open
        .filter(|(_, operation)| operation.landed < operation.len())
        .partition(|(_, operation)| operation.is_library());
    if program.is_empty() { library } else { program }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_under_way_is_told_and_what_was_complete_is_not() {
        let text = "3 0 network issues put_nbi #1 to PE 1 Heap+0x40 (a.c:10) of 16 bytes\n\
                    4 0 network lands bytes 0..8 of put_nbi #1 to PE 1 Heap+0x40 (a.c:10)\n\
                    5 0 network issues put #2 to PE 1 Heap+0x80 (a.c:11) of 8 bytes\n\
                    6 0 network lands bytes 0..8 of put #2 to PE 1 Heap+0x80 (a.c:11)\n\
                    7 0 network completes put #2 to PE 1 Heap+0x80 (a.c:11)\n\
                    8 1 program goes on at a.c:20\n\
                    9 0 network lands bytes 8..16 of put_nbi #1 to PE 1 Heap+0x40 (a.c:10)\n";
        let story = story(text, 9);
        assert!(story.contains("turns at step 8. PE 1 goes on at a.c:20, while there were under way:"), "{story}");
        let open = "of PE 0: put_nbi #1 to PE 1 Heap+0x40 (a.c:10) of 16 bytes, of which 8 have landed\n";
        assert!(story.contains(open), "{story}");
        assert!(!story.contains("of PE 0: put #2"), "{story}");
        assert!(!story.contains("step      9"), "{story}");
        assert!(!story.contains("the library's own"), "{story}");
    }

    #[test]
    fn operations_of_the_library_alone_are_told_to_be_its_own() {
        let text = "3 0 network issues put #2 to PE 1 Control+0x40 (a.c:10) of 64 bytes\n\
                    4 1 program goes on at a.c:10\n";
        let told = story(text, 5);
        let own = "Control+0x40 (a.c:10) of 64 bytes, of which 0 have landed\n    all of this is the library's own, and nothing";
        assert!(told.contains(own), "{told}");
    }

    #[test]
    fn a_block_of_the_heap_stands_before_its_place() {
        let block = "bytes 16 to 23 of the block of 64 bytes allocated at a.c:5, at Heap+0x50";
        let text = format!("3 0 network issues put #1 to PE 1 {block} (a.c:10) of 8 bytes\n");
        let told = story(&text, 4);
        let open = format!("of PE 0: put #1 to PE 1 {block} (a.c:10) of 8 bytes, of which 0 have landed\n");
        assert!(told.contains(&open), "{told}");
        assert!(told.contains("turns at step 3. The network of PE 0 issues put #1"), "{told}");
    }

    #[test]
    fn a_story_without_lines_is_told_all_the_same() {
        assert!(story("", 5).contains("nothing: the order in which PEs run"));
    }
}
