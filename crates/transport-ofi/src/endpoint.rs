//! One endpoint: the memory that it has registered, the peers that it reaches, and what is under way on it. It is used under the
//! engine's lock.

mod completions;
mod datagrams;
mod issue;
mod piece;
mod straight;

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::inline::*;
use oxshmem_transport::{Account, FoundPiece, Losses, NotIssued, Region, Remote, Segment, WRONG_ARRAY};

use crate::address::RailAddress;
use crate::delivery::Delivery;
use crate::library::{longest_eager, with_cause_here};
use crate::objects::{Depth, Objects};
use crate::peers::KnownPeers;
use crate::registered::{EVERYTHING, OwnMemory, Registration};
use crate::room::{ROOM, message_room};
use crate::slots::{OperationSlot, OperationSlots, SlotUse, context};
use crate::windows::Windows;

use datagrams::Datagrams;
use straight::PreparedArguments;

pub(crate) use completions::Heard;
pub(crate) use piece::Transfer;

pub(crate) struct Endpoint {
    // First: registrations close while the endpoint is open.
    own: OwnMemory,
    rooms: Option<Registration>,
    pub(crate) objects: Objects,
    pub(crate) slots: OperationSlots,
    arguments: PreparedArguments,
    accounts: Vec<Option<Arc<Account>>>,
    pub(crate) peers: KnownPeers,
    /// Messages that it has taken and not completed.
    pub(crate) sending: usize,
    /// Why it can no longer be used.
    pub(crate) broken: Option<Error>,
    /// Operations of all rails that have failed.
    pub(crate) losses: Arc<Losses>,
    inject: usize,
    /// Puts of at most this many bytes are injected from where they are.
    at_once: usize,
    /// Longest put or get.
    pub(crate) longest: usize,
    /// How many datagrams an operation takes of a peer's window, where they are counted.
    datagrams: Option<Datagrams>,
    /// Local memory has to be registered.
    registers_local: bool,
    /// Bytes that a put injects need not be copied before.
    reads_at_once: bool,
    /// How many slots wait for messages; none on a further rail.
    receives: usize,
    /// Those of them that libfabric could not take yet.
    unposted: Vec<*mut OperationSlot>,
    /// The addresses of the last source that libfabric has refused to put from where it is.
    refused: Range<usize>,
}

// SAFETY: libfabric's objects belong to no thread, and the engine's lock lets one thread at a time use them.
unsafe impl Send for Endpoint {}

/// The outcome of issuing something.
pub(crate) type Issued<T = ()> = Result<T, NotIssued>;

/// How an endpoint reaches some bytes of a peer.
#[derive(Clone, Copy)]
pub(crate) struct RemoteTarget {
    pub(crate) peer: fi::fi_addr_t,
    /// Where the bytes are; `None` if no registration is known that holds the first of them.
    pub(crate) found: Option<FoundPiece<u64>>,
}

impl Endpoint {
    /// The endpoint of these objects; one that receives nothing is a further rail's.
    pub(crate) fn new(mut objects: Objects, pes: u32, depth: Depth) -> Result<Self, Error> {
        let Depth { issued, kept, receives } = depth;
        let kind = objects.info.endpoint();
        let room = if kind.card || receives == 0 { ROOM } else { message_room(&kind.provider, longest_eager()) };
        let mut slots = OperationSlots::new(issued + receives, kept, room);
        let registers_local = objects.mr_mode() & fi::FI_MR_LOCAL != 0;
        let (bytes, len) = slots.bytes();
        let rooms = if registers_local { Some(Registration::new(&mut objects, bytes, len, EVERYTHING)?) } else { None };
        let posted: Vec<*mut OperationSlot> = (0..receives).filter_map(|_| slots.take(SlotUse::Receive)).collect();
        let inject = objects.info.tx().inject_size;
        let datagrams = Datagrams::of(&objects.info);
        let longest = datagrams.map_or(usize::MAX, Datagrams::longest).min(objects.info.longest());
        let reads_at_once = objects.info.delivery == Delivery::Complete && !registers_local;
        let mut endpoint = Self {
            own: OwnMemory::default(),
            inject,
            at_once: if reads_at_once { inject } else { 0 },
            longest,
            datagrams,
            reads_at_once,
            objects,
            slots,
            arguments: PreparedArguments::new(rooms.as_ref().map_or(ptr::null_mut(), |rooms| rooms.desc)),
            rooms,
            accounts: Vec::new(),
            peers: KnownPeers::new(pes),
            sending: 0,
            broken: None,
            losses: Arc::default(),
            registers_local,
            receives,
            unposted: Vec::new(),
            refused: 0..0,
        };
        for slot in posted {
            endpoint.post_receive(slot);
        }
        endpoint.broken.clone().map_or(Ok(endpoint), Err)
    }

