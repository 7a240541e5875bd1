//! Equal errors of several PEs, said once.
//!
//! Where all PEs make the same mistake, each of them says so. The first one's words are shown at once; those of others that
//! differ in nothing but numbers are counted for a moment, and then one line names these PEs. Only errors of the library are
//! folded, which its fixed form tells from everything that a program prints.

use std::ops::Range;
use std::time::Duration;

use oxshmem_base::Error;
use tokio::time::Instant;

/// The time for which equal errors are collected.
const MOMENT: Duration = Duration::from_millis(200);
/// The beginning of the library's messages.
const NAME: &str = "oxshmem: ";
/// The beginning of its lines that say where the program has called.
const CALLER: &str = "  called from: ";

/// How the lines of an error begin that say why, and what to do.
fn beginnings() -> [String; 2] {
    let empty = Error::new("").because("").fix("").to_string();
    let mut lines = empty.lines().skip(1).map(str::to_owned);
    std::array::from_fn(|_| lines.next().expect("an error has a line for each of its parts"))
}

/// The errors that were shown a moment ago.
#[derive(Default)]
pub(crate) struct Folding {
    groups: Vec<EqualErrors>,
    /// Whether the last thing that was shown is the error of the newest group.
    is_adjacent: bool,
}

/// An error, and the PEs that have said it.
struct EqualErrors {
    key: String,
    /// The first line of its first form.
    headline: String,
    first: u32,
    others: Vec<u32>,
    until: Instant,
}

impl Folding {
    /// Takes what a PE has written to its standard error; returns what is to be shown now.
    pub(crate) fn take(&mut self, pe: u32, bytes: &[u8], now: Instant) -> Vec<u8> {
        let mut shown = self.close(now);
        let mut at = 0;
        for error in errors(bytes) {
            self.pass(&mut shown, &bytes[at..error.start]);
            at = error.end;
            let text = String::from_utf8_lossy(&bytes[error.clone()]);
            let key = key(&text);
            if let Some(known) = self.groups.iter().position(|group| group.key == key) {
                let group = &mut self.groups[known];
                if group.first != pe && !group.others.contains(&pe) {
                    group.others.push(pe);
                    continue;
                }
                // The PE repeats its error, perhaps with new numbers.
                let over = self.groups.remove(known);
                self.tell(&over, &mut shown, false);
            }
            self.pass(&mut shown, &bytes[error]);
            let headline = text.lines().next().unwrap_or_default().to_owned();
            self.groups.push(EqualErrors { key, headline, first: pe, others: Vec::new(), until: now + MOMENT });
            self.is_adjacent = true;
        }
        self.pass(&mut shown, &bytes[at..]);
        shown
    }

    /// Something else is shown.
    pub(crate) fn interrupt(&mut self) {
        self.is_adjacent = false;
    }

    /// When a group is over; `None`: there is nothing to say.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.groups.iter().filter(|group| !group.others.is_empty()).map(|group| group.until).min()
    }

    /// The lines about the groups that are over.
    pub(crate) fn close(&mut self, now: Instant) -> Vec<u8> {
        let (mut shown, groups) = (Vec::new(), std::mem::take(&mut self.groups));
        let newest = groups.len().wrapping_sub(1);
        for (number, group) in groups.into_iter().enumerate() {
            if group.until <= now { self.tell(&group, &mut shown, number == newest) } else { self.groups.push(group) }
        }
        shown
    }

    fn pass(&mut self, shown: &mut Vec<u8>, text: &[u8]) {
        if !text.is_empty() {
            shown.extend_from_slice(text);
            self.interrupt();
        }
    }

    /// Names the PEs whose error was not shown, after its first line if something else came between.
    fn tell(&mut self, group: &EqualErrors, shown: &mut Vec<u8>, is_newest: bool) {
        if group.others.is_empty() {
            return;
        }
        let again = if is_newest && self.is_adjacent { String::new() } else { format!("{}\n", group.headline) };
        let mut others = group.others.clone();
        others.sort_unstable();
        let count = if others.len() == 1 { "1 other".into() } else { format!("{} others", others.len()) };
        self.pass(shown, format!("{again}  (and {count}: PE {})\n", ranges(&others)).as_bytes());
    }
}

/// Where in a text the library's errors are: a line with its name, and behind it lines that say why, what to do, and where the program
/// has called.
fn errors(bytes: &[u8]) -> Vec<Range<usize>> {
    let (mut errors, mut open, mut at) = (Vec::<Range<usize>>::new(), None, 0);
    let [because, fix] = beginnings();
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let (start, end) = (at, at + line.len());
        at = end;
        let begins = |with: &str| line.starts_with(with.as_bytes()) && line.ends_with(b"\n");
        open = match open {
            Some(first) if begins(&because) || begins(&fix) || begins(CALLER) => {
                errors.push(first..end);
                Some(first)
            }
            _ if begins(NAME) => Some(start),
            _ => None,
        };
    }
    // The longer form of an error stands behind the shorter one.
    errors.dedup_by(|later, earlier| {
        let same = later.start == earlier.start;
        if same {
            earlier.end = later.end;
        }
        same
    });
    errors
}

