//! Bytes from a process manager or its client, cut into messages.

use std::fmt;

/// A longer line is none of PMI-1. Values of clients have a length that is agreed. One of the server's own, such as the nodes of all PEs, has
/// the length that it takes.
pub const LONGEST_LINE: usize = 1 << 20;

/// Digits of the length before a message of PMI-2; no message is longer than they can say.
const DIGITS: usize = 6;

/// Bytes that are no message of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub(crate) String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Malformed {}

/// A stream of bytes that is cut into messages. Both protocols begin with lines; PMI-2 goes on with frames.
#[derive(Debug, Default)]
pub struct Incoming {
    pending: Vec<u8>,
}

impl Incoming {
    /// Takes bytes as they arrive.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
    }

    /// Whether the next message begins with these bytes, as far as it has come.
    pub(crate) fn begins_with(&self, bytes: &[u8]) -> bool {
        self.pending.starts_with(bytes)
    }

    /// The next complete line without its newline. After an error the stream has no meaning any more.
    pub fn next_line(&mut self) -> Option<Result<Vec<u8>, Malformed>> {
        let end = self.pending.iter().position(|&byte| byte == b'\n');
        if end.unwrap_or(self.pending.len()) > LONGEST_LINE {
            return Some(Err(Malformed(format!("a line is longer than {LONGEST_LINE} bytes"))));
        }
        Some(Ok(self.pending.drain(..=end?).take(end?).collect()))
    }

    /// The next complete frame without its length. After an error the stream has no meaning any more.
    pub fn next_frame(&mut self) -> Option<Result<Vec<u8>, Malformed>> {
        let announced = self.pending.get(..DIGITS)?;
        // Servers fill the six places with blanks on either side.
        let length = std::str::from_utf8(announced).ok().and_then(|text| text.trim_matches(' ').parse::<usize>().ok());
        let Some(length) = length else {
            return Some(Err(Malformed(format!("`{}` is not the length of a message", announced.escape_ascii()))));
        };
        self.pending.get(DIGITS..DIGITS + length)?;
        Some(Ok(self.pending.drain(..DIGITS + length).skip(DIGITS).collect()))
    }
}

/// A frame with its length before it.
pub(crate) fn framed(message: &str) -> Vec<u8> {
    format!("{:DIGITS$}{message}", message.len()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn frames_survive_the_wire_in_any_pieces(texts in proptest::collection::vec("[a-z;= ]{0,300}", 1..6), cut in 1usize..50) {
            let wire: Vec<u8> = texts.iter().flat_map(|text| framed(text)).collect();
            let (mut incoming, mut seen) = (Incoming::default(), Vec::new());
            for piece in wire.chunks(cut) {
                incoming.feed(piece);
                while let Some(frame) = incoming.next_frame() {
                    seen.push(String::from_utf8(frame.unwrap()).unwrap());
                }
            }
            prop_assert_eq!(seen, texts);
        }

        #[test]
        fn garbage_never_panics_and_never_grows(bytes in proptest::collection::vec(any::<u8>(), 0..6000)) {
            let (mut lines, mut frames) = (Incoming::default(), Incoming::default());
            lines.feed(&bytes);
            while let Some(Ok(line)) = lines.next_line() {
                prop_assert!(line.len() <= LONGEST_LINE);
            }
            frames.feed(&bytes);
            let mut taken = 0;
            while let Some(Ok(frame)) = frames.next_frame() {
                taken += frame.len() + DIGITS;
                prop_assert!(taken <= bytes.len());
            }
        }
    }

    #[test]
    fn lengths_stand_on_either_side() {
        let mut incoming = Incoming::default();
        incoming.feed(b"     3abc3     def 3    ghixyz   uvw");
        let mut next = || incoming.next_frame().unwrap();
        assert_eq!([next().unwrap(), next().unwrap(), next().unwrap()], [b"abc", b"def", b"ghi"]);
        assert!(next().unwrap_err().to_string().contains("`xyz   ` is not the length"));
    }

    #[test]
    fn lines_have_a_great_length_and_an_end() {
        let mut incoming = Incoming::default();
        for _ in 0..LONGEST_LINE >> 16 {
            assert!(incoming.next_line().is_none());
            incoming.feed(&[b'x'; 1 << 16]);
        }
        let mut endless = Incoming { pending: incoming.pending.clone() };
        incoming.feed(b"\n");
        assert_eq!(incoming.next_line().map(|line| line.map(|line| line.len())), Some(Ok(LONGEST_LINE)));
        endless.feed(b"x");
        assert!(endless.next_line().is_some_and(|line| line.is_err()));
    }
}
