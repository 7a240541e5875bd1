//! The operations of one context.

use std::ptr;
use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_transport::{Amo, Lane, OutOfRange, Remote, SignalUpdate, Width, deliver_old};

use crate::link::Link;
use crate::net::Net;
use crate::proto::session::Ticket;
use crate::proto::wire::{BULK, Message, SMALL};
use crate::proto::{Place, Session};

/// Longest put whose source is copied; a longer one waits until the peer has it.
pub(crate) const INJECT: usize = 32 << 10;

/// Bytes of one operation over one rail that are issued at once.
const TOGETHER: usize = 16 * BULK;

pub(crate) struct TcpLane {
    net: Arc<Net>,
    number: u16,
    /// What is under way, by link; a lane talks to few at a time, and mostly to the one it talked to last.
    active: Vec<Active>,
    error: Option<Error>,
}

struct Active {
    link: Arc<Link>,
    /// When the last operation is complete, all are: frames are executed and answers come in order.
    last: Ticket,
    count: u64,
}

impl TcpLane {
    pub(crate) fn new(net: Arc<Net>) -> Result<Self, Error> {
        let number = net.lane_number()?;
        Ok(Self { net, number, active: Vec::new(), error: None })
    }

    /// Issues what `push` puts into the session of a rail: `count` operations, of which the last one's ticket is returned.
    fn issue(&mut self, pe: u32, rail: u16, count: u64, push: impl FnOnce(&mut Session) -> Ticket) {
        let place = self.active.last().filter(|last| last.link.pe == pe && self.net.rails == 1);
        let at = match place {
            Some(_) => self.active.len() - 1,
            None => {
                let Some(link) = self.net.link(pe, rail) else {
                    self.error.get_or_insert_with(|| Error::new(format!("there is no PE {pe} to reach over TCP")));
                    return;
                };
                let known = self.active.iter().position(|active| Arc::ptr_eq(&active.link, link));
                known.unwrap_or_else(|| {
                    self.active.push(Active { link: link.clone(), last: Ticket::default(), count: 0 });
                    self.active.len() - 1
                })
            }
        };
        let active = &mut self.active[at];
        match active.link.issue(&self.net, push) {
            Some(ticket) => {
                active.last = ticket;
                active.count += count;
            }
            None => {
                let error = active.link.error();
                self.error = self.error.take().or(error);
            }
        }
    }

    /// An operation of this PE on itself.
    fn here(&mut self, outcome: Result<(), OutOfRange>) {
        if let Err(wrong) = outcome {
            self.error.get_or_insert(wrong.error(self.net.me));
        }
    }

    /// Issues a long operation in pieces, of which `push` puts one into a session: those of a rail together, so that the
    /// kernel gets them with one call. Over one rail if `ordered`, otherwise the rails take turns.
    fn issue_pieces(&mut self, pe: u32, n: usize, ordered: bool, push: impl Fn(&mut Session, usize, usize) -> Ticket) {
        let rails = if ordered { 1 } else { usize::from(self.net.rails) };
        for group in (0..n).step_by(TOGETHER * rails) {
            for rail in 0..rails {
                let pieces = || (group + rail * BULK..n.min(group + TOGETHER * rails)).step_by(rails * BULK);
                let count = pieces().count() as u64;
                if count > 0 {
                    self.issue(pe, rail as u16, count, |session| {
                        let tickets = pieces().map(|start| push(session, start, BULK.min(n - start)));
                        tickets.last().unwrap_or_else(|| unreachable!("there are {count} pieces"))
                    });
                }
            }
        }
    }

    /// Puts from where the source is: small ones are copied, long ones sent in pieces. All over one rail if `ordered`.
    fn put_in_place(&mut self, to: Remote, source: *const u8, n: usize, ordered: bool) {
        let lane = self.number;
        let Remote { pe, region, offset } = to;
        if n <= SMALL {
            // SAFETY: the callers hand on the promise of their own caller: readable for `n` bytes. Nothing writes to a
            // source while its put is under way.
            let data = if n == 0 { &[] } else { unsafe { std::slice::from_raw_parts(source, n) } };
            return self.issue(pe, 0, 1, |session| session.push(&Message::Put { lane, region, offset, data }));
        }
        self.issue_pieces(pe, n, ordered, |session, start, n| {
            let place = Place { at: source.wrapping_add(start).expose_provenance(), n };
            session.push_bulk_put(lane, region, offset.wrapping_add(start as u64), place)
        });
    }

    /// Forgets what is complete or lost; returns how much.
    fn retire(&mut self) -> usize {
        let before = self.outstanding();
        let (net, error, number) = (&self.net, &mut self.error, self.number);
        self.active.retain(|active| {
            if active.link.has_failed() {
                *error = error.take().or_else(|| active.link.error());
                return false;
            }
            !active.link.has_reached(active.last)
        });
        // After the tickets: a refusal comes no later than what completes its operation.
        *error = error.take().or_else(|| net.refusals.take(number));
        (before - self.outstanding()) as usize
    }

