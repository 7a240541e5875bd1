//! The objects of libfabric that one PE has: a domain, an endpoint, its queue of completions and its addresses.

use std::ffi::{CStr, c_int};
use std::os::fd::RawFd;
use std::ptr;

use oxshmem_base::Error;
use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::inline::*;

use crate::info::Info;
use crate::library::{USUAL_PEERS, meaning, peers_are_known};

/// Closes its object when it goes.
pub(crate) struct FiObject(*mut fi::fid);

impl FiObject {
    /// # Safety
    /// The object is open, nobody else closes it, and whatever depends on it is closed before.
    pub(crate) unsafe fn new(fid: *mut fi::fid) -> Self {
        Self(fid)
    }

    pub(crate) fn fid(&self) -> *mut fi::fid {
        self.0
    }
}

impl Drop for FiObject {
    fn drop(&mut self) {
        // SAFETY: the object is open, closed only here, and after what depends on it, as `new` demands.
        let code = unsafe { fi_close(self.0) };
        if code != 0 {
            tracing::debug!(code, "an object of libfabric did not close");
        }
    }
}

/// One endpoint and the objects that belong to it. They are used under the engine's lock only: providers need no more than
/// `FI_THREAD_DOMAIN`.
pub(crate) struct Objects {
    pub(crate) ep: *mut fi::fid_ep,
    pub(crate) cq: *mut fi::fid_cq,
    av: *mut fi::fid_av,
    pub(crate) domain: *mut fi::fid_domain,
    fabric: *mut fi::fid_fabric,
    /// Readable when there may be completions, if the provider has such a thing.
    pub(crate) descriptor: Option<RawFd>,
    /// Counts what peers have read and written, where nothing else shows that they were served.
    served: Option<*mut fi::fid_cntr>,
    /// The endpoint's own address.
    pub(crate) name: Vec<u8>,
    /// How many keys have been asked for.
    keys: u64,
    // The guards of all objects, which are closed in this order.
    _endpoint: FiObject,
    _counter: Option<FiObject>,
    _queue: FiObject,
    _addresses: FiObject,
    _domain: FiObject,
    _fabric: FiObject,
    pub(crate) info: Info,
}

// SAFETY: libfabric's objects belong to no thread, and the engine's lock lets one thread at a time use them.
unsafe impl Send for Objects {}

/// How many completions can be under way at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Depth {
    pub(crate) issued: usize,
    pub(crate) receives: usize,
}

impl Objects {
    /// Opens everything that `info` describes.
    pub(crate) fn open(info: Info, depth: Depth, pes: u32) -> Result<Self, Error> {
        let failed = |what: &str, code: c_int| failed(&info, what, code);
        let (mut fabric, mut domain) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the entry is libfabric's own, its attributes with it.
        let code = unsafe { (info.library.fabric)(info.get().fabric_attr, &raw mut fabric, ptr::null_mut()) };
        check(code).map_err(|code| failed("the fabric", code))?;
        // SAFETY: each object is used after it has been opened and before its guard goes; attributes live on the stack
        // during the call, which copies them.
        unsafe {
            let fabric_guard = FiObject::new(&raw mut (*fabric).fid);
            let code = fi_domain(fabric, info.entry(), &raw mut domain, ptr::null_mut());
            check(code).map_err(|code| failed("the domain", code))?;
            let domain_guard = FiObject::new(&raw mut (*domain).fid);

            let mut attr: fi::fi_av_attr = std::mem::zeroed();
            attr.type_ = match info.domain().av_type {
                fi::FI_AV_UNSPEC => fi::FI_AV_TABLE,
                named => named,
            };
            attr.count = pes as usize;
            let mut av = ptr::null_mut();
            let code = fi_av_open(domain, &raw mut attr, &raw mut av, ptr::null_mut());
            check(code).map_err(|code| failed("the address vector", code))?;
            let addresses_guard = FiObject::new(&raw mut (*av).fid);

            let (cq, descriptor) = open_queue(domain, depth).map_err(|code| failed("the completion queue", code))?;
            let queue_guard = FiObject::new(&raw mut (*cq).fid);

            let mut ep = ptr::null_mut();
            let code = fi_endpoint(domain, info.entry(), &raw mut ep, ptr::null_mut());
            check(code).map_err(|code| failed("the endpoint", code))?;
            let endpoint_guard = FiObject::new(&raw mut (*ep).fid);
            let code = fi_bind(&raw mut (*ep).fid, &raw mut (*av).fid, 0);
            check(code).map_err(|code| failed("the endpoint's addresses", code))?;
            let code = fi_bind(&raw mut (*ep).fid, &raw mut (*cq).fid, fi::FI_TRANSMIT | fi::FI_RECV);
            check(code).map_err(|code| failed("the endpoint's completion queue", code))?;
            // A card serves peers by itself. Software without a descriptor needs a thread to make progress, which
            // should know whether peers ask for anything.
            let looks = descriptor.is_none() && !info.endpoint().card;
            let served = if looks { open_counter(domain, ep) } else { None };
            let counter_guard = served.map(|counter| FiObject::new(&raw mut (*counter).fid));
            // `shm` names its memory by the number of the process. What a killed process of the same number has left is
            // in the way of the first attempt, which removes it.
            let enable = || check(fi_enable(&raw mut (*ep).fid));
            let enabled = enable().or_else(|code| if code == -libc::EBUSY { enable() } else { Err(code) });
            enabled.map_err(|code| match failed("the enabled endpoint", code) {
                error if code == -fi::FI_EINVAL && !peers_are_known() => error.fix(format!(
                    "start with FI_UNIVERSE_SIZE={pes}: by it libfabric sizes queues, and the card may have no room for its \
                     usual {USUAL_PEERS} peers; a process that has threads before it calls oxshmem cannot set it for itself"
                )),
                error => error,
            })?;
            let mut port = Self {
                ep,
                cq,
                av,
                domain,
                fabric,
                descriptor,
                served,
                name: Vec::new(),
                keys: 0,
                _endpoint: endpoint_guard,
                _counter: counter_guard,
                _queue: queue_guard,
                _addresses: addresses_guard,
                _domain: domain_guard,
                _fabric: fabric_guard,
                info,
            };
            port.name = port.address().map_err(|code| self::failed(&port.info, "the endpoint's address", code))?;
            Ok(port)
        }
    }

