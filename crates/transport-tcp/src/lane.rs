//! The operations of one context.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use oxshmem_base::Error;
use oxshmem_transport::{
    Account, AtomicArguments, AwaitedState, Busy, Failed, GetArguments, Lane, LaneOptions, PutArguments, Remote,
    SignalUpdate, Width,
};

use crate::lanes;
use crate::limits::{COPIED_WITH_SIGNAL, INJECT, ONE_RAIL, TOGETHER};
use crate::net::Net;
use crate::proto::codec::{BULK, Message, SMALL, Urgency};
use crate::proto::ticket::Ticket;
use crate::proto::{MemoryRange, Session};

pub(crate) struct TcpLane {
    net: Arc<Net>,
    /// Among the lanes of the PE.
    place: usize,
    /// Its number in messages.
    number: u16,
    /// Its operations by their use of the caller's memory.
    accounts: [Arc<Account>; 3],
    /// When peers acknowledge what is copied here, or stays as it is for long.
    urgency: Urgency,
    /// The rail of the next piece of a long transfer, where there are several. Relaxed: any rail will do.
    next_rail: AtomicU16,
}

/// How an operation uses the memory of its caller.
#[derive(Clone, Copy)]
enum BufferUse {
    /// Not any more once it is issued.
    Copied,
    /// Until it is complete: the session sends from it, or an answer goes there.
    InPlace,
    /// An answer goes there, for which the caller waits.
    Awaited,
}

impl TcpLane {
    pub(crate) fn new(net: Arc<Net>, options: LaneOptions) -> Self {
        let accounts: [Arc<Account>; 3] = Default::default();
        let place = net.local.lanes.add(accounts[0].clone());
        let urgency = if options.rarely_completed { Urgency::Later } else { Urgency::Soon };
        Self { net, place, number: lanes::number_of(place), accounts, urgency, next_rail: AtomicU16::new(0) }
    }

    fn account_of(&self, buffer: BufferUse) -> &Arc<Account> {
        &self.accounts[buffer as usize]
    }

    /// Issues what `push` puts into the session of a rail: `count` operations, of which the last one's ticket is returned.
    ///
    /// # Safety
    /// As for `Link::issue`.
    unsafe fn issue(
        &self,
        pe: u32,
        rail: u16,
        (buffer, count): (BufferUse, u64),
        push: impl FnOnce(&mut Session) -> Ticket,
    ) -> Result<(), Busy> {
        let account = self.account_of(buffer);
        match self.net.link(pe, rail) {
            // SAFETY: our caller has made the same promise.
            Some(link) => unsafe { link.issue(&self.net.local, account, count, self.net.issue_time(), push) },
            None => {
                account.fail(Error::new(format!("there is no PE {pe} to reach over TCP")));
                Ok(())
            }
        }
    }

    /// Issues the beginning of a long operation in pieces, of which `push` puts one into a session, so that the kernel gets
    /// them with one call. The beginnings of one operation take the rails in turn. Returns how much was issued.
    ///
    /// # Safety
    /// As for `Link::issue`.
    unsafe fn issue_pieces(
        &self,
        pe: u32,
        n: usize,
        buffer: BufferUse,
        push: impl Fn(&mut Session, usize, usize) -> Ticket,
    ) -> Result<usize, Busy> {
        let rails = self.net.local.addresses.rails;
        let share = n.div_ceil(rails.into()).next_multiple_of(BULK);
        let n = n.min(share).min(TOGETHER);
        let pieces = || (0..n).step_by(BULK);
        let push_all = |session: &mut Session| {
            let tickets = pieces().map(|start| push(session, start, BULK.min(n - start)));
            tickets.last().unwrap_or_default()
        };
        // SAFETY: our caller has made the same promise.
        unsafe { self.issue(pe, self.next_rail(), (buffer, pieces().count() as u64), push_all) }?;
        Ok(n)
    }

    /// Whether nothing of these accounts is under way to a PE.
    fn is_idle_to(&self, pe: u32, accounts: &[Arc<Account>]) -> bool {
        let mut rails = 0..self.net.local.addresses.rails;
        rails.all(|rail| self.net.known_link(pe, rail).is_none_or(|link| link.is_idle_for(accounts)))
    }

    /// The rail of the next long piece.
    fn next_rail(&self) -> u16 {
        let rails = self.net.local.addresses.rails;
        if rails == 1 { 0 } else { self.next_rail.fetch_add(1, Ordering::Relaxed) % rails }
    }