    fn wait(&mut self) {
        while self.outstanding() > 0 {
            if self.net.progress() == 0 {
                std::thread::yield_now();
            }
            self.retire();
        }
    }
}

/// Starts and lengths of the pieces of `n` bytes.
fn pieces(n: usize, longest: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).step_by(longest).map(move |start| (start, longest.min(n - start)))
}

// SAFETY: sources are read by `issue` or, in place, until the peer has acknowledged them or the link has failed and
// dropped its session; destinations are written until their answer has come; both end before `outstanding` says so.
// Remote memory is bounded by the target.
unsafe impl Lane for TcpLane {
    unsafe fn put(&mut self, to: Remote, source: *const u8, n: usize) {
        if n > INJECT && to.pe != self.net.me {
            self.put_in_place(to, source, n, false);
            return self.wait();
        }
        for (start, n) in pieces(n, SMALL) {
            let to = Remote { offset: to.offset.wrapping_add(start as u64), ..to };
            // SAFETY: a piece of what the caller promised; so short that it is copied.
            unsafe { self.put_nbi(to, source.add(start), n) };
        }
    }

    unsafe fn put_nbi(&mut self, to: Remote, source: *const u8, n: usize) {
        if to.pe == self.net.me {
            // SAFETY: the caller's promise.
            let outcome = unsafe { self.net.memory.put(to.region, to.offset, source, n) };
            return self.here(outcome);
        }
        if n > 0 {
            self.put_in_place(to, source, n, false);
        }
    }

    unsafe fn get_nbi(&mut self, dest: *mut u8, from: Remote, n: usize) {
        let Remote { pe, region, offset } = from;
        if pe == self.net.me {
            // SAFETY: the caller's promise.
            let outcome = unsafe { self.net.memory.get(dest, region, offset, n) };
            return self.here(outcome);
        }
        let lane = self.number;
        self.issue_pieces(pe, n, false, |session, start, n| {
            let place = Place { at: dest.wrapping_add(start).expose_provenance(), n };
            let get = Message::Get { lane, region, offset: offset.wrapping_add(start as u64), n };
            session.push_fetch(&get, place)
        });
    }

    unsafe fn amo(&mut self, to: Remote, width: Width, amo: Amo, old: *mut u8) {
        let Remote { pe, region, offset } = to;
        if pe == self.net.me {
            let outcome = self.net.memory.amo(region, offset, width, amo);
            // SAFETY: the caller's promise.
            let outcome = outcome.map(|value| unsafe { deliver_old(old, width, value) });
            return self.here(outcome);
        }
        let (lane, fetch) = (self.number, !old.is_null());
        let message = Message::Amo { lane, region, offset, width, amo, fetch };
        self.issue(pe, 0, 1, |session| {
            if fetch {
                session.push_fetch(&message, Place { at: old.expose_provenance(), n: width.bytes() })
            } else {
                session.push(&message)
            }
        });
    }

    unsafe fn put_signal(&mut self, to: Remote, source: *const u8, n: usize, signal: Remote, update: SignalUpdate) {
        let (amo, width, lane) = (update.amo(), Width::Eight, self.number);
        let Remote { pe, region, offset } = signal;
        if to.pe == self.net.me || n == 0 || n > SMALL {
            if to.pe == self.net.me {
                // SAFETY: the caller's promise.
                unsafe { self.put_nbi(to, source, n) };
            } else if n > 0 {
                self.put_in_place(to, source, n, true);
            }
            // SAFETY: null asks for no old value.
            return unsafe { self.amo(signal, width, amo, ptr::null_mut()) };
        }
        // SAFETY: the caller's promise.
        let data = unsafe { std::slice::from_raw_parts(source, n) };
        let put = Message::Put { lane, region: to.region, offset: to.offset, data };
        // Both at once: the signal is not to wait until the data has been heard of.
        self.issue(pe, 0, 1, |session| {
            session.push(&put);
            session.push(&Message::Amo { lane, region, offset, width, amo, fetch: false })
        });
    }

    /// One rail keeps the order by itself; several do not know of each other.
    fn fence(&mut self) {
        if self.net.rails > 1 {
            self.wait();
        }
    }

    fn outstanding(&self) -> u64 {
        let is_open = |active: &&Active| !active.link.has_failed() && !active.link.has_reached(active.last);
        self.active.iter().filter(is_open).map(|active| active.count).sum()
    }

    fn progress(&mut self) -> Result<usize, Error> {
        let before = self.outstanding();
        // With nothing under way, looking would only hurry acknowledgements that can travel with the next operation.
        if before > 0 {
            self.net.progress();
        }
        self.retire();
        let done = before.saturating_sub(self.outstanding()) as usize;
        self.error.clone().map_or(Ok(done), Err)
    }
}

impl Drop for TcpLane {
    fn drop(&mut self) {
        self.net.free_lane(self.number);
    }
}
