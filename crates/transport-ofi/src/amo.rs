//! Atomics on other PEs, and short puts with signals, are active messages that the target's processor executes: so atomics are atomic against
//! the processors of the target's node, which on-node PEs use for the same words. A card's own atomics are not, and a provider that
//! makes them in software does not say how; so these are used for all atomics of a job or for none (`atomic`).

use std::sync::Arc;

use oxshmem_transport::NotIssued;
use oxshmem_transport::software::Messages;

use crate::progress::Net;

/// The active messages of this PE.
pub(crate) struct OfiMessages(pub(crate) Arc<Net>);

impl Messages for OfiMessages {
    fn send(&self, pe: u32, message: &[u8]) -> Result<(), NotIssued> {
        let mut engine = self.0.lock();
        engine.address(pe)?;
        engine.send_active(pe, message);
        engine.broken().cloned().map_or(Ok(()), |error| Err(error.into()))
    }

    fn may_have_come(&self) -> bool {
        self.0.has_active_messages()
    }

    fn receive(&self) -> Option<(u32, Vec<u8>)> {
        self.0.active_message()
    }

    fn longest(&self) -> usize {
        self.0.longest_active_message
    }

    fn gather(&self) -> bool {
        !self.0.card && self.0.messages_follow && self.0.can_be_woken()
    }

    fn beat_puts(&self) -> bool {
        self.0.puts_are_acknowledged
    }

    fn follow_puts(&self) -> bool {
        self.0.messages_follow
    }
}
