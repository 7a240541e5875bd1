//! The calls of libfabric: those that open objects. `transfer` has operations, `queue` completions.

mod queue;
mod transfer;

use std::ffi::{CStr, c_int, c_void};
use std::mem::zeroed;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use oxshmem_libfabric_sys as fi;

use crate::broken;
use crate::card::Registered;
use crate::end::PersonaEnd;
use crate::nature::NATURES;
use crate::objects::{MEMORY, base, close_endpoint, close_memory, close_nothing, end_of, leak, object};
use crate::socket::EndName;

/// # Safety
/// `attr` is of an entry of this library, and `fabric` is the caller's variable.
pub(crate) unsafe fn open_fabric(attr: *mut fi::fi_fabric_attr, fabric: *mut *mut fi::fid_fabric) -> c_int {
    static OPENED: AtomicU64 = AtomicU64::new(0);
    // SAFETY: the attributes are an entry's and the variable is the caller's; a system call with numbers lets peers reach this process.
    unsafe {
        libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY);
        let name = CStr::from_ptr((*attr).prov_name);
        let nature = NATURES.iter().find(|nature| nature.name == name).expect("a provider of this library");
        let number = OPENED.fetch_add(1, Ordering::Relaxed);
        let end = leak(PersonaEnd::new(nature, EndName { process: std::process::id().into(), number }));
        let mut ops: fi::fi_ops_fabric = zeroed();
        ops.domain = Some(open_domain);
        let mut fid: fi::fid_fabric = zeroed();
        fid.fid = base(close_nothing);
        fid.ops = leak(ops);
        *fabric = object(fid, end, 0);
    }
    0
}

unsafe extern "C" fn open_domain(
    fabric: *mut fi::fid_fabric,
    _info: *mut fi::fi_info,
    domain: *mut *mut fi::fid_domain,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: a fabric of this library, and the caller's variable; zero is a value of every member of a table.
    unsafe {
        let mut ops: fi::fi_ops_domain = zeroed();
        ops.av_open = Some(av_open);
        ops.cq_open = Some(queue::cq_open);
        ops.cntr_open = Some(queue::cntr_open);
        ops.endpoint = Some(endpoint);
        ops.query_atomic = Some(transfer::query);
        let mut memory: fi::fi_ops_mr = zeroed();
        memory.regattr = Some(regattr);
        let mut fid: fi::fid_domain = zeroed();
        fid.fid = base(close_nothing);
        fid.ops = leak(ops);
        fid.mr = leak(memory);
        *domain = object(fid, end_of(fabric), 0);
    }
    0
}

unsafe extern "C" fn av_open(
    domain: *mut fi::fid_domain,
    _attr: *mut fi::fi_av_attr,
    av: *mut *mut fi::fid_av,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: a domain of this library, and the caller's variable.
    unsafe {
        let (mut ops, mut fid) = (zeroed::<fi::fi_ops_av>(), zeroed::<fi::fid_av>());
        ops.insert = Some(insert);
        fid.fid = base(close_nothing);
        fid.ops = leak(ops);
        *av = object(fid, end_of(domain), 0);
    }
    0
}

unsafe extern "C" fn insert(
    av: *mut fi::fid_av,
    name: *const c_void,
    _count: usize,
    address: *mut fi::fi_addr_t,
    _flags: u64,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: an address vector of this library and a name of its kind; the caller's variable.
    unsafe {
        let end = end_of(av);
        *address = end.peers.len() as u64;
        end.peers.push(name.cast::<EndName>().read_unaligned());
    }
    1
}

unsafe extern "C" fn endpoint(
    domain: *mut fi::fid_domain,
    info: *mut fi::fi_info,
    ep: *mut *mut fi::fid_ep,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: a domain and an entry of this library, and the caller's variable.
    unsafe {
        let (mut cm, mut fid) = (zeroed::<fi::fi_ops_cm>(), zeroed::<fi::fid_ep>());
        cm.getname = Some(getname);
        fid.fid = base(close_endpoint);
        fid.cm = leak(cm);
        fid.msg = leak(transfer::messages());
        fid.rma = leak(transfer::puts_and_gets());
        // An endpoint that was not asked for atomics has none.
        if (*info).caps & fi::FI_ATOMIC != 0 {
            fid.atomic = leak(transfer::atomics());
        }
        *ep = object(fid, end_of(domain), 0);
    }
    0
}

unsafe extern "C" fn getname(ep: *mut fi::fid, name: *mut c_void, length: *mut usize) -> c_int {
    // SAFETY: an endpoint of this library; the buffer is as long as it says.
    unsafe {
        if std::mem::replace(&mut *length, size_of::<EndName>()) < size_of::<EndName>() {
            return -(fi::FI_ETOOSMALL as c_int);
        }
        name.cast::<EndName>().write_unaligned(end_of(ep.cast::<fi::fid_ep>()).name);
    }
    0
}

unsafe extern "C" fn regattr(
    domain: *mut fi::fid,
    attr: *const fi::fi_mr_attr,
    _flags: u64,
    mr: *mut *mut fi::fid_mr,
) -> c_int {
    // SAFETY: a domain of this library, the caller's attributes and variable.
    unsafe {
        let end = end_of(domain.cast::<fi::fid_domain>());
        let (iov, asked) = (&*(*attr).mr_iov, (*attr).requested_key);
        end.keys += 1;
        let own = end.nature.mr_mode & fi::FI_MR_PROV_KEY != 0;
        let mut memory = end.card.memory.lock();
        if own && asked != 0 || !own && memory.contains_key(&asked) {
            broken(&format!("key {asked} is asked for where the provider chooses, or twice"));
        }
        // Cards choose keys that mean nothing to anybody else.
        let key = if own { end.keys << 20 | 0xC0DE } else { asked };
        let enabled = end.nature.mr_mode & fi::FI_MR_ENDPOINT == 0;
        let (base_address, len) = (iov.iov_base.expose_provenance(), iov.iov_len);
        memory.insert(key, Registered { base: base_address, len, enabled, bound: false });
        let mut fid: fi::fid_mr = zeroed();
        fid.fid = base(close_memory);
        fid.fid.fclass = MEMORY;
        fid.key = if enabled { key } else { fi::FI_KEY_NOTAVAIL };
        fid.mem_desc = ptr::without_provenance_mut(key as usize);
        drop(memory);
        *mr = object(fid, end, key);
    }
    0
}
