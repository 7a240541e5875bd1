//! Several messages in one batch: each behind its length.

const LENGTH: usize = size_of::<u32>();

/// Adds a message, which has two parts, to a batch.
#[inline]
pub fn add(batch: &mut Vec<u8>, head: &[u8], data: &[u8]) {
    batch.extend_from_slice(&((head.len() + data.len()) as u32).to_le_bytes());
    batch.extend_from_slice(head);
    batch.extend_from_slice(data);
}

/// The length of a batch of `before` bytes when a message of `n` bytes has been added.
pub const fn length(before: usize, n: usize) -> usize {
    before + LENGTH + n
}

/// The messages of a batch, up to the first that is not there as a whole, and the bytes from there on.
pub struct Batch<'a>(pub &'a [u8]);

impl<'a> Iterator for Batch<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk::<LENGTH>()?;
        let (message, rest) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
        self.0 = rest;
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_end_where_one_is_cut() {
        let mut batch = Vec::new();
        let messages: [(&[u8], &[u8]); 3] = [(b"on", b"e"), (b"", b""), (b"", b"three")];
        for (head, data) in messages {
            let length = length(batch.len(), head.len() + data.len());
            add(&mut batch, head, data);
            assert_eq!(batch.len(), length);
        }
        assert_eq!(Batch(&batch).collect::<Vec<_>>(), [&b"one"[..], b"", b"three"]);
        for (end, whole) in [(batch.len() - 1, 2), (LENGTH + 3, 1), (LENGTH + 2, 0), (LENGTH - 1, 0)] {
            let mut cut = Batch(&batch[..end]);
            assert_eq!(cut.by_ref().count(), whole, "{end}");
            assert_eq!(cut.0.is_empty(), end == LENGTH + 3, "{end}");
        }
    }
}
