//! One end of a connection after the handshake: received bytes become effects on the host and answers in the session.

use oxshmem_transport::{Amo, OutOfRange, Region, Width};

use super::codec::{
    BATCH, BULK, BatchMessages, BulkUse, Envelope, FRAME, FrameKind, Garbage, Header, MESSAGE, Message, SMALL, Urgency,
};
use super::frame::MemoryRange;
use super::seal::{Opener, SEAL};
use super::session::Session;
use crate::limits::{BETWEEN_BULKS, BUFFER, COPIED_BODY, FIRST_BUFFER, LIKELY};

/// The memory of this PE, as the protocol sees it.
pub trait Host {
    /// Stores what a peer sent.
    fn put(&mut self, region: Region, offset: u64, data: &[u8]) -> Result<(), OutOfRange>;
    /// Appends what a peer asked for.
    fn get(&mut self, region: Region, offset: u64, n: usize, into: &mut Vec<u8>) -> Result<(), OutOfRange>;
    /// Where a long put goes or a long answer comes from.
    fn place(&mut self, region: Region, offset: u64, n: usize) -> Result<usize, OutOfRange>;
    /// Updates an object and returns the old value.
    fn amo(&mut self, region: Region, offset: u64, width: Width, amo: Amo) -> Result<u64, OutOfRange>;
    /// Stores a part of what goes to a place.
    fn fill(&mut self, at: usize, data: &[u8]);
    /// An operation of a lane of ours was refused.
    fn refused(&mut self, lane: u16, wrong: OutOfRange);
}

/// Receives frames and executes them.
pub struct FrameReceiver {
    buffer: Vec<u8>,
    /// Received and not yet looked at: `buffer[taken..filled]`.
    taken: usize,
    filled: usize,
    /// The bulk frame that is being received.
    bulk: Option<Receiving>,
    /// Frames since the last long one.
    frames: u32,
    opener: Option<Opener>,
    /// The peer has said that it leaves.
    left: bool,
}

struct Receiving {
    header: Header,
    purpose: Purpose,
    /// Where the rest goes; `None` if it was refused.
    at: Option<usize>,
    rest: usize,
}

#[derive(PartialEq)]
enum Purpose {
    Put,
    Refused { lane: u16, wrong: OutOfRange },
    Reply,
}

/// The headers of a bulk frame, behind which its data has a place.
const HEADERS: usize = FRAME + MESSAGE;

impl FrameReceiver {
    /// The end of a new connection. With an opener, all frames are sealed.
    pub fn new(opener: Option<Opener>) -> Self {
        const { assert!(BUFFER >= FRAME + BATCH && FIRST_BUFFER >= HEADERS + 2 * BETWEEN_BULKS) };
        let buffer = vec![0; FIRST_BUFFER];
        Self { buffer, taken: 0, filled: 0, bulk: None, frames: u32::MAX, opener, left: false }
    }

    /// The length of a buffer that holds every frame that is received as a whole.
    fn longest(&self) -> usize {
        if self.opener.is_some() { FRAME + MESSAGE + BULK + SEAL } else { BUFFER }
    }

    /// Whether the peer has said that it leaves.
    pub fn has_left(&self) -> bool {
        self.left
    }

    /// Whether a long frame has begun to come and has not ended.
    pub fn is_in_the_middle(&self) -> bool {
        self.bulk.is_some()
    }

    /// Whether a frame of whatever length has begun to come and has not ended.
    pub fn holds_a_part(&self) -> bool {
        self.is_in_the_middle() || self.taken < self.filled
    }

