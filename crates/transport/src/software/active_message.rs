//! The messages of [`super::service`]: what the target's processor is asked for, and its answers.

use crate::{Amo, OutOfRange, Position, Region, SignalUpdate, Width};

/// A request to the target's processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TargetTask<'d> {
    /// An atomic.
    Amo { at: Position, width: Width, amo: Amo },
    /// A put, and then an update of the signal if there is one.
    Put { to: Position, data: &'d [u8], signal: Option<(Position, SignalUpdate)> },
    /// Nothing: the answer says that what was asked before has been done.
    Mark,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ActiveMessage<'d> {
    /// If it is not `answered`, only a failure has an answer.
    Ask { number: u64, task: TargetTask<'d>, answered: bool },
    /// An atomic's old value, or why nothing was done.
    Answer { number: u64, outcome: Result<u64, OutOfRange> },
}

/// Several messages in one batch: its kind, then each message behind its length.
pub(super) mod batch {
    /// No message of [`ActiveMessage`](super::ActiveMessage) begins so.
    pub(in super::super) const KIND: u8 = 7;
    const LENGTH: usize = size_of::<u32>();

    /// Adds a message to a batch, which begins empty.
    pub(in super::super) fn add(batch: &mut Vec<u8>, message: &[u8]) {
        if batch.is_empty() {
            batch.push(KIND);
        }
        batch.extend_from_slice(&(message.len() as u32).to_le_bytes());
        batch.extend_from_slice(message);
    }

    /// The length of a batch when the message has been added.
    pub(in super::super) fn length(batch: &[u8], message: &[u8]) -> usize {
        batch.len().max(1) + LENGTH + message.len()
    }

    /// The messages of a batch behind its kind, up to the first that is not there as a whole.
    pub(in super::super) fn messages(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
        std::iter::from_fn(move || {
            let (length, behind) = rest.split_at_checked(LENGTH)?;
            let length = u32::from_le_bytes(length.try_into().ok()?);
            let (message, behind) = behind.split_at_checked(usize::try_from(length).ok()?)?;
            rest = behind;
            Some(message)
        })
    }
}

/// The kinds. An ask that is not answered has the flag as well.
const AMO: u8 = 1;
const PUT: u8 = 2;
const PUT_SIGNAL: u8 = 3;
const MARK: u8 = 4;
const DONE: u8 = 5;
const REFUSED: u8 = 6;
const UNACKNOWLEDGED: u8 = 0x80;

impl<'d> ActiveMessage<'d> {
    /// Bytes before the data of a put: kind, two small numbers and an operation, then four numbers.
    pub(super) const HEAD: usize = 4 + 4 * 8;

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut message = Vec::new();
        self.encode_to(&mut message);
        message
    }

    /// Makes `message` this one.
    pub(super) fn encode_to(&self, message: &mut Vec<u8>) {
        let mut data = &[][..];
        let (head, numbers) = match *self {
            Self::Ask { number, task, answered } => {
                let (kind, small, numbers) = match task {
                    TargetTask::Amo { at, width, amo } => {
                        let (operation, value, cond) = amo.to_parts();
                        (AMO, [at.region as u8, width as u8, operation], [at.offset, value, cond])
                    }
                    TargetTask::Put { to, data: bytes, signal: None } => {
                        data = bytes;
                        (PUT, [to.region as u8, 0, 0], [to.offset, 0, 0])
                    }
                    TargetTask::Put { to, data: bytes, signal: Some((signal, update)) } => {
                        data = bytes;
                        let (operation, value, _) = update.amo().to_parts();
                        let small = [to.region as u8, signal.region as u8, operation];
                        (PUT_SIGNAL, small, [to.offset, signal.offset, value])
                    }
                    TargetTask::Mark => (MARK, [0; 3], [0; 3]),
                };
                let kind = if answered { kind } else { kind | UNACKNOWLEDGED };
                ([kind, small[0], small[1], small[2]], [number, numbers[0], numbers[1], numbers[2]])
            }
            Self::Answer { number, outcome: Ok(old) } => ([DONE, 0, 0, 0], [number, old, 0, 0]),
            Self::Answer { number, outcome: Err(OutOfRange { region, offset, bytes, registered }) } => {
                ([REFUSED, region as u8, 0, 0], [number, offset, bytes as u64, registered as u64])
            }
        };
        let mut bytes = [0; Self::HEAD];
        bytes[..head.len()].copy_from_slice(&head);
        for (place, number) in bytes[head.len()..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        message.clear();
        message.extend_from_slice(&bytes);
        message.extend_from_slice(data);
    }

    pub(super) fn decode(message: &'d [u8]) -> Option<Self> {
        let (&[kind, first, second, operation], rest) = message.split_first_chunk::<4>()?;
        let (numbers, data) = rest.split_at_checked(4 * 8)?;
        let mut numbers = numbers.chunks_exact(8).map(|n| u64::from_le_bytes(n.try_into().expect("eight bytes")));
        let [number, a, b, c] = [(); 4].map(|()| numbers.next().expect("there are four"));
        let place = |region, offset| Some(Position { region: Region::try_from(region).ok()?, offset });
        let task = match kind & !UNACKNOWLEDGED {
            AMO => {
                let (at, width) = (place(first, a)?, Width::try_from(second).ok()?);
                TargetTask::Amo { at, width, amo: Amo::from_parts(operation, b, c)? }
            }
            PUT => TargetTask::Put { to: place(first, a)?, data, signal: None },
            PUT_SIGNAL => {
                let update = SignalUpdate::try_from(Amo::from_parts(operation, c, 0)?).ok()?;
                TargetTask::Put { to: place(first, a)?, data, signal: Some((place(second, b)?, update)) }
            }
            MARK => TargetTask::Mark,
            DONE => return Some(Self::Answer { number, outcome: Ok(a) }),
            REFUSED => {
                let (bytes, registered) = (usize::try_from(b).ok()?, usize::try_from(c).ok()?);
                let region = Region::try_from(first).ok()?;
                return Some(Self::Answer {
                    number,
                    outcome: Err(OutOfRange { region, offset: a, bytes, registered }),
                });
            }
            _ => return None,
        };
        Some(Self::Ask { number, task, answered: kind & UNACKNOWLEDGED == 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_and_garbage_does_not() {
        let at = Position { region: Region::Control, offset: u64::MAX };
        let to = Position { region: Region::Heap, offset: 7 };
        let tasks = [
            TargetTask::Amo { at, width: Width::Two, amo: Amo::CompareSwap { cond: 3, value: 9 } },
            TargetTask::Put { to, data: b"", signal: None },
            TargetTask::Put { to, data: b"some bytes", signal: None },
            TargetTask::Put { to, data: b"more", signal: Some((at, SignalUpdate::Add(5))) },
            TargetTask::Put { to: at, data: b"", signal: Some((to, SignalUpdate::Set(6))) },
            TargetTask::Mark,
        ];
        for task in tasks {
            for answered in [false, true] {
                let message = ActiveMessage::Ask { number: 1 << 40, task, answered };
                assert_eq!(ActiveMessage::decode(&message.encode()), Some(message));
            }
        }
        let wrong = OutOfRange { region: Region::Statics, offset: 1, bytes: 2, registered: 3 };
        for outcome in [Ok(u64::MAX), Err(wrong)] {
            let message = ActiveMessage::Answer { number: 8, outcome };
            assert_eq!(ActiveMessage::decode(&message.encode()), Some(message));
        }
        for garbage in [
            &[0xFF; ActiveMessage::HEAD][..],
            &[],
            &[AMO; ActiveMessage::HEAD - 1],
            &[PUT_SIGNAL; ActiveMessage::HEAD],
            &[batch::KIND; ActiveMessage::HEAD],
        ] {
            assert_eq!(ActiveMessage::decode(garbage), None);
        }
    }

    #[test]
    fn batches_end_where_one_is_cut() {
        let mut batch = Vec::new();
        for message in [&b"one"[..], b"", b"three"] {
            let length = batch::length(&batch, message);
            batch::add(&mut batch, message);
            assert_eq!(batch.len(), length);
        }
        let all = |batch: &[u8]| batch::messages(&batch[1..]).map(<[u8]>::len).collect::<Vec<_>>();
        assert_eq!(all(&batch), [3, 0, 5]);
        assert_eq!(all(&batch[..batch.len() - 1]), [3, 0]);
        assert_eq!(all(&batch[..3]), []);
    }
}
