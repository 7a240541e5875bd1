//! One endpoint with everything that is under way on it. Whoever holds the lock moves all of it on: completions, peers'
//! questions, messages that had to wait. The first rail's engine also moves on those of the further ones (`rails`), so that
//! whoever waits serves all.

use std::collections::VecDeque;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::inline::*;
use oxshmem_transport::{Account, Cards, NotIssued, OutOfRange, Region, Remote};

use crate::device::Delivery;
use crate::lane_state::LaneState;
use crate::message::Message;
use crate::operation::{Operation, Operations, Purpose, ROOM, context};
use crate::peers::{Inquiry, Peers};
use crate::port::{Depth, Port, Registration};
use crate::rails::Rails;
use crate::region::{Own, Place, Window, Windows};

pub(crate) struct Engine {
    // First: the endpoint closes while what it uses still lives.
    own: Own,
    rooms: Option<Registration>,
    pub(crate) port: Port,
    operations: Operations,
    accounts: Vec<Option<Arc<Account>>>,
    /// The state of lanes by their numbers; on the first rail only.
    pub(crate) states: Vec<LaneState>,
    pub(crate) peers: Peers,
    pub(crate) cards: Option<Box<dyn Cards>>,
    pub(crate) me: u32,
    /// A peer that does not answer for so long is given up; on the first rail only.
    pub(crate) give_up: Duration,
    /// Messages that the endpoint could not take yet.
    outbox: VecDeque<(u32, Vec<u8>)>,
    /// Messages that the endpoint has taken and not completed.
    sending: usize,
    /// Letters for the software above, with their senders.
    pub(crate) mail: VecDeque<(u32, Vec<u8>)>,
    /// Why the endpoint is of no use any more.
    pub(crate) broken: Option<Error>,
    inject: usize,
    longest: usize,
    local: bool,
    /// Short puts have no completions.
    forgets: bool,
    /// It carries messages; those of further rails do not.
    is_first: bool,
    receives: usize,
    pub(crate) further: Rails,
}

// SAFETY: libfabric's objects belong to no thread, and whoever uses them holds the lock around the engine.
unsafe impl Send for Engine {}

/// The outcome of issuing something.
pub(crate) type Issued<T = ()> = Result<T, NotIssued>;

/// Which way an operation goes, and where its local bytes are.
#[derive(Clone, Copy)]
pub(crate) enum Transfer {
    /// From here, copied if the flag says so.
    Put(*const u8, bool),
    /// To here.
    Get(*mut u8),
}

impl Engine {
    /// The engine of an endpoint; one that receives nothing is a further rail's.
    pub(crate) fn new(mut port: Port, me: u32, pes: u32, depth: Depth) -> Result<Self, Error> {
        let Depth { issued, receives } = depth;
        let mut operations = Operations::new(issued + receives);
        let local = port.mr_mode() & fi::FI_MR_LOCAL != 0;
        let (bytes, len) = operations.bytes();
        let rooms = if local { Some(port.register(bytes, len)?) } else { None };
        let inject = port.info.tx().inject_size;
        let longest = port.info.ep().max_msg_size;
        let forgets = port.info.delivery == Delivery::ReadBack;
        let posted: Vec<*mut Operation> = (0..receives).filter_map(|_| operations.take(Purpose::Receive)).collect();
        let mut engine = Self {
            own: Own::default(),
            rooms,
            port,
            operations,
            accounts: Vec::new(),
            states: Vec::new(),
            peers: Peers::new(pes),
            cards: None,
            me,
            give_up: Duration::MAX,
            outbox: VecDeque::new(),
            sending: 0,
            mail: VecDeque::new(),
            broken: None,
            inject,
            longest,
            local,
            forgets,
            is_first: receives > 0,
            receives,
            further: Rails::default(),
        };
        posted.into_iter().for_each(|operation| engine.receive(operation));
        engine.broken.clone().map_or(Ok(engine), Err)
    }

    pub(crate) fn register(&mut self, region: Region, segment: oxshmem_transport::Segment) -> Result<(), Error> {
        self.own.register(&mut self.port, region, segment)?;
        self.further.register(region, segment);
        Ok(())
    }

    /// Operations that the endpoint has, but for the room for messages to come.
    pub(crate) fn under_way(&self) -> usize {
        self.operations.under_way() - self.receives
    }

