//! Names of static variables in the story of a run.

use addr2line::Loader;

use crate::symbol_names;

/// The beginning of a place among the static variables, as the simulated network writes it.
const PLACE: &str = "Statics+0x";

/// The static variables of the executable that has run.
pub(super) struct StaticNames {
    /// Where they begin in the file.
    start: u64,
    file: Loader,
}

impl StaticNames {
    /// By the line of a story that tells the executable: `statics ADDRESS PATH`.
    pub(super) fn of(story: &str) -> Option<Self> {
        let (start, path) = story.lines().find_map(|line| line.strip_prefix("statics 0x"))?.split_once(' ')?;
        Some(Self { start: u64::from_str_radix(start, 16).ok()?, file: Loader::new(path).ok()? })
    }

    /// The text with the names of variables before their places.
    pub(super) fn in_text(&self, text: &str) -> String {
        named(text, |offset| self.name(offset))
    }

    fn name(&self, offset: u64) -> Option<String> {
        let address = self.start.checked_add(offset)?;
        let symbol = self.file.find_symbol_info(address)?;
        let name = symbol_names::of_variable(symbol.name());
        Some(match address - symbol.address() {
            0 => format!("`{name}`"),
            byte => format!("`{name}` from its byte {byte}"),
        })
    }
}

fn named(text: &str, name: impl Fn(u64) -> Option<String>) -> String {
    let (mut told, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(PLACE) {
        let digits = &rest[at + PLACE.len()..];
        let digits = &digits[..digits.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(digits.len())];
        told += &rest[..at];
        if let Some(name) = u64::from_str_radix(digits, 16).ok().and_then(&name) {
            told += &format!("{name} at ");
        }
        let end = at + PLACE.len() + digits.len();
        told += &rest[at..end];
        rest = &rest[end..];
    }
    told + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_is_named_before_its_place_and_unknown_places_stay() {
        let name = |offset| (offset == 0x80).then(|| "`edge`".to_owned());
        assert_eq!(
            named("put #3 to PE 0 Statics+0x80 (s.f90:12) of 8 bytes\nput #4 to PE 0 Statics+0x280 (s.f90:13)\n", name),
            "put #3 to PE 0 `edge` at Statics+0x80 (s.f90:12) of 8 bytes\nput #4 to PE 0 Statics+0x280 (s.f90:13)\n"
        );
        assert_eq!(named("Heap+0x80, Statics+0x", name), "Heap+0x80, Statics+0x");
    }

    #[test]
    fn a_story_without_its_executable_has_no_names() {
        assert!(StaticNames::of("3 0 network issues put #1\n").is_none());
        assert!(StaticNames::of("statics 0x4000 /nowhere/a.out\n").is_none());
    }
}
