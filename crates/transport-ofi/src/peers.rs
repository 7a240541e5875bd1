//! The other PEs as an endpoint knows them: where they are, their memory, and, on the first rail, whether they know us.

use std::time::Duration;

use oxshmem_libfabric_sys as fi;
use oxshmem_transport::{FoundPiece, Region, RegionPiece, Remote, WatchedTime};

use crate::windows::{Window, Windows};

/// All PEs of the job; one that is not used costs a pointer.
pub(crate) struct KnownPeers {
    of: Vec<Option<Box<Peer>>>,
    /// It is no error any more that a peer is not there.
    pub(crate) leaving: bool,
}

/// How far a question about a peer's memory is.
pub(crate) enum Inquiry {
    /// It is to be asked now.
    New,
    /// It, or another one before it, has been asked, and this PE has waited so long.
    Asked(Duration),
    Answered,
}

/// The registration of a region that was reached last, with all that an operation on it needs; a length of 0: none was.
#[derive(Clone, Copy, Default)]
struct Shortcut {
    start: u64,
    len: u64,
    address: u64,
    key: u64,
    peer: fi::fi_addr_t,
}

/// Some bytes of a peer, as libfabric's calls name them.
#[derive(Clone, Copy)]
pub(crate) struct ReachedBytes {
    pub(crate) peer: fi::fi_addr_t,
    pub(crate) address: u64,
    pub(crate) key: u64,
}

/// The knowledge of one PE.
#[derive(Default)]
struct Peer {
    /// By regions. Registrations stay as they are, so what was true of one remains true.
    shortcuts: [Shortcut; Region::ALL.len()],
    /// Once its address has been read.
    address: Option<fi::fi_addr_t>,
    windows: Windows,
    /// Which of its rails this is.
    rail: u8,
    /// The last inquiry, and the time since it was made; until it is answered.
    asked: Option<(Region, u64, WatchedTime)>,
    /// The inquiry that was answered last.
    answered: Option<(Region, u64)>,
    /// Since it was greeted.
    greeted: Option<WatchedTime>,
    /// How long it has said that a region is, when it had no window for us.
    told_length: u64,
    /// It has heard of us: it has answered our greeting, or has greeted us.
    knows_us: bool,
    left: bool,
}

impl KnownPeers {
    pub(crate) fn new(pes: u32) -> Self {
        Self { of: (0..pes).map(|_| None).collect(), leaving: false }
    }

    fn get(&self, pe: u32) -> Option<&Peer> {
        self.of.get(pe as usize)?.as_deref()
    }

    fn known(&mut self, pe: u32) -> Option<&mut Peer> {
        Some(self.of.get_mut(pe as usize)?.get_or_insert_default())
    }

    /// The windows of a peer whose address has been read.
    pub(crate) fn windows(&self, pe: u32) -> &Windows {
        const NONE: &Windows = &Windows::NONE;
        self.get(pe).map_or(NONE, |peer| &peer.windows)
    }

    /// An address has been read: how the endpoint reaches its PE, and the PE's rail of this number there.
    pub(crate) fn meet(&mut self, pe: u32, address: fi::fi_addr_t, rail: u8, windows: &[Window]) {
        if let Some(peer) = self.known(pe) {
            (peer.address, peer.rail) = (Some(address), rail);
            windows.iter().for_each(|window| window.add_to(&mut peer.windows));
        }
    }

    /// The address of a peer that has been met.
    pub(crate) fn met(&self, pe: u32) -> Option<fi::fi_addr_t> {
        self.get(pe)?.address
    }

    /// The address of a peer that has heard of us.
    pub(crate) fn acquainted(&self, pe: u32) -> Option<fi::fi_addr_t> {
        self.get(pe).filter(|peer| peer.knows_us)?.address
    }

