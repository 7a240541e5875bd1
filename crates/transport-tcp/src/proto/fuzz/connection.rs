//! Both ends of a connection under a script: what they ask of each other, how many bytes arrive when, and when the
//! connection is cut and made again. Whatever the script, everything is executed once and in order.

use std::collections::VecDeque;

use oxshmem_transport::{Amo, Region, Width};

use super::{Sandbox, receive};
use crate::proto::codec::{Message, SMALL, Urgency};
use crate::proto::frame::MemoryRange;
use crate::proto::session::Session;
use crate::proto::{FrameReceiver, Host, OutputPiece};

/// Memory of an end that its peer reaches, and that it has for itself.
const SHARED: usize = 16 << 10;
const PRIVATE: usize = 64 << 10;

/// One end of a connection, with what its peer must have and answer in the end. `W`: what it has sent and the peer has not received.
pub(crate) struct End<W> {
    pub(crate) session: Session,
    pub(crate) receiver: FrameReceiver,
    pub(crate) host: Sandbox,
    /// The peer's memory when everything has been executed.
    model: Sandbox,
    /// Answers that must come.
    answers: Vec<(MemoryRange, Vec<u8>)>,
    /// Sources of long puts, which stay as they are until the peer has acknowledged the frame.
    sources: VecDeque<(u64, MemoryRange)>,
    used: usize,
    pub(crate) wire: W,
}

impl<W: Default> End<W> {
    /// Memory that the peer reaches, and that the end has for itself, in bytes.
    pub(crate) fn with_memory(shared: usize, private: usize) -> Self {
        Self {
            session: Session::default(),
            receiver: FrameReceiver::new(None),
            host: Sandbox::new(shared, private),
            model: Sandbox::new(shared, 0),
            answers: Vec::new(),
            sources: VecDeque::new(),
            used: shared,
            wire: W::default(),
        }
    }

    /// Bytes of its own memory that nothing uses.
    pub(crate) fn room(&self) -> usize {
        self.host.memory.len() - self.used
    }

    /// Memory of its own that nothing else uses.
    fn own(&mut self, n: usize) -> Option<MemoryRange> {
        let at = self.used;
        self.used = (n <= self.room()).then_some(at + n)?;
        Some(MemoryRange { at, n })
    }

    /// Pushes a put, a get or an atomic. An answer for which there is no room is not asked for.
    pub(crate) fn push(&mut self, message: &Message<'_>, urgency: Urgency) {
        match *message {
            Message::Put { region, offset, data, .. } => {
                self.session.push(message, urgency);
                self.model.put(region, offset, data).expect("in range");
            }
            Message::Get { region, offset, n, .. } => {
                let Some(dest) = self.own(n) else { return };
                self.session.push_fetch(message, dest);
                let mut data = Vec::new();
                self.model.get(region, offset, n, &mut data).expect("in range");
                // A long answer is read from memory when it is sent: only memory that does not change can be compared.
                if n <= SMALL {
                    self.answers.push((dest, data));
                }
            }
            Message::Amo { region, offset, width, amo, fetch, .. } => {
                let Some(dest) = self.own(if fetch { width.bytes() } else { 0 }) else { return };
                let old = self.model.amo(region, offset, width, amo).expect("in range");
                if fetch {
                    self.session.push_fetch(message, dest);
                    self.answers.push((dest, old.to_le_bytes()[..width.bytes()].to_vec()));
                } else {
                    self.session.push(message, urgency);
                }
            }
            Message::Reply { .. } | Message::Refused { .. } => unreachable!("answers are the session's own"),
        }
    }

    /// Pushes a long put of `n` bytes of this value, from memory of its own if there is room.
    pub(crate) fn push_bulk_put(&mut self, lane: u16, offset: u64, n: usize, fill: u8, urgency: Urgency) {
        let Some(source) = self.own(n) else { return };
        self.host.memory[source.at..source.at + n].fill(fill);
        let ticket = self.session.push_bulk_put(lane, Region::Heap, offset, source, urgency);
        self.sources.push_back((ticket.frame, source));
        self.model.put(Region::Heap, offset, &vec![fill; n]).expect("in range");
    }

    /// The same, but the memory is used otherwise as soon as `send`, which may send some of it, has returned.
    pub(crate) fn push_uncopied_put(
        &mut self,
        lane: u16,
        offset: u64,
        (n, fill): (usize, u8),
        urgency: Urgency,
        send: impl FnOnce(&mut Self),
    ) {
        let Some(source) = self.own(n) else { return };
        self.host.memory[source.at..source.at + n].fill(fill);
        self.session.push_uncopied_put(lane, (Region::Heap, offset), source, urgency);
        send(self);
        self.session.copy_uncopied(|bytes, place| bytes.extend_from_slice(self.host.at(place)));
        self.use_otherwise(source);
        self.model.put(Region::Heap, offset, &vec![fill; n]).expect("in range");
    }

    fn use_otherwise(&mut self, source: MemoryRange) {
        self.host.memory[source.at..source.at + source.n].iter_mut().for_each(|byte| *byte = !*byte);
    }

