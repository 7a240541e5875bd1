//! Several messages in one batch: its kind, then each message behind its length.

/// No [`ActiveMessage`](crate::ActiveMessage) begins so.
pub(super) const KIND: u8 = 7;
const LENGTH: usize = size_of::<u32>();

/// Adds a message to a batch, which begins empty.
pub(super) fn add(batch: &mut Vec<u8>, message: &[u8]) {
    if batch.is_empty() {
        batch.push(KIND);
    }
    batch.extend_from_slice(&(message.len() as u32).to_le_bytes());
    batch.extend_from_slice(message);
}

/// The length of a batch when the message has been added.
pub(super) fn length(batch: &[u8], message: &[u8]) -> usize {
    batch.len().max(1) + LENGTH + message.len()
}

/// The messages of a batch behind its kind, up to the first that is not there as a whole.
pub(super) fn messages(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, behind) = rest.split_at_checked(LENGTH)?;
        let length = u32::from_le_bytes(length.try_into().ok()?);
        let (message, behind) = behind.split_at_checked(usize::try_from(length).ok()?)?;
        rest = behind;
        Some(message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ActiveMessage;

    #[test]
    fn batches_end_where_one_is_cut() {
        let mut batch = Vec::new();
        for message in [&b"one"[..], b"", b"three"] {
            let length = length(&batch, message);
            add(&mut batch, message);
            assert_eq!(batch.len(), length);
        }
        let all = |batch: &[u8]| messages(&batch[1..]).map(<[u8]>::len).collect::<Vec<_>>();
        assert_eq!(all(&batch), [3, 0, 5]);
        assert_eq!(all(&batch[..batch.len() - 1]), [3, 0]);
        assert_eq!(all(&batch[..3]), []);
    }

    #[test]
    fn a_batch_is_no_message() {
        let mut message = [0; ActiveMessage::BYTES];
        message[0] = KIND;
        assert_eq!(ActiveMessage::decode(&message), None);
    }
}
