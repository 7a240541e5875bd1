//! Lines of several writers on one output: no text continues another writer's line.
//!
//! The beginning of a line is shown when its end does not come soon, because it may be a prompt. When another writer's
//! text comes before the end, the line is ended first, and the end that its writer sends later is left out.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::link::frame::OutputStream;

/// The writer of a text: a PE, or the launcher itself, and the stream.
pub(crate) type Writer = (Option<u32>, OutputStream);

/// The writers whose lines have not ended on one output.
#[derive(Default)]
pub(crate) struct LineEnds {
    /// The writer of the last line, if that has no end.
    open: Option<Writer>,
    /// Writers whose lines were ended before they ended them.
    ended: BTreeSet<Writer>,
}

impl LineEnds {
    /// Whether the last line has no end.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// The text of a writer as it is shown behind what was shown before.
    pub(crate) fn separate<'t>(&mut self, writer: Writer, text: &'t [u8]) -> Cow<'t, [u8]> {
        let interrupts = self.open.filter(|&open| open != writer && !text.is_empty());
        if let Some(open) = interrupts {
            self.ended.insert(open);
            self.open = None;
        }
        let own_end = !text.is_empty() && self.ended.remove(&writer) && text[0] == b'\n';
        let rest = if own_end { &text[1..] } else { text };
        if let Some(&last) = rest.last() {
            self.open = (last != b'\n').then_some(writer);
        }
        match interrupts {
            Some(_) => [b"\n", rest].concat().into(),
            None => rest.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(texts: &[(u32, &str)]) -> String {
        let mut ends = LineEnds::default();
        let all = texts.iter().map(|&(pe, text)| {
            let shown = ends.separate((Some(pe), OutputStream::Stdout), text.as_bytes());
            String::from_utf8(shown.into_owned()).expect("text")
        });
        all.collect()
    }

    #[test]
    fn whole_lines_and_lines_in_pieces_of_one_writer_pass_as_they_are() {
        assert_eq!(shown(&[(1, "a\nb\n"), (2, "c\n"), (1, "\n"), (2, "")]), "a\nb\nc\n\n");
        assert_eq!(shown(&[(1, "name? "), (1, ""), (1, "is "), (1, "it\n"), (2, "c\n")]), "name? is it\nc\n");
    }

    #[test]
    fn no_text_continues_a_line_of_another_writer() {
        assert_eq!(shown(&[(1, "a"), (2, "b\n"), (1, "\n"), (2, "c\n")]), "a\nb\nc\n");
        assert_eq!(shown(&[(1, "a"), (2, "b"), (3, "c"), (2, "\n"), (1, "\n"), (3, "\n")]), "a\nb\nc\n");
        // The end that was written for it is all that is left out.
        assert_eq!(shown(&[(1, "a"), (2, "b\n"), (1, "\n\nd\n"), (1, "\n")]), "a\nb\n\nd\n\n");
        assert_eq!(shown(&[(1, "a"), (2, "b\n"), (1, " more\n"), (1, "\n")]), "a\nb\n more\n\n");
    }

    #[test]
    fn two_streams_of_a_pe_are_two_writers() {
        let mut ends = LineEnds::default();
        ends.separate((Some(1), OutputStream::Stdout), b"name? ");
        let error = ends.separate((Some(1), OutputStream::Stderr), b"no\n");
        assert_eq!(*error, *b"\nno\n");
        assert_eq!(*ends.separate((None, OutputStream::Stderr), b"over\n"), *b"over\n");
    }
}