    /// Begins a get.
    ///
    /// # Safety
    /// As for `Lane::get_nbi`.
    unsafe fn fetch(&self, get: &GetArguments, buffer: BufferUse) -> usize {
        let &GetArguments { dest, from: Remote { pe, region, offset }, n } = get;
        if n == 0 {
            return 0;
        }
        let lane = self.number;
        let push = |session: &mut Session, start: usize, n: usize| {
            let place = MemoryRange { at: dest.wrapping_add(start).expose_provenance(), n };
            let get = Message::Get { lane, region, offset: offset.wrapping_add(start as u64), n };
            session.push_fetch(&get, place)
        };
        // SAFETY: the destination is writable until completion, by the caller's promise, and the pieces lie inside of it.
        get.left(unsafe { self.issue_pieces(pe, n, buffer, push) })
    }

    /// Issues an atomic.
    ///
    /// # Safety
    /// As for `Lane::amo`.
    unsafe fn update(&self, atomic: &AtomicArguments, buffer: BufferUse) -> Result<(), Busy> {
        let &AtomicArguments { to: Remote { pe, region, offset }, width, amo, old } = atomic;
        let (lane, fetch) = (self.number, !old.is_null());
        let message = Message::Amo { lane, region, offset, width, amo, fetch };
        let push = |session: &mut Session| {
            if fetch {
                session.push_fetch(&message, MemoryRange { at: old.expose_provenance(), n: width.bytes() })
            } else {
                session.push(&message, self.urgency)
            }
        };
        // SAFETY: the place of the old value is writable until completion, by the caller's promise.
        unsafe { self.issue(pe, 0, (buffer, 1), push) }
    }
}

// SAFETY: sources are read by `issue` or, in place, until the peer has acknowledged them or the link has failed and
// dropped its session; destinations are written until their answer has come; both end before the account says so.
// Remote memory is bounded by the target.
unsafe impl Lane for TcpLane {
    unsafe fn put(&self, put: &PutArguments) -> usize {
        let &PutArguments { to: Remote { pe, region, offset }, source, n } = put;
        let lane = self.number;
        if n == 0 {
            return 0;
        }
        let n = n.min(INJECT);
        let rail = if n <= ONE_RAIL { 0 } else { self.next_rail() };
        let push = |session: &mut Session| {
            if n > SMALL {
                let place = MemoryRange { at: source.expose_provenance(), n };
                return session.push_uncopied_put(lane, (region, offset), place, self.urgency);
            }
            // SAFETY: the caller of `put` promises that the source is readable for `n` bytes, and not written, during the call.
            let data = unsafe { std::slice::from_raw_parts(source, n) };
            session.push(&Message::Put { lane, region, offset, data }, self.urgency)
        };
        // SAFETY: the source is readable during the call, by the caller's promise, and copied in it.
        let issued = unsafe { self.issue(pe, rail, (BufferUse::Copied, 1), push) };
        put.left(issued.map(|()| n))
    }

    unsafe fn put_nbi(&self, put: &PutArguments) -> usize {
        let &PutArguments { to: Remote { pe, region, offset }, source, n } = put;
        if n <= SMALL {
            // SAFETY: the source is readable for `n` bytes; `put` copies it, which asks for less than until completion.
            return unsafe { self.put(put) };
        }
        let lane = self.number;
        let push = |session: &mut Session, start: usize, n: usize| {
            let place = MemoryRange { at: source.wrapping_add(start).expose_provenance(), n };
            session.push_bulk_put(lane, region, offset.wrapping_add(start as u64), place, Urgency::Soon)
        };
        // SAFETY: the source is readable until completion, by the caller's promise, and the pieces lie inside of it.
        put.left(unsafe { self.issue_pieces(pe, n, BufferUse::InPlace, push) })
    }

    unsafe fn get_nbi(&self, get: &GetArguments) -> usize {
        // SAFETY: our caller has made the same promise.
        unsafe { self.fetch(get, BufferUse::InPlace) }
    }

    unsafe fn get_awaited(&self, get: &GetArguments) -> usize {
        // SAFETY: our caller has made the same promise.
        unsafe { self.fetch(get, BufferUse::Awaited) }
    }

    unsafe fn amo(&self, atomic: &AtomicArguments) -> Result<(), Busy> {
        let buffer = if atomic.old.is_null() { BufferUse::Copied } else { BufferUse::InPlace };
        // SAFETY: our caller has made the same promise.
        unsafe { self.update(atomic, buffer) }
    }

    unsafe fn amo_awaited(&self, atomic: &AtomicArguments) -> Result<(), Busy> {
        // SAFETY: our caller has made the same promise.
        unsafe { self.update(atomic, BufferUse::Awaited) }
    }

