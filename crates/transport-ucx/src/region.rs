//! This PE's memory as UCX knows it: regions that grow, in pieces that are registered one after the other.

use std::ptr;
use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_transport::{Region, RegionPiece, RegionPieces, RegisteredMemory, Segment};
use oxshmem_ucx_sys::{
    UCP_MEM_MAP_PARAM_FIELD_ADDRESS, UCP_MEM_MAP_PARAM_FIELD_LENGTH, UCS_OK, ucp_mem_h, ucp_mem_map_params_t,
};
use parking_lot::Mutex;

use crate::keys::MemoryKey;
use crate::objects::{UcxContext, blank, check, meaning};

/// The registered regions. `memory` bounds what is done by our own processor.
pub(crate) struct Regions {
    context: Arc<UcxContext>,
    pub(crate) memory: RegisteredMemory,
    pieces: Mutex<RegionPieces<Registration>>,
}

/// A registration, with the key that peers get.
struct Registration {
    handle: ucp_mem_h,
    packed: Vec<u8>,
}

// SAFETY: handles of registrations belong to the context, which is made for several threads.
unsafe impl Send for Registration {}

impl Regions {
    pub(crate) fn new(context: Arc<UcxContext>) -> Self {
        Self { context, memory: RegisteredMemory::default(), pieces: Mutex::default() }
    }

    /// Lets peers reach `segment`: registers the part of it that is new.
    pub(crate) fn register(&self, region: Region, segment: Segment) -> Result<(), Error> {
        let mut pieces = self.pieces.lock();
        if let Some((start, new)) = pieces.growth(region, segment) {
            let piece = RegionPiece {
                start,
                len: new.len as u64,
                address: new.base.expose_provenance() as u64,
                key: self.map(new)?,
            };
            pieces.add(region, piece);
        }
        // Behind it: what UCX has refused is not registered, so that the region can grow by less later.
        self.memory.register(region, segment)
    }

    fn map(&self, Segment { base: address, len }: Segment) -> Result<Registration, Error> {
        let UcxContext { ucx, handle: context, .. } = *self.context;
        let params = ucp_mem_map_params_t {
            field_mask: (UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH).into(),
            address: address.cast(),
            length: len,
            ..blank()
        };
        let mut handle = ptr::null_mut();
        // SAFETY: the segment stays mapped while the fabric is open, which is what `Segment` means.
        let mapped = unsafe { (ucx.mem_map)(context, &params, &mut handle) };
        if mapped != UCS_OK {
            let why = format!("{} ({len} bytes at {address:p})", meaning(ucx, mapped));
            let limit = "raise the limit of locked memory (ulimit -l), or use less with SHMEM_SYMMETRIC_SIZE";
            return Err(Error::new("UCX: symmetric memory cannot be registered").because(why).fix(limit));
        }
        let (mut buffer, mut size) = (ptr::null_mut(), 0);
        // SAFETY: the registration is of this context; UCX's buffer is copied, then released.
        let packed = unsafe {
            let status = (ucx.rkey_pack)(context, handle, &mut buffer, &mut size);
            check(ucx, "registered memory has no key", status).map(|()| {
                let packed = std::slice::from_raw_parts(buffer.cast::<u8>(), size).to_vec();
                (ucx.rkey_buffer_release)(buffer);
                packed
            })
        };
        if packed.is_err() {
            // No peer can reach it, and a context that ends must have no registrations.
            // SAFETY: the registration was just made, of this context, and nobody else has it.
            unsafe { (ucx.mem_unmap)(context, handle) };
        }
        Ok(Registration { handle, packed: packed? })
    }

    /// The keys of a region from number `from` on, for a peer.
    pub(crate) fn keys(&self, region: Region, from: u64) -> Vec<u8> {
        let pieces = self.pieces.lock();
        let mut message = Vec::new();
        for piece in pieces.of(region).iter().skip(usize::try_from(from).unwrap_or(usize::MAX)) {
            MemoryKey::append(piece, &piece.key.packed, &mut message);
        }
        message
    }

    /// Ends all registrations.
    pub(crate) fn close(&self) {
        let ucx = self.context.ucx;
        for (_, piece) in std::mem::take(&mut *self.pieces.lock()).all() {
            // SAFETY: the registration is of this context and ends once; peers have said good-bye.
            let status = unsafe { (ucx.mem_unmap)(self.context.handle, piece.key.handle) };
            if let Err(error) = check(ucx, "a registration stays", status) {
                tracing::warn!(%error);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use oxshmem_test_folder::not_run;
    use oxshmem_ucx_sys::{UCS_ERR_IO_ERROR, Ucx, ucp_context_h, ucs_status_t};

    use super::*;
    use crate::devices::Devices;
    use crate::load;

    /// Registrations that have ended.
    static ENDED: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn no_key(
        _context: ucp_context_h,
        _memory: ucp_mem_h,
        _key: *mut *mut c_void,
        _size: *mut usize,
    ) -> ucs_status_t {
        UCS_ERR_IO_ERROR
    }

    unsafe extern "C" fn end(context: ucp_context_h, memory: ucp_mem_h) -> ucs_status_t {
        ENDED.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the arguments of a call of UCX's go unchanged to it.
        unsafe { (load::library().expect("it is open").mem_unmap)(context, memory) }
    }

    unsafe extern "C" fn map_nothing(
        _context: ucp_context_h,
        _params: *const ucp_mem_map_params_t,
        _memory: *mut ucp_mem_h,
    ) -> ucs_status_t {
        UCS_ERR_IO_ERROR
    }

    /// The error with which this UCX refuses 64 bytes, and the regions that they are no part of. `None`: there is no UCX.
    fn refused(change: impl FnOnce(&'static Ucx) -> Ucx) -> Option<(String, Regions)> {
        let mut context = match UcxContext::new(Some("tcp"), Devices::with(&[]), 1, false) {
            Ok(made) => made,
            Err(error) => {
                not_run(error);
                return None;
            }
        };
        let made = Arc::get_mut(&mut context).expect("nobody else has it");
        made.ucx = Box::leak(Box::new(change(made.ucx)));
        let mut memory = [0_u8; 64];
        let regions = Regions::new(context);
        let segment = Segment { base: memory.as_mut_ptr(), len: memory.len() };
        let error = regions.register(Region::Heap, segment).expect_err("it is refused").to_string();
        Some((error, regions))
    }

    #[test]
    fn memory_that_is_refused_says_why() {
        let Some((error, _)) = refused(|ucx| Ucx { mem_map: map_nothing, ..*ucx }) else { return };
        let why = meaning(load::library().expect("it is open"), UCS_ERR_IO_ERROR);
        for part in ["symmetric memory cannot be registered", why.as_str(), "64 bytes at 0x"] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }

    #[test]
    fn memory_without_a_key_does_not_stay_registered() {
        let changed = refused(|ucx| Ucx { rkey_pack: no_key, mem_unmap: end, ..*ucx });
        let Some((error, regions)) = changed else { return };
        assert!(error.contains("registered memory has no key"), "{error}");
        assert_eq!(ENDED.load(Ordering::Relaxed), 1, "the card still pins it");
        regions.close();
        assert_eq!(ENDED.load(Ordering::Relaxed), 1, "a registration ends twice");
    }
}