    /// `n` bytes of a peer that has heard of us, if they lie where an operation on that region has been before.
    #[inline(always)]
    pub(crate) fn shortcut(&self, Remote { pe, region, offset }: Remote, n: usize) -> Option<ReachedBytes> {
        let Shortcut { start, len, address, key, peer } = self.get(pe)?.shortcuts[region as usize];
        let from = offset.wrapping_sub(start);
        // An offset before the start wraps to more than any length.
        (from < len && n as u64 <= len - from).then_some(ReachedBytes {
            peer,
            address: address.wrapping_add(from),
            key,
        })
    }

    /// The address of a peer that has heard of us, and where the network finds a byte of it; `None` unless both are known. The next
    /// operation there takes the shortcut.
    pub(crate) fn reached(&mut self, remote: Remote) -> Option<(fi::fi_addr_t, FoundPiece<u64>)> {
        let peer = self.of.get_mut(remote.pe as usize)?.as_deref_mut().filter(|peer| peer.knows_us)?;
        let address_of_peer = peer.address?;
        let &RegionPiece { start, len, address, key } = peer.windows.around(remote.region, remote.offset)?;
        peer.shortcuts[remote.region as usize] = Shortcut { start, len, address, key, peer: address_of_peer };
        let FoundPiece { address, key, room } = peer.windows.find(remote.region, remote.offset)?;
        Some((address_of_peer, FoundPiece { address, key: *key, room }))
    }

    /// Which rail of a peer that has been met this one reaches.
    pub(crate) fn rail(&self, pe: u32) -> Option<u8> {
        self.get(pe).filter(|peer| peer.address.is_some()).map(|peer| peer.rail)
    }

    pub(crate) fn learn(&mut self, pe: u32, window: Option<Window>, len: u64) {
        if let Some(peer) = self.known(pe) {
            match window {
                Some(window) => window.add_to(&mut peer.windows),
                None => peer.told_length = len,
            }
            peer.answered = peer.asked.take().map(|(region, at, _)| (region, at));
        }
    }

    /// How far the question is where this byte of a peer is. There is one question at a time.
    pub(crate) fn question(&mut self, pe: u32, region: Region, at: u64) -> Inquiry {
        let Some(peer) = self.known(pe) else { return Inquiry::Answered };
        if let Some((_, _, waited)) = &mut peer.asked {
            return Inquiry::Asked(waited.look());
        }
        if peer.answered.take() == Some((region, at)) {
            return Inquiry::Answered;
        }
        peer.asked = Some((region, at, WatchedTime::begin()));
        Inquiry::New
    }

    /// How long this PE has waited since a peer was greeted; `None`: it is to be greeted now.
    pub(crate) fn greeted(&mut self, pe: u32) -> Option<Duration> {
        let peer = self.known(pe)?;
        let waited = peer.greeted.as_mut().map(WatchedTime::look);
        peer.greeted.get_or_insert_with(WatchedTime::begin);
        waited
    }

    pub(crate) fn told_length(&self, pe: u32) -> u64 {
        self.get(pe).map_or(0, |peer| peer.told_length)
    }

    /// It knows us, so it has to hear from us before we disconnect.
    pub(crate) fn note_acquaintance(&mut self, pe: u32) {
        if let Some(peer) = self.known(pe) {
            peer.knows_us = true;
        }
    }

    pub(crate) fn note_disconnect(&mut self, pe: u32) {
        if let Some(peer) = self.known(pe) {
            peer.left = true;
        }
    }

    pub(crate) fn has_left(&self, pe: u32) -> bool {
        self.get(pe).is_some_and(|peer| peer.left)
    }

    /// From now on it is no error that a peer is not there. Returns all PEs that are known, the first time: a PE that has heard
    /// our disconnect may be gone.
    pub(crate) fn begin_leaving(&mut self) -> Vec<u32> {
        if std::mem::replace(&mut self.leaving, true) {
            return Vec::new();
        }
        let known = self.of.iter().zip(0..).filter(|(peer, _)| peer.is_some());
        known.map(|(_, pe)| pe).collect()
    }

    /// How many have not disconnected.
    pub(crate) fn awaited(&self) -> usize {
        self.of.iter().flatten().filter(|peer| !peer.left).count()
    }
}
