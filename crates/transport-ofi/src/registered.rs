//! The memory that this PE has registered: how libfabric registers it, and where each registration lies.

use std::ffi::{c_int, c_void};
use std::ptr;

use oxshmem_base::Error;
use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::inline::*;
use oxshmem_transport::{Region, RegionPiece, Segment};

use crate::objects::{FiObject, Objects, check};
use crate::windows::Windows;

/// Memory that peers may reach.
pub(crate) struct Registration {
    pub(crate) key: u64,
    pub(crate) desc: *mut c_void,
    pub(crate) address: u64,
    _object: FiObject<fi::fid_mr>,
}

/// The attributes of a registration, which are longer in interfaces from 1.18 on: the further members are zero.
#[repr(C)]
struct RegistrationAttributes {
    known: fi::fi_mr_attr,
    _later: [u64; 16],
}

/// All accesses: for memory that peers reach, and for the slots' own bytes.
pub(crate) const EVERYTHING: u64 =
    fi::FI_READ | fi::FI_WRITE | fi::FI_REMOTE_READ | fi::FI_REMOTE_WRITE | fi::FI_SEND | fi::FI_RECV;

impl Registration {
    /// Registers memory for this access, in the way that the domain demands. Its owner keeps it mapped while the fabric is open.
    pub(crate) fn new(objects: &mut Objects, base: *mut u8, len: usize, access: u64) -> Result<Self, Error> {
        let iov = fi::iovec { iov_base: base.cast(), iov_len: len };
        let mode = objects.mr_mode();
        // SAFETY: every member of the attributes is a number or a pointer, for which zero is a value.
        let mut attr = RegistrationAttributes { known: unsafe { std::mem::zeroed() }, _later: [0; 16] };
        attr.known.mr_iov = &raw const iov;
        attr.known.iov_count = 1;
        attr.known.access = access;
        if mode & fi::FI_MR_PROV_KEY == 0 {
            attr.known.requested_key = objects.next_key();
        }
        let mut mr = ptr::null_mut();
        // SAFETY: the domain is open as long as `objects`; attributes and vector live during the call.
        let code = unsafe { fi_mr_regattr(objects.domain(), (&raw const attr).cast(), 0, &raw mut mr) };
        check(code).map_err(|code| refused(objects, len, code))?;
        // SAFETY: the call above has just opened the registration, and nobody else closes it.
        let object = unsafe { FiObject::new(mr) };
        if mode & fi::FI_MR_ENDPOINT != 0 {
            // SAFETY: the registration and the endpoint are open, and the endpoint is enabled.
            let bound = check(unsafe { fi_bind(object.fid(), &raw mut (*objects.ep()).fid, 0) });
            // SAFETY: the registration is open and was just bound to the endpoint, as enabling asks.
            let enabled = bound.and_then(|()| check(unsafe { fi_enable(object.fid()) }));
            enabled.map_err(|code| refused(objects, len, code))?;
        }
        // SAFETY: the registration is open, and enabled where it has to be, so it has its key.
        let (key, desc) = unsafe { (fi_mr_key(mr), fi_mr_desc(mr)) };
        if key == fi::FI_KEY_NOTAVAIL {
            return Err(refused(objects, len, -fi::FI_EOPNOTSUPP));
        }
        // Peers name the first byte by its address or as the beginning of the registration.
        let address = if mode & fi::FI_MR_VIRT_ADDR != 0 { base.expose_provenance() as u64 } else { 0 };
        Ok(Self { key, desc, address, _object: object })
    }
}

fn refused(objects: &Objects, len: usize, code: c_int) -> Error {
    let error = objects.failed(&format!("the registration of {len} bytes"), code);
    match code {
        code if code == -fi::FI_ENOMEM => error.fix(format!(
            "allow this user to lock memory (`ulimit -l`, here {}) or use less of it (SHMEM_SYMMETRIC_SIZE)",
            oxshmem_os::process::lockable().map_or("unlimited".into(), |bytes| format!("{bytes} bytes"))
        )),
        _ => error,
    }
}

/// The registered regions of this PE.
#[derive(Default)]
pub(crate) struct OwnMemory {
    pub(crate) windows: Windows,
    held: Vec<HeldRegistration>,
}

/// A registration, and where its memory lies in this process.
struct HeldRegistration {
    base: usize,
    len: usize,
    registration: Registration,
}

impl HeldRegistration {
    /// Whether `n` bytes at `at` lie in it.
    #[inline]
    fn holds(&self, at: usize, n: usize) -> bool {
        at >= self.base && at - self.base < self.len && n <= self.len - (at - self.base)
    }
}

impl OwnMemory {
    /// Registers the part of `segment` that is not registered yet.
    pub(crate) fn register(&mut self, objects: &mut Objects, region: Region, segment: Segment) -> Result<(), Error> {
        let Some((start, Segment { base, len })) = self.windows.growth(region, segment) else { return Ok(()) };
        let registration = Registration::new(objects, base, len, EVERYTHING)?;
        let Registration { key, address, .. } = registration;
        self.windows.add(region, RegionPiece { start, len: len as u64, address, key });
        self.held.push(HeldRegistration { base: base.expose_provenance(), len, registration });
        Ok(())
    }

    /// libfabric's descriptor of local memory that is registered as a whole.
    pub(crate) fn descriptor(&self, at: *const u8, n: usize) -> Option<*mut c_void> {
        let at = at.addr();
        self.held.iter().find(|held| held.holds(at, n)).map(|held| held.registration.desc)
    }
}
