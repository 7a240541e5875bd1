//! A peer of a channel.

use std::ptr;

use oxshmem_transport::{Region, RegionPiece, RegionPieces, Remote};
use oxshmem_ucx_sys::{ucp_ep_h, ucp_rkey_h};

use crate::keys::UnpackedKey;

/// A peer that has been connected to.
pub(super) struct ReachedPeer {
    pub(super) pe: u32,
    pub(super) endpoint: ucp_ep_h,
    pub(super) keys: RegionPieces<UnpackedKey>,
    /// By regions, the piece that was reached last; one without length: none was. Pieces stay as they are.
    pub(super) shortcuts: [RegionPiece<ucp_rkey_h>; Region::ALL.len()],
    /// Messages since the last one that it answers, and the bytes of their data.
    pub(super) unacknowledged: u64,
    pub(super) unacknowledged_bytes: usize,
    /// The messages that it has not been sent ([`coalescing`](super::coalescing)), their number, and the bytes of the answers to them.
    pub(super) batch: Vec<u8>,
    pub(super) waiting: u64,
    pub(super) expects: usize,
    /// The step of the last unacknowledged message that has gone by itself, and how many have gone so in that step behind the first one,
    /// because a fence stood before each.
    pub(super) sent: Option<u64>,
    pub(super) flags: u32,
    /// The fences before the last unacknowledged message.
    pub(super) fences: u64,
}

impl ReachedPeer {
    /// A new one, with keys of nothing.
    pub(super) fn new(pe: u32, endpoint: ucp_ep_h) -> Self {
        let (keys, batch) = (RegionPieces::NONE, Vec::new());
        let shortcuts = [RegionPiece { start: 0, len: 0, address: 0, key: ptr::null_mut() }; Region::ALL.len()];
        Self {
            pe,
            endpoint,
            keys,
            shortcuts,
            unacknowledged: 0,
            unacknowledged_bytes: 0,
            batch,
            waiting: 0,
            expects: 0,
            sent: None,
            flags: 0,
            fences: 0,
        }
    }

    /// The next operation on this piece takes the shortcut.
    pub(super) fn note_shortcut(&mut self, Remote { region, offset, .. }: Remote) {
        if let Some(&RegionPiece { start, len, address, ref key }) = self.keys.around(region, offset) {
            self.shortcuts[region as usize] = RegionPiece { start, len, address, key: key.handle };
        }
    }
}
