//! How the network reaches the memory of another PE: a question in shared memory, which that PE's service thread answers.
//!
//! Only the holder of the turn asks, so there is one question at a time. The service thread does nothing else, so a PE that
//! computes, polls its memory or sleeps is served as by a network card.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use oxshmem_os::futex;
use oxshmem_transport::{Amo, OutOfRange, RegisteredMemory, Remote, Width};

use crate::arena::{DIED, NetworkSlot, ring};
use crate::mailbox::{AMO, ASKED, DONE, GET, IDLE, MOST_BYTES, OUT_OF_RANGE, PUT};
use crate::watch;

/// An access to the memory of a PE.
pub(crate) enum MemoryAccess<'b> {
    Put(&'b [u8]),
    Get(&'b mut [u8]),
    /// Updates an object; the old value comes back.
    Amo(Width, Amo),
}

impl NetworkSlot {
    /// Asks for an access, and waits for it. Returns the old value of an atomic. `None`: the PE has died or left.
    ///
    /// Longer accesses than [`MOST_BYTES`] are several questions; nobody else runs in between.
    pub(crate) fn ask(&self, to: Remote, access: MemoryAccess<'_>) -> Option<Result<u64, OutOfRange>> {
        let part_at = |at| Remote { offset: to.offset.saturating_add(at), ..to };
        match access {
            MemoryAccess::Put(bytes) => {
                for (at, part) in (0..).step_by(MOST_BYTES).zip(bytes.chunks(MOST_BYTES)) {
                    self.mailbox.write(part);
                    if let wrong @ Err(_) = self.question(PUT, part_at(at), part.len() as u64, [0; 2], 0)? {
                        return Some(wrong);
                    }
                }
                Some(Ok(0))
            }
            MemoryAccess::Get(bytes) => {
                for (at, part) in (0..).step_by(MOST_BYTES).zip(bytes.chunks_mut(MOST_BYTES)) {
                    if let wrong @ Err(_) = self.question(GET, part_at(at), part.len() as u64, [0; 2], 0)? {
                        return Some(wrong);
                    }
                    self.mailbox.read(part);
                }
                Some(Ok(0))
            }
            MemoryAccess::Amo(width, amo) => {
                let (kind, value, cond) = amo.to_parts();
                self.question(AMO, to, kind.into(), [value, cond], width.bytes() as u32)
            }
        }
    }

    fn question(
        &self,
        kind: u32,
        Remote { region, offset, .. }: Remote,
        count: u64,
        operands: [u64; 2],
        width: u32,
    ) -> Option<Result<u64, OutOfRange>> {
        let mailbox = &self.mailbox;
        mailbox.kind.store(kind, Relaxed);
        mailbox.region.store(region as u32, Relaxed);
        mailbox.width.store(width, Relaxed);
        mailbox.offset.store(offset, Relaxed);
        mailbox.count.store(count, Relaxed);
        mailbox.operands.iter().zip(operands).for_each(|(word, operand)| word.store(operand, Relaxed));
        mailbox.state.store(ASKED, Release);
        ring(&self.bell);
        loop {
            match mailbox.state.load(Acquire) {
                DONE => break mailbox.state.store(IDLE, Relaxed),
                OUT_OF_RANGE => {
                    mailbox.state.store(IDLE, Relaxed);
                    let bytes = if kind == AMO { width as usize } else { count as usize };
                    let registered = mailbox.count.load(Relaxed) as usize;
                    return Some(Err(OutOfRange { region, offset, bytes, registered }));
                }
                state => {
                    if self.over.load(Relaxed) != 0 {
                        return None;
                    }
                    if !futex::wait(&mailbox.state, state, Some(watch::LOOK))
                        && watch::is_dead(self.process.load(Relaxed))
                    {
                        self.over.store(DIED, Relaxed);
                        return None;
                    }
                }
            }
        }
        Some(Ok(mailbox.operands[0].load(Relaxed)))
    }

    /// Answers the question in the mailbox, if there is one.
    pub(crate) fn answer(&self, memory: &RegisteredMemory) {
        let mailbox = &self.mailbox;
        if mailbox.state.load(Acquire) != ASKED {
            return;
        }
        let answer = mailbox.access(memory);
        let state = match answer {
            Ok(value) => {
                mailbox.operands[0].store(value, Relaxed);
                DONE
            }
            Err(OutOfRange { registered, .. }) => {
                mailbox.count.store(registered as u64, Relaxed);
                OUT_OF_RANGE
            }
        };
        mailbox.state.store(state, Release);
        futex::wake(&mailbox.state, 1);
    }
}
