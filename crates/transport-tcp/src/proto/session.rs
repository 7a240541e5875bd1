//! The frames of one PE for another, and how many of them the peer has heard: coalescing, numbering, keeping, sending again.

use std::collections::VecDeque;

use oxshmem_transport::Region;

use super::codec::{BATCH, BULK, Envelope, FRAME, FrameKind, Garbage, Header, MESSAGE, Message, Urgency};
use super::frame::{Frame, MemoryRange, OpenBatch, OutputPiece};
use super::ticket::Ticket;
use crate::limits::{AT_ONCE, ENOUGH, FETCHES, FRAMES, SHARED, SPARE, WINDOW};

/// One direction's state on both of its ends: our messages and the peer's acknowledgements, our count of the peer's.
#[derive(Default)]
pub struct Session {
    open: OpenBatch,
    /// Closed and not acknowledged, in the order of their numbers.
    frames: VecDeque<Frame>,
    /// How many of `frames` have been sent as a whole, and how many bytes of the one after.
    frames_sent: usize,
    sent_bytes: usize,
    /// How many of `frames` the peer acknowledges without being asked.
    urgent: usize,
    /// Number of the last frame for which the peer has been asked.
    asked: u64,
    /// Bytes copied into `frames`.
    kept: usize,
    /// Number of the frame whose bytes are to be copied.
    uncopied: Option<u64>,
    spare: Vec<Vec<u8>>,
    /// A frame without number that is being sent, and how much of it has been.
    control: Option<([u8; FRAME], usize)>,
    /// Number of the last frame of ours that the peer has executed, of the last one of the peer's that we have, and of
    /// the last one that we have told it of.
    acked: u64,
    last_executed: u64,
    told: u64,
    /// The peer wants to hear of what it has not been told yet: soon, or at once because it has asked.
    wants_ack: bool,
    is_asked: bool,
    /// Where answers go, oldest first, and how many have come.
    fetches: VecDeque<MemoryRange>,
    fetched: u64,
    /// This PE leaves; whether it has yet to say so over this connection.
    bye_is_due: Option<bool>,
}

impl Session {
    /// Appends a message of at most [`SMALL`](super::codec::SMALL) bytes of data.
    pub fn push(&mut self, message: &Message<'_>, urgency: Urgency) -> Ticket {
        self.make_room();
        self.open.add(message, urgency);
        self.ticket()
    }

    /// Makes sure that the longest message fits into the open batch.
    fn make_room(&mut self) {
        if !self.open.has_room() {
            self.close_batch();
        }
    }

