//! Which operations of a lane are messages to the target's processor.

use std::ptr;

use super::requester::Requester;
use crate::{Busy, LONGEST_GET, TargetTask};

/// How atomics, and puts with signals, are made of messages.
pub(super) struct ByMessages {
    pub(super) requester: Requester,
    /// They follow the puts: then a fence waits for nothing, and a put only for the answers of those on its PE that were sent before
    /// the last fence.
    pub(super) follows: bool,
    /// Which operations that need no old value go unacknowledged.
    pub(super) unacknowledged: Unacknowledged,
    /// Puts that fit a message go so, too. The others are messages in a batch, or where they would have to wait for messages.
    pub(super) skips_put_acknowledgements: bool,
}

/// Which operations without an old value go unacknowledged.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unacknowledged {
    None,
    /// Those that join a batch. One that goes alone has its answer under way before its caller waits for it.
    Batches,
    All,
}

impl ByMessages {
    /// The requester, if a put of `n` bytes to this PE goes by message. A put that would have to wait for messages
    /// before it does, because messages stay in order by themselves; so does one that joins a batch.
    pub(super) fn sends_put(&self, pe: u32, n: usize) -> Option<&Requester> {
        let requester = &self.requester;
        let fits = self.unacknowledged != Unacknowledged::None && (1..=requester.service.longest_put()).contains(&n);
        let waits = || self.follows && requester.may_be_overtaken(pe) || requester.service.gathers(pe, n);
        (fits && (self.skips_put_acknowledgements || waits())).then_some(requester)
    }

    /// The requester, if a get of `n` bytes goes by message: several share one where messages gather, and so do the answers.
    pub(super) fn sends_get(&self, n: usize) -> Option<&Requester> {
        let service = &self.requester.service;
        (service.gathers && (1..=LONGEST_GET.min(service.longest_put())).contains(&n)).then_some(&self.requester)
    }

    /// Asks the PE to do something that needs no old value.
    pub(super) fn request(&self, pe: u32, task: TargetTask, data: &[u8]) -> Result<(), Busy> {
        let skips = match self.unacknowledged {
            Unacknowledged::None => false,
            Unacknowledged::Batches => self.requester.service.gathers(pe, data.len()),
            Unacknowledged::All => true,
        };
        if skips {
            return self.requester.send_unacknowledged(pe, task, data);
        }
        // SAFETY: null asks for no old value.
        unsafe { self.requester.ask(pe, task, data, ptr::null_mut()) }
    }
}