    fn address(&self) -> Result<Vec<u8>, c_int> {
        let mut length = 256;
        loop {
            let mut name = vec![0u8; length];
            // SAFETY: the endpoint is enabled, the buffer as long as it says.
            let code = unsafe { fi_getname(self.ep, name.as_mut_ptr().cast(), &raw mut length) };
            match code {
                0 => {
                    name.truncate(length);
                    return Ok(name);
                }
                code if code == -(fi::FI_ETOOSMALL as c_int) && length > name.len() => {}
                code => return Err(code),
            }
        }
    }

    /// Makes a peer's endpoint known to this one; `name` is its address.
    pub(crate) fn insert(&mut self, name: &[u8]) -> Result<fi::fi_addr_t, Error> {
        let mut address = fi::FI_ADDR_UNSPEC;
        // SAFETY: the bytes are an endpoint's own name, which says how long it is; one address is written.
        let added = unsafe { fi_av_insert(self.av, name.as_ptr().cast(), 1, &raw mut address, 0, ptr::null_mut()) };
        match added {
            1 => Ok(address),
            code => Err(failed(&self.info, "a peer's address", code.min(0))),
        }
    }

    /// Whether a thread may sleep on the descriptor now.
    pub(crate) fn may_sleep(&self) -> bool {
        // SAFETY: the queue is open as long as `self`.
        let mut queue = unsafe { &raw mut (*self.cq).fid };
        // SAFETY: the fabric is open; one object is asked about.
        unsafe { fi_trywait(self.fabric, &raw mut queue, 1) == 0 }
    }

    /// How many reads and writes of peers have been served, as far as the endpoint counts them. Looking moves it on.
    pub(crate) fn served(&self) -> u64 {
        // SAFETY: the counter is open as long as `self`.
        self.served.map_or(0, |counter| unsafe { fi_cntr_read(counter) })
    }

    /// The endpoint makes no progress unless a thread calls it.
    pub(crate) fn needs_us(&self) -> bool {
        let domain = self.info.domain();
        [domain.data_progress, domain.control_progress].iter().any(|&progress| progress != fi::FI_PROGRESS_AUTO)
    }

    /// The mode bits that registered memory must obey.
    pub(crate) fn mr_mode(&self) -> c_int {
        self.info.domain().mr_mode
    }

    /// A key for a registration where the keys are ours.
    pub(crate) fn next_key(&mut self) -> u64 {
        self.keys += 1;
        self.keys
    }

