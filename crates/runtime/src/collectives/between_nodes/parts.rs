//! An exchange of parts, one from every node of a team for every other one, eagerly into gather buffers.
//!
//! The members of a node write their share of each part into their leader's outgoing buffer, and count in. The leaders exchange the
//! parts, which arrive in the gather buffer. Both buffers belong to one exchange.

use oxshmem_schedule::step::Plan;
use oxshmem_schedule::way::PartExchange;
use oxshmem_schedule::way::size_limits::PART_HEAD;

use super::channel::Exchange;
use super::{NO_SHARE, There, run_schedule};
use crate::collectives::call::Call;
use crate::collectives::run::Arrays;
use crate::collectives::signature::{number_of, signature_of};
use crate::teams::span::Span;

/// The gather buffers of an exchange of parts.
pub(super) struct NodeParts<'a> {
    call: Call<'a>,
    span: &'a Span,
    with: PartExchange,
    exchange: Exchange<'a>,
    outgoing: *mut u8,
    incoming: *mut u8,
}

impl<'a> NodeParts<'a> {
    /// The exchange begins, in the buffers that the team has leased.
    pub(super) fn begin(call: Call<'a>, span: &'a Span, with: PartExchange) -> Self {
        let exchange = Exchange::begin(call, span);
        let (outgoing, incoming) = (exchange.outgoing(), exchange.gather());
        Self { call, span, with, exchange, outgoing, incoming }
    }

    /// [`Exchange::name_source`], where the leader writes the shares of its members.
    pub(super) fn name_source(&self, source: *const u8) {
        self.exchange.name_source(source);
    }

    /// [`Exchange::compare_sources`].
    pub(super) fn compare_sources(&self, source: *const u8) {
        self.exchange.compare_sources(source);
    }

    /// The caller has laid down its share of the parts.
    pub(super) fn count_in(&self) {
        self.exchange.count_in();
    }

    /// A leader lets its members read the parts that have come.
    pub(super) fn release(&self) {
        self.exchange.release();
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

    /// The leaders exchange the parts. Where other members of the job are in another call, it ends with a message.
    ///
    /// # Safety
    /// All members of the node have laid down what they bring, and have counted in.
    pub(super) unsafe fn exchange(&self) {
        let Self { call, span, with: PartExchange { part, schedule }, .. } = *self;
        let (leads, stamp) = (call.team.my == span.my_leader(), self.exchange.stamp());
        let head = |buffer, node| self.at(buffer, node).cast::<u64>();
        if leads {
            // SAFETY: the gather buffer is this leader's and has room for the parts, each of which begins at a multiple of 16.
            (0..span.nodes()).for_each(|node| unsafe { head(self.outgoing, node).write(stamp) });
        }
        let room = part as usize * span.nodes() as usize;
        let plan = Plan::new(span.nodes(), part);
        let arrays = Arrays { dest: self.incoming, room, source: self.outgoing, ..Arrays::NONE };
        // SAFETY: everything has been laid down; no member looks at what comes before the release.
        let in_flight = unsafe { run_schedule(call, span, schedule, plan, NO_SHARE, arrays, There::Buffer) };
        in_flight.complete_locally(call);
        if leads {
            // SAFETY: the network has written all parts of this leader's gather buffer, each with its head.
            let theirs = |node: u32| unsafe { head(self.incoming, node).read() };
            if let Some(node) = (0..span.nodes()).find(|&node| theirs(node) != stamp) {
                // A part of another length lies elsewhere, so that there is no head here.
                if number_of(theirs(node)) != self.exchange.number() {
                    call.differs_from(span.leader(node));
                }
                call.differs(Some(span.leader(node)), signature_of(theirs(node)).after(call.team.posted()));
            }
        }
    }
}