    /// What becomes readable when there may be completions, if every endpoint that needs somebody has such a thing.
    pub(crate) fn descriptors(&self) -> Option<Vec<RawFd>> {
        let needy = self.further.all().iter().filter(|engine| engine.port.needs_us());
        std::iter::once(self).chain(needy).map(|engine| engine.port.descriptor).collect()
    }

    /// Whether it is right to sleep on them now.
    pub(crate) fn may_sleep(&self) -> bool {
        self.port.may_sleep()
            && self.further.all().iter().all(|engine| !engine.port.needs_us() || engine.port.may_sleep())
    }

    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    pub(crate) fn windows(&self) -> &Windows {
        &self.own.windows
    }

    /// A number for an account, and on the further rails for what a lane has there: all give the same number.
    pub(crate) fn enlist(&mut self, account: Arc<Account>, further: &Arc<Account>) -> u32 {
        for engine in self.further.all_mut() {
            engine.enlist(further.clone(), further);
        }
        let free = self.accounts.iter().position(Option::is_none);
        let number = free.unwrap_or_else(|| {
            self.accounts.push(None);
            self.states.push(LaneState::default());
            self.accounts.len() - 1
        });
        self.states[number] = LaneState::default();
        self.accounts[number] = Some(account);
        number as u32
    }

    pub(crate) fn delist(&mut self, number: u32) {
        self.accounts[number as usize] = None;
        self.further.all_mut().iter_mut().for_each(|engine| engine.delist(number));
    }

