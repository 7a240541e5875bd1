//! Each member's line reaches all members, in a gather buffer of each leader.
//!
//! A gather buffer has room for a number of lines. More lines go in batches, each of which is an exchange of its own in which all
//! meet: some members bring their lines, and all take these before the next batch comes. So no gather buffer grows with the job.

use core::ops::Range;
use core::ptr;

use oxshmem_transport::{Region, Remote};

use oxshmem_schedule::way::Reach;

use super::channel::Exchange;
use super::{HEADER, There, buffer_leases, gather_parts, gathering, leaders_meet};
use crate::collectives::call::Call;
use crate::collectives::limits::SHORT;
use crate::collectives::signature::signature_of;
use crate::memory::control::leaders::{GATHER, SMALL_GATHER};
use crate::memory::control::{self, PAYLOAD_WORDS};
use crate::network::lane;
use crate::teams::span::Span;

/// The members that bring their lines together. In a gather buffer there is, for each node with such members, a header and their
/// lines.
struct LineBatch<'a> {
    span: &'a Span,
    members: Range<u32>,
    /// Bytes of a line.
    width: usize,
    /// For each node, and for their number: where its bytes begin, and how many of its members come before the batch.
    /// `None`: all members of the team bring a line.
    nodes: Option<Vec<(usize, u32)>>,
}

impl<'a> LineBatch<'a> {
    /// The batches of an exchange of lines of `width` bytes, none of which is longer than `room`.
    fn all(span: &'a Span, width: usize, room: usize) -> impl Iterator<Item = Self> {
        let (size, headers) = (span.start(span.nodes()), span.nodes() as usize * HEADER);
        // There are at most as many headers as nodes, and as lines.
        let lines = (room.saturating_sub(headers) / width).max(room / (width + HEADER)) as u32;
        (0..size).step_by(lines as usize).map(move |first| {
            let members = first..size.min(first + lines);
            let nodes = (members.len() < size as usize).then(|| Self::nodes(span, &members, width));
            Self { span, members, width, nodes }
        })
    }

    fn nodes(span: &Span, members: &Range<u32>, width: usize) -> Vec<(usize, u32)> {
        let mut end = 0;
        let places = (0..span.nodes()).map(|node| {
            let skipped = span.before(node, members.start);
            let lines = (span.before(node, members.end) - skipped) as usize;
            let start = end;
            end += if lines > 0 { HEADER + lines * width } else { 0 };
            (start, skipped)
        });
        let mut nodes: Vec<_> = places.collect();
        nodes.push((end, 0));
        nodes
    }

    /// Where a node's bytes begin; of the number of nodes, the end.
    fn start(&self, node: u32) -> usize {
        match &self.nodes {
            Some(nodes) => nodes[node as usize].0,
            None => node as usize * HEADER + self.span.start(node) as usize * self.width,
        }
    }

    fn brings(&self, node: u32) -> bool {
        self.start(node) < self.start(node + 1)
    }

    /// Where the line of a member begins, which is one of the batch.
    fn line(&self, member: u32) -> usize {
        let node = self.span.node_of(member);
        let skipped = self.nodes.as_ref().map_or(0, |nodes| nodes[node as usize].1);
        let line = self.span.place(member) - self.span.start(node) - skipped;
        self.start(node) + HEADER + line as usize * self.width
    }
}

/// See `collectives::node_exchange`.
#[cold]
pub(crate) fn exchange(
    call: Call<'_>,
    span: &Span,
    payload: &[u64],
    mut visit: impl FnMut(u32, &[u64; PAYLOAD_WORDS]),
) {
    if payload.is_empty() {
        let exchange = Exchange::begin(call, span);
        exchange.count_in();
        leaders_meet(call, span);
        return exchange.release();
    }
    let width = 8 * payload.len();
    let bytes = call.team.size as usize * width + span.nodes() as usize * HEADER;
    // Shorter lines go in inline messages.
    let set = if bytes > SHORT { buffer_leases::buffers(call, span) } else { call.team.buffers.number() };
    let room = if set.is_some() { GATHER } else { SMALL_GATHER };
    for batch in LineBatch::all(span, width, room) {
        exchange_batch(call, &batch, set, payload, &mut visit);
    }
}

