//! The active messages between PEs: questions to a serving worker, and its answers.

use std::mem;

use oxshmem_transport::{Amo, OutOfRange, Position, Region, SignalUpdate, Width};

/// Kinds of active messages, as UCX numbers them.
pub(crate) const ASK: u32 = 1;
pub(crate) const ANSWER: u32 = 2;

/// Bytes of the header of either kind.
pub(crate) const HEADER: usize = 48;

/// Kinds of questions.
const AMO: u8 = 0;
const PUT_SIGNAL: u8 = 1;
const KEYS: u8 = 2;
const BYE: u8 = 3;
const PUT: u8 = 4;
const MARK: u8 = 5;
const MANY: u8 = 6;

/// A question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ask {
    /// An atomic.
    Amo { at: Position, width: Width, amo: Amo },
    /// A put of the data that comes with it, then an update of the signal if there is one.
    Put { to: Position, signal: Option<(Position, SignalUpdate)> },
    /// The keys of a region, from the one with this number on.
    Keys { region: Region, from: u64 },
    /// Nothing: its answer says that what was asked before has been done.
    Mark,
    /// The asking PE will ask no more.
    Bye,
    /// The questions that come with it as data (`batch`).
    Many,
}

/// A question, the PE that asks, how the asker's channel knows the answer, and whether it expects one if all goes well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AskMessage {
    pub(crate) pe: u32,
    pub(crate) number: u64,
    pub(crate) ask: Ask,
    pub(crate) answered: bool,
}

impl AskMessage {
    pub(crate) fn encode(&self) -> [u8; HEADER] {
        let (kind, small, numbers) = match self.ask {
            Ask::Amo { at, width, amo } => {
                let (operation, value, cond) = amo.to_parts();
                (AMO, [at.region as u8, width as u8, operation], [at.offset, value, cond])
            }
            Ask::Put { to, signal: Some((signal, update)) } => {
                let (operation, value, _) = update.amo().to_parts();
                (PUT_SIGNAL, [to.region as u8, signal.region as u8, operation], [to.offset, value, signal.offset])
            }
            Ask::Put { to, signal: None } => (PUT, [to.region as u8, 0, 0], [to.offset, 0, 0]),
            Ask::Keys { region, from } => (KEYS, [region as u8, 0, 0], [from, 0, 0]),
            Ask::Bye => (BYE, [0; 3], [0; 3]),
            Ask::Mark => (MARK, [0; 3], [0; 3]),
            Ask::Many => (MANY, [0; 3], [0; 3]),
        };
        let mut header = [0; HEADER];
        header[..5].copy_from_slice(&[kind, small[0], small[1], small[2], self.answered.into()]);
        header[8..12].copy_from_slice(&self.pe.to_le_bytes());
        write(&mut header, [self.number, numbers[0], numbers[1], numbers[2]]);
        header
    }

    pub(crate) fn decode(header: &[u8]) -> Option<Self> {
        let header: &[u8; HEADER] = header.try_into().ok()?;
        let &[kind, first, second, operation, answered, ..] = header;
        let [number, offset, value, last] = read(header);
        let region = Region::try_from(first).ok()?;
        let place = Position { region, offset };
        let ask = match kind {
            AMO => {
                let (width, amo) = (Width::try_from(second).ok()?, Amo::from_parts(operation, value, last)?);
                Ask::Amo { at: place, width, amo }
            }
            PUT_SIGNAL => {
                let signal = Position { region: Region::try_from(second).ok()?, offset: last };
                let update = SignalUpdate::try_from(Amo::from_parts(operation, value, 0)?).ok()?;
                Ask::Put { to: place, signal: Some((signal, update)) }
            }
            PUT => Ask::Put { to: place, signal: None },
            KEYS => Ask::Keys { region, from: offset },
            BYE => Ask::Bye,
            MARK => Ask::Mark,
            MANY => Ask::Many,
            _ => return None,
        };
        let pe = u32::from_le_bytes(header[8..12].try_into().ok()?);
        Some(Self { pe, number, ask, answered: answered != 0 })
    }
}

/// The answer of a PE to the question of this number; keys come with it as data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AnswerMessage {
    pub(crate) pe: u32,
    pub(crate) number: u64,
    /// The old value of an atomic, otherwise zero.
    pub(crate) outcome: Result<u64, OutOfRange>,
}

impl AnswerMessage {
    pub(crate) fn encode(&self) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[8..12].copy_from_slice(&self.pe.to_le_bytes());
        match self.outcome {
            Ok(value) => write(&mut header, [self.number, value, 0, 0]),
            Err(OutOfRange { region, offset, bytes, registered }) => {
                header[..2].copy_from_slice(&[1, region as u8]);
                write(&mut header, [self.number, offset, bytes as u64, registered as u64]);
            }
        }
        header
    }

    pub(crate) fn decode(header: &[u8]) -> Option<Self> {
        let header: &[u8; HEADER] = header.try_into().ok()?;
        let [number, first, bytes, registered] = read(header);
        let outcome = match header[0] {
            0 => Ok(first),
            _ => Err(OutOfRange {
                region: Region::try_from(header[1]).ok()?,
                offset: first,
                bytes: usize::try_from(bytes).ok()?,
                registered: usize::try_from(registered).ok()?,
            }),
        };
        let pe = u32::from_le_bytes(header[8..12].try_into().ok()?);
        Some(Self { pe, number, outcome })
    }
}

const NUMBERS: usize = 16;
const WORD: usize = mem::size_of::<u64>();

fn write(header: &mut [u8; HEADER], numbers: [u64; 4]) {
    for (place, number) in header[NUMBERS..].chunks_exact_mut(WORD).zip(numbers) {
        place.copy_from_slice(&number.to_le_bytes());
    }
}

fn read(header: &[u8; HEADER]) -> [u64; 4] {
    let word = |i: usize| &header[NUMBERS + i * WORD..][..WORD];
    [0, 1, 2, 3].map(|i| u64::from_le_bytes(word(i).try_into().expect("eight bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_and_garbage_does_not() {
        let [at, to] =
            [(Region::Statics, 7), (Region::Control, u64::MAX)].map(|(region, offset)| Position { region, offset });
        let asks = [
            Ask::Amo { at, width: Width::Four, amo: Amo::CompareSwap { cond: 3, value: 9 } },
            Ask::Put { to, signal: Some((at, SignalUpdate::Add(5))) },
            Ask::Put { to: at, signal: Some((to, SignalUpdate::Set(6))) },
            Ask::Put { to, signal: None },
            Ask::Keys { region: Region::Control, from: 2 },
            Ask::Mark,
            Ask::Bye,
            Ask::Many,
        ];
        for (i, ask) in asks.into_iter().enumerate() {
            let question = AskMessage { pe: 70_000, number: 1 << 40, ask, answered: i % 2 == 0 };
            assert_eq!(AskMessage::decode(&question.encode()), Some(question));
        }
        let wrong = OutOfRange { region: Region::Control, offset: 1, bytes: 2, registered: 3 };
        for outcome in [Ok(u64::MAX), Err(wrong)] {
            let answer = AnswerMessage { pe: 70_000, number: 8, outcome };
            assert_eq!(AnswerMessage::decode(&answer.encode()), Some(answer));
        }
        for garbage in [&[0xFF; HEADER][..], &[], &[0; HEADER - 1]] {
            assert_eq!(AskMessage::decode(garbage), None);
        }
    }
}
