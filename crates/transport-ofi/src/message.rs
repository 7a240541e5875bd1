//! The messages between the PEs' providers: atomics for the target's processor, questions about memory, and disconnects.

use crate::address::MOST_RAILS;
use crate::room::ROOM;
use crate::windows::Window;

const _: () = assert!(5 + 8 + MOST_RAILS * (1 + Window::BYTES) <= ROOM, "an answer names the windows of all rails");

/// The kind of an active message.
const ACTIVE: u8 = 1;

/// A message. Each begins with its kind and its sender.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Message {
    /// For the software above that makes atomics.
    Active(Vec<u8>),
    /// The sender wants to reach this byte of this region.
    Where { region: u8, offset: u64 },
    /// The windows that hold it, each with the number of its rail, and how long the region is.
    There(Vec<(u8, Window)>, u64),
    /// The sender will reach for our memory, as soon as it knows that we know.
    Hello,
    /// The answer to that.
    Welcome,
    /// The sender has nothing under way any more and will not answer.
    Disconnect,
}

impl Message {
    /// Bytes before an active message.
    pub(crate) const HEAD: usize = 5;

    /// The bytes before an active message.
    pub(crate) fn active_head(from: u32) -> [u8; Self::HEAD] {
        let [a, b, c, d] = from.to_le_bytes();
        [ACTIVE, a, b, c, d]
    }

    /// An active message, which may be long, with as few copies as there can be.
    pub(crate) fn encode_active(from: u32, message: &[u8]) -> Vec<u8> {
        [&Self::active_head(from)[..], message].concat()
    }

    pub(crate) fn encode(&self, from: u32) -> Vec<u8> {
        let (kind, body) = match self {
            Self::Active(message) => return Self::encode_active(from, message),
            Self::Where { region, offset } => (2, [&[*region][..], &offset.to_le_bytes()].concat()),
            Self::There(windows, len) => {
                let mut body = len.to_le_bytes().to_vec();
                for (rail, window) in windows {
                    body.push(*rail);
                    body.extend(window.encode());
                }
                (3, body)
            }
            Self::Hello => (5, Vec::new()),
            Self::Disconnect => (6, Vec::new()),
            Self::Welcome => (7, Vec::new()),
        };
        [&[kind][..], &from.to_le_bytes(), &body].concat()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<(u32, Self)> {
        let (&kind, rest) = bytes.split_first()?;
        let (from, body) = rest.split_first_chunk::<4>()?;
        let number = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
        let message = match kind {
            ACTIVE => Self::Active(body.to_vec()),
            2 => {
                let (&region, offset) = body.split_first()?;
                Self::Where { region, offset: number(offset)? }
            }
            3 => {
                let (len, windows) = body.split_at_checked(8)?;
                let window = |bytes: &[u8]| Some((bytes[0], Window::decode(&bytes[1..])?));
                Self::There(windows.chunks(1 + Window::BYTES).map(window).collect::<Option<_>>()?, number(len)?)
            }
            5 if body.is_empty() => Self::Hello,
            6 if body.is_empty() => Self::Disconnect,
            7 if body.is_empty() => Self::Welcome,
            _ => return None,
        };
        Some((u32::from_le_bytes(*from), message))
    }
}

#[cfg(test)]
mod tests {
    use oxshmem_transport::{Region, RegionPiece};

    use super::*;

    #[test]
    fn messages_survive_and_garbage_does_not() {
        let piece = RegionPiece { start: 1, len: 2, address: 3, key: u64::MAX };
        let window = Window { region: Region::Heap, piece };
        for message in [
            Message::Active(vec![7; ROOM - Message::HEAD]),
            Message::Where { region: 2, offset: 1 << 40 },
            Message::There(vec![(0, window); MOST_RAILS], 0),
            Message::There(Vec::new(), 99),
            Message::Hello,
            Message::Welcome,
            Message::Disconnect,
        ] {
            let bytes = message.encode(70_000);
            assert!(bytes.len() <= ROOM);
            assert_eq!(Message::decode(&bytes), Some((70_000, message)));
        }
        for garbage in
            [&b""[..], b"\x01\0\0", b"\x09\0\0\0\0", b"\x03\0\0\0\0abc", b"\x03\0\0\0\0abcdefghi", b"\x05\0\0\0\0x"]
        {
            assert_eq!(Message::decode(garbage), None);
        }
    }
}
