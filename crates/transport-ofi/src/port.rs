//! The objects of libfabric that one PE has: a domain, an endpoint, its queue of completions and its addresses.

use std::ffi::{CStr, c_int, c_void};
use std::os::fd::RawFd;
use std::ptr;

use oxshmem_base::Error;
use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::inline::*;

use crate::device::Info;
use crate::library::{USUAL_PEERS, meaning, peers_are_known};

/// Closes its object when it goes.
struct Object(*mut fi::fid);

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: opened by `Port` or `register`, closed once, after what depends on it (see the order of `Port`'s fields).
        let code = unsafe { fi_close(self.0) };
        if code != 0 {
            tracing::debug!(code, "an object of libfabric did not close");
        }
    }
}

/// One endpoint and what belongs to it. Who uses it holds the engine's lock: providers need no more than
/// `FI_THREAD_DOMAIN`.
pub(crate) struct Port {
    pub(crate) ep: *mut fi::fid_ep,
    pub(crate) cq: *mut fi::fid_cq,
    av: *mut fi::fid_av,
    pub(crate) domain: *mut fi::fid_domain,
    fabric: *mut fi::fid_fabric,
    /// Readable when there may be completions, if the provider has such a thing.
    pub(crate) descriptor: Option<RawFd>,
    /// Counts what peers have read and written, where nothing else tells that they were served.
    served: Option<*mut fi::fid_cntr>,
    /// The endpoint's own address.
    pub(crate) name: Vec<u8>,
    next_key: u64,
    // What was opened, to be closed in this order.
    _endpoint: Object,
    _counter: Option<Object>,
    _queue: Object,
    _addresses: Object,
    _domain: Object,
    _fabric: Object,
    pub(crate) info: Info,
}

// SAFETY: used by whoever holds the engine's lock, on whatever thread; libfabric's objects belong to no thread.
unsafe impl Send for Port {}

/// How many completions can be under way at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Depth {
    pub(crate) issued: usize,
    pub(crate) receives: usize,
}

impl Port {
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
            let fabric_guard = Object(&raw mut (*fabric).fid);
            let code = fi_domain(fabric, info.entry(), &raw mut domain, ptr::null_mut());
            check(code).map_err(|code| failed("the domain", code))?;
            let domain_guard = Object(&raw mut (*domain).fid);

            let mut attr: fi::fi_av_attr = std::mem::zeroed();
            attr.type_ = match info.domain().av_type {
                fi::FI_AV_UNSPEC => fi::FI_AV_TABLE,
                named => named,
            };
            attr.count = pes as usize;
            let mut av = ptr::null_mut();
            let code = fi_av_open(domain, &raw mut attr, &raw mut av, ptr::null_mut());
            check(code).map_err(|code| failed("the address vector", code))?;
            let addresses_guard = Object(&raw mut (*av).fid);

            let (cq, descriptor) = open_queue(domain, depth).map_err(|code| failed("the completion queue", code))?;
            let queue_guard = Object(&raw mut (*cq).fid);

            let mut ep = ptr::null_mut();
            let code = fi_endpoint(domain, info.entry(), &raw mut ep, ptr::null_mut());
            check(code).map_err(|code| failed("the endpoint", code))?;
            let endpoint_guard = Object(&raw mut (*ep).fid);
            let code = fi_bind(&raw mut (*ep).fid, &raw mut (*av).fid, 0);
            check(code).map_err(|code| failed("the endpoint's addresses", code))?;
            let code = fi_bind(&raw mut (*ep).fid, &raw mut (*cq).fid, fi::FI_TRANSMIT | fi::FI_RECV);
            check(code).map_err(|code| failed("the endpoint's completion queue", code))?;
            // A card serves peers by itself. Software without a descriptor must be looked after, by somebody who should know
            // whether peers ask for anything.
            let looks = descriptor.is_none() && !info.endpoint().card;
            let served = if looks { open_counter(domain, ep) } else { None };
            let counter_guard = served.map(|counter| Object(&raw mut (*counter).fid));
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
                next_key: 1,
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

    /// Makes a peer's address known to the endpoint.
    pub(crate) fn insert(&mut self, name: &[u8]) -> Result<fi::fi_addr_t, Error> {
        let mut address = fi::FI_ADDR_UNSPEC;
        // SAFETY: the bytes are an endpoint's own name, which says how long it is; one address is written.
        let added = unsafe { fi_av_insert(self.av, name.as_ptr().cast(), 1, &raw mut address, 0, ptr::null_mut()) };
        match added {
            1 => Ok(address),
            code => Err(failed(&self.info, "a peer's address", code.min(0))),
        }
    }

    /// Whether it is right to sleep on the descriptor now.
    pub(crate) fn may_sleep(&self) -> bool {
        // SAFETY: an open queue.
        let mut queue = unsafe { &raw mut (*self.cq).fid };
        // SAFETY: the fabric is open; one object is asked about.
        unsafe { fi_trywait(self.fabric, &raw mut queue, 1) == 0 }
    }

