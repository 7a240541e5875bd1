//! Active messages: questions to a target's processor, and its answers. The data of a put come behind the message, or
//! beside it.

use crate::{Amo, LONGEST_GET, OutOfRange, Position, Region, RegisteredMemory, SignalUpdate, Width};

/// A task for the target's processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TargetTask {
    /// An atomic.
    Amo {
        /// The object.
        at: Position,
        /// Its width.
        width: Width,
        /// The update.
        amo: Amo,
    },
    /// A put of the data that come with it, and then an update of the signal if there is one.
    Put {
        /// The place of the data.
        to: Position,
        /// The signal and its update.
        signal: Option<(Position, SignalUpdate)>,
    },
    /// A get: the answer has the bytes as its data.
    Get {
        /// The place of the bytes.
        from: Position,
        /// How many.
        n: usize,
    },
    /// Nothing: the answer says that what was asked before has been done.
    Mark,
}

impl TargetTask {
    /// Does it, and appends the bytes of a get to `fetched`. Returns the old value of an atomic, otherwise zero.
    #[inline]
    pub fn execute(self, memory: &RegisteredMemory, data: &[u8], fetched: &mut Vec<u8>) -> Result<u64, OutOfRange> {
        match self {
            Self::Amo { at, width, amo } => memory.amo(at.region, at.offset, width, amo),
            Self::Put { to, signal } => memory.put_signal(to, data, signal).map(|()| 0),
            Self::Get { from, n } => memory.append(from, n, fetched).map(|()| 0),
            Self::Mark => Ok(0),
        }
    }
}

/// A message between two PEs, without the data of a put or of the answer to a get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ActiveMessage {
    /// The number of the question.
    pub number: u64,
    /// Whether an answer is expected; otherwise only a failure has one.
    pub answered: bool,
    /// The question or its answer.
    pub content: MessageContent,
}

/// The content of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MessageContent {
    /// A question.
    Ask(TargetTask),
    /// The outcome of a task, or why nothing was done.
    Answer(Result<u64, OutOfRange>),
    /// A question of a provider's own: its kind, below 64, and a place.
    Own(u8, Position),
}

/// The kinds. From `OWN` on they are a provider's. A message that expects no answer has the flag as well.
const AMO: u8 = 1;
const PUT: u8 = 2;
const PUT_SIGNAL: u8 = 3;
const MARK: u8 = 4;
const DONE: u8 = 5;
const REFUSED: u8 = 6;
const GET: u8 = 8;
const OWN: u8 = 64;
const UNANSWERED: u8 = 0x80;

impl ActiveMessage {
    /// Bytes of a message: its kind, two small numbers and an operation, then four numbers.
    pub const BYTES: usize = 4 + 4 * 8;

