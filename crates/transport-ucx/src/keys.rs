//! Keys of remote memory: as they travel, and as an endpoint uses them.

use std::ptr;

use oxshmem_base::Error;
use oxshmem_ucx_sys::{Ucx, ucp_ep_h, ucp_rkey_h};

use crate::handle::check;

/// What a peer needs to reach one piece of a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Key {
    /// Offset of the piece in its region.
    pub(crate) start: u64,
    pub(crate) len: u64,
    /// Its address in its owner.
    pub(crate) address: u64,
    pub(crate) packed: Vec<u8>,
}

impl Key {
    pub(crate) fn append_to(&self, letter: &mut Vec<u8>) {
        for number in [self.start, self.len, self.address, self.packed.len() as u64] {
            letter.extend_from_slice(&number.to_le_bytes());
        }
        letter.extend_from_slice(&self.packed);
    }

    /// The keys of a letter.
    pub(crate) fn all_of(mut letter: &[u8]) -> Option<Vec<Self>> {
        let mut keys = Vec::new();
        while !letter.is_empty() {
            let mut number = || {
                let (first, rest) = letter.split_first_chunk::<8>()?;
                letter = rest;
                Some(u64::from_le_bytes(*first))
            };
            let (start, len, address, size) = (number()?, number()?, number()?, usize::try_from(number()?).ok()?);
            let (packed, rest) = letter.split_at_checked(size)?;
            keys.push(Self { start, len, address, packed: packed.to_vec() });
            letter = rest;
        }
        Some(keys)
    }
}

/// A key unpacked for one endpoint.
pub(crate) struct Unpacked {
    ucx: &'static Ucx,
    start: u64,
    len: u64,
    address: u64,
    pub(crate) handle: ucp_rkey_h,
}

impl Unpacked {
    /// # Safety
    /// `endpoint` is open and outlives the result.
    pub(crate) unsafe fn new(ucx: &'static Ucx, endpoint: ucp_ep_h, key: &Key) -> Result<Self, Error> {
        let mut handle = ptr::null_mut();
        // SAFETY: a key that the endpoint's peer packed; the caller vouches for the endpoint.
        let status = unsafe { (ucx.ep_rkey_unpack)(endpoint, key.packed.as_ptr().cast(), &mut handle) };
        check(ucx, "the key of a peer's memory cannot be used", status)?;
        Ok(Self { ucx, start: key.start, len: key.len, address: key.address, handle })
    }

    /// The first offset behind the piece.
    pub(crate) fn end(&self) -> u64 {
        self.start + self.len
    }

    /// The remote address of an offset, and how many bytes follow it in this piece.
    pub(crate) fn find(&self, offset: u64) -> Option<(u64, usize)> {
        let inside = offset.checked_sub(self.start).filter(|inside| *inside < self.len)?;
        Some((self.address + inside, (self.len - inside) as usize))
    }
}

impl Drop for Unpacked {
    fn drop(&mut self) {
        // SAFETY: unpacked above, and used by no operation any more: lanes are quiet before their channels end.
        unsafe { (self.ucx.rkey_destroy)(self.handle) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_survive_and_garbage_does_not() {
        let key = |n: u64| Key { start: n, len: n + 1, address: n << 40, packed: vec![n as u8; n as usize * 9] };
        let keys: Vec<_> = (0..4).map(key).collect();
        let mut letter = Vec::new();
        keys.iter().for_each(|key| key.append_to(&mut letter));
        assert_eq!(Key::all_of(&letter), Some(keys));
        assert_eq!(Key::all_of(&letter[..letter.len() - 1]), None);
        assert_eq!(Key::all_of(&[0xFF; 40]), None);
    }
}