    pub(crate) fn register(&mut self, region: Region, segment: Segment) -> Result<(), Error> {
        self.own.register(&mut self.objects, region, segment)
    }

    /// The memory of this PE that it has registered.
    pub(crate) fn windows(&self) -> &Windows {
        &self.own.windows
    }

    /// Operations that it has, but for the slots that wait for messages.
    pub(crate) fn under_way(&self) -> usize {
        self.slots.under_way() - self.receives
    }

    pub(crate) fn longest_message(&self) -> usize {
        let most = self.datagrams.map_or(usize::MAX, Datagrams::longest);
        self.objects.info.ep().max_msg_size.min(self.slots.room_length()).min(most)
    }

    /// Makes known a peer's rail of this number.
    pub(crate) fn meet(&mut self, pe: u32, number: u8, rail: &RailAddress) -> Result<fi::fi_addr_t, Error> {
        let address = self.objects.insert(&rail.name)?;
        self.peers.meet(pe, address, number, &rail.windows);
        Ok(address)
    }

    /// A number for an account.
    pub(crate) fn enlist(&mut self, account: Arc<Account>) -> u32 {
        let free = self.accounts.iter().position(Option::is_none);
        let number = free.unwrap_or_else(|| {
            self.accounts.push(None);
            self.accounts.len() - 1
        });
        self.accounts[number] = Some(account);
        number as u32
    }

    /// A number that changes with each operation of a lane.
    pub(crate) fn issued(&self) -> u64 {
        self.accounts.iter().flatten().fold(0, |sum, account| sum.wrapping_add(account.issued()))
    }

    pub(crate) fn delist(&mut self, number: u32) {
        self.accounts[number as usize] = None;
    }

    /// How it reaches some bytes of a peer that has been met.
    pub(crate) fn target(&self, Remote { pe, region, offset }: Remote) -> Option<RemoteTarget> {
        let peer = self.peers.met(pe)?;
        Some(RemoteTarget { peer, found: self.found(pe, region, offset) })
    }

    /// Where the network finds the bytes of a peer from `offset` on.
    pub(crate) fn found(&self, pe: u32, region: Region, offset: u64) -> Option<FoundPiece<u64>> {
        let FoundPiece { address, key, room } = self.peers.windows(pe).find(region, offset)?;
        Some(FoundPiece { address, key: *key, room })
    }

    pub(crate) fn out_of_range(&self, Remote { pe, region, offset }: Remote, bytes: usize) -> Error {
        self.peers.windows(pe).out_of_range(region, offset, bytes).error(pe)
    }

    /// The error for a peer that cannot be reached, for the reason `why`.
    pub(crate) fn unreachable(&self, pe: u32, why: &str) -> Error {
        let info = &self.objects.info;
        Error::new(format!("PE {pe} cannot be reached over {} on {}", info.provider(), info.domain_name()))
            .because(why)
            .fix(if self.receives > 0 {
                "look whether that PE's node is alive and its network up; SHMEM_TRANSPORT=tcp goes another way"
            } else {
                "look whether that network is up on both nodes; SHMEM_RAILS=1 keeps to one card"
            })
    }

    /// The same where this is what libfabric has answered, with its reason.
    fn unreachable_by(&self, pe: u32, code: c_int, why: &str) -> Error {
        let error = with_cause_here(self.unreachable(pe, why), pe, code);
        // The provider of this node says no more where it cannot read the source of a put.
        let is_vague = code.saturating_abs() == libc::EIO && self.objects.info.provider() == "shm";
        if is_vague { error.also_fix(WRONG_ARRAY) } else { error }
    }