    /// Appends an answer of at most [`SMALL`](super::codec::SMALL) bytes, which `fill` appends to the vector it is given.
    pub fn push_reply<E>(&mut self, n: usize, fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<(), E> {
        self.make_room();
        let bytes = &mut self.open.bytes;
        let before = bytes.len();
        bytes.extend_from_slice(&Envelope::reply(n).encode());
        fill(bytes).inspect_err(|_| bytes.truncate(before))
    }

    /// Appends a request whose answer of `dest.n` bytes, at most [`BULK`], goes to `dest` and completes it. The frame of a long answer is
    /// closed before the request is executed as a whole, so it does not acknowledge the request: that would take a frame more.
    pub fn push_fetch(&mut self, message: &Message<'_>, dest: MemoryRange) -> Ticket {
        self.fetches.push_back(dest);
        self.make_room();
        self.open.add_request(message);
        Ticket { frame: 0, ..self.ticket() }
    }

    /// Appends a put of at most [`BULK`] bytes that are sent from where they are.
    pub fn push_bulk_put(
        &mut self,
        lane: u16,
        region: Region,
        offset: u64,
        source: MemoryRange,
        urgency: Urgency,
    ) -> Ticket {
        self.push_bulk(Envelope::put(lane, region, offset, source.n), urgency, source)
    }

    /// Appends a put of at most [`BULK`] bytes that are sent from where they are until [`Session::copy_uncopied`] has them copied.
    pub fn push_uncopied_put(&mut self, lane: u16, to: (Region, u64), source: MemoryRange, urgency: Urgency) -> Ticket {
        debug_assert!(self.uncopied.is_none(), "the put before is not copied yet");
        let ticket = self.push_bulk_put(lane, to.0, to.1, source, urgency);
        self.uncopied = Some(ticket.frame);
        ticket
    }

    /// Has `append` copy the bytes of the last put behind those of its frame, which is sent from there from now on, and sent again if the
    /// connection breaks. Mostly the kernel has them already, and the peer reads them while they are copied.
    pub fn copy_uncopied(&mut self, append: impl FnOnce(&mut Vec<u8>, MemoryRange)) {
        let Some(number) = self.uncopied.take() else { return };
        let frame = &mut self.frames[(number - self.acked - 1) as usize];
        if let Some(place) = frame.place.take() {
            append(&mut frame.bytes, place);
            self.kept += place.n;
        }
    }

    /// Appends an answer of at most [`BULK`] bytes that are sent from where they are.
    pub fn push_bulk_reply(&mut self, source: MemoryRange) -> Ticket {
        self.push_bulk(Envelope::reply(source.n), Urgency::Later, source)
    }

    /// Appends a bulk frame with the bytes at `place`.
    fn push_bulk(&mut self, envelope: Envelope, urgency: Urgency, place: MemoryRange) -> Ticket {
        debug_assert!((1..=BULK).contains(&place.n));
        self.close_batch();
        let ticket = self.ticket();
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        bytes.extend_from_slice(&self.header(FrameKind::Bulk, urgency, MESSAGE + place.n).encode());
        bytes.extend_from_slice(&envelope.encode());
        self.keep(Frame { bytes, place: Some(place), urgency, requests: false });
        ticket
    }

    fn ticket(&self) -> Ticket {
        Ticket { frame: self.next(), fetch: self.fetched + self.fetches.len() as u64 }
    }

    /// Number that the open batch will get.
    fn next(&self) -> u64 {
        self.acked + self.frames.len() as u64 + 1
    }

    /// Closes the open batch, so that it can be sent.
    pub fn close_batch(&mut self) {
        if !self.is_collecting() {
            return;
        }
        let mut frame = self.open.close(self.spare.pop().unwrap_or_default());
        let header = self.header(FrameKind::Batch, frame.urgency, frame.bytes.len() - FRAME);
        frame.bytes[..FRAME].copy_from_slice(&header.encode());
        self.keep(frame);
    }

    /// The acknowledgement is fixed here and not when the frame is sent: a frame that acknowledges must not overtake one
    /// that carries a refusal of what is acknowledged.
    fn header(&mut self, kind: FrameKind, urgency: Urgency, length: usize) -> Header {
        self.tell();
        let ack = self.last_executed + oxshmem_base::planted!("acknowledged-unexecuted", 0, 1);
        Header { kind, urgency, length, number: self.next(), ack }
    }

    /// The peer is about to hear how far we are.
    fn tell(&mut self) {
        self.told = self.last_executed;
        (self.wants_ack, self.is_asked) = (false, false);
    }

    fn keep(&mut self, frame: Frame) {
        self.kept += frame.bytes.len();
        self.urgent += usize::from(frame.urgency > Urgency::Later);
        self.frames.push_back(frame);
    }

    /// Whether the caller should wait before it asks for more.
    pub fn is_full(&self) -> bool {
        self.kept > WINDOW || self.frames.len() >= FRAMES || self.fetches.len() >= FETCHES
    }

    /// Whether the peer has more than a few messages to acknowledge or, unless a fence stands behind them, an urgent one or a request.
    pub fn is_busy(&self, behind_fence: bool) -> bool {
        self.is_awaited() && !behind_fence || self.frames.len() >= AT_ONCE
    }

    /// Whether a caller may wait for what the peer says next.
    fn is_awaited(&self) -> bool {
        self.urgent > 0 || !self.fetches.is_empty()
    }

    /// Whether what waits to be sent is best joined by what comes next in a stream: it is short, nothing of it has been sent, and it goes
    /// behind frames that the peer has not acknowledged. If the peer acknowledges soon, it must have been [busy](Self::is_busy) before the
    /// last message, and the last frame must be short.
    pub fn is_coalescing(&self, was_busy: bool) -> bool {
        let is_whole = self.sent_bytes == 0 && self.control.is_none();
        let is_behind = if self.is_awaited() {
            let is_short = |frame: &Frame| frame.len() <= SHARED && frame.urgency < Urgency::Now;
            was_busy && self.frames_sent > 0 && self.frames.back().is_some_and(is_short)
        } else {
            self.frames_sent >= AT_ONCE
        };
        let waiting = || self.frames.range(self.frames_sent..).map(Frame::len).sum::<usize>() + self.open.bytes.len();
        is_whole && is_behind && waiting() < ENOUGH
    }

    /// Whether the open batch holds something.
    pub fn is_collecting(&self) -> bool {
        self.open.bytes.len() > FRAME
    }

    /// Whether a closed frame, or one without number, waits to be sent.
    pub fn has_output(&self) -> bool {
        self.control.is_some() || self.frames_sent < self.frames.len()
    }

    /// Whether the peer owes us something.
    pub fn is_waiting(&self) -> bool {
        self.is_collecting() || !self.frames.is_empty() || !self.fetches.is_empty()
    }

    /// How many executed frames the peer has not been told of.
    pub fn untold(&self) -> u64 {
        self.last_executed - self.told
    }

    /// Whether the peer wants to hear soon of what it has not been told.
    pub fn wants_ack(&self) -> bool {
        self.wants_ack
    }

    /// Whether the peer has asked and not been told.
    pub fn is_asked(&self) -> bool {
        self.is_asked
    }

    /// The peer asks how far we are.
    pub fn hear_question(&mut self) {
        self.is_asked = self.untold() > 0;
    }

    /// Tells the peer what has been executed, if nothing else is about to.
    pub fn acknowledge(&mut self) {
        if self.untold() > 0 && !self.has_output() {
            self.say(FrameKind::Ack);
        }
    }

    /// Asks the peer how far it is, if it has frames that it acknowledges later and nothing else is about to be sent. Behind requests
    /// it does not: their answers acknowledge all frames before them.
    pub fn ask(&mut self) {
        if self.frames.back().is_some_and(|frame| !frame.requests) {
            self.ask_for_all();
        }
    }

    /// [`Session::ask`], also behind requests: their frames are kept until the peer acknowledges them.
    pub fn ask_for_all(&mut self) {
        let last = self.next() - 1;
        let owed = self.frames.back().is_some_and(|frame| frame.urgency == Urgency::Later);
        if owed && self.asked < last && !self.has_output() {
            self.asked = last;
            self.say(FrameKind::Ask);
        }
    }

    /// Tells the peer that this PE leaves. It goes out behind everything else.
    pub fn leave(&mut self) {
        self.close_batch();
        self.bye_is_due = Some(true);
        self.after_last();
    }

    /// Says how far this PE is, when nothing else is about to be sent.
    pub(crate) fn say(&mut self, kind: FrameKind) {
        self.tell();
        let header = Header { kind, urgency: Urgency::Soon, length: 0, number: 0, ack: self.last_executed };
        self.control = Some((header.encode(), 0));
    }

    fn after_last(&mut self) {
        if self.bye_is_due == Some(true) && !self.has_output() {
            self.bye_is_due = Some(false);
            self.say(FrameKind::Bye);
        }
    }

    /// The pieces to be sent now, in order; a frame without number is sent between others.
    pub fn pieces(&self) -> impl Iterator<Item = OutputPiece<'_>> {
        let control = self.control.iter().map(|(bytes, sent)| OutputPiece::Bytes(&bytes[*sent..]));
        let frames = self.frames.iter().skip(self.frames_sent).enumerate();
        control.chain(frames.flat_map(move |(i, frame)| frame.rest(if i == 0 { self.sent_bytes } else { 0 })))
    }

