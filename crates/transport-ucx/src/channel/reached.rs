//! A peer of a channel.

use oxshmem_transport::RegionPieces;
use oxshmem_ucx_sys::ucp_ep_h;

use crate::keys::UnpackedKey;

/// A peer that has been connected to.
pub(super) struct ReachedPeer {
    pub(super) pe: u32,
    pub(super) endpoint: ucp_ep_h,
    pub(super) keys: RegionPieces<UnpackedKey>,
    /// Messages since the last one that it answers, and the bytes of their data.
    pub(super) unacknowledged: u64,
    pub(super) unacknowledged_bytes: usize,
    /// The messages that it has not been sent ([`coalescing`](super::coalescing)), and their number.
    pub(super) batch: Vec<u8>,
    pub(super) waiting: u64,
    /// The step of the last unacknowledged message.
    pub(super) sent: Option<u64>,
}

impl ReachedPeer {
    /// A new one, with keys of nothing.
    pub(super) fn new(pe: u32, endpoint: ucp_ep_h) -> Self {
        let (keys, batch) = (RegionPieces::NONE, Vec::new());
        Self { pe, endpoint, keys, unacknowledged: 0, unacknowledged_bytes: 0, batch, waiting: 0, sent: None }
    }
}