fn exchange_batch(
    call: Call<'_>,
    batch: &LineBatch<'_>,
    set: Option<u32>,
    payload: &[u64],
    visit: &mut impl FnMut(u32, &[u64; PAYLOAD_WORDS]),
) {
    let (team, span, width) = (call.team, batch.span, batch.width);
    let exchange = Exchange::begin(call, span);
    exchange.write_line(payload);
    exchange.count_in();
    let buffer = if set.is_some() { exchange.gather() } else { exchange.small_gather() };
    let header = |node: u32| buffer.wrapping_add(batch.start(node)).cast::<u64>();
    let entry = |member: u32| buffer.wrapping_add(batch.line(member));
    let reach = if set.is_some() { Reach::Results } else { Reach::Nothing };
    let start = |node: u32| batch.start(node) as u64;
    let way = gathering(call, span, start, reach);
    let stamp = exchange.stamp();
    if team.my == span.my_leader() && batch.brings(span.node()) {
        // SAFETY: the gather buffer is this leader's, has room for the batch, and a node's bytes begin at a multiple of 8.
        unsafe { header(span.node()).write(stamp) };
        for member in span.here().filter(|member| batch.members.contains(member)) {
            let entry = entry(member);
            // SAFETY: the member has counted in; the gather buffer has room for the batch, of which this line is one.
            exchange.read_line(member, |line| unsafe {
                ptr::copy_nonoverlapping(line.as_ptr().cast(), entry, width);
            });
        }
    }
    match way {
        Some(way) => {
            let there = set.map_or(There::Nowhere, |_| There::Buffer);
            // SAFETY: the gather buffer has this node's bytes of the batch; no member looks at it before the release.
            let in_flight = unsafe { gather_parts(call, span, way, start, buffer, there) };
            in_flight.complete_locally(call);
            if team.my == span.my_leader() {
                // SAFETY: the network has written all nodes' bytes on this leader's gather buffer, each with its header.
                let theirs = |node: u32| unsafe { header(node).read() };
                let bring = (0..span.nodes()).filter(|&node| batch.brings(node));
                if let Some(node) = bring.into_iter().find(|&node| theirs(node) != stamp) {
                    call.differs(Some(span.leader(node)), signature_of(theirs(node)).after(team.posted()));
                }
            }
        }
        // The leaders have met, so all are in this batch.
        None => fetch_lines(call, batch, &exchange, entry),
    }
    exchange.release();
    for member in batch.members.clone() {
        let mut line = [0; PAYLOAD_WORDS];
        // SAFETY: the gather buffer has this line until all members here have entered the next exchange.
        unsafe { ptr::copy_nonoverlapping(entry(member), line.as_mut_ptr().cast(), width) };
        visit(member, &line);
    }
}

/// Each leader fetches the lines of other nodes' members from where they wrote them.
fn fetch_lines(call: Call<'_>, batch: &LineBatch<'_>, exchange: &Exchange<'_>, entry: impl Fn(u32) -> *mut u8) {
    leaders_meet(call, batch.span);
    let team = call.team;
    if team.my != batch.span.my_leader() {
        return;
    }
    let line = exchange.read_line(team.my, |line| control::offset(line.as_ptr()));
    for member in batch.members.clone().filter(|&member| batch.span.node_of(member) != batch.span.node()) {
        let from = Remote { pe: team.world(member), region: Region::Control, offset: line };
        let entry = entry(member);
        // SAFETY: the line is in the slot; the gather buffer has room for it until `complete` has returned.
        lane::issue(call.name, |lane| unsafe { lane.get_nbi(entry, from, batch.width) });
    }
    lane::complete(call.name);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::between_nodes::{MOST_NODES, MOST_PES};

    /// Every member brings one line, and each has its own place inside of the room, behind the header of its node. Returns
    /// how many batches there are.
    fn check(span: &Span, width: usize, room: usize) -> usize {
        let (size, mut next, mut batches) = (span.start(span.nodes()), 0, 0);
        for batch in LineBatch::all(span, width, room) {
            assert_eq!(batch.members.start, next, "{width} {room}");
            (next, batches) = (batch.members.end, batches + 1);
            let end = batch.start(span.nodes());
            assert!(end <= room, "{end} of {room}");
            let headers = (0..span.nodes()).filter(|&node| batch.brings(node)).map(|node| (batch.start(node), HEADER));
            let lines = batch.members.clone().map(|member| {
                let (node, place) = (span.node_of(member), batch.line(member));
                assert!(place >= batch.start(node) + HEADER && place + width <= batch.start(node + 1));
                (place, width)
            });
            let mut places: Vec<(usize, usize)> = headers.chain(lines).collect();
            places.sort_unstable();
            assert!(places.iter().all(|(place, _)| place % 8 == 0));
            let filled = places.iter().fold(0, |filled, &(place, bytes)| {
                assert_eq!(place, filled, "a gap, or two in one place");
                place + bytes
            });
            assert_eq!(filled, end);
        }
        assert_eq!(next, size);
        batches
    }

    #[test]
    fn batches_have_every_line_once_and_fit_the_gather_buffer() {
        let layouts: [&dyn Fn(u32) -> u32; 4] =
            [&|pe| pe / 4, &|pe| pe % 5, &|pe| pe * pe % 7, &|pe| u32::from(pe > 0)];
        for size in [7, 30, 100] {
            for layout in layouts {
                let span = Span::of(size, layout(0), layout).expect("several nodes");
                for width in [8, 24, 56] {
                    for room in [64, 72, 640, SMALL_GATHER, GATHER] {
                        check(&span, width, room);
                    }
                    assert_eq!(check(&span, width, GATHER), 1, "{size} lines are one batch");
                }
            }
        }
    }

    #[test]
    fn the_largest_job_exchanges_in_batches() {
        let span = Span::of(MOST_PES, 0, |pe| pe % MOST_NODES).expect("several nodes");
        assert!(check(&span, 24, GATHER) > 100);
    }
}