    /// Up to `most` bytes of the output.
    pub(crate) fn output(&self, most: usize) -> Vec<u8> {
        let bytes = |piece| match piece {
            OutputPiece::Bytes(bytes) => bytes,
            OutputPiece::MemoryRange(place) => self.host.at(place),
        };
        self.session.pieces().flat_map(bytes).copied().take(most).collect()
    }

    /// Receives bytes of the peer, in pieces of `step`.
    pub(crate) fn receive(&mut self, bytes: &[u8], step: usize) {
        let executed = receive(bytes, step, &mut self.receiver, &mut self.session, &mut self.host);
        executed.expect("the peer sends no garbage");
        self.reuse_sources();
    }

    /// Sources that the peer has acknowledged are used otherwise.
    pub(crate) fn reuse_sources(&mut self) {
        let reached = self.session.reached().frame;
        while let Some(&(frame, source)) = self.sources.front()
            && frame <= reached
        {
            self.sources.pop_front();
            self.use_otherwise(source);
        }
    }

    /// Everything has been executed, once and in order.
    pub(crate) fn expect_done(&self, peer: &Self, about: &str) {
        assert!(!self.session.is_waiting(), "{about}: something never came to its end");
        let is_right = peer.host.memory[..self.model.memory.len()] == self.model.memory[..];
        assert!(is_right, "{about}: the peer's memory is not what it was asked for");
        for (place, answer) in &self.answers {
            assert!(self.host.at(*place) == answer, "{about}: an answer is wrong");
        }
        assert!(self.host.refused.is_empty(), "{about}: something was refused");
    }
}

/// An end whose bytes are received when the script says so.
type ScriptedEnd = End<VecDeque<u8>>;

impl ScriptedEnd {
    /// Asks the peer for something.
    fn issue(&mut self, what: u8, size: u8, place: u8) {
        if self.session.is_full() {
            return;
        }
        let (lane, region) = (u16::from(what), Region::Heap);
        let (n, offset) = (usize::from(size), u64::from(place) * 32);
        let urgency = [Urgency::Soon, Urgency::Later, Urgency::Soon, Urgency::Now][usize::from(place & 3)];
        match what % 4 {
            0 => self.push(&Message::Put { lane, region, offset, data: &vec![size ^ place; n] }, urgency),
            1 if what & 4 == 0 => self.push_bulk_put(lane, offset, SMALL + 1 + n, size, urgency),
            1 => {
                let most = 16 * usize::from(place);
                self.push_uncopied_put(lane, offset, (SMALL + 1 + n, size), urgency, |end| end.transmit(most));
            }
            2 => self.push(&Message::Get { lane, region, offset, n }, urgency),
            _ => {
                let (offset, width, amo) = (u64::from(place) * 8, Width::Eight, Amo::Add(size.into()));
                self.push(&Message::Amo { lane, region, offset, width, amo, fetch: true }, urgency);
            }
        }
    }

    /// Puts up to `most` bytes on the wire.
    fn transmit(&mut self, most: usize) {
        let bytes = self.output(most);
        self.session.sent(bytes.len());
        self.wire.extend(bytes);
    }

    /// Takes up to `most` bytes off the peer's wire.
    fn take_from(&mut self, peer: &mut Self, most: usize) {
        let bytes: Vec<u8> = peer.wire.drain(..most.min(peer.wire.len())).collect();
        self.receive(&bytes, most);
    }
}

/// Runs a script: four bytes for each step.
pub fn connection(script: &[u8]) {
    let [mut a, mut b] = [(); 2].map(|()| ScriptedEnd::with_memory(SHARED, PRIVATE));
    for step in script.chunks_exact(4) {
        let &[what, x, y, z] = step else { unreachable!("steps have four bytes") };
        let (end, peer) = if what & 1 == 0 { (&mut a, &mut b) } else { (&mut b, &mut a) };
        let most = 1 + usize::from(x) + 64 * usize::from(y);
        match what >> 1 & 7 {
            0..=2 => end.issue(z, x, y),
            3 => end.session.close_batch(),
            4 if x & 1 == 0 => end.session.ask(),
            4 => end.session.acknowledge(),
            5 => end.transmit(most),
            6 => end.take_from(peer, most),
            _ => cut(&mut a, &mut b),
        }
    }
    // Operations under way come to their end.
    for _ in 0..1000 {
        if !a.session.is_waiting() && !b.session.is_waiting() {
            break;
        }
        for end in [&mut a, &mut b] {
            end.session.close_batch();
            end.session.ask_for_all();
            if end.session.wants_ack() || end.session.is_asked() {
                end.session.acknowledge();
            }
            end.transmit(usize::MAX);
        }
        a.take_from(&mut b, usize::MAX);
        b.take_from(&mut a, usize::MAX);
    }
    a.expect_done(&b, "the script");
    b.expect_done(&a, "the script");
}

/// The connection is lost with what was on the wire, and made again.
fn cut(a: &mut ScriptedEnd, b: &mut ScriptedEnd) {
    let executed = [b.session.executed(), a.session.executed()];
    for (end, executed) in [&mut *a, b].into_iter().zip(executed) {
        end.wire.clear();
        end.receiver = FrameReceiver::new(None);
        end.session.resume(executed).expect("both ends count alike");
        end.reuse_sources();
    }
}
