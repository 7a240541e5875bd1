//! The objects of libfabric that one PE has: a domain, an endpoint, its queue of completions and its addresses.

use std::ffi::{CStr, c_int};
use std::os::fd::RawFd;
use std::ptr;

use oxshmem_base::Error;
use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::inline::*;

use crate::info::Info;
use crate::library::{USUAL_PEERS, meaning, peers_are_known, remedy};

/// An open object of libfabric, which closes when it goes.
pub(crate) struct FiObject<T>(*mut T);

impl<T> FiObject<T> {
    /// # Safety
    /// The object is open and begins with its `fid`, and nobody else closes it. Whatever will depend on it is closed before it.
    pub(crate) unsafe fn new(object: *mut T) -> Self {
        Self(object)
    }

    #[inline]
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.0
    }

    pub(crate) fn fid(&self) -> *mut fi::fid {
        self.0.cast()
    }
}

impl<T> Drop for FiObject<T> {
    fn drop(&mut self) {
        // SAFETY: the object is open, closed only here, and after what depends on it, as `new` demands.
        let code = unsafe { fi_close(self.fid()) };
        if code != 0 {
            tracing::debug!(code, "an object of libfabric did not close");
        }
    }
}

/// One endpoint and the objects that belong to it. They are used under the engine's lock only: providers need no more than
/// `FI_THREAD_DOMAIN`.
pub(crate) struct Objects {
    // Objects close in this order, each before those that it depends on.
    ep: FiObject<fi::fid_ep>,
    /// Counts what peers have read and written, where nothing else shows that they were served.
    served: Option<FiObject<fi::fid_cntr>>,
    cq: FiObject<fi::fid_cq>,
    av: FiObject<fi::fid_av>,
    domain: FiObject<fi::fid_domain>,
    fabric: FiObject<fi::fid_fabric>,
    /// Readable when there may be completions, if the provider has such a thing.
    pub(crate) descriptor: Option<RawFd>,
    /// The endpoint's own address.
    pub(crate) name: Vec<u8>,
    /// How many keys have been asked for.
    keys: u64,
    pub(crate) info: Info,
}

// SAFETY: libfabric's objects belong to no thread, and the engine's lock lets one thread at a time use them.
unsafe impl Send for Objects {}

/// How many completions can be under way at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Depth {
    pub(crate) issued: usize,
    /// This many more, for PEs that have few of them.
    pub(crate) kept: usize,
    pub(crate) receives: usize,
}

impl Objects {
    /// Opens everything that `info` describes.
    pub(crate) fn open(info: Info, depth: Depth, pes: u32) -> Result<Self, Error> {
        let failed = |what: &str, code: c_int| failed(&info, what, code);
        let fabric = open_fabric(&info).map_err(|code| failed("the fabric", code))?;
        // SAFETY: the domain closes before the fabric, here and in `Self`.
        let domain = unsafe { open_domain(&fabric, &info) }.map_err(|code| failed("the domain", code))?;
        // SAFETY: the address vector closes before the domain, here and in `Self`.
        let av = unsafe { open_addresses(&domain, &info, pes) }.map_err(|code| failed("the address vector", code))?;
        // SAFETY: the queue closes before the domain, here and in `Self`.
        let queue = unsafe { open_queue(&domain, depth) };
        let (cq, descriptor) = queue.map_err(|code| failed("the completion queue", code))?;
        // SAFETY: the endpoint closes before the domain, here and in `Self`.
        let ep = unsafe { open_endpoint(&domain, &info) }.map_err(|code| failed("the endpoint", code))?;
        // SAFETY: the endpoint closes before the address vector of its domain, here and in `Self`.
        let bound = unsafe { bind(&ep, &av, 0) };
        bound.map_err(|code| failed("the endpoint's addresses", code))?;
        // SAFETY: the endpoint closes before the queue of its domain, here and in `Self`.
        let bound = unsafe { bind(&ep, &cq, fi::FI_TRANSMIT | fi::FI_RECV) };
        bound.map_err(|code| failed("the endpoint's completion queue", code))?;
        // A card serves peers by itself. Software without a descriptor needs a thread to make progress, which should know
        // whether peers ask for anything.
        let looks = descriptor.is_none() && !info.endpoint().card;
        // SAFETY: the counter closes before the domain and after the endpoint, which is not yet enabled.
        let served = if looks { unsafe { open_counter(&domain, &ep) } } else { None };
        let mut objects = Self { ep, served, cq, av, domain, fabric, descriptor, name: Vec::new(), keys: 0, info };
        objects.enable(pes)?;
        objects.name = objects.address().map_err(|code| objects.failed("the endpoint's address", code))?;
        Ok(objects)
    }

