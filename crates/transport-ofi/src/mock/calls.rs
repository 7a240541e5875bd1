//! The calls of libfabric, as the mock answers them: those that open objects. `transfer` and `atomic` have operations, `queue`
//! completions.

mod atomic;
mod queue;
mod transfer;

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::zeroed;
use std::ptr;

use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::Libfabric;

use super::entries::{card_name, dupinfo, freeinfo, getinfo};
use super::nature::NATURES;
use super::objects::{MEMORY, base, close_endpoint, close_memory, close_nothing, end_of, leak, object};
use super::world::{MockEnd, Registered, with};
use queue::{cntr_open, cq_open};

pub(super) static MOCK: Libfabric = Libfabric { getinfo, freeinfo, dupinfo, fabric: open_fabric, strerror, version };

unsafe extern "C" fn open_fabric(
    attr: *mut fi::fi_fabric_attr,
    fabric: *mut *mut fi::fid_fabric,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: attributes of an entry of the mock, and the caller's variable.
    unsafe {
        let name = CStr::from_ptr((*attr).prov_name);
        let nature = NATURES.iter().find(|nature| nature.name == name).expect("a provider of the mock");
        let end = with(|world| {
            world.ends.push(MockEnd::new(nature));
            world.ends.len() - 1
        });
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
    info: *mut fi::fi_info,
    domain: *mut *mut fi::fid_domain,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: a fabric and an entry of the mock, and the caller's variable.
    unsafe {
        let (end, name) = (end_of(fabric), CStr::from_ptr((*(*info).domain_attr).name));
        let opened = with(|world| {
            let nature = world.ends[end].nature;
            world.ends[end].card = (0..nature.cards).position(|card| *card_name(nature, card) == *name)?;
            Some(world.ends[end].card).filter(|&card| card < 3)
        });
        if opened.is_none() {
            return -libc::ENODEV;
        }
        let mut ops: fi::fi_ops_domain = zeroed();
        ops.av_open = Some(av_open);
        ops.cq_open = Some(cq_open);
        ops.cntr_open = Some(cntr_open);
        ops.endpoint = Some(endpoint);
        ops.query_atomic = Some(atomic::query);
        let mut memory: fi::fi_ops_mr = zeroed();
        memory.regattr = Some(regattr);
        let mut fid: fi::fid_domain = zeroed();
        fid.fid = base(close_nothing);
        fid.ops = leak(ops);
        fid.mr = leak(memory);
        *domain = object(fid, end, 0);
    }
    0
}

unsafe extern "C" fn av_open(
    domain: *mut fi::fid_domain,
    _attr: *mut fi::fi_av_attr,
    av: *mut *mut fi::fid_av,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: a domain of the mock, and the caller's variable.
    unsafe {
        let mut ops: fi::fi_ops_av = zeroed();
        ops.insert = Some(insert);
        let mut fid: fi::fid_av = zeroed();
        fid.fid = base(close_nothing);
        fid.ops = leak(ops);
        *av = object(fid, end_of(domain), 0);
    }
    0
}

unsafe extern "C" fn insert(
    _av: *mut fi::fid_av,
    name: *const c_void,
    count: usize,
    address: *mut fi::fi_addr_t,
    _flags: u64,
    _context: *mut c_void,
) -> c_int {
    assert_eq!(count, 1);
    // SAFETY: a name is the number of an endpoint.
    unsafe { *address = name.cast::<u64>().read_unaligned() };
    1
}

unsafe extern "C" fn endpoint(
    domain: *mut fi::fid_domain,
    info: *mut fi::fi_info,
    ep: *mut *mut fi::fid_ep,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: a domain and an entry of the mock, and the caller's variable.
    unsafe {
        let mut cm: fi::fi_ops_cm = zeroed();
        cm.getname = Some(getname);
        let mut msg: fi::fi_ops_msg = zeroed();
        msg.send = Some(transfer::send);
        msg.recv = Some(transfer::receive);
        let mut rma: fi::fi_ops_rma = zeroed();
        rma.write = Some(transfer::write);
        rma.inject = Some(transfer::inject);
        rma.writemsg = Some(transfer::writemsg);
        rma.read = Some(transfer::read);
        let mut fid: fi::fid_ep = zeroed();
        fid.fid = base(close_endpoint);
        fid.cm = leak(cm);
        fid.msg = leak(msg);
        fid.rma = leak(rma);
        // An endpoint that was not asked for atomics has none.
        if (*info).caps & fi::FI_ATOMIC != 0 {
            fid.atomic = leak(atomic::table());
        }
        *ep = object(fid, end_of(domain), 0);
    }
    0
}

unsafe extern "C" fn getname(ep: *mut fi::fid, name: *mut c_void, length: *mut usize) -> c_int {
    // SAFETY: an endpoint of the mock; the buffer is as long as it says.
    unsafe {
        if std::mem::replace(&mut *length, 8) < 8 {
            return -(fi::FI_ETOOSMALL as c_int);
        }
        name.cast::<u64>().write_unaligned(end_of(ep.cast::<fi::fid_ep>()) as u64);
    }
    0
}

unsafe extern "C" fn regattr(
    domain: *mut fi::fid,
    attr: *const fi::fi_mr_attr,
    _flags: u64,
    mr: *mut *mut fi::fid_mr,
) -> c_int {
    // SAFETY: a domain of the mock, the caller's attributes and variable.
    unsafe {
        let end = end_of(domain.cast::<fi::fid_domain>());
        let (iov, asked) = (&*(*attr).mr_iov, (*attr).requested_key);
        if with(|world| world.ends[end].card == 2 && world.ends[end].memory.len() == 3) {
            return -fi::FI_ENOMEM;
        }
        let (key, enabled) = with(|world| {
            world.keys += 1;
            let mode = world.ends[end].nature.mr_mode;
            let own = mode & fi::FI_MR_PROV_KEY != 0;
            if own && asked != 0 {
                world.wrong("a key is asked for where the provider chooses".into());
            }
            if !own && world.ends[end].memory.contains_key(&asked) {
                world.wrong(format!("key {asked} is asked for twice"));
            }
            // Cards choose keys that mean nothing to anybody else.
            let key = if own { world.keys << 20 | 0xC0DE } else { asked };
            let enabled = mode & fi::FI_MR_ENDPOINT == 0;
            let (base, len) = (iov.iov_base.expose_provenance(), iov.iov_len);
            world.ends[end].memory.insert(key, Registered { base, len, enabled, bound: false });
            (key, enabled)
        });
        let mut fid: fi::fid_mr = zeroed();
        fid.fid = base(close_memory);
        fid.fid.fclass = MEMORY;
        fid.key = if enabled { key } else { fi::FI_KEY_NOTAVAIL };
        fid.mem_desc = ptr::without_provenance_mut(key as usize);
        *mr = object(fid, end, key);
    }
    0
}

unsafe extern "C" fn strerror(_code: c_int) -> *const c_char {
    c"the mock refuses".as_ptr()
}

unsafe extern "C" fn version() -> u32 {
    fi::VERSION
}
