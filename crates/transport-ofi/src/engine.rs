//! The endpoints of one PE's rails, and what they share. A holder of the lock moves all of it on: completions, peers' questions,
//! messages that had to wait. The first rail's endpoint carries all messages; the others (`striping`) carry parts of long transfers.

use std::collections::VecDeque;
use std::mem;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_transport::{Account, AddressBook, NotIssued, OutOfRange, Region, Remote, Segment};

use crate::contacts::NewContacts;
use crate::delivery::Delivery;
use crate::endpoint::{Endpoint, Heard, Issued, RemoteTarget, Transfer};
use crate::lane_state::LaneState;
use crate::message::Message;
use crate::outbox::Outbox;
use crate::peers::Inquiry;
use crate::windows::Window;

pub(crate) struct Engine {
    pub(crate) first: Endpoint,
    /// Those of further network cards.
    pub(crate) further: Vec<Endpoint>,
    /// Rails that could not be had, with reasons.
    pub(crate) missing: Vec<String>,
    /// The state of lanes by their numbers.
    pub(crate) states: Vec<LaneState>,
    pub(crate) book: Option<Box<dyn AddressBook>>,
    pub(crate) contacts: NewContacts,
    pub(crate) me: u32,
    /// A peer that does not answer for this time is given up.
    pub(crate) give_up: Duration,
    /// [`Endpoint::issued`] of the first rail at the last look.
    issued: u64,
    /// Messages that the endpoint could not take yet.
    outbox: Outbox,
    /// Messages that have come and have not been looked at; empty but for the time of a drain.
    heard: Vec<Heard>,
    /// Active messages for the software above, with their senders.
    pub(crate) active_messages: VecDeque<(u32, Vec<u8>)>,
}

impl Engine {
    pub(crate) fn new(first: Endpoint, me: u32, give_up: Duration) -> Self {
        Self {
            first,
            further: Vec::new(),
            missing: Vec::new(),
            states: Vec::new(),
            book: None,
            contacts: NewContacts::default(),
            me,
            give_up,
            issued: 0,
            outbox: Outbox::default(),
            heard: Vec::new(),
            active_messages: VecDeque::new(),
        }
    }

    pub(crate) fn rails(&self) -> impl Iterator<Item = &Endpoint> {
        std::iter::once(&self.first).chain(&self.further)
    }

    /// Why it can no longer be used.
    pub(crate) fn broken(&self) -> Option<&Error> {
        self.first.broken.as_ref()
    }

    /// The same memory on every rail. Memory that a further rail cannot register, because each locks it once more, is reached by
    /// the others.
    pub(crate) fn register(&mut self, region: Region, segment: Segment) -> Result<(), Error> {
        self.first.register(region, segment)?;
        for rail in &mut self.further {
            if let Err(error) = rail.register(region, segment) {
                let domain = rail.objects.info.domain_name();
                let why = format!("{domain} for all of {region:?} ({})", error.in_one_line());
                tracing::warn!(why, "memory is not reached by one of the rails");
                self.missing.push(why);
            }
        }
        Ok(())
    }

    /// The endpoints that need a thread to make progress, or carry messages.
    fn looked_after(&self) -> impl Iterator<Item = &Endpoint> {
        std::iter::once(&self.first).chain(self.further.iter().filter(|rail| rail.objects.needs_us()))
    }

    /// The descriptors that become readable when there may be completions, if every endpoint that needs one has it.
    pub(crate) fn descriptors(&self) -> Option<Vec<RawFd>> {
        self.looked_after().map(|rail| rail.objects.descriptor).collect()
    }

    /// Whether a thread may sleep on them now.
    pub(crate) fn may_sleep(&self) -> bool {
        self.looked_after().all(|rail| rail.objects.may_sleep())
    }

    /// Whether lanes have issued operations on the first rail since the last call of this.
    pub(crate) fn take_issued(&mut self) -> bool {
        let issued = self.first.issued();
        mem::replace(&mut self.issued, issued) != issued
    }

    /// Whether messages wait that the last drain has not tried.
    pub(crate) fn has_untried(&self) -> bool {
        self.outbox.leaves_some_out()
    }