    /// Enables the endpoint, in a job of `pes` PEs.
    fn enable(&self, pes: u32) -> Result<(), Error> {
        // SAFETY: the endpoint is open as long as `self`, and `open` has bound it to what it needs.
        let enable = || check(unsafe { fi_enable(self.ep.fid()) });
        // `shm` names its memory by the number of the process. What a killed process of the same number has left is in the
        // way of the first attempt, which removes it.
        let enabled = enable().or_else(|code| if code == -libc::EBUSY { enable() } else { Err(code) });
        enabled.map_err(|code| match self.failed("the enabled endpoint", code) {
            error if code == -fi::FI_EINVAL && !peers_are_known() => error.fix(format!(
                "start with FI_UNIVERSE_SIZE={pes}: by it libfabric sizes queues, and the card may have no room for its \
                 usual {USUAL_PEERS} peers; a process that has threads before it calls oxshmem cannot set it for itself"
            )),
            error => error,
        })
    }

    #[inline]
    pub(crate) fn ep(&self) -> *mut fi::fid_ep {
        self.ep.as_ptr()
    }

    #[inline]
    pub(crate) fn cq(&self) -> *mut fi::fid_cq {
        self.cq.as_ptr()
    }

    pub(crate) fn domain(&self) -> *mut fi::fid_domain {
        self.domain.as_ptr()
    }

