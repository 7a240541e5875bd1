//! Atomics on other PEs are letters that the target's processor executes: they are atomic against the processors of the
//! target's node, which on-node PEs use for the same words. A card's own atomics are not, and a provider that makes them
//! in software does not say how; so these are used for all atomics of a job or for none (`atomic`).

use std::sync::Arc;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_transport::software::Messages;

use crate::message::Message;
use crate::progress::Net;

/// The letters of this PE.
pub(crate) struct Mail(pub(crate) Arc<Net>);

impl Messages for Mail {
    fn send(&self, pe: u32, message: &[u8]) -> Result<(), Error> {
        let mut engine = self.0.lock();
        if pe == self.0.me {
            engine.mail.push_back((pe, message.to_vec()));
            return Ok(());
        }
        engine.address(pe)?;
        engine.send(pe, &Message::Letter(message.to_vec()));
        engine.broken.clone().map_or(Ok(()), Err)
    }

    fn receive(&self, patience: Duration) -> Option<(u32, Vec<u8>)> {
        if patience.is_zero() { self.0.letter() } else { self.0.rest(patience) }
    }

    fn follow_puts(&self) -> bool {
        self.0.messages_follow
    }
}