    /// Where to receive: first to the place, if there is one, then to the bytes.
    pub fn space(&mut self) -> (Option<MemoryRange>, &mut [u8]) {
        if self.taken == self.filled {
            (self.taken, self.filled) = (0, 0);
        } else if self.filled > self.buffer.len() / 2 {
            self.buffer.copy_within(self.taken..self.filled, 0);
            (self.taken, self.filled) = (0, self.filled - self.taken);
        }
        match &self.bulk {
            Some(Receiving { at: Some(at), rest, .. }) => {
                (Some(MemoryRange { at: *at, n: *rest }), &mut self.buffer[self.filled..][..BETWEEN_BULKS])
            }
            // Long data is likely to be followed by more, which then needs no copy.
            None if self.filled == 0 && self.frames < LIKELY && self.opener.is_none() => {
                (None, &mut self.buffer[..BETWEEN_BULKS])
            }
            _ => (None, &mut self.buffer[self.filled..]),
        }
    }

    /// `n` bytes have been received to where [`FrameReceiver::space`] said. Returns how many frames were executed.
    pub fn received(&mut self, mut n: usize, session: &mut Session, host: &mut impl Host) -> Result<usize, Garbage> {
        if let Some(Receiving { at: Some(at), rest, .. }) = &mut self.bulk {
            let placed = n.min(*rest);
            *at += placed;
            *rest -= placed;
            n -= placed;
        }
        self.filled += n;
        if self.filled == self.buffer.len() {
            self.buffer.resize(self.longest(), 0);
        }
        let mut executed = 0;
        while self.step(session, host)? {
            executed += 1;
        }
        Ok(executed)
    }

    /// Executes what is next in the buffer, if enough of it is there.
    fn step(&mut self, session: &mut Session, host: &mut impl Host) -> Result<bool, Garbage> {
        if self.bulk.is_some() {
            return self.continue_bulk(session, host);
        }
        let extra = if self.opener.is_some() { SEAL } else { 0 };
        let Some((head, _)) = self.buffer[self.taken..self.filled].split_first_chunk::<FRAME>() else {
            return Ok(false);
        };
        let head = *head;
        let header = Header::decode(&head, extra)?;
        // A bulk frame that is not sealed is executed as it comes.
        let whole = if header.kind == FrameKind::Bulk && extra == 0 { HEADERS } else { FRAME + header.length };
        if self.filled - self.taken < whole {
            return Ok(false);
        }
        let body = self.taken + FRAME..self.taken + whole;
        let mut length = header.length;
        if let Some(opener) = &mut self.opener {
            length = opener.open(&head, &mut self.buffer[body.clone()])?;
        }
        self.taken += whole;
        match header.kind {
            FrameKind::Batch => {
                session.expect(&header)?;
                let batch = &self.buffer[body.start..body.start + length];
                check(batch, session)?;
                for message in BatchMessages(batch) {
                    execute(message?, session, host)?;
                }
                session.executed_one(header.urgency);
                session.acknowledged(header.ack)?;
                self.frames = self.frames.saturating_add(1);
            }
            FrameKind::Bulk => {
                session.expect(&header)?;
                let envelope = self.buffer[body.start..].first_chunk().expect("the envelope is there");
                let (purpose, n) = Envelope::decode(envelope).bulk(length)?;
                self.bulk = Some(begin_bulk(header, purpose, n, session, host)?);
                if extra > 0 {
                    // The data is in the buffer, as a whole.
                    self.taken = body.start + MESSAGE;
                    self.continue_bulk(session, host)?;
                    self.taken = body.end;
                }
            }
            FrameKind::Ack => session.acknowledged(header.ack)?,
            FrameKind::Ask => {
                session.acknowledged(header.ack)?;
                session.hear_question();
            }
            FrameKind::Bye => {
                session.acknowledged(header.ack)?;
                self.left = true;
            }
        }
        Ok(true)
    }

