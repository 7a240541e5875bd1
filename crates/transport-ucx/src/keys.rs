//! Keys of remote memory: as they travel, and as an endpoint uses them.

use std::ptr;

use oxshmem_base::Error;
use oxshmem_transport::RegionPiece;
use oxshmem_ucx_sys::{Ucx, ucp_ep_h, ucp_rkey_h};

use crate::objects::check;

/// The key of one piece of a region, as it travels: a piece with its packed key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct MemoryKey(pub(crate) RegionPiece<Vec<u8>>);

impl MemoryKey {
    /// Appends a piece with this packed key to a message.
    pub(crate) fn append<K>(piece: &RegionPiece<K>, packed: &[u8], message: &mut Vec<u8>) {
        for number in [piece.start, piece.len, piece.address, packed.len() as u64] {
            message.extend_from_slice(&number.to_le_bytes());
        }
        message.extend_from_slice(packed);
    }

    /// The keys of a message.
    pub(crate) fn all_of(mut message: &[u8]) -> Option<Vec<Self>> {
        let mut keys = Vec::new();
        while !message.is_empty() {
            let mut number = || {
                let (first, rest) = message.split_first_chunk::<8>()?;
                message = rest;
                Some(u64::from_le_bytes(*first))
            };
            let (start, len, address, size) = (number()?, number()?, number()?, usize::try_from(number()?).ok()?);
            let (packed, rest) = message.split_at_checked(size)?;
            keys.push(Self(RegionPiece { start, len, address, key: packed.to_vec() }));
            message = rest;
        }
        Some(keys)
    }

    /// The piece as an endpoint uses it.
    ///
    /// # Safety
    /// `endpoint` is open and outlives the result.
    pub(crate) unsafe fn unpack(
        &self,
        ucx: &'static Ucx,
        endpoint: ucp_ep_h,
    ) -> Result<RegionPiece<UnpackedKey>, Error> {
        let RegionPiece { start, len, address, ref key } = self.0;
        let mut handle = ptr::null_mut();
        // SAFETY: the endpoint's peer has packed the key; the endpoint is open, by the caller's promise.
        let status = unsafe { (ucx.ep_rkey_unpack)(endpoint, key.as_ptr().cast(), &mut handle) };
        check(ucx, "the key of a peer's memory cannot be used", status)?;
        Ok(RegionPiece { start, len, address, key: UnpackedKey { ucx, handle } })
    }
}

/// A key unpacked for one endpoint.
pub(crate) struct UnpackedKey {
    ucx: &'static Ucx,
    pub(crate) handle: ucp_rkey_h,
}

impl Drop for UnpackedKey {
    fn drop(&mut self) {
        // SAFETY: the key was unpacked once, and no operation uses it any more: lanes are quiet before their channels end.
        unsafe { (self.ucx.rkey_destroy)(self.handle) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_and_garbage_does_not() {
        let piece = |n: u64| RegionPiece { start: n, len: n + 1, address: n << 40, key: vec![n as u8; n as usize * 9] };
        let keys: Vec<_> = (0..4).map(|n| MemoryKey(piece(n))).collect();
        let mut message = Vec::new();
        keys.iter().for_each(|MemoryKey(piece)| MemoryKey::append(piece, &piece.key, &mut message));
        assert_eq!(MemoryKey::all_of(&message), Some(keys));
        assert_eq!(MemoryKey::all_of(&message[..message.len() - 1]), None);
        assert_eq!(MemoryKey::all_of(&[0xFF; 40]), None);
    }
}