    /// Issues a transfer in pieces as far as there is room; returns how many bytes from the start that is. The range is
    /// checked first, so that what does not fit has no effect.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    pub(crate) unsafe fn transfer(
        &mut self,
        account: u32,
        remote: Remote,
        transfer: Transfer,
        n: usize,
    ) -> Issued<usize> {
        let (address, mut place) = self.reach(remote, n)?;
        let mut done = 0;
        while done < n {
            let Some(here) = place else { return Err(self.out_of_range(remote, n).into()) };
            let room = usize::try_from(here.room).unwrap_or(usize::MAX);
            let piece = (n - done).min(room).min(self.longest);
            // SAFETY: a piece of what the caller promised.
            let local = unsafe { transfer.plus(done) };
            let issued = match local {
                // SAFETY: a piece of what the caller promised.
                Transfer::Put(source, true) if self.forgets && piece <= self.inject => unsafe {
                    self.put_and_forget(remote.pe, address, here, source, piece)
                },
                // SAFETY: a piece of what the caller promised.
                _ => unsafe { self.piece(account, remote.pe, address, here, local, piece) },
            };
            match issued {
                Ok(issued) => done += issued,
                Err(NotIssued::Busy) if done > 0 => return Ok(done),
                Err(refused) => return Err(refused),
            }
            if done < n {
                place = self.peers.windows(remote.pe).find(remote.region, remote.offset + done as u64);
            }
        }
        Ok(n)
    }

    /// How a peer is reached, and where the first bytes are; all of them are known then.
    pub(crate) fn reach(&mut self, remote: Remote, n: usize) -> Issued<(fi::fi_addr_t, Option<Place>)> {
        let address = self.address(remote.pe)?;
        let place = self.peers.windows(remote.pe).find(remote.region, remote.offset);
        // Nearly always a transfer lies in one registration that is known.
        if place.is_some_and(|place| place.room >= n as u64) {
            return Ok((address, place));
        }
        self.cover(remote, n)?;
        Ok((address, self.peers.windows(remote.pe).find(remote.region, remote.offset)))
    }

    /// An operation's own bytes.
    ///
    /// # Safety
    /// `operation` came from `take`.
    pub(crate) unsafe fn room(&self, operation: *const Operation) -> *mut u8 {
        // SAFETY: the caller's promise.
        unsafe { self.operations.room(operation) }
    }

    /// What these bytes are called in operations, where local memory has to be registered.
    pub(crate) fn room_descriptor(&self) -> *mut std::ffi::c_void {
        self.rooms.as_ref().map_or(ptr::null_mut(), |rooms| rooms.desc)
    }

    /// Issues a short put whose source is free at once and of which nothing is heard again. Where a read behind the puts
    /// tells whether they have arrived, their completions tell nothing and cost as much again.
    ///
    /// # Safety
    /// `source` has `n` bytes.
    unsafe fn put_and_forget(
        &mut self,
        pe: u32,
        address: fi::fi_addr_t,
        place: Place,
        source: *const u8,
        n: usize,
    ) -> Issued<usize> {
        // SAFETY: the endpoint is open; the caller vouches for the source.
        let code =
            unsafe { fi_inject_write(self.port.ep, source.cast(), n, address, place.address, place.key) } as c_int;
        self.taken(pe, code).map(|()| n)
    }

    /// Issues one piece, or the beginning of it; returns how much.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    pub(crate) unsafe fn piece(
        &mut self,
        account: u32,
        pe: u32,
        address: fi::fi_addr_t,
        place: Place,
        transfer: Transfer,
        n: usize,
    ) -> Issued<usize> {
        let operation = self.take(Purpose::Put { account, pe })?;
        // SAFETY: the operation was just taken.
        let room = unsafe { self.operations.room(operation) };
        let mut n = n;
        let (buffer, known) = match transfer {
            Transfer::Put(source, true) => {
                n = n.min(ROOM);
                // SAFETY: `n` bytes fit into the room; the caller vouches for the source.
                unsafe { ptr::copy_nonoverlapping(source, room, n) };
                (room, self.rooms.as_ref().map(|rooms| rooms.desc))
            }
            Transfer::Put(source, false) => (source.cast_mut(), self.descriptor(source, n)),
            Transfer::Get(dest) => {
                let known = self.descriptor(dest, n);
                let through = self.local && known.is_none() && n <= ROOM;
                let copy_to = if through { dest } else { ptr::null_mut() };
                // SAFETY: just taken, so it is ours.
                unsafe { (*operation).purpose = Purpose::Get { account, pe, dest: copy_to, n } };
                if through { (room, self.rooms.as_ref().map(|rooms| rooms.desc)) } else { (dest, known) }
            }
        };
        let desc = match known {
            Some(desc) => desc,
            None if !self.local => ptr::null_mut(),
            None => match self.port.register(buffer, n) {
                Ok(registration) => {
                    let desc = registration.desc;
                    // SAFETY: just taken, so it is ours.
                    unsafe { (*operation).registration = Some(registration) };
                    desc
                }
                Err(error) => {
                    // SAFETY: libfabric has not had it.
                    unsafe { self.operations.give_back(operation) };
                    return Err(error.into());
                }
            },
        };
        let copied = matches!(transfer, Transfer::Put(_, true));
        let code = {
            let (ep, context) = (self.port.ep, context(operation));
            // SAFETY: the endpoint is open; buffers stay until the completion, by the caller's promise or because they are
            // the operation's own.
            unsafe {
                match (transfer, self.port.info.delivery) {
                    (Transfer::Get(_), _) => {
                        fi_read(ep, buffer.cast(), n, desc, address, place.address, place.key, context)
                    }
                    (Transfer::Put(..), Delivery::ReadBack) => {
                        fi_write(ep, buffer.cast(), n, desc, address, place.address, place.key, context)
                    }
                    (Transfer::Put(..), Delivery::Complete) => {
                        let inject = if copied && n <= self.inject { fi::FI_INJECT } else { 0 };
                        let flags = fi::FI_COMPLETION | fi::FI_DELIVERY_COMPLETE | inject;
                        let iov = fi::iovec { iov_base: buffer.cast(), iov_len: n };
                        let remote = fi::fi_rma_iov { addr: place.address, len: n, key: place.key };
                        let mut desc = desc;
                        let message = fi::fi_msg_rma {
                            msg_iov: &raw const iov,
                            desc: &raw mut desc,
                            iov_count: 1,
                            addr: address,
                            rma_iov: &raw const remote,
                            rma_iov_count: 1,
                            context,
                            data: 0,
                        };
                        fi_writemsg(ep, &raw const message, flags)
                    }
                }
            }
        };
        self.posted(account, pe, operation, code as c_int).map(|()| n)
    }

    /// The endpoint has taken an operation of a lane, which counts from now on; or has not, and it is free again.
    pub(crate) fn posted(&mut self, account: u32, pe: u32, operation: *mut Operation, code: c_int) -> Issued {
        let outcome = self.taken(pe, code);
        match &outcome {
            // Its completion is looked at under the lock that is held here.
            Ok(()) => self.accounts.get(account as usize).into_iter().flatten().for_each(|account| account.issue(1)),
            // SAFETY: libfabric has refused it.
            Err(_) => unsafe {
                self.operations.give_back(operation);
            },
        }
        outcome
    }

    /// The meaning of the endpoint's answer to an operation.
    fn taken(&self, pe: u32, code: c_int) -> Issued {
        match code {
            0 => Ok(()),
            code if code == -fi::FI_EAGAIN => Err(NotIssued::Busy),
            code => Err(self.unreachable(pe, &self.port.meaning(code)).into()),
        }
    }

    fn descriptor(&self, at: *const u8, n: usize) -> Option<*mut std::ffi::c_void> {
        if self.local { self.own.descriptor(at, n) } else { None }
    }

    /// A place for an operation; completions of others make room.
    pub(crate) fn take(&mut self, purpose: Purpose) -> Issued<*mut Operation> {
        if let Some(error) = &self.broken {
            return Err(error.clone().into());
        }
        self.operations.take(purpose).ok_or(NotIssued::Busy)
    }

    pub(crate) fn unreachable(&self, pe: u32, why: &str) -> Error {
        let info = &self.port.info;
        Error::new(format!("PE {pe} cannot be reached over {} on {}", info.provider(), info.domain_name()))
            .because(why)
            .fix(match self.is_first {
                true => "look whether that PE's node is alive and its network up; SHMEM_TRANSPORT=tcp goes another way",
                false => "look whether that network is up on both nodes; SHMEM_RAILS=1 keeps to one card",
            })
    }

    /// Learns of every registration that holds a part of the range, or says that there is none.
    fn cover(&mut self, remote: Remote, n: usize) -> Issued {
        let Remote { pe, region, offset } = remote;
        let Some(end) = offset.checked_add(n as u64) else { return Err(self.out_of_range(remote, n).into()) };
        let mut at = offset;
        while at < end {
            match self.peers.windows(pe).find(region, at) {
                Some(place) => at = at.saturating_add(place.room),
                None => self.ask(remote, at, n)?,
            }
        }
        Ok(())
    }

    pub(crate) fn out_of_range(&self, Remote { pe, region, offset }: Remote, bytes: usize) -> Error {
        self.peers.windows(pe).missing(region, offset, bytes).error(pe)
    }

    /// Asks a peer where one byte of a region is; busy until it has answered.
    fn ask(&mut self, remote: Remote, at: u64, n: usize) -> Issued {
        let Remote { pe, region, offset } = remote;
        match self.peers.question(pe, region, at) {
            Inquiry::New => self.send(pe, &Message::Where { region: region as u8, offset: at }),
            Inquiry::Asked(since) if since.elapsed() > self.give_up => {
                return Err(self.unreachable(pe, "it does not say where its memory is").into());
            }
            Inquiry::Asked(_) => {}
            Inquiry::Answered => {
                let registered = self.peers.told_length(pe) as usize;
                return Err(OutOfRange { region, offset, bytes: n, registered }.error(pe).into());
            }
        }
        Err(NotIssued::Busy)
    }

    /// Sends a message, now or as soon as it goes.
    pub(crate) fn send(&mut self, pe: u32, message: &Message) {
        self.outbox.push_back((pe, message.encode(self.me)));
        self.flush();
    }

    /// Sends what waits, in order. Returns how much went.
    fn flush(&mut self) -> usize {
        let mut sent = 0;
        while let Some((pe, bytes)) = self.outbox.pop_front() {
            match self.post(pe, &bytes) {
                Ok(true) => sent += 1,
                Ok(false) => {
                    self.outbox.push_front((pe, bytes));
                    break;
                }
                Err(error) => drop(self.broken.get_or_insert(error)),
            }
        }
        sent
    }

    /// Gives the endpoint one message, if it takes it.
    fn post(&mut self, pe: u32, bytes: &[u8]) -> Result<bool, Error> {
        let address = self.address_of(pe)?;
        let Some(operation) = self.operations.take(Purpose::Send { pe }) else { return Ok(false) };
        // SAFETY: the operation is ours and its room longer than any message; libfabric gives it back by its completion.
        let code = unsafe {
            let room = self.operations.room(operation);
            ptr::copy_nonoverlapping(bytes.as_ptr(), room, bytes.len());
            let desc = self.rooms.as_ref().map_or(ptr::null_mut(), |rooms| rooms.desc);
            fi_send(self.port.ep, room.cast(), bytes.len(), desc, address, context(operation))
        } as c_int;
        if code == 0 {
            self.sending += 1;
            return Ok(true);
        }
        // SAFETY: libfabric has refused it.
        unsafe { self.operations.give_back(operation) };
        if code == -fi::FI_EAGAIN { Ok(false) } else { Err(self.unreachable(pe, &self.port.meaning(code))) }
    }

    /// Gives the endpoint room for a message.
    fn receive(&mut self, operation: *mut Operation) {
        // SAFETY: the operation is ours until its completion; its room is as long as it says.
        let attempt = || unsafe {
            let room = self.operations.room(operation);
            let desc = self.rooms.as_ref().map_or(ptr::null_mut(), |rooms| rooms.desc);
            fi_recv(self.port.ep, room.cast(), Message::LONGEST, desc, fi::FI_ADDR_UNSPEC, context(operation))
        } as c_int;
        // An endpoint that has just been enabled or has just given one back has a place.
        let code = (0..1000).map(|_| attempt()).find(|&code| code != -fi::FI_EAGAIN).unwrap_or(-fi::FI_EAGAIN);
        if code != 0 {
            let info = &self.port.info;
            let error = Error::new(format!("the endpoint of {} takes no room for messages", info.provider()))
                .because(self.port.meaning(code));
            self.broken.get_or_insert(error);
        }
    }

    /// Moves everything on, on all rails; returns how much was done.
    pub(crate) fn drain(&mut self) -> usize {
        let done = self.drain_endpoint();
        if self.further.is_empty() { done } else { done + self.drain_further() }
    }

    /// Moves on what is under way on this endpoint.
    pub(crate) fn drain_endpoint(&mut self) -> usize {
        let mut done = 0;
        loop {
            let mut entries: [MaybeUninit<fi::fi_cq_msg_entry>; 16] = [const { MaybeUninit::uninit() }; 16];
            // SAFETY: the queue is open; there is room for so many entries of the form it was opened with.
            let read = unsafe { fi_cq_read(self.port.cq, entries.as_mut_ptr().cast(), entries.len()) };
            match read {
                1.. => {
                    let read = read as usize;
                    done += read;
                    for entry in &entries[..read] {
                        // SAFETY: so many have been written.
                        let entry = unsafe { entry.assume_init_ref() };
                        self.completed(entry.op_context.cast(), entry.len, None);
                    }
                    if read < entries.len() {
                        break;
                    }
                }
                code if code as c_int == -(fi::FI_EAVAIL as c_int) => done += self.failure(),
                code if code as c_int == -fi::FI_EAGAIN || code == 0 => break,
                code => {
                    let error = Error::new("the network's completions cannot be read")
                        .because(self.port.meaning(code as c_int));
                    self.broken.get_or_insert(error);
                    break;
                }
            }
        }
        if !self.outbox.is_empty() {
            done += self.flush();
        }
        done
    }

    /// Takes one error from the queue.
    fn failure(&mut self) -> usize {
        /// Later versions of the library write a longer entry.
        #[repr(C)]
        union Longer {
            entry: fi::fi_cq_err_entry,
            bytes: [u64; 32],
        }
        let mut error = Longer { bytes: [0; 32] };
        // SAFETY: the queue is open; the entry is longer than any version's, and all zero as the provider expects.
        let read = unsafe { fi_cq_readerr(self.port.cq, &raw mut error.entry, 0) };
        if read <= 0 {
            return 0;
        }
        // SAFETY: written by the provider; every bit pattern is an entry.
        let entry = unsafe { &error.entry };
        let why = self.port.queue_meaning(entry);
        self.completed(entry.op_context.cast(), 0, Some((entry.err, why)));
        1
    }

    /// An operation is over.
    fn completed(&mut self, operation: *mut Operation, len: usize, failed: Option<(c_int, String)>) {
        if operation.is_null() {
            // Nobody knows whose put that was.
            if let Some((_, why)) = failed.filter(|_| !self.peers.leaving()) {
                let error = Error::new("a put has failed that the network had taken").because(why);
                self.broken.get_or_insert(error);
            }
            return;
        }
        // SAFETY: libfabric gives back the context that it was given, which is an operation of ours.
        if let Purpose::Receive = unsafe { &(*operation).purpose } {
            if failed.as_ref().is_some_and(|(code, _)| *code == fi::FI_ECANCELED) {
                return;
            }
            if failed.is_none() {
                // SAFETY: the room holds what has come, which was written before the completion.
                let bytes = unsafe {
                    std::slice::from_raw_parts(self.operations.room(operation), len.min(Message::LONGEST)).to_vec()
                };
                self.hear(&bytes);
            }
            return self.receive(operation);
        }
        // SAFETY: as above; a completion is the end of it.
        let (purpose, room) = unsafe {
            let room = self.operations.room(operation);
            (self.operations.give_back(operation), room)
        };
        let (account, pe) = match purpose {
            Purpose::Put { account, pe } => (account, pe),
            Purpose::Get { account, pe, dest, n } => {
                if !dest.is_null() && failed.is_none() {
                    // SAFETY: the lane's caller keeps the destination until completion, which is now; the place is free
                    // but nobody has taken it yet.
                    unsafe { ptr::copy_nonoverlapping(room, dest, n) };
                }
                (account, pe)
            }
            Purpose::Send { pe } => {
                self.sending -= 1;
                if let Some((_, why)) = failed {
                    self.lost_message(pe, &why);
                }
                return;
            }
            Purpose::Free | Purpose::Receive => return,
        };
        let error = failed.map(|(_, why)| self.unreachable(pe, &why));
        if let Some(account) = self.accounts.get(account as usize).and_then(Option::as_ref) {
            error.into_iter().for_each(|error| account.fail(error));
            account.complete(1);
        }
    }

    /// A message could not be delivered: whoever has said farewell is not missed.
    fn lost_message(&mut self, pe: u32, why: &str) {
        if self.peers.has_left(pe) || self.peers.leaving() {
            self.peers.note_farewell(pe);
            return;
        }
        let error = self.unreachable(pe, why);
        self.broken.get_or_insert(error);
    }

    /// The windows of all rails that hold a byte of our own.
    fn around(&self, region: Region, offset: u64) -> Vec<(u8, Window)> {
        let own = self.own.windows.around(region, offset).map(|window| (0, *window));
        own.into_iter().chain(self.further.around(region, offset)).collect()
    }

    /// What a peer says.
    fn hear(&mut self, bytes: &[u8]) {
        let Some((from, message)) = Message::decode(bytes) else {
            tracing::warn!(bytes = bytes.len(), "a message that makes no sense was dropped");
            return;
        };
        match message {
            Message::Letter(letter) => self.mail.push_back((from, letter)),
            Message::Where { region, offset } => {
                let Ok(region) = Region::try_from(region) else { return };
                let windows = self.around(region, offset);
                self.send(from, &Message::There(windows, self.own.windows.len(region)));
            }
            Message::There(windows, len) => self.learn(from, &windows, len),
            Message::Hello => {
                self.peers.note_acquaintance(from);
                self.send(from, &Message::Welcome);
                if self.peers.leaving() {
                    self.send(from, &Message::Farewell);
                }
            }
            Message::Welcome => self.peers.note_acquaintance(from),
            Message::Farewell => self.peers.note_farewell(from),
        }
    }

    /// Says farewell to all PEs that know this one.
    pub(crate) fn leave(&mut self) {
        for pe in self.peers.begin_leaving() {
            self.send(pe, &Message::Farewell);
        }
    }

    /// Whether all of them have said farewell too: then nobody will send to this endpoint any more, and it may go.
    pub(crate) fn has_left(&self) -> bool {
        self.broken.is_some() || (self.peers.awaited() == 0 && self.outbox.is_empty() && self.sending == 0)
    }
}

impl Transfer {
    /// # Safety
    /// `bytes` is not beyond the local buffer's end.
    pub(crate) unsafe fn plus(self, bytes: usize) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            match self {
                Self::Put(source, copied) => Self::Put(source.add(bytes), copied),
                Self::Get(dest) => Self::Get(dest.add(bytes)),
            }
        }
    }
}
