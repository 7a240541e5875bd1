//! Questions that travel in one message: each is its header, the length of its data, and the data.

use crate::message::{AskMessage, HEADER};

const LENGTH: usize = size_of::<u32>();

/// Adds a question.
pub(crate) fn add(batch: &mut Vec<u8>, header: &[u8; HEADER], data: &[u8]) {
    batch.extend_from_slice(header);
    batch.extend_from_slice(&(data.len() as u32).to_le_bytes());
    batch.extend_from_slice(data);
}

/// The questions of a message, up to the first that is none.
pub(crate) struct Batch<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Batch<'a> {
    type Item = (AskMessage, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (header, rest) = self.0.split_at_checked(HEADER)?;
        let (length, rest) = rest.split_at_checked(LENGTH)?;
        let length = u32::from_le_bytes(length.try_into().ok()?);
        let (data, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        let question = AskMessage::decode(header)?;
        self.0 = rest;
        Some((question, data))
    }
}

#[cfg(test)]
mod tests {
    use oxshmem_transport::{Position, Region, TargetTask};

    use super::*;
    use crate::message::Ask;

    #[test]
    fn requests_come_out_as_they_went_in_and_garbage_ends_them() {
        let to = Position { region: Region::Heap, offset: 64 };
        let ask = Ask::Task(TargetTask::Put { to, signal: None });
        let question = |number| AskMessage { pe: 3, number, ask, answered: false };
        let mut batch = Vec::new();
        add(&mut batch, &question(7).encode(), b"seven");
        add(&mut batch, &question(8).encode(), b"");
        let whole: Vec<_> = Batch(&batch).collect();
        assert_eq!(whole, [(question(7), &b"seven"[..]), (question(8), &b""[..])]);
        let second = batch.len() - HEADER - LENGTH;
        for end in [batch.len() - 1, second + HEADER, second + 1] {
            let mut cut = Batch(&batch[..end]);
            assert_eq!(cut.by_ref().count(), 1, "{end}");
            assert!(!cut.0.is_empty());
        }
        batch[second] = 0xFF;
        assert_eq!(Batch(&batch).count(), 1);
    }
}