    /// A number for a lane; `further` counts its operations on further rails. All rails give the same number.
    pub(crate) fn enlist(&mut self, account: Arc<Account>, further: &Arc<Account>) -> u32 {
        for rail in &mut self.further {
            rail.enlist(further.clone());
        }
        let number = self.first.enlist(account);
        let index = number as usize;
        self.states.resize_with(self.states.len().max(index + 1), LaneState::default);
        self.states[index] = LaneState::default();
        number
    }

    pub(crate) fn delist(&mut self, number: u32) {
        self.first.delist(number);
        self.further.iter_mut().for_each(|rail| rail.delist(number));
    }

    /// Issues a transfer on the first rail as far as there is room; returns how many bytes from the start that is. The range is
    /// checked first, so that one that does not fit has no effect. `delivery` says when a put completes.
    ///
    /// # Safety
    /// As for the operations of a `Lane`.
    pub(crate) unsafe fn transfer(
        &mut self,
        account: u32,
        remote: Remote,
        transfer: Transfer,
        delivery: Delivery,
        n: usize,
    ) -> Issued<usize> {
        let target = self.reach(remote, n)?;
        // SAFETY: the local buffer has `n` bytes until completion, by the caller's promise.
        unsafe { self.first.transfer(account, remote, target, transfer, delivery, n) }
    }

    /// How a peer is reached on the first rail, and where the first bytes are; all of them are known then.
    #[inline]
    pub(crate) fn reach(&mut self, remote: Remote, n: usize) -> Issued<RemoteTarget> {
        // Nearly always the peer has heard of us, and a transfer lies in one registration that is known.
        match self.first.peers.reached(remote) {
            Some((peer, found)) if found.room >= n as u64 => Ok(RemoteTarget { peer, found: Some(found) }),
            _ => self.learn_to_reach(remote, n),
        }
    }

    #[cold]
    fn learn_to_reach(&mut self, remote: Remote, n: usize) -> Issued<RemoteTarget> {
        let peer = self.address(remote.pe)?;
        self.cover(remote, n)?;
        Ok(RemoteTarget { peer, found: self.first.found(remote.pe, remote.region, remote.offset) })
    }

    /// Learns of every registration that holds a part of the range, or says that there is none.
    fn cover(&mut self, remote: Remote, n: usize) -> Issued {
        let Remote { pe, region, offset } = remote;
        let Some(end) = offset.checked_add(n as u64) else { return Err(self.first.out_of_range(remote, n).into()) };
        let mut at = offset;
        while at < end {
            match self.first.found(pe, region, at) {
                Some(found) => at = at.saturating_add(found.room),
                None => self.ask(remote, at, n)?,
            }
        }
        Ok(())
    }

    /// Asks a peer where one byte of a region is; busy until it has answered.
    fn ask(&mut self, remote: Remote, at: u64, n: usize) -> Issued {
        let Remote { pe, region, offset } = remote;
        match self.first.peers.question(pe, region, at) {
            Inquiry::New => self.send(pe, &Message::Where { region: region as u8, offset: at }),
            Inquiry::Asked(waited) if waited > self.give_up => {
                return Err(self.first.unreachable(pe, "it does not say where its memory is").into());
            }
            Inquiry::Asked(_) => {}
            Inquiry::Answered => {
                let registered = self.first.peers.told_length(pe) as usize;
                return Err(OutOfRange { region, offset, bytes: n, registered }.error(pe).into());
            }
        }
        Err(NotIssued::Busy)
    }

    /// Sends a message, now or as soon as it goes.
    pub(crate) fn send(&mut self, pe: u32, message: &Message) {
        self.outbox.add(pe, message.encode(self.me));
        self.flush();
    }

    /// As [`Engine::send`], for an active message.
    pub(crate) fn send_active(&mut self, pe: u32, message: &[u8]) {
        let head = Message::active_head(self.me);
        // Messages to a PE stay in order.
        if !self.outbox.has(pe) && self.first.peers.met(pe).is_some() && self.first.send(pe, &head, message).is_ok() {
            return;
        }
        self.outbox.add(pe, Message::encode_active(self.me, message));
        self.flush();
    }

