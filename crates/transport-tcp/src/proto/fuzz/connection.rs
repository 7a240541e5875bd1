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

struct End {
    session: Session,
    receiver: FrameReceiver,
    host: Sandbox,
    /// The peer's memory when everything has been executed.
    model: Sandbox,
    /// Answers that must come.
    answers: Vec<(MemoryRange, Vec<u8>)>,
    used: usize,
    /// Sent and not received.
    wire: VecDeque<u8>,
}

impl End {
    fn new() -> Self {
        Self {
            session: Session::default(),
            receiver: FrameReceiver::new(None),
            host: Sandbox::new(SHARED, PRIVATE),
            model: Sandbox::new(SHARED, 0),
            answers: Vec::new(),
            used: SHARED,
            wire: VecDeque::new(),
        }
    }

    /// Memory of its own that nothing else uses.
    fn own(&mut self, n: usize) -> Option<MemoryRange> {
        let at = self.used;
        self.used = (at + n <= SHARED + PRIVATE).then_some(at + n)?;
        Some(MemoryRange { at, n })
    }

    /// Asks the peer for something.
    fn issue(&mut self, what: u8, size: u8, place: u8) {
        if self.session.is_full() {
            return;
        }
        let (lane, region) = (u16::from(what), Region::Heap);
        let urgency = [Urgency::Soon, Urgency::Later, Urgency::Soon, Urgency::Now][usize::from(place & 3)];
        match what % 4 {
            0 => {
                let (n, offset) = (usize::from(size), u64::from(place) * 32);
                let data = vec![size ^ place; n];
                self.session.push(&Message::Put { lane, region, offset, data: &data }, urgency);
                self.model.put(region, offset, &data).expect("in range");
            }
            1 => {
                let (n, offset) = (SMALL + 1 + usize::from(size), u64::from(place) * 32);
                let Some(source) = self.own(n) else { return };
                self.host.memory[source.at..source.at + n].fill(size);
                self.session.push_bulk_put(lane, region, offset, source, urgency);
                self.model.put(region, offset, &vec![size; n]).expect("in range");
            }
            2 => {
                let (n, offset) = (usize::from(size), u64::from(place) * 32);
                let Some(dest) = self.own(n) else { return };
                self.session.push_fetch(&Message::Get { lane, region, offset, n }, dest);
                let mut data = Vec::new();
                self.model.get(region, offset, n, &mut data).expect("in range");
                self.answers.push((dest, data));
            }
            _ => {
                let (width, amo, offset) = (Width::Eight, Amo::Add(size.into()), u64::from(place) * 8);
                let Some(dest) = self.own(8) else { return };
                let message = Message::Amo { lane, region, offset, width, amo, fetch: true };
                self.session.push_fetch(&message, dest);
                let old = self.model.amo(region, offset, width, amo).expect("in range");
                self.answers.push((dest, old.to_le_bytes().to_vec()));
            }
        }
    }

    /// Puts up to `most` bytes on the wire.
    fn transmit(&mut self, most: usize) {
        let mut bytes = Vec::new();
        for piece in self.session.pieces() {
            match piece {
                OutputPiece::Bytes(more) => bytes.extend_from_slice(more),
                OutputPiece::MemoryRange(place) => bytes.extend_from_slice(self.host.at(place)),
            }
            if bytes.len() >= most {
                break;
            }
        }
        bytes.truncate(most);
        self.session.sent(bytes.len());
        self.wire.extend(bytes);
    }

    /// Takes up to `most` bytes off the peer's wire.
    fn receive(&mut self, peer: &mut End, most: usize) {
        let bytes: Vec<u8> = peer.wire.drain(..most.min(peer.wire.len())).collect();
        let executed = receive(&bytes, most, &mut self.receiver, &mut self.session, &mut self.host);
        executed.expect("the peer sends no garbage");
    }
}

/// Runs a script: four bytes for each step.
pub fn connection(script: &[u8]) {
    let (mut a, mut b) = (End::new(), End::new());
    for step in script.chunks_exact(4) {
        let &[what, x, y, z] = step else { unreachable!("steps have four bytes") };
        let (end, peer) = if what & 1 == 0 { (&mut a, &mut b) } else { (&mut b, &mut a) };
        let most = 1 + usize::from(x) + 64 * usize::from(y);
        match what >> 1 & 7 {
            0..=2 => end.issue(z, x, y),
            3 => end.session.seal(),
            4 if x & 1 == 0 => end.session.ask(),
            4 => end.session.acknowledge(),
            5 => end.transmit(most),
            6 => end.receive(peer, most),
            _ => cut(&mut a, &mut b),
        }
    }
    // Operations under way come to their end.
    for _ in 0..1000 {
        if !a.session.is_waiting() && !b.session.is_waiting() {
            break;
        }
        for end in [&mut a, &mut b] {
            end.session.seal();
            end.session.ask();
            if end.session.wants_ack() || end.session.is_asked() {
                end.session.acknowledge();
            }
            end.transmit(usize::MAX);
        }
        a.receive(&mut b, usize::MAX);
        b.receive(&mut a, usize::MAX);
    }
    for (end, peer) in [(&a, &b), (&b, &a)] {
        assert!(!end.session.is_waiting(), "something never came to its end");
        assert!(peer.host.memory[..SHARED] == end.model.memory[..], "the peer's memory is not what it was asked for");
        for (place, answer) in &end.answers {
            assert!(end.host.at(*place) == answer, "an answer is wrong");
        }
        assert!(end.host.refused.is_empty());
    }
}

/// The connection is lost with what was on the wire, and made again.
fn cut(a: &mut End, b: &mut End) {
    let executed = [b.session.executed(), a.session.executed()];
    for (end, executed) in [&mut *a, b].into_iter().zip(executed) {
        end.wire.clear();
        end.receiver = FrameReceiver::new(None);
        end.session.resume(executed).expect("both ends count alike");
    }
}
