//! A message: 64-bit words, each of 32 bits of content and 32 bits that say in which run it was sent.

use core::sync::atomic::{AtomicU64, Ordering::Acquire};
use oxshmem_base::planted;

use oxshmem_schedule::step::Place;
pub(super) use oxshmem_schedule::way::size_limits::{MESSAGE_HEAD as HEAD, WORD_CONTENT as CONTENT};

use crate::collectives::signature::Signature;
use crate::memory::control::leaders::MAILBOX_WORDS;

/// The length in the head of a message whose content is where it belongs.
pub(super) const IN_PLACE: usize = u16::MAX as usize;
const _: () = assert!(MAILBOX_WORDS * CONTENT < IN_PLACE, "the head has 16 bits for the length");

/// The greatest offset that the word of the place has bits for. What goes further behind the start of an array is put there.
pub(super) const MOST_OFFSET: usize = (u32::MAX >> 1) as usize;

/// Whether a message for this offset, with a content of so many bytes, fits a mailbox of so many words.
pub(super) fn fits(mailbox: usize, offset: usize, bytes: usize) -> bool {
    length(bytes) <= mailbox && offset <= MOST_OFFSET
}

/// Where the content of a message belongs, which its second word says: the place, and the offset in it.
pub(super) fn destination_of(word: u64) -> (Place, usize) {
    let place = if word >> 31 & 1 == 1 { Place::Dest } else { Place::Scratch };
    (place, word as usize & MOST_OFFSET)
}

pub(super) fn head(stamp: u32, signature: Signature, length: usize) -> u64 {
    u64::from(stamp) << 32 | u64::from(signature.bits()) << 16 | length as u64
}

/// Writes a message; returns how many words it has.
pub(super) fn write(
    message: &mut [u64],
    stamp: u32,
    signature: Signature,
    (place, offset): (Place, usize),
    content: &[u8],
) -> usize {
    message[0] = head(stamp, signature, content.len());
    let stamp = u64::from(stamp) << 32;
    let length = length(content.len());
    if length > 1 {
        debug_assert!(offset <= MOST_OFFSET, "{offset}");
        message[1] = stamp | u64::from(place == Place::Dest) << 31 | offset as u64;
        for (word, bytes) in message[HEAD..].iter_mut().zip(content.chunks(CONTENT)) {
            let mut content = [0_u8; CONTENT];
            content[..bytes.len()].copy_from_slice(bytes);
            *word = stamp | u64::from(u32::from_le_bytes(content));
        }
    }
    length
}

/// Words of a message with a content of so many bytes.
pub(super) fn length(bytes: usize) -> usize {
    if bytes == 0 { 1 } else { HEAD + bytes.div_ceil(CONTENT) }
}

/// The bytes of the message in a mailbox, or [`IN_PLACE`], if all of it is there; or the call that its sender is in, if that is
/// another one, or one whose message does not fit the mailbox.
pub(super) fn arrived(mailbox: &[AtomicU64], stamp: u32, signature: Signature) -> Result<Option<usize>, Signature> {
    let stamped = |word: u64| word >> 32 == u64::from(stamp);
    let head = mailbox[0].load(Acquire);
    if !stamped(head) {
        return Ok(None);
    }
    let theirs = Signature::from_bits((head >> 16) as u16);
    let bytes = usize::from(head as u16);
    if bytes == IN_PLACE && theirs == signature {
        return Ok(Some(IN_PLACE));
    }
    let rest = mailbox.get(1..length(bytes)).filter(|_| theirs == signature).ok_or(theirs)?;
    let proves_itself = |word: &AtomicU64| planted!("message-by-its-head", stamped(word.load(Acquire)), true);
    Ok(rest.iter().all(proves_itself).then_some(bytes))
}
