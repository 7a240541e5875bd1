//! An exchange of parts, one from every node of a team for every other one, eagerly into gather buffers.
//!
//! The members of a node write their share of each part into their leader's outgoing buffer, and count in. The leaders exchange the
//! parts, which arrive in the gather buffer. Both buffers belong to one exchange and are written again two exchanges later, as
//! lines are: a leader ends the exchange when it has every part, and so when all leaders have entered it.

use oxshmem_base::planted;
use oxshmem_schedule::step::Plan;
use oxshmem_schedule::way::PartExchange;
use oxshmem_schedule::way::room::PART_HEAD;

use super::{NO_SHARE, There, run_schedule};
use crate::collectives::call::Call;
use crate::collectives::run::Arrays;
use crate::collectives::signature::{number_of, signature_of};
use crate::memory::control;
use crate::teams::span::Span;

/// The gather buffers of an exchange of parts.
pub(super) struct NodeParts<'a> {
    call: Call<'a>,
    span: &'a Span,
    with: PartExchange,
    /// The number of the exchange.
    number: u64,
    outgoing: *mut u8,
    incoming: *mut u8,
}

impl<'a> NodeParts<'a> {
    /// The exchange begins, in the buffers that the team has leased.
    pub(super) fn begin(call: Call<'a>, span: &'a Span, with: PartExchange) -> Self {
        let set = call.team.buffers.number().unwrap_or_else(|| unreachable!("parts go to leased buffers"));
        let number = call.team.next_exchange();
        let parity = planted!("part-parity", number as usize & 1, 0);
        let window = call.team.window(span.my_leader());
        let outgoing = control::outgoing(window, set, parity);
        let incoming = control::buffers(window, set).gather(parity);
        Self { call, span, with, number, outgoing, incoming }
    }

    /// The number of the exchange.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    fn at(&self, buffer: *mut u8, node: u32) -> *mut u8 {
        buffer.wrapping_add(node as usize * self.with.part as usize)
    }

    /// The part that goes to a node.
    pub(super) fn to(&self, node: u32) -> *mut u8 {
        self.at(self.outgoing, node).wrapping_add(PART_HEAD)
    }

    /// The part that has come from a node.
    pub(super) fn from(&self, node: u32) -> *const u8 {
        self.at(self.incoming, node).wrapping_add(PART_HEAD)
    }

    /// The leaders exchange the parts. Where other members of the job are in another call, it ends with a sentence.
    ///
    /// # Safety
    /// All members of the node have laid down what they bring, and have counted in.
    pub(super) unsafe fn exchange(&self) {
        let Self { call, span, with: PartExchange { part, schedule }, .. } = *self;
        let (leads, stamp) = (call.team.my == span.my_leader(), call.signature.stamp(self.number));
        let head = |buffer, node| self.at(buffer, node).cast::<u64>();
        if leads {
            // SAFETY: the gather buffer is this leader's and has room for the parts, each of which begins at a multiple of 16.
            (0..span.nodes()).for_each(|node| unsafe { head(self.outgoing, node).write(stamp) });
        }
        let room = part as usize * span.nodes() as usize;
        let plan = Plan::new(span.nodes(), part);
        let arrays = Arrays { dest: self.incoming, room, source: self.outgoing, ..Arrays::NONE };
        // SAFETY: everything has been laid down; nobody looks at what comes before the release.
        let in_flight =
            unsafe { run_schedule(call, span, schedule, plan, NO_SHARE, arrays, There::of_buffer(self.incoming)) };
        in_flight.complete_locally(call);
        if leads {
            // SAFETY: the network has written all parts of this leader's gather buffer, each with its head.
            let theirs = |node: u32| unsafe { head(self.incoming, node).read() };
            if let Some(node) = (0..span.nodes()).find(|&node| theirs(node) != stamp) {
                // A part of another length lies elsewhere, so that there is no head here.
                if number_of(theirs(node)) != self.number {
                    call.differs_from(span.leader(node));
                }
                call.differs(Some(span.leader(node)), signature_of(theirs(node)));
            }
        }
    }
}
