//! This PE's memory as UCX knows it: regions that grow, in pieces that are registered one after the other.

use std::ptr;
use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_transport::{Memory, Region, Segment};
use oxshmem_ucx_sys::{
    UCP_MEM_MAP_PARAM_FIELD_ADDRESS, UCP_MEM_MAP_PARAM_FIELD_LENGTH, ucp_mem_h, ucp_mem_map_params_t,
};
use parking_lot::Mutex;

use crate::handle::{Context, blank, check};
use crate::keys::Key;

/// The registered regions. `memory` bounds what is done by our own processor.
pub(crate) struct Regions {
    context: Arc<Context>,
    pub(crate) memory: Memory,
    pieces: Mutex<[Vec<Piece>; Region::ALL.len()]>,
}

/// A part of a region that was registered at once.
struct Piece {
    handle: ucp_mem_h,
    key: Key,
}

// SAFETY: handles of the context, which is made for several threads.
unsafe impl Send for Piece {}

impl Regions {
    pub(crate) fn new(context: Arc<Context>) -> Self {
        Self { context, memory: Memory::default(), pieces: Mutex::default() }
    }

    /// Lets peers reach `segment`: registers what is new of it.
    pub(crate) fn register(&self, region: Region, segment: Segment) -> Result<(), Error> {
        let mut pieces = self.pieces.lock();
        let pieces = &mut pieces[region as usize];
        self.memory.register(region, segment)?;
        let start = pieces.last().map_or(0, |last| last.key.start + last.key.len);
        let len = segment.len as u64 - start;
        if len > 0 {
            pieces.push(self.map(segment.base, start, len)?);
        }
        Ok(())
    }

    fn map(&self, base: *mut u8, start: u64, len: u64) -> Result<Piece, Error> {
        let Context { ucx, handle: context, .. } = *self.context;
        let address = base.wrapping_add(start as usize);
        let params = ucp_mem_map_params_t {
            field_mask: (UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH).into(),
            address: address.cast(),
            length: len as usize,
            ..blank()
        };
        let mut handle = ptr::null_mut();
        // SAFETY: memory that stays mapped while the fabric is open, which is what `Segment` means.
        let mapped = unsafe { (ucx.mem_map)(context, &params, &mut handle) };
        check(ucx, "symmetric memory cannot be registered", mapped).map_err(|error| {
            let limit = "raise the limit of locked memory (ulimit -l), or use less with SHMEM_SYMMETRIC_SIZE";
            error.because(format!("{len} bytes at {address:p}")).fix(limit)
        })?;
        let (mut packed, mut size) = (ptr::null_mut(), 0);
        // SAFETY: a registration of this context; what comes back is copied, then freed.
        let key = unsafe {
            let status = (ucx.rkey_pack)(context, handle, &mut packed, &mut size);
            check(ucx, "registered memory has no key", status).map(|()| {
                let key = std::slice::from_raw_parts(packed.cast::<u8>(), size).to_vec();
                (ucx.rkey_buffer_release)(packed);
                key
            })
        };
        Ok(Piece { handle, key: Key { start, len, address: address.expose_provenance() as u64, packed: key? } })
    }

    /// The keys of a region from number `from` on, for a peer.
    pub(crate) fn keys(&self, region: Region, from: u64) -> Vec<u8> {
        let pieces = self.pieces.lock();
        let mut letter = Vec::new();
        for piece in pieces[region as usize].iter().skip(usize::try_from(from).unwrap_or(usize::MAX)) {
            piece.key.append_to(&mut letter);
        }
        letter
    }

    /// Ends all registrations.
    pub(crate) fn close(&self) {
        let ucx = self.context.ucx;
        let mut pieces = self.pieces.lock();
        for piece in pieces.iter_mut().flat_map(|pieces| pieces.drain(..)) {
            // SAFETY: a registration of this context, ended once; peers have said good-bye.
            let status = unsafe { (ucx.mem_unmap)(self.context.handle, piece.handle) };
            if let Err(error) = check(ucx, "a registration stays", status) {
                tracing::warn!(%error);
            }
        }
    }
}