    /// A slot for an operation; completions of others make room.
    #[inline]
    pub(crate) fn take(&mut self, used_for: SlotUse) -> Issued<*mut OperationSlot> {
        if self.broken.is_some() {
            return self.refuse_as_broken();
        }
        self.find_slot(used_for)
    }

    #[inline]
    fn find_slot(&mut self, used_for: SlotUse) -> Issued<*mut OperationSlot> {
        self.slots.take(used_for).or_else(|| self.slots.take_kept(used_for)).ok_or(NotIssued::Busy)
    }

    #[cold]
    fn refuse_as_broken<T>(&self) -> Issued<T> {
        self.broken.clone().map_or(Err(NotIssued::Busy), |error| Err(error.into()))
    }

    /// libfabric's descriptor of the slots' own bytes, where local memory has to be registered.
    pub(crate) fn room_descriptor(&self) -> *mut c_void {
        self.rooms.as_ref().map_or(ptr::null_mut(), |rooms| rooms.desc)
    }

    /// Sends one message, in two parts, to a peer that has been met, if there is room for it.
    pub(crate) fn send(&mut self, pe: u32, head: &[u8], body: &[u8]) -> Issued {
        let peer = self.peers.met(pe).ok_or_else(|| self.unreachable(pe, "its address is not known"))?;
        let n = head.len() + body.len();
        assert!(
            n <= self.slots.room_length(),
            "a message of {n} bytes, and a slot has room for {}",
            self.slots.room_length()
        );
        self.find_window(pe, false, n)?;
        let slot = self.find_slot(SlotUse::Send { pe })?;
        if self.counts_datagrams() {
            // SAFETY: the slot was just taken, and libfabric does not have it.
            unsafe { self.slots.moves(slot, n) };
        }
        // SAFETY: the slot is ours, and its room is no shorter than the message, as was just asserted; libfabric gives it back by its
        // completion.
        let code = unsafe {
            let room = self.slots.room(slot);
            ptr::copy_nonoverlapping(head.as_ptr(), room, head.len());
            ptr::copy_nonoverlapping(body.as_ptr(), room.add(head.len()), body.len());
            fi_send(self.objects.ep(), room.cast(), n, self.room_descriptor(), peer, context(slot))
        } as c_int;
        let taken = self.taken(pe, code);
        match &taken {
            Ok(()) => self.sending += 1,
            // SAFETY: libfabric has refused the operation, so it does not have the slot.
            Err(_) => unsafe {
                self.slots.give_back(slot);
            },
        }
        taken
    }

    /// Gives libfabric a slot for a message to come. Returns whether it has taken it. A card that recovers from a flood of messages takes
    /// none before that is over, which its completions bring nearer; the slot waits.
    fn post_receive(&mut self, slot: *mut OperationSlot) -> bool {
        // SAFETY: the slot is ours until its completion; its room has the length that is given.
        let code = unsafe {
            let room = self.slots.room(slot);
            let desc = self.room_descriptor();
            fi_recv(self.objects.ep(), room.cast(), self.slots.room_length(), desc, fi::FI_ADDR_UNSPEC, context(slot))
        } as c_int;
        if code == -fi::FI_EAGAIN {
            self.unposted.push(slot);
        } else if code != 0 {
            let provider = self.objects.info.provider();
            let error = Error::new(format!("the endpoint of {provider} takes no room for messages"))
                .because(self.objects.meaning(code))
                .fix("FI_LOG_LEVEL=warn lets libfabric say more; SHMEM_TRANSPORT=tcp goes another way");
            self.broken.get_or_insert(error);
        }
        code == 0
    }

    /// Gives libfabric the slots that it could not take before.
    fn post_receives_again(&mut self) {
        while let Some(slot) = self.unposted.pop() {
            if !self.post_receive(slot) {
                return;
            }
        }
    }

    /// The meaning of the endpoint's answer to an operation.
    #[inline]
    fn taken(&self, pe: u32, code: c_int) -> Issued {
        if code == 0 { Ok(()) } else { self.refused(pe, code) }
    }

    #[cold]
    fn refused(&self, pe: u32, code: c_int) -> Issued {
        match code {
            code if code == -fi::FI_EAGAIN => Err(NotIssued::Busy),
            code => Err(self.unreachable_by(pe, code, &self.objects.meaning(code)).into()),
        }
    }
}
