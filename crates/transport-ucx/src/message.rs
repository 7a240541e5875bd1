//! The active messages between PEs: questions to a serving worker, and its answers. The header of each is a message as all providers
//! have it, and the PE that sends it.

use oxshmem_transport::{ActiveMessage, MessageContent, OutOfRange, Position, Region, TargetTask};

/// Kinds of active messages, as UCX numbers them.
pub(crate) const ASK: u32 = 1;
pub(crate) const ANSWER: u32 = 2;

/// Bytes of the header of either kind.
pub(crate) const HEADER: usize = ActiveMessage::BYTES + size_of::<u32>();

/// Kinds of questions that are no tasks.
const KEYS: u8 = 0;
const BYE: u8 = 1;
const MANY: u8 = 2;

/// A question.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ask {
    /// A task. The data of a put come with it.
    Task(TargetTask),
    /// The keys of a region, from the one with this number on.
    Keys { region: Region, from: u64 },
    /// The asking PE will ask no more.
    Bye,
    /// The questions that come with it as data, in a batch. Answers come so, too.
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
    #[inline(always)]
    pub(crate) fn encode(&self) -> [u8; HEADER] {
        let own = |kind, region, offset| MessageContent::Own(kind, Position { region, offset });
        let content = match self.ask {
            Ask::Task(task) => MessageContent::Ask(task),
            Ask::Keys { region, from } => own(KEYS, region, from),
            Ask::Bye => own(BYE, Region::Heap, 0),
            Ask::Many => own(MANY, Region::Heap, 0),
        };
        encode(self.pe, ActiveMessage { number: self.number, answered: self.answered, content })
    }

    pub(crate) fn decode(header: &[u8]) -> Option<Self> {
        let (pe, ActiveMessage { number, answered, content }) = decode(header)?;
        let ask = match content {
            MessageContent::Ask(task) => Ask::Task(task),
            MessageContent::Own(KEYS, Position { region, offset }) => Ask::Keys { region, from: offset },
            MessageContent::Own(BYE, _) => Ask::Bye,
            MessageContent::Own(MANY, _) => Ask::Many,
            MessageContent::Own(..) | MessageContent::Answer(_) => return None,
        };
        Some(Self { pe, number, ask, answered })
    }

    /// The question that a message of a batch is, and its data.
    pub(crate) fn split(message: &[u8]) -> Option<(Self, &[u8])> {
        let (header, data) = message.split_at_checked(HEADER)?;
        Some((Self::decode(header)?, data))
    }
}

/// The answer of a PE to the question of this number; keys and the bytes of a get come with it as data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AnswerMessage {
    pub(crate) pe: u32,
    pub(crate) number: u64,
    /// The old value of an atomic, otherwise zero.
    pub(crate) outcome: Result<u64, OutOfRange>,
}

impl AnswerMessage {
    pub(crate) fn encode(&self) -> [u8; HEADER] {
        let content = MessageContent::Answer(self.outcome);
        encode(self.pe, ActiveMessage { number: self.number, answered: false, content })
    }

    #[inline(always)]
    pub(crate) fn decode(header: &[u8]) -> Option<Self> {
        let (pe, ActiveMessage { number, content, .. }) = decode(header)?;
        let MessageContent::Answer(outcome) = content else { return None };
        Some(Self { pe, number, outcome })
    }

    /// The answer that a message of a batch is, and its data.
    pub(crate) fn split(message: &[u8]) -> Option<(Self, &[u8])> {
        let (header, data) = message.split_at_checked(HEADER)?;
        Some((Self::decode(header)?, data))
    }
}

#[inline(always)]
fn encode(pe: u32, message: ActiveMessage) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..ActiveMessage::BYTES].copy_from_slice(&message.encode());
    header[ActiveMessage::BYTES..].copy_from_slice(&pe.to_le_bytes());
    header
}

fn decode(header: &[u8]) -> Option<(u32, ActiveMessage)> {
    let (message, pe) = ActiveMessage::decode(header)?;
    Some((u32::from_le_bytes(pe.try_into().ok()?), message))
}

#[cfg(test)]
mod tests {
    use oxshmem_transport::{Amo, Width};

    use super::*;

    #[test]
    fn messages_survive_and_garbage_does_not() {
        let at = Position { region: Region::Statics, offset: 7 };
        let asks = [
            Ask::Task(TargetTask::Amo { at, width: Width::Four, amo: Amo::Add(9) }),
            Ask::Keys { region: Region::Control, from: 2 },
            Ask::Bye,
            Ask::Many,
        ];
        for (i, ask) in asks.into_iter().enumerate() {
            let question = AskMessage { pe: 70_000, number: 1 << 40, ask, answered: i % 2 == 0 };
            let header = question.encode();
            assert_eq!(AskMessage::decode(&header), Some(question));
            assert_eq!(AnswerMessage::decode(&header), None);
            assert_eq!(AskMessage::split(&[&header[..], b"data"].concat()), Some((question, &b"data"[..])));
            assert_eq!(AskMessage::split(&header), Some((question, &b""[..])));
            assert_eq!(AskMessage::split(&header[1..]), None);
        }
        let wrong = OutOfRange { region: Region::Control, offset: 1, bytes: 2, registered: 3 };
        for outcome in [Ok(u64::MAX), Err(wrong)] {
            let answer = AnswerMessage { pe: 70_000, number: 8, outcome };
            let header = answer.encode();
            assert_eq!(AnswerMessage::decode(&header), Some(answer));
            assert_eq!(AnswerMessage::split(&[&header[..], b"data"].concat()), Some((answer, &b"data"[..])));
            assert_eq!(AnswerMessage::split(&header[1..]), None);
            assert_eq!(AskMessage::decode(&header), None);
        }
        let last = AskMessage { pe: 0, number: 0, ask: Ask::Many, answered: true }.encode();
        let (mut unknown, mut nowhere) = (last, last);
        unknown[0] += 1;
        nowhere[1] = 3;
        let long = [&last[..], &[0]].concat();
        for garbage in [&unknown[..], &nowhere, &long, &last[1..], &[0xFF; HEADER], &[0; HEADER], &[]] {
            assert_eq!(AskMessage::decode(garbage), None);
            assert_eq!(AnswerMessage::decode(garbage), None);
        }
    }
}