    /// The error for something that libfabric has refused to make.
    pub(crate) fn failed(&self, what: &str, code: c_int) -> Error {
        failed(&self.info, what, code)
    }

    /// The meaning of one of the endpoint's codes.
    pub(crate) fn meaning(&self, code: c_int) -> String {
        meaning(self.info.library, code)
    }

    /// The meaning of an error of the queue, in the provider's words.
    pub(crate) fn queue_meaning(&self, error: &fi::fi_cq_err_entry) -> String {
        // SAFETY: the queue is open and the entry is its own.
        let text = unsafe { fi_cq_strerror(self.cq, error.prov_errno, error.err_data) };
        let general = self.meaning(-error.err);
        if text.is_null() {
            return general;
        }
        // SAFETY: a string of the provider.
        let particular = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        if particular == general { general } else { format!("{general} ({particular})") }
    }
}

/// A queue of messages' form; with a descriptor to sleep on if there are such.
///
/// # Safety
/// The domain is open.
unsafe fn open_queue(domain: *mut fi::fid_domain, depth: Depth) -> Result<(*mut fi::fid_cq, Option<RawFd>), c_int> {
    let mut refused = 0;
    for wait in [fi::FI_WAIT_FD, fi::FI_WAIT_NONE] {
        // SAFETY: all-zero attributes are what a program in C would begin with.
        let mut attr: fi::fi_cq_attr = unsafe { std::mem::zeroed() };
        attr.size = depth.issued + depth.receives;
        attr.format = fi::FI_CQ_FORMAT_MSG;
        attr.wait_obj = wait;
        attr.wait_cond = fi::FI_CQ_COND_NONE;
        let mut cq = ptr::null_mut();
        // SAFETY: the domain is open, by the caller's promise; attributes and results live during the call.
        match check(unsafe { fi_cq_open(domain, &raw mut attr, &raw mut cq, ptr::null_mut()) }) {
            Err(code) => refused = code,
            Ok(()) if wait == fi::FI_WAIT_NONE => return Ok((cq, None)),
            Ok(()) => {
                let mut descriptor: c_int = -1;
                // SAFETY: the queue is open; the command writes one descriptor.
                let code =
                    unsafe { fi_control(&raw mut (*cq).fid, fi::FI_GETWAIT as c_int, (&raw mut descriptor).cast()) };
                if code == 0 && descriptor >= 0 {
                    return Ok((cq, Some(descriptor)));
                }
                // SAFETY: the queue is open, and nobody else has it.
                drop(unsafe { FiObject::new(&raw mut (*cq).fid) });
            }
        }
    }
    Err(refused)
}

/// A counter of what peers do to our memory; `None` if the provider has none.
///
/// # Safety
/// The domain is open, and the endpoint is open and not yet enabled. The counter closes after the endpoint.
unsafe fn open_counter(domain: *mut fi::fid_domain, ep: *mut fi::fid_ep) -> Option<*mut fi::fid_cntr> {
    // SAFETY: all-zero attributes are what a program in C would begin with: operations are counted, and nobody sleeps.
    let mut attr: fi::fi_cntr_attr = unsafe { std::mem::zeroed() };
    attr.wait_obj = fi::FI_WAIT_NONE;
    let mut counter = ptr::null_mut();
    // SAFETY: domain and endpoint are open and the endpoint is not enabled, by the caller's promise; a counter that could not
    // be bound is closed at once, and nobody else has it.
    unsafe {
        check(fi_cntr_open(domain, &raw mut attr, &raw mut counter, ptr::null_mut())).ok()?;
        let bound = fi_bind(&raw mut (*ep).fid, &raw mut (*counter).fid, fi::FI_REMOTE_READ | fi::FI_REMOTE_WRITE);
        if bound != 0 {
            drop(FiObject::new(&raw mut (*counter).fid));
            return None;
        }
    }
    Some(counter)
}

pub(crate) fn check(code: c_int) -> Result<(), c_int> {
    if code == 0 { Ok(()) } else { Err(code) }
}

fn failed(info: &Info, what: &str, code: c_int) -> Error {
    let why = meaning(info.library, code);
    Error::new(format!("libfabric's provider {} on {} has failed to make {what}", info.provider(), info.domain_name()))
        .because(why)
        .fix("choose another by SHMEM_TRANSPORT=ofi:PROVIDER (`fi_info -l` lists them), or SHMEM_TRANSPORT=tcp")
}