    /// Data and signal go out with one call of the kernel: short data in the signal's own frame, long data in
    /// frames before it.
    unsafe fn put_signal(&self, put: &PutArguments, signal: Remote, update: SignalUpdate) -> Result<(), Busy> {
        let &PutArguments { to, source, n } = put;
        let (lane, Remote { pe, region, offset }) = (self.number, signal);
        // The session reads these bytes in place, and their owner waits until the peer has them.
        let urgency = if n < BULK { self.urgency } else { Urgency::Now };
        let buffer = if n > COPIED_WITH_SIGNAL { BufferUse::InPlace } else { BufferUse::Copied };
        let push = |session: &mut Session| {
            if (SMALL + 1..=COPIED_WITH_SIGNAL).contains(&n) {
                let place = MemoryRange { at: source.expose_provenance(), n };
                session.push_uncopied_put(lane, (to.region, to.offset), place, self.urgency);
            } else if n > SMALL {
                for start in (0..n).step_by(BULK) {
                    let at = source.wrapping_add(start).expose_provenance();
                    let place = MemoryRange { at, n: BULK.min(n - start) };
                    session.push_bulk_put(lane, to.region, to.offset.wrapping_add(start as u64), place, self.urgency);
                }
            } else if n > 0 {
                // SAFETY: the source is readable for `n` bytes until completion, and copied here.
                let data = unsafe { std::slice::from_raw_parts(source, n) };
                session.push(&Message::Put { lane, region: to.region, offset: to.offset, data }, self.urgency);
            }
            let (width, amo) = (Width::Eight, update.amo());
            session.push(&Message::Amo { lane, region, offset, width, amo, fetch: false }, urgency)
        };
        // SAFETY: the source is readable until completion, by the caller's promise; a short one is copied in this call.
        unsafe { self.issue(pe, 0, (buffer, 1), push) }
    }

    fn copied_with_signal(&self) -> usize {
        COPIED_WITH_SIGNAL
    }

    /// One rail keeps the order by itself; several do not know of each other.
    fn fence(&self) -> Result<(), Busy> {
        if self.net.local.addresses.rails > 1 && self.outstanding() > 0 {
            return Err(Busy);
        }
        self.net.note_fence();
        Ok(())
    }

    fn outstanding(&self) -> u64 {
        self.accounts.iter().map(|account| account.outstanding()).sum()
    }

    /// Each link has a session of its own.
    fn keeps_peers_apart(&self) -> bool {
        true
    }

    fn has_failed(&self) -> bool {
        self.accounts.iter().any(|account| account.has_failed())
    }

    fn progress(&self) -> Result<usize, Error> {
        let before = self.outstanding();
        // With nothing under way, looking would only hurry acknowledgements that can travel with the next operation.
        if before > 0 {
            if self.urgency == Urgency::Later {
                self.net.ask();
            }
            self.net.progress();
        }
        let done = before.saturating_sub(self.outstanding()) as usize;
        self.accounts.iter().find_map(|account| account.error()).map_or(Ok(done), Err)
    }

    fn poll_completion_for(&self, pes: &[u32]) -> Result<bool, Failed> {
        let is_idle = self.poll_completion()? || pes.iter().all(|&pe| self.is_idle_to(pe, &self.accounts));
        if self.has_failed() { Err(Failed) } else { Ok(is_idle) }
    }

    fn poll_awaited(&self) -> Result<AwaitedState, Failed> {
        let awaited = self.account_of(BufferUse::Awaited);
        if awaited.outstanding() > 0 {
            self.net.progress();
        }
        self.awaited_state(awaited.outstanding())
    }

    fn poll_awaited_from(&self, pe: u32) -> Result<AwaitedState, Failed> {
        let awaited = std::slice::from_ref(self.account_of(BufferUse::Awaited));
        match self.poll_awaited()? {
            AwaitedState::UnderWay if self.is_idle_to(pe, awaited) => self.awaited_state(0),
            state => Ok(state),
        }
    }

    fn poll_local_completion_to(&self, pe: u32) -> Result<bool, Error> {
        let [_copied, buffers @ ..] = &self.accounts;
        let is_free = self.poll_local_completion()? || self.is_idle_to(pe, buffers);
        if self.has_failed() {
            self.progress()?;
        }
        Ok(is_free)
    }

    /// A copy stays in the session until the peer has it.
    fn poll_local_completion(&self) -> Result<bool, Error> {
        let buffers = [BufferUse::InPlace, BufferUse::Awaited].map(|buffer| self.account_of(buffer));
        let is_free = || buffers.iter().all(|account| account.outstanding() == 0);
        if !is_free() || self.has_failed() {
            self.progress()?;
        }
        Ok(is_free())
    }
}

impl Drop for TcpLane {
    fn drop(&mut self) {
        self.net.local.lanes.remove(self.place);
    }
}