    /// The bytes of this message.
    #[inline(always)]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let (kind, small, numbers) = match self.content {
            MessageContent::Ask(TargetTask::Amo { at, width, amo }) => {
                let (operation, value, cond) = amo.to_parts();
                (AMO, [at.region as u8, width as u8, operation], [at.offset, value, cond])
            }
            MessageContent::Ask(TargetTask::Put { to, signal: None }) => {
                (PUT, [to.region as u8, 0, 0], [to.offset, 0, 0])
            }
            MessageContent::Ask(TargetTask::Put { to, signal: Some((signal, update)) }) => {
                let (operation, value, _) = update.amo().to_parts();
                (PUT_SIGNAL, [to.region as u8, signal.region as u8, operation], [to.offset, signal.offset, value])
            }
            MessageContent::Ask(TargetTask::Get { from, n }) => {
                (GET, [from.region as u8, 0, 0], [from.offset, n as u64, 0])
            }
            MessageContent::Ask(TargetTask::Mark) => (MARK, [0; 3], [0; 3]),
            MessageContent::Answer(Ok(old)) => (DONE, [0; 3], [old, 0, 0]),
            MessageContent::Answer(Err(OutOfRange { region, offset, bytes, registered })) => {
                (REFUSED, [region as u8, 0, 0], [offset, bytes as u64, registered as u64])
            }
            MessageContent::Own(kind, place) => (OWN + kind, [place.region as u8, 0, 0], [place.offset, 0, 0]),
        };
        let kind = if self.answered { kind } else { kind | UNANSWERED };
        let numbers = [self.number, numbers[0], numbers[1], numbers[2]];
        let mut message = [0; Self::BYTES];
        message[..4].copy_from_slice(&[kind, small[0], small[1], small[2]]);
        for (place, number) in message[4..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        message
    }

    /// The message that these bytes begin with, and the bytes behind it.
    #[inline]
    pub fn decode(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let (&[kind, first, second, operation], rest) = bytes.split_first_chunk::<4>()?;
        let (numbers, rest) = rest.split_at_checked(4 * 8)?;
        let mut numbers = numbers.chunks_exact(8).map(|n| u64::from_le_bytes(n.try_into().expect("eight bytes")));
        let [number, a, b, c] = [(); 4].map(|()| numbers.next().expect("there are four"));
        let region = Region::try_from(first).ok()?;
        let place = Position { region, offset: a };
        let content = match kind & !UNANSWERED {
            AMO => {
                let (width, amo) = (Width::try_from(second).ok()?, Amo::from_parts(operation, b, c)?);
                MessageContent::Ask(TargetTask::Amo { at: place, width, amo })
            }
            PUT => MessageContent::Ask(TargetTask::Put { to: place, signal: None }),
            PUT_SIGNAL => {
                let signal = Position { region: Region::try_from(second).ok()?, offset: b };
                let update = SignalUpdate::try_from(Amo::from_parts(operation, c, 0)?).ok()?;
                MessageContent::Ask(TargetTask::Put { to: place, signal: Some((signal, update)) })
            }
            // The target makes room for the bytes, so it takes no length that no PE asks for.
            GET => {
                let n = usize::try_from(b).ok().filter(|&n| n <= LONGEST_GET)?;
                MessageContent::Ask(TargetTask::Get { from: place, n })
            }
            MARK => MessageContent::Ask(TargetTask::Mark),
            DONE => MessageContent::Answer(Ok(a)),
            REFUSED => {
                let (bytes, registered) = (usize::try_from(b).ok()?, usize::try_from(c).ok()?);
                MessageContent::Answer(Err(OutOfRange { region, offset: a, bytes, registered }))
            }
            own @ OWN.. => MessageContent::Own(own - OWN, place),
            _ => return None,
        };
        Some((Self { number, answered: kind & UNANSWERED == 0, content }, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Position = Position { region: Region::Control, offset: u64::MAX };
    const TO: Position = Position { region: Region::Heap, offset: 7 };
    const SWAP: Amo = Amo::CompareSwap { cond: 3, value: 9 };
    const UPDATE: TargetTask = TargetTask::Amo { at: AT, width: Width::Two, amo: SWAP };
    const SIGNALLED: TargetTask = TargetTask::Put { to: TO, signal: Some((AT, SignalUpdate::Add(5))) };

    #[test]
    fn messages_survive() {
        let wrong = OutOfRange { region: Region::Statics, offset: 1, bytes: 2, registered: 3 };
        let contents = [
            MessageContent::Ask(UPDATE),
            MessageContent::Ask(SIGNALLED),
            MessageContent::Ask(TargetTask::Put { to: AT, signal: Some((TO, SignalUpdate::Set(6))) }),
            MessageContent::Ask(TargetTask::Put { to: TO, signal: None }),
            MessageContent::Ask(TargetTask::Get { from: AT, n: LONGEST_GET }),
            MessageContent::Ask(TargetTask::Mark),
            MessageContent::Answer(Ok(u64::MAX)),
            MessageContent::Answer(Err(wrong)),
            MessageContent::Own(0, AT),
            MessageContent::Own(63, TO),
        ];
        for content in contents {
            for answered in [false, true] {
                let message = ActiveMessage { number: 1 << 40, answered, content };
                let bytes = [&message.encode()[..], b"behind"].concat();
                assert_eq!(ActiveMessage::decode(&bytes), Some((message, &b"behind"[..])));
            }
        }
    }

    #[test]
    fn garbage_does_not() {
        for garbage in [&[0xFF; ActiveMessage::BYTES][..], &[0; ActiveMessage::BYTES], &[0; 3], &[]] {
            assert_eq!(ActiveMessage::decode(garbage), None);
        }
        let encoded = |task| ActiveMessage { number: 0, answered: true, content: MessageContent::Ask(task) }.encode();
        assert_eq!(ActiveMessage::decode(&encoded(UPDATE)[..ActiveMessage::BYTES - 1]), None);
        assert_eq!(ActiveMessage::decode(&encoded(TargetTask::Get { from: TO, n: LONGEST_GET + 1 })), None);
        // No such kind; region, width and operation; region, operation, and one that changes no signal.
        for (task, at, wrong) in [
            (UPDATE, 0, 9),
            (UPDATE, 1, 3),
            (UPDATE, 2, 3),
            (UPDATE, 3, 7),
            (SIGNALLED, 2, 3),
            (SIGNALLED, 3, 7),
            (SIGNALLED, 3, 3),
        ] {
            let mut message = encoded(task);
            message[at] = wrong;
            assert_eq!(ActiveMessage::decode(&message), None, "{task:?} with {wrong} at {at}");
        }
    }
}