    /// How many reads and writes of peers have been served, as far as the endpoint counts them. Looking moves it on.
    pub(crate) fn served(&self) -> u64 {
        // SAFETY: the counter is open as long as the port.
        self.served.map_or(0, |counter| unsafe { fi_cntr_read(counter) })
    }

    /// The endpoint does nothing unless somebody looks after it.
    pub(crate) fn needs_us(&self) -> bool {
        let domain = self.info.domain();
        [domain.data_progress, domain.control_progress].iter().any(|&progress| progress != fi::FI_PROGRESS_AUTO)
    }

    /// The mode bits that registered memory must obey.
    pub(crate) fn mr_mode(&self) -> c_int {
        self.info.domain().mr_mode
    }

    /// Registers memory in the way that the domain demands.
    pub(crate) fn register(&mut self, base: *mut u8, len: usize) -> Result<Registration, Error> {
        let iov = fi::iovec { iov_base: base.cast(), iov_len: len };
        let mode = self.mr_mode();
        // SAFETY: all-zero attributes are what a program in C would begin with.
        let mut attr: fi::fi_mr_attr = unsafe { std::mem::zeroed() };
        attr.mr_iov = &raw const iov;
        attr.iov_count = 1;
        attr.access = fi::FI_READ | fi::FI_WRITE | fi::FI_REMOTE_READ | fi::FI_REMOTE_WRITE | fi::FI_SEND | fi::FI_RECV;
        if mode & fi::FI_MR_PROV_KEY == 0 {
            attr.requested_key = self.next_key;
            self.next_key += 1;
        }
        let mut mr = ptr::null_mut();
        // SAFETY: the domain is open; who registers a segment keeps it mapped while the fabric is open.
        let code = unsafe { fi_mr_regattr(self.domain, &raw const attr, 0, &raw mut mr) };
        check(code).map_err(|code| self.not_registered(len, code))?;
        // SAFETY: just opened.
        let object = Object(unsafe { &raw mut (*mr).fid });
        if mode & fi::FI_MR_ENDPOINT != 0 {
            // SAFETY: both are open, and the endpoint is enabled.
            let bound = check(unsafe { fi_bind(object.0, &raw mut (*self.ep).fid, 0) });
            // SAFETY: the region is open and was just bound to the endpoint, as enabling asks.
            let enabled = bound.and_then(|()| check(unsafe { fi_enable(object.0) }));
            enabled.map_err(|code| self.not_registered(len, code))?;
        }
        // SAFETY: open, and enabled if it has to be, so it has its key.
        let (key, desc) = unsafe { (fi_mr_key(mr), fi_mr_desc(mr)) };
        if key == fi::FI_KEY_NOTAVAIL {
            return Err(self.not_registered(len, -fi::FI_EOPNOTSUPP));
        }
        // Peers name the first byte by its address or as the beginning of the registration.
        let address = if mode & fi::FI_MR_VIRT_ADDR != 0 { base.expose_provenance() as u64 } else { 0 };
        Ok(Registration { key, desc, address, _object: object })
    }

    fn not_registered(&self, len: usize, code: c_int) -> Error {
        let error = failed(&self.info, &format!("the registration of {len} bytes"), code);
        match code {
            code if code == -fi::FI_ENOMEM => error.fix(format!(
                "allow this user to lock memory (`ulimit -l`, here {}) or use less of it (SHMEM_SYMMETRIC_SIZE)",
                oxshmem_os::process::lockable().map_or("unlimited".into(), |bytes| format!("{bytes} bytes"))
            )),
            _ => error,
        }
    }

    /// What a code of the endpoint means.
    pub(crate) fn meaning(&self, code: c_int) -> String {
        meaning(self.info.library, code)
    }

    /// What an error of the queue means, in the provider's words.
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

/// Memory that peers may reach.
pub(crate) struct Registration {
    pub(crate) key: u64,
    pub(crate) desc: *mut c_void,
    pub(crate) address: u64,
    _object: Object,
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
        // SAFETY: the caller's promise.
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
                drop(Object(
                    // SAFETY: open, and nobody has it.
                    unsafe { &raw mut (*cq).fid },
                ));
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
    // SAFETY: the caller's promise.
    unsafe {
        check(fi_cntr_open(domain, &raw mut attr, &raw mut counter, ptr::null_mut())).ok()?;
        let bound = fi_bind(&raw mut (*ep).fid, &raw mut (*counter).fid, fi::FI_REMOTE_READ | fi::FI_REMOTE_WRITE);
        if bound != 0 {
            drop(Object(&raw mut (*counter).fid));
            return None;
        }
    }
    Some(counter)
}

fn check(code: c_int) -> Result<(), c_int> {
    if code == 0 { Ok(()) } else { Err(code) }
}

fn failed(info: &Info, what: &str, code: c_int) -> Error {
    let why = meaning(info.library, code);
    Error::new(format!("libfabric's provider {} on {} has failed to make {what}", info.provider(), info.domain_name()))
        .because(why)
        .fix("choose another by SHMEM_TRANSPORT=ofi:PROVIDER (`fi_info -l` lists them), or SHMEM_TRANSPORT=tcp")
}