    /// Sends the messages that wait, as far as they go. Returns how many went.
    fn flush(&mut self) -> usize {
        let mut outbox = mem::take(&mut self.outbox);
        let sent = outbox.flush(|pe, bytes| {
            let outcome = self.address_of(pe).map_err(NotIssued::from).and_then(|_| self.first.send(pe, &[], bytes));
            match outcome {
                Ok(()) => true,
                Err(NotIssued::Busy) => false,
                Err(NotIssued::Failed(error)) => {
                    self.first.broken.get_or_insert(*error);
                    true
                }
            }
        });
        self.outbox = outbox;
        sent
    }

    /// Moves everything on, on all rails; returns how much was done.
    #[inline(never)]
    pub(crate) fn drain(&mut self) -> usize {
        self.drain_inline()
    }

    /// [`Engine::drain`] as a part of its caller, which has one frame with it.
    #[inline(always)]
    pub(crate) fn drain_inline(&mut self) -> usize {
        let mut done = self.first.drain(&mut self.heard);
        if !self.heard.is_empty() {
            self.hear_all();
        }
        if !self.outbox.is_empty() {
            done += self.flush();
        }
        if self.further.is_empty() { done } else { done + self.drain_further() }
    }

    fn hear_all(&mut self) {
        let mut heard = mem::take(&mut self.heard);
        heard.drain(..).for_each(|(from, message)| self.hear(from, message));
        self.heard = heard;
        if self.contacts.are_due() {
            self.send_to_contacts_unpaced();
        }
    }

    /// Moves on the further rails; returns how much was done.
    #[inline(never)]
    fn drain_further(&mut self) -> usize {
        let mut done = 0;
        for rail in &mut self.further {
            if rail.objects.needs_us() || rail.under_way() > 0 {
                done += rail.drain(&mut self.heard);
            }
            if rail.broken.is_some() && self.first.broken.is_none() {
                self.first.broken.clone_from(&rail.broken);
            }
        }
        done
    }

    /// The registrations of all rails that hold a byte of our own, with the numbers of their rails.
    fn around(&self, region: Region, offset: u64) -> Vec<(u8, Window)> {
        let window = |rail: &Endpoint| Window::around(rail.windows(), region, offset);
        (0..).zip(self.rails()).filter_map(|(number, rail)| Some((number, window(rail)?))).collect()
    }

    /// A message of a peer.
    fn hear(&mut self, from: u32, message: Message) {
        match message {
            Message::Active(message) => self.active_messages.push_back((from, message)),
            Message::Where { region, offset } => {
                let Ok(region) = Region::try_from(region) else { return };
                let windows = self.around(region, offset);
                self.send(from, &Message::There(windows, self.first.windows().len(region)));
            }
            Message::There(windows, len) => self.learn(from, &windows, len),
            Message::Hello => {
                self.first.peers.note_acquaintance(from);
                self.send(from, &Message::Welcome);
                self.contacts.add(from);
                if self.first.peers.leaving {
                    self.send(from, &Message::Disconnect);
                }
            }
            Message::Welcome => {
                self.first.peers.note_acquaintance(from);
                self.contacts.add(from);
            }
            Message::Disconnect => self.first.peers.note_disconnect(from),
        }
    }

    /// A peer has answered where its memory is, for each of its rails.
    fn learn(&mut self, pe: u32, windows: &[(u8, Window)], len: u64) {
        let of = |rail| windows.iter().find(|(number, _)| *number == rail).map(|(_, window)| *window);
        for rail in &mut self.further {
            if let Some(window) = rail.peers.rail(pe).and_then(of) {
                rail.peers.learn(pe, Some(window), len);
            }
        }
        self.first.peers.learn(pe, of(0), len);
    }

    /// Disconnects from all PEs that know this one.
    pub(crate) fn leave(&mut self) {
        self.first.losses.begin_leaving();
        for pe in self.first.peers.begin_leaving() {
            self.send(pe, &Message::Disconnect);
        }
    }

    /// Whether all of them have disconnected too: then no PE will send to this endpoint any more, and it may be closed.
    pub(crate) fn has_left(&self) -> bool {
        let all_said = self.first.peers.awaited() == 0 && self.outbox.is_empty() && self.first.sending == 0;
        self.broken().is_some() || all_said
    }
}
