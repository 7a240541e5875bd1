//! The notes of a release: what the changelog says about its version.

use std::path::Path;

use crate::product::recipe::VERSION;
use crate::{Outcome, disk, top};

/// Prints the notes of the present version, or writes them to a file, if its tag is the one that was named.
pub(crate) fn print(tag: Option<&str>, file: Option<&Path>) -> Outcome {
    if let Some(tag) = tag.filter(|tag| *tag != format!("v{VERSION}")) {
        return Err(format!("the tag {tag} does not fit: Cargo.toml has version {VERSION}, whose tag is v{VERSION}"));
    }
    let changes = disk::read(&top().join("CHANGELOG.md"))?;
    let notes = notes(&changes, VERSION)?;
    match file {
        Some(file) => disk::write(file, notes),
        None => {
            println!("{notes}");
            Ok(())
        }
    }
}

/// The section of a version, without its title.
fn notes<'a>(changes: &'a str, version: &str) -> Outcome<&'a str> {
    let sections = changes.split("\n## [").skip(1);
    let mut ours = sections.filter_map(|section| section.strip_prefix(version)?.strip_prefix(']')?.split_once('\n'));
    let (_, text) = ours.next().ok_or_else(|| format!("CHANGELOG.md has no section [{version}]"))?;
    Ok(text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_has_its_own_notes() {
        let changes = "# Changelog\n\n## [0.2.0] - soon\n\nNew.\n\n## [0.1.0] - 2026-01-01\n\n### Added\n\n- All.\n";
        assert_eq!(notes(changes, "0.2.0"), Ok("New."));
        assert_eq!(notes(changes, "0.1.0"), Ok("### Added\n\n- All."));
        assert!(notes(changes, "0.1").is_err_and(|why| why.contains("[0.1]")));
    }

    #[test]
    fn the_changelog_has_a_section_for_the_present_version() {
        let changes = disk::read(&top().join("CHANGELOG.md")).expect("the changelog is there");
        assert!(notes(&changes, VERSION).is_ok_and(|text| text.contains("### Added")));
    }
}