    /// Uses what the buffer has of a bulk frame. Returns whether the frame is executed.
    fn continue_bulk(&mut self, session: &mut Session, host: &mut impl Host) -> Result<bool, Garbage> {
        let bulk = self.bulk.as_mut().expect("the caller has looked");
        let here = bulk.rest.min(self.filled - self.taken);
        if let Some(at) = &mut bulk.at {
            host.fill(*at, &self.buffer[self.taken..self.taken + here]);
            *at += here;
        }
        self.taken += here;
        bulk.rest -= here;
        if bulk.rest > 0 {
            return Ok(false);
        }
        let Some(Receiving { header, purpose, .. }) = self.bulk.take() else { return Ok(false) };
        match purpose {
            Purpose::Put => {}
            Purpose::Reply => session.answered(),
            Purpose::Refused { lane, wrong } => {
                session.push(&Message::Refused { lane, fetch: false, wrong }, Urgency::Soon);
            }
        }
        session.executed_one(header.urgency);
        session.acknowledged(header.ack)?;
        self.frames = if header.length > COPIED_BODY { 0 } else { self.frames.saturating_add(1) };
        Ok(true)
    }
}

fn begin_bulk(
    header: Header,
    bulk: BulkUse,
    n: usize,
    session: &Session,
    host: &mut impl Host,
) -> Result<Receiving, Garbage> {
    let (purpose, at) = match bulk {
        BulkUse::Put { lane, region, offset } => match host.place(region, offset, n) {
            Ok(at) => (Purpose::Put, Some(at)),
            Err(wrong) => (Purpose::Refused { lane, wrong }, None),
        },
        BulkUse::Reply => match session.answer_place() {
            Some(dest) if dest.n == n => (Purpose::Reply, Some(dest.at)),
            _ => return Err(Garbage("an answer without a request")),
        },
    };
    Ok(Receiving { header, purpose, at, rest: n })
}

/// Finds garbage in a batch before any of its messages is executed. Those in front of it would be executed again when the frame is sent again
/// over the next connection.
fn check(batch: &[u8], session: &Session) -> Result<(), Garbage> {
    let mut places = session.answer_places();
    for message in BatchMessages(batch) {
        match message? {
            Message::Reply { data } if places.next().is_none_or(|dest| dest.n != data.len()) => {
                return Err(Garbage("an answer without a request"));
            }
            Message::Refused { fetch: true, .. } if places.next().is_none() => {
                return Err(Garbage("a refusal without a request"));
            }
            _ => {}
        }
    }
    Ok(())
}

fn execute(message: Message<'_>, session: &mut Session, host: &mut impl Host) -> Result<(), Garbage> {
    match message {
        Message::Put { lane, region, offset, data } => {
            if let Err(wrong) = host.put(region, offset, data) {
                session.push(&Message::Refused { lane, fetch: false, wrong }, Urgency::Soon);
            }
        }
        Message::Get { lane, region, offset, n } if n <= SMALL => {
            if let Err(wrong) = session.push_reply(n, |bytes| host.get(region, offset, n, bytes)) {
                session.push(&Message::Refused { lane, fetch: true, wrong }, Urgency::Soon);
            }
        }
        Message::Get { lane, region, offset, n } => {
            match host.place(region, offset, n) {
                Ok(at) => session.push_bulk_reply(MemoryRange { at, n }),
                Err(wrong) => session.push(&Message::Refused { lane, fetch: true, wrong }, Urgency::Soon),
            };
        }
        Message::Amo { lane, region, offset, width, amo, fetch } => match host.amo(region, offset, width, amo) {
            Ok(old) if fetch => {
                session.push(&Message::Reply { data: &old.to_le_bytes()[..width.bytes()] }, Urgency::Later);
            }
            Ok(_) => {}
            Err(wrong) => {
                session.push(&Message::Refused { lane, fetch, wrong }, Urgency::Soon);
            }
        },
        Message::Reply { data } => match session.answer_place() {
            Some(dest) if dest.n == data.len() => {
                host.fill(dest.at, data);
                session.answered();
            }
            _ => return Err(Garbage("an answer without a request")),
        },
        Message::Refused { lane, fetch, wrong } => {
            if fetch {
                session.answer_place().ok_or(Garbage("a refusal without a request"))?;
                session.answered();
            }
            host.refused(lane, wrong);
        }
    }
    Ok(())
}
