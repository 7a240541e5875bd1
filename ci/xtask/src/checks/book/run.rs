//! Runs the blocks of a page as a user would, and compares what they print with what the page shows.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::pages::{BookPage, Listing};
use crate::counts::{CheckCounts, skipped};
use crate::{Outcome, command, target};

/// Runs what the page marks, in a folder of its own.
pub(super) fn page(page: &BookPage, prefix: &Path) -> Outcome<CheckCounts> {
    let blocks = page.blocks();
    let mut counts = CheckCounts::default();
    let folder = target().join("book-pages").join(page.name.display().to_string().replace(['/', '.'], "-"));
    if blocks.iter().all(|block| !block.is_run()) {
        return Ok(counts);
    }
    let fresh = || {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)?;
        // The book installs into this folder of the user's home.
        symlink(prefix, folder.join("oxshmem"))
    };
    fresh().map_err(|error| format!("{}: {error}", folder.display()))?;
    for (at, block) in blocks.iter().enumerate().filter(|(_, block)| block.is_run()) {
        if let Some(program) = block.word("needs=").filter(|program| !command::exists(program)) {
            counts += skipped!("a block of {}: there is no {program}", page.name.display());
            continue;
        }
        let shown = blocks.get(at + 1).filter(|next| next.words == ["text", "output"]);
        let name = format!("{}: `{}`", page.name.display(), block.lines.join("\n"));
        counts += CheckCounts::of(name, block.run(&folder, prefix, shown));
    }
    Ok(counts)
}

impl Listing {
    fn is_run(&self) -> bool {
        self.words.first().is_some_and(|word| word == "sh") && self.words.iter().any(|word| word == "run")
    }

    /// The value behind a word such as `status=`.
    fn word(&self, key: &str) -> Option<&str> {
        self.words.iter().find_map(|word| word.strip_prefix(key))
    }

    fn run(&self, folder: &Path, prefix: &Path, shown: Option<&Listing>) -> Outcome {
        let script = format!("set -euo pipefail\nexec 2>&1\n{}\n", self.lines.join("\n"));
        let mut shell = command::with_tools("timeout", prefix);
        shell.args(["120", "bash", "-c", &script]).current_dir(folder).env("HOME", folder);
        let output = command::output(&mut shell)?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let wanted = self.word("status=").map_or(Some(0), |status| status.parse().ok());
        if output.status.code() != wanted {
            return Err(format!("ended with {}\n{printed}", output.status));
        }
        let shown = shown.map_or(&[][..], |block| &block.lines);
        match shown.iter().find(|line| !printed.lines().any(|text| fits(line, text))) {
            Some(line) => Err(format!("did not print `{line}` but\n{printed}")),
            None => Ok(()),
        }
    }
}

/// Whether a printed line is the one that the page shows, in which `…` stands for anything.
fn fits(shown: &str, printed: &str) -> bool {
    let parts: Vec<&str> = shown.split('…').collect();
    let [first, middle @ .., last] = &parts[..] else { return shown.trim_end() == printed.trim_end() };
    let Some(mut rest) = printed.strip_prefix(first) else { return false };
    for part in middle {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn an_ellipsis_stands_for_anything() {
        assert!(fits("PE 0 (pid …) ended", "PE 0 (pid 17) ended"));
        assert!(fits("a … b … c", "a 1 b 2 c"));
        assert!(fits("…: tcp: …", "between nodes: tcp: port 1"));
        assert!(fits("same", "same"));
        assert!(!fits("same", "same again"));
        assert!(!fits("a … c", "a b"));
        assert!(!fits("PE 0 …", "PE 1 x"));
    }
}