/// An error without its numbers. Those of lines in files stay: they tell one place in a program from another. A port behind an
/// address is a part of the number that the address is.
fn key(text: &str) -> String {
    let (mut key, mut before, mut in_number, mut dots) = (String::new(), ' ', false, 0);
    let mut before_that = ' ';
    for letter in text.chars() {
        let is_port = before == ':' && before_that == ']';
        let begins =
            !in_number && letter.is_ascii_digit() && !before.is_ascii_alphanumeric() && (before != ':' || is_port);
        let is_in_address = letter == ':' && dots == 3 && before.is_ascii_digit();
        in_number = begins || in_number && (letter.is_ascii_alphanumeric() || letter == '.' || is_in_address);
        dots = if begins { 0 } else { dots + u32::from(letter == '.') };
        before_that = before;
        match in_number {
            true if begins => key.push('#'),
            true => {}
            false => key.push(letter),
        }
        before = letter;
    }
    key
}

/// `1-3, 7`
fn ranges(sorted: &[u32]) -> String {
    let chunks = sorted.chunk_by(|one, next| one + 1 == *next);
    let words = chunks.map(|chunk| match chunk {
        [first, _, .., last] => format!("{first}-{last}"),
        few => few.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(pe: u32, bytes: u32) -> String {
        format!(
            "oxshmem: PE {pe} of 9: shmem_malloc: {bytes} bytes\n  because: 0x{bytes:x} are left\n  to fix:  more\n"
        )
    }

    /// The text that is shown of these writings, which come at these milliseconds, and after the last moment.
    fn shown(writings: &[(u64, u32, &str)]) -> String {
        let (begun, mut folding, mut shown) = (Instant::now(), Folding::default(), Vec::new());
        for &(at, pe, text) in writings {
            shown.extend(folding.take(pe, text.as_bytes(), begun + Duration::from_millis(at)));
        }
        shown.extend(folding.close(begun + Duration::from_secs(9)));
        assert_eq!(folding.due(), None);
        String::from_utf8(shown).unwrap()
    }

    #[test]
    fn equal_errors_of_other_pes_are_counted() {
        let all: Vec<String> = (0..6).map(|pe| error(pe, 100 + pe)).collect();
        let writings: Vec<(u64, u32, &str)> = [4, 1, 0, 2].map(|pe| (pe as u64, pe, &all[pe as usize][..])).to_vec();
        assert_eq!(shown(&writings), format!("{}  (and 3 others: PE 0-2)\n", all[4]));
        assert_eq!(shown(&[(0, 3, &all[3]), (500, 1, &all[1])]), all[3].clone() + &all[1], "a moment is over");
        assert_eq!(shown(&[(0, 3, &all[3]), (1, 3, &all[3])]), all[3].repeat(2), "one PE says it twice");
    }

    #[test]
    fn the_place_of_the_call_is_a_part_of_an_error() {
        let at = |pe, line| format!("{}  called from: main at a.c:{line}\n", error(pe, 7));
        assert_eq!(shown(&[(0, 0, &at(0, 3)), (1, 1, &at(1, 3))]), at(0, 3) + "  (and 1 other: PE 1)\n");
        assert_eq!(
            shown(&[(0, 0, &at(0, 3)), (1, 1, &at(1, 4))]),
            at(0, 3) + &at(1, 4),
            "another line is another error"
        );
    }

    #[test]
    fn output_between_equal_errors_comes_at_once_and_the_note_repeats_what_it_is_about() {
        let all: Vec<String> = (0..3).map(|pe| error(pe, 7)).collect();
        let text = format!("a\n{}b\n  because: c\n", all[1]);
        let seen = shown(&[(0, 0, &all[0]), (1, 1, &text), (2, 2, &all[2])]);
        let note = "oxshmem: PE 0 of 9: shmem_malloc: 7 bytes\n  (and 2 others: PE 1, 2)\n";
        assert_eq!(seen, format!("{}a\nb\n  because: c\n{note}", all[0]));
    }

    #[test]
    fn what_has_not_the_form_of_an_error_is_never_held_back() {
        for text in [
            "oxshmem: hello\n",
            "  because: x\n",
            "error 1\n",
            "oxshmem: a\n  because: b",
            "oxshmem: a\n\n  to fix:  b\n",
        ] {
            assert_eq!(shown(&[(0, 0, text), (0, 1, text), (0, 2, text)]), text.repeat(3));
        }
        let two = "oxshmem: a\n  because: b\noxshmem: b\n  to fix:  c\n";
        let notes = "oxshmem: a\n  (and 1 other: PE 1)\noxshmem: b\n  (and 1 other: PE 1)\n";
        assert_eq!(shown(&[(0, 0, two), (0, 1, two)]), format!("{two}{notes}"));
    }

    #[test]
    fn places_in_a_program_are_no_numbers() {
        assert_eq!(key("PE 3 of 8: `x`+16 at a.c:12, 0x7f3a, 1.5 GiB"), "PE # of #: `x`+# at a.c:12, #, # GiB");
        assert_ne!(key("at a.c:12"), key("at a.c:13"));
        assert_eq!(key("int32 3"), "int32 #");
        assert_eq!(key("127.0.0.1:36383 (lo): no answer"), "# (lo): no answer");
        assert_eq!(key("[fe80::1]:36383 (lo)"), key("[fe80::1]:4 (lo)"));
        assert_eq!(ranges(&[1, 2, 4, 5, 6, 9]), "1, 2, 4-6, 9");
    }
}