    /// The next `n` bytes of [`Session::pieces`] have been sent.
    pub fn sent(&mut self, mut n: usize) {
        if let Some((bytes, sent)) = &mut self.control {
            let now = n.min(bytes.len() - *sent);
            *sent += now;
            n -= now;
            if *sent == bytes.len() {
                self.control = None;
            }
        }
        while n > 0 {
            let rest = self.frames[self.frames_sent].len() - self.sent_bytes;
            if n < rest {
                self.sent_bytes += n;
                break;
            }
            n -= rest;
            self.frames_sent += 1;
            self.sent_bytes = 0;
        }
        self.after_last();
    }

    /// The next frame as a whole, for callers that encrypt it with a seal first.
    pub fn whole_frame(&mut self) -> Option<(Vec<u8>, Option<MemoryRange>)> {
        if let Some((bytes, _)) = self.control.take() {
            self.after_last();
            return Some((bytes.to_vec(), None));
        }
        let frame = self.frames.get(self.frames_sent)?;
        let whole = (frame.bytes_to_seal(), frame.place);
        self.frames_sent += 1;
        self.after_last();
        Some(whole)
    }

    /// The peer has executed our frames up to `ack`.
    pub fn acknowledged(&mut self, ack: u64) -> Result<(), Garbage> {
        if ack > self.acked + self.frames_sent as u64 {
            return Err(Garbage("it acknowledges what was not sent"));
        }
        while self.acked < ack {
            let frame = self.frames.pop_front().expect("as many frames are kept as numbers are out");
            self.kept -= frame.bytes.len();
            self.urgent -= usize::from(frame.urgency > Urgency::Later);
            self.acked += 1;
            self.frames_sent -= 1;
            if self.spare.len() < SPARE && frame.bytes.capacity() <= 2 * BATCH {
                self.spare.push(frame.bytes);
            }
        }
        Ok(())
    }