    fn address(&self) -> Result<Vec<u8>, c_int> {
        let mut length = 256;
        loop {
            let mut name = vec![0u8; length];
            // SAFETY: the endpoint is enabled, the buffer as long as it says.
            let code = unsafe { fi_getname(self.ep(), name.as_mut_ptr().cast(), &raw mut length) };
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
        let (av, bytes) = (self.av.as_ptr(), name.as_ptr().cast());
        // SAFETY: the bytes are an endpoint's own name, which says how long it is; one address is written.
        let added = unsafe { fi_av_insert(av, bytes, 1, &raw mut address, 0, ptr::null_mut()) };
        match added {
            1 => Ok(address),
            0 => Err(self.foreign(name)),
            code => Err(failed(&self.info, "a peer's address", code)),
        }
    }

    /// The error for an address that libfabric does not take, for which it has no code: mostly one of another kind of network.
    fn foreign(&self, name: &[u8]) -> Error {
        let (provider, domain) = (self.info.provider(), self.info.domain_name());
        Error::new(format!("libfabric's provider {provider} on {domain} does not take a peer's address"))
            .because(format!("it has {} bytes, and the address of this PE {}", name.len(), self.name.len()))
            .fix("let SHMEM_OFI_FABRIC or SHMEM_OFI_DOMAIN name a network that all nodes have (`fi_info` lists them)")
    }

    /// Whether a thread may sleep on the descriptor now.
    pub(crate) fn may_sleep(&self) -> bool {
        let mut queue = self.cq.fid();
        // SAFETY: fabric and queue are open as long as `self`; one object is asked about.
        unsafe { fi_trywait(self.fabric.as_ptr(), &raw mut queue, 1) == 0 }
    }

    /// How many reads and writes of peers have been served, as far as the endpoint counts them. Looking moves it on.
    pub(crate) fn served(&self) -> u64 {
        // SAFETY: the counter is open as long as `self`.
        self.served.as_ref().map_or(0, |counter| unsafe { fi_cntr_read(counter.as_ptr()) })
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
        let text = unsafe { fi_cq_strerror(self.cq(), error.prov_errno, error.err_data) };
        let general = self.meaning(-error.err);
        if text.is_null() {
            return general;
        }
        // SAFETY: a string of the provider.
        let particular = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        if particular == general { general } else { format!("{general} ({particular})") }
    }
}

fn open_fabric(info: &Info) -> Result<FiObject<fi::fid_fabric>, c_int> {
    let mut fabric = ptr::null_mut();
    // SAFETY: the entry is libfabric's own, its attributes with it.
    check(unsafe { (info.library.fabric)(info.get().fabric_attr, &raw mut fabric, ptr::null_mut()) })?;
    // SAFETY: the call above has just opened the fabric, and nobody else closes it; `open_domain` has the domain closed before it.
    Ok(unsafe { FiObject::new(fabric) })
}

/// # Safety
/// The domain closes before the fabric.
unsafe fn open_domain(fabric: &FiObject<fi::fid_fabric>, info: &Info) -> Result<FiObject<fi::fid_domain>, c_int> {
    let mut domain = ptr::null_mut();
    // SAFETY: the fabric is open, and the entry libfabric's own; the result lives during the call.
    check(unsafe { fi_domain(fabric.as_ptr(), info.entry(), &raw mut domain, ptr::null_mut()) })?;
    // SAFETY: the call above has just opened the domain, and nobody else closes it. What opens an object of a domain has that
    // closed before it, and `Endpoint` closes registrations first.
    Ok(unsafe { FiObject::new(domain) })
}

/// A vector for the addresses of `pes` PEs.
///
/// # Safety
/// The vector closes before the domain.
unsafe fn open_addresses(
    domain: &FiObject<fi::fid_domain>,
    info: &Info,
    pes: u32,
) -> Result<FiObject<fi::fid_av>, c_int> {
    // SAFETY: all-zero attributes are what a program in C would begin with.
    let mut attr: fi::fi_av_attr = unsafe { std::mem::zeroed() };
    attr.type_ = match info.domain().av_type {
        fi::FI_AV_UNSPEC => fi::FI_AV_TABLE,
        named => named,
    };
    attr.count = pes as usize;
    let mut av = ptr::null_mut();
    // SAFETY: the domain is open; attributes and result live during the call.
    check(unsafe { fi_av_open(domain.as_ptr(), &raw mut attr, &raw mut av, ptr::null_mut()) })?;
    // SAFETY: the call above has just opened the vector, and nobody else closes it; `bind` has the endpoint closed before it.
    Ok(unsafe { FiObject::new(av) })
}

/// A queue of messages' form; with a descriptor to sleep on if there are such.
///
/// # Safety
/// The queue closes before the domain.
unsafe fn open_queue(
    domain: &FiObject<fi::fid_domain>,
    depth: Depth,
) -> Result<(FiObject<fi::fid_cq>, Option<RawFd>), c_int> {
    let mut refused = 0;
    for wait in [fi::FI_WAIT_FD, fi::FI_WAIT_NONE] {
        // SAFETY: all-zero attributes are what a program in C would begin with.
        let mut attr: fi::fi_cq_attr = unsafe { std::mem::zeroed() };
        attr.size = depth.issued + depth.kept + depth.receives;
        attr.format = fi::FI_CQ_FORMAT_MSG;
        attr.wait_obj = wait;
        attr.wait_cond = fi::FI_CQ_COND_NONE;
        let mut cq = ptr::null_mut();
        // SAFETY: the domain is open; attributes and result live during the call.
        if let Err(code) = check(unsafe { fi_cq_open(domain.as_ptr(), &raw mut attr, &raw mut cq, ptr::null_mut()) }) {
            refused = code;
            continue;
        }
        // SAFETY: the call above has just opened the queue, and nobody else closes it; `bind` has the endpoint closed before it.
        let cq = unsafe { FiObject::new(cq) };
        if wait == fi::FI_WAIT_NONE {
            return Ok((cq, None));
        }
        let mut descriptor: c_int = -1;
        // SAFETY: the queue is open; the command writes one descriptor.
        let code = unsafe { fi_control(cq.fid(), fi::FI_GETWAIT as c_int, (&raw mut descriptor).cast()) };
        if code == 0 && descriptor >= 0 {
            return Ok((cq, Some(descriptor)));
        }
    }
    Err(refused)
}

/// # Safety
/// The endpoint closes before the domain.
unsafe fn open_endpoint(domain: &FiObject<fi::fid_domain>, info: &Info) -> Result<FiObject<fi::fid_ep>, c_int> {
    let mut ep = ptr::null_mut();
    // SAFETY: the domain is open, and the entry libfabric's own; the result lives during the call.
    check(unsafe { fi_endpoint(domain.as_ptr(), info.entry(), &raw mut ep, ptr::null_mut()) })?;
    // SAFETY: the call above has just opened the endpoint, and nobody else closes it; `Endpoint` closes registrations first.
    Ok(unsafe { FiObject::new(ep) })
}

/// Binds the endpoint to what it works with.
///
/// # Safety
/// Both are of one domain, the endpoint is not enabled, and it closes before the other.
unsafe fn bind<T>(ep: &FiObject<fi::fid_ep>, to: &FiObject<T>, flags: u64) -> Result<(), c_int> {
    // SAFETY: both are open, and of one domain by the caller's promise.
    check(unsafe { fi_bind(ep.fid(), to.fid(), flags) })
}

/// A counter of what peers do to our memory; `None` if the provider has none.
///
/// # Safety
/// The endpoint is of the domain and not enabled. The counter closes after it, and before the domain.
unsafe fn open_counter(
    domain: &FiObject<fi::fid_domain>,
    endpoint: &FiObject<fi::fid_ep>,
) -> Option<FiObject<fi::fid_cntr>> {
    // SAFETY: all-zero attributes are what a program in C would begin with: operations are counted, and nobody sleeps.
    let mut attr: fi::fi_cntr_attr = unsafe { std::mem::zeroed() };
    attr.wait_obj = fi::FI_WAIT_NONE;
    let mut counter = ptr::null_mut();
    // SAFETY: the domain is open; attributes and result live during the call.
    check(unsafe { fi_cntr_open(domain.as_ptr(), &raw mut attr, &raw mut counter, ptr::null_mut()) }).ok()?;
    // SAFETY: the call above has just opened the counter, and nobody else closes it; `bind` has the endpoint closed before it.
    let counter = unsafe { FiObject::new(counter) };
    // SAFETY: the endpoint is of the domain, not enabled, and closes before the counter, by the caller's promise.
    unsafe { bind(endpoint, &counter, fi::FI_REMOTE_READ | fi::FI_REMOTE_WRITE) }.ok()?;
    Some(counter)
}

pub(crate) fn check(code: c_int) -> Result<(), c_int> {
    if code == 0 { Ok(()) } else { Err(code) }
}

fn failed(info: &Info, what: &str, code: c_int) -> Error {
    let why = meaning(info.library, code);
    let another = "choose another by SHMEM_TRANSPORT=ofi:PROVIDER (`fi_info -l` lists them), or SHMEM_TRANSPORT=tcp";
    Error::new(format!("libfabric's provider {} on {} has failed to make {what}", info.provider(), info.domain_name()))
        .because(why)
        .fix(remedy(code).unwrap_or_else(|| another.into()))
}
