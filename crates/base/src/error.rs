//! The error of every control call: what happened, why, and what to do about it.

use std::borrow::Cow;
use std::fmt;
use std::panic::Location;

/// One line says what happened, an optional one where, one why with the measured value, and one what to do.
///
/// ```
/// let error = oxshmem_base::Error::new("PE 3 cannot grow its symmetric heap to 2 GiB")
///     .because("1.4 GiB of memory are available (/sys/fs/cgroup/memory.max)")
///     .fix("set SHMEM_SYMMETRIC_SIZE=1.4G");
/// assert_eq!(error.to_string().lines().count(), 3);
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    what: String,
    at: Option<&'static Location<'static>>,
    because: Option<String>,
    fix: Option<String>,
}

/// The kind of an error, for programs that act on it. The text is for people.
///
/// ```
/// use oxshmem_base::{Error, ErrorKind};
/// let full = Error::new("no room").of_kind(ErrorKind::out_of_memory(4096, 1024, 8192));
/// assert!(matches!(full.kind(), ErrorKind::OutOfMemory { asked: 4096, largest_free: 1024, .. }));
/// assert_eq!(Error::new("no room").kind(), ErrorKind::Other);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Only the text says more.
    #[default]
    Other,
    /// A symmetric allocation failed, on all PEs. If `asked` exceeds `largest_free`, the heap is too small for it; otherwise some
    /// node has no memory to back it.
    #[non_exhaustive]
    OutOfMemory {
        /// The bytes of the allocation.
        asked: u64,
        /// The bytes of the largest free block of the symmetric heap.
        largest_free: u64,
        /// The bytes of the symmetric heap.
        heap: u64,
    },
    /// The process has joined the job already.
    AlreadyInitialized,
    /// The PEs run different programs.
    DifferentPrograms,
    /// The arguments describe an object that cannot be made or reached.
    InvalidArgument,
    /// The library has no room for a further team or context.
    LimitReached,
    /// The bytes are no value of the expected type.
    InvalidValue,
}

impl ErrorKind {
    /// [`ErrorKind::OutOfMemory`] with its numbers, in bytes.
    pub fn out_of_memory(asked: u64, largest_free: u64, heap: u64) -> Self {
        Self::OutOfMemory { asked, largest_free, heap }
    }
}

impl Error {
    /// Says what happened: who, which call, on what.
    pub fn new(what: impl Into<String>) -> Self {
        Error { kind: ErrorKind::Other, what: what.into(), at: None, because: None, fix: None }
    }

    /// The error that another process has shown as this text, without its kind and its place.
    ///
    /// ```
    /// use oxshmem_base::Error;
    /// let error = Error::new("no room").because("the heap is full").fix("free a block");
    /// assert_eq!(Error::of_text(&error.to_string()), error);
    /// assert_eq!(Error::of_text("no room"), Error::new("no room"));
    /// ```
    pub fn of_text(text: &str) -> Self {
        let (rest, fix) = text.rsplit_once("\n  to fix:  ").unzip();
        let rest = rest.unwrap_or(text);
        let (what, because) = rest.split_once("\n  because: ").unzip();
        let owned = |part: Option<&str>| part.map(str::to_owned);
        Error { because: owned(because), fix: owned(fix), ..Error::new(what.unwrap_or(rest)) }
    }

    /// Says of which kind the error is.
    #[must_use]
    pub fn of_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = kind;
        self
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Says why, with the value that was measured.
    #[must_use]
    pub fn because(mut self, why: impl fmt::Display) -> Self {
        self.because = Some(why.to_string());
        self
    }

    /// Says what the user can do: the exact command or variable.
    #[must_use]
    pub fn fix(mut self, what_to_do: impl fmt::Display) -> Self {
        self.fix = Some(what_to_do.to_string());
        self
    }

    /// Says one more thing that the user can do.
    #[must_use]
    pub fn also_fix(self, what_to_do: &str) -> Self {
        let fix = self.fix.as_ref().map_or_else(|| what_to_do.to_owned(), |fix| format!("{fix}; {what_to_do}"));
        self.fix(fix)
    }