    /// A numbered frame begins: it has to be the next one.
    pub fn expect(&self, header: &Header) -> Result<(), Garbage> {
        if header.number == self.last_executed + 1 { Ok(()) } else { Err(Garbage("a frame out of order")) }
    }

    /// A numbered frame has been executed.
    pub fn executed_one(&mut self, urgency: Urgency) {
        self.last_executed += 1;
        self.wants_ack |= urgency > Urgency::Later;
        self.is_asked |= urgency == Urgency::Now;
    }

    /// Where the next answer goes.
    pub fn answer_place(&self) -> Option<MemoryRange> {
        self.fetches.front().copied()
    }

    /// Where the next answers go, in their order.
    pub fn answer_places(&self) -> impl Iterator<Item = MemoryRange> {
        self.fetches.iter().copied()
    }

    /// The next answer is there.
    pub fn answered(&mut self) {
        self.fetches.pop_front();
        self.fetched += 1;
    }

    /// How far the peer is.
    pub fn reached(&self) -> Ticket {
        Ticket { frame: self.acked, fetch: self.fetched }
    }

    /// Number of the last frame of the peer that has been executed: what a new connection begins with.
    pub fn executed(&self) -> u64 {
        self.last_executed
    }

    /// Goes on over a new connection with a peer that has executed our frames up to `heard`.
    pub fn resume(&mut self, heard: u64) -> Result<(), Garbage> {
        self.frames_sent = self.frames.len(); // as far as the peer can know
        if heard < self.acked {
            return Err(Garbage("it forgot what it had acknowledged"));
        }
        self.acknowledged(oxshmem_base::planted!("sent-twice-after-a-break", heard, self.acked))?;
        self.frames_sent = oxshmem_base::planted!("not-sent-again-after-a-break", 0, self.frames.len());
        (self.sent_bytes, self.control) = (0, None);
        self.asked = 0;
        self.tell();
        // A good-bye that was said before may be lost with its connection.
        self.bye_is_due = self.bye_is_due.map(|_| true);
        self.after_last();
        Ok(())
    }
}
