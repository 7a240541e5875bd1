//! The calls of libfabric: those that open objects. `transfer` and `atomic` have operations, `queue` completions.

use std::ffi::{CStr, c_int, c_void};
use std::mem::zeroed;
use std::ptr;

use oxshmem_libfabric_sys as fi;

use super::datagram::EndName;
use super::end::MockEnd;
use super::entries::domain_name;
use super::natures::NATURES;
use super::objects::{MEMORY, base, close_endpoint, close_memory, close_nothing, end_of, leak, object};
use super::operation::Registered;
use super::{atomic, broken, queue, transfer, wire};

/// # Safety
/// `attr` is of an entry of this library, and `fabric` is the caller's variable.
pub(super) unsafe extern "C" fn open_fabric(
    attr: *mut fi::fi_fabric_attr,
    fabric: *mut *mut fi::fid_fabric,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: the attributes are an entry's and the variable is the caller's.
    unsafe {
        let name = CStr::from_ptr((*attr).prov_name);
        let nature = NATURES.iter().find(|nature| nature.name == name).expect("a provider of this library");
        let end = leak(MockEnd::new(nature, wire::next_name()));
        let ops = leak(fi::fi_ops_fabric { domain: Some(open_domain), ..zeroed() });
        *fabric = object(fi::fid_fabric { fid: base(close_nothing), ops, api_version: 0 }, end, 0);
    }
    0
}

unsafe extern "C" fn open_domain(
    fabric: *mut fi::fid_fabric,
    info: *mut fi::fi_info,
    domain: *mut *mut fi::fid_domain,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: a fabric and an entry of this library, and the caller's variable; zero is a value of every member of a table.
    unsafe {
        let (end, name) = (end_of(fabric), CStr::from_ptr((*(*info).domain_attr).name));
        let card = (0..end.nature.cards).position(|card| *domain_name(end.nature, card) == *name);
        let Some(card) = card.filter(|&card| card < 3) else { return -libc::ENODEV };
        end.domain = card;
        let ops = leak(fi::fi_ops_domain {
            av_open: Some(av_open),
            cq_open: Some(queue::cq_open),
            cntr_open: Some(queue::cntr_open),
            endpoint: Some(endpoint),
            query_atomic: Some(atomic::query),
            ..zeroed()
        });
        let mr = leak(fi::fi_ops_mr { regattr: Some(regattr), ..zeroed() });
        *domain = object(fi::fid_domain { fid: base(close_nothing), ops, mr }, end, 0);
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
        let ops = leak(fi::fi_ops_av { insert: Some(insert), ..zeroed() });
        *av = object(fi::fid_av { fid: base(close_nothing), ops }, end_of(domain), 0);
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
        let (end, name) = (end_of(av), name.cast::<EndName>().read_unaligned());
        // No endpoint is called so.
        if name.process == u64::MAX {
            return 0;
        }
        *address = end.peers.len() as u64;
        end.peers.push(name);
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
        let cm = leak(fi::fi_ops_cm { getname: Some(getname), ..zeroed() });
        let (msg, rma) = (leak(transfer::messages()), leak(transfer::puts_and_gets()));
        // An endpoint that was not asked for atomics has none.
        let has_atomics = (*info).caps & fi::FI_ATOMIC != 0;
        let atomic = if has_atomics { leak(atomic::table()) } else { ptr::null_mut() };
        *ep = object(fi::fid_ep { fid: base(close_endpoint), cm, msg, rma, atomic, ..zeroed() }, end_of(domain), 0);
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
        if end.domain == 2 && end.card.memory.lock().len() == 3 {
            return -fi::FI_ENOMEM;
        }
        end.keys += 1;
        let own = end.nature.mr_mode & fi::FI_MR_PROV_KEY != 0;
        let mut memory = end.card.memory.lock();
        if own && asked != 0 || !own && memory.contains_key(&asked) {
            broken(&format!("key {asked} is asked for where the provider chooses, or twice"));
        }
        // Cards choose keys that mean nothing to other cards, even to another one of the process.
        let key = if own { end.name.number << 40 | end.keys << 20 | 0xC0DE } else { asked };
        let enabled = end.nature.mr_mode & fi::FI_MR_ENDPOINT == 0;
        let (base_address, len) = (iov.iov_base.expose_provenance(), iov.iov_len);
        memory.insert(key, Registered { base: base_address, len, enabled, bound: false });
        drop(memory);
        let fid = fi::fid { fclass: MEMORY, ..base(close_memory) };
        let (mem_desc, known) =
            (ptr::without_provenance_mut(key as usize), if enabled { key } else { fi::FI_KEY_NOTAVAIL });
        *mr = object(fi::fid_mr { fid, mem_desc, key: known }, end, key);
    }
    0
}