    /// Says where the program made the call.
    #[must_use]
    pub fn at(mut self, place: &'static Location<'static>) -> Self {
        self.at = Some(place);
        self
    }

    /// The first two parts, what happened and why, for a list.
    pub fn in_one_line(&self) -> String {
        let because = self.because.as_ref().map_or_else(String::new, |why| format!(": {}", cut(why)));
        format!("{}{because}", cut(&self.what)).replace('\n', " ")
    }

    /// The first part alone, which says what happened and may have several lines.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// The reason alone.
    pub fn reason(&self) -> Option<&str> {
        self.because.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&cut(&self.what))?;
        if let Some(place) = self.at {
            write!(f, "\n  at:      {place}")?;
        }
        if let Some(why) = &self.because {
            write!(f, "\n  because: {}", cut(why))?;
        }
        if let Some(fix) = &self.fix {
            write!(f, "\n  to fix:  {}", cut(fix))?;
        }
        Ok(())
    }
}

/// The same text: this is what Rust prints of an error that `main` returns, or that `expect` finds.
///
/// ```
/// let error = oxshmem_base::Error::new("no room").fix("free a block");
/// assert_eq!(format!("{error:?}"), "no room\n  to fix:  free a block");
/// ```
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}

/// The longest word and the longest line of a message. A value that a user has set may be longer than any screen.
const LONGEST_WORD: usize = 512;
const LONGEST_LINE: usize = 8192;

/// A text with the ends of very long words and lines cut off.
pub fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= LONGEST_WORD {
        return Cow::Borrowed(text);
    }
    let line = |line: &str| {
        let words: String = line.split_inclusive(' ').map(|word| beginning(word, LONGEST_WORD)).collect();
        beginning(&words, LONGEST_LINE).into_owned()
    };
    Cow::Owned(text.split_inclusive('\n').map(line).collect())
}

/// Cuts a text that is longer than `longest` to its first `longest / 4` bytes, and adds its length. A space or a line break at the end
/// stays.
fn beginning(text: &str, longest: usize) -> Cow<'_, str> {
    let ended = text.trim_end_matches([' ', '\n']);
    if ended.len() <= longest {
        return Cow::Borrowed(text);
    }
    let boundary = (0..=longest / 4).rev().find(|&place| ended.is_char_boundary(place)).unwrap_or(0);
    let kept = &ended[..boundary];
    Cow::Owned(format!("{kept}...[{} bytes]{}", ended.len(), &text[ended.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_T5_a_value_longer_than_a_screen_is_cut_and_what_follows_stays() {
        let value = "ä".repeat(50_000);
        let error = Error::new(format!("A={value} cannot be read\nand more")).because(&value).to_string();
        assert!(error.len() < 600 && error.starts_with("A=ää"), "{error}");
        assert!(error.contains("ä...[100002 bytes] cannot be read\nand more\n  because: ä"), "{error}");
        let words = Error::new("a word and ".repeat(10_000)).to_string();
        assert!(words.len() < 2200 && words.ends_with("...[109999 bytes] "), "{words}");
        let path = format!("/{}", "folder/".repeat(60));
        assert_eq!(Error::new(path.clone()).to_string(), path);
    }

    #[test]
    fn the_place_of_the_call_follows_what_happened() {
        let place = Location::caller();
        assert_eq!(Error::new("a").because("b").at(place).to_string(), format!("a\n  at:      {place}\n  because: b"));
    }

    #[test]
    fn an_error_that_main_returns_is_printed_as_text() {
        let error = Error::new("a").because("b").fix("c").of_kind(ErrorKind::LimitReached);
        assert_eq!(format!("{error:?}"), error.to_string());
    }

    #[test]
    fn lines_that_are_not_known_are_not_shown() {
        assert_eq!(Error::new("a").to_string(), "a");
        assert_eq!(Error::new("a").fix("c").to_string(), "a\n  to fix:  c");
        assert_eq!(Error::new("a").fix("c").because(7).to_string(), "a\n  because: 7\n  to fix:  c");
    }
}
