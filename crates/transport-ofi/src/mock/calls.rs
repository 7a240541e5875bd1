//! The calls of libfabric, as the mock answers them.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::mem::zeroed;
use std::ptr;
use std::sync::atomic::Ordering;

use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::Libfabric;

use super::atomic;
use super::entries::{card_name, dupinfo, freeinfo, getinfo};
use super::nature::NATURES;
use super::objects::{
    MEMORY, Object, base, close_counter, close_endpoint, close_memory, close_nothing, end_of, leak, object,
};
use super::world::{End, Pending, Registered, What, mark_context, with};

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
            world.ends.push(End::new(nature));
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

unsafe extern "C" fn cq_open(
    domain: *mut fi::fid_domain,
    attr: *mut fi::fi_cq_attr,
    cq: *mut *mut fi::fid_cq,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: a domain of the mock, the caller's attributes and variable.
    unsafe {
        if (*attr).wait_obj != fi::FI_WAIT_NONE {
            return -fi::FI_ENOSYS;
        }
        let mut ops: fi::fi_ops_cq = zeroed();
        ops.read = Some(cq_read);
        ops.readerr = Some(cq_readerr);
        let mut fid: fi::fid_cq = zeroed();
        fid.fid = base(close_nothing);
        fid.ops = leak(ops);
        *cq = object(fid, end_of(domain), 0);
    }
    0
}

/// A counter of what peers do to the endpoint's memory.
unsafe extern "C" fn cntr_open(
    domain: *mut fi::fid_domain,
    _attr: *mut fi::fi_cntr_attr,
    counter: *mut *mut fi::fid_cntr,
    _context: *mut c_void,
) -> c_int {
    // SAFETY: a domain of the mock, and the caller's variable.
    unsafe {
        let mut ops: fi::fi_ops_cntr = zeroed();
        ops.read = Some(cntr_read);
        let mut fid: fi::fid_cntr = zeroed();
        fid.fid = base(close_counter);
        fid.ops = leak(ops);
        *counter = object(fid, end_of(domain), 0);
    }
    0
}

unsafe extern "C" fn cntr_read(counter: *mut fi::fid_cntr) -> u64 {
    // SAFETY: a counter of the mock.
    let end = unsafe { end_of(counter) };
    with(|world| world.ends[end].served)
}

unsafe extern "C" fn cq_read(cq: *mut fi::fid_cq, entries: *mut c_void, count: usize) -> isize {
    // SAFETY: a queue of the mock.
    let (end, busy) = unsafe { (end_of(cq), &(*cq.cast::<Object<fi::fid_cq>>()).busy) };
    let alone = !busy.swap(true, Ordering::AcqRel);
    let read = with(|world| {
        if !alone {
            world.wrong("two threads are in one domain at once".into());
        }
        for _ in 0..4 {
            world.step(end);
        }
        if !world.ends[end].errors.is_empty() {
            return -(fi::FI_EAVAIL as isize);
        }
        let done = &mut world.ends[end].done;
        let n = count.min(done.len());
        for (i, entry) in done.drain(..n).enumerate() {
            // SAFETY: the caller has room for `count` entries of this form.
            unsafe { entries.cast::<fi::fi_cq_msg_entry>().add(i).write(entry) };
        }
        if n == 0 { -(fi::FI_EAGAIN as isize) } else { n as isize }
    });
    busy.store(false, Ordering::Release);
    read
}

unsafe extern "C" fn cq_readerr(cq: *mut fi::fid_cq, error: *mut fi::fi_cq_err_entry, _flags: u64) -> isize {
    // SAFETY: a queue of the mock.
    let end = unsafe { end_of(cq) };
    let Some((context, code)) = with(|world| world.ends[end].errors.pop_front()) else { return 0 };
    // SAFETY: the caller's entry.
    unsafe {
        (*error).op_context = ptr::with_exposed_provenance_mut(context);
        (*error).err = code;
    }
    1
}

pub(super) unsafe extern "C" fn endpoint(
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
        msg.send = Some(send);
        msg.recv = Some(receive);
        let mut rma: fi::fi_ops_rma = zeroed();
        rma.write = Some(write);
        rma.inject = Some(inject);
        rma.writemsg = Some(writemsg);
        rma.read = Some(read);
        let mut fid: fi::fid_ep = zeroed();
        fid.fid = base(close_endpoint);
        fid.cm = leak(cm);
        fid.msg = leak(msg);
        fid.rma = leak(rma);
        // Who has not asked for atomics has none.
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

unsafe extern "C" fn send(
    ep: *mut fi::fid_ep,
    buffer: *const c_void,
    n: usize,
    desc: *mut c_void,
    to: fi::fi_addr_t,
    context: *mut c_void,
) -> isize {
    // SAFETY: an endpoint of the mock; the caller's buffer.
    let (end, bytes) = unsafe { (end_of(ep), std::slice::from_raw_parts(buffer.cast::<u8>(), n).to_vec()) };
    let pending = Pending { to: to as usize, context: context.expose_provenance(), what: What::Message(bytes) };
    with(|world| world.issue(end, (buffer.expose_provenance(), n), desc, pending))
}

pub(super) unsafe extern "C" fn receive(
    ep: *mut fi::fid_ep,
    buffer: *mut c_void,
    n: usize,
    _desc: *mut c_void,
    _from: fi::fi_addr_t,
    context: *mut c_void,
) -> isize {
    // SAFETY: an endpoint of the mock.
    let end = unsafe { end_of(ep) };
    let context = context.expose_provenance();
    mark_context(context);
    with(|world| world.ends[end].receives.push_back((buffer.expose_provenance(), n, context)));
    0
}

unsafe extern "C" fn write(
    ep: *mut fi::fid_ep,
    buffer: *const c_void,
    n: usize,
    desc: *mut c_void,
    to: fi::fi_addr_t,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: an endpoint of the mock.
    let end = unsafe { end_of(ep) };
    let local = (buffer.expose_provenance(), n);
    let what = What::Put { bytes: Err(local), address, key };
    let pending = Pending { to: to as usize, context: context.expose_provenance(), what };
    with(|world| world.issue(end, local, desc, pending))
}

pub(super) unsafe extern "C" fn inject(
    ep: *mut fi::fid_ep,
    buffer: *const c_void,
    n: usize,
    to: fi::fi_addr_t,
    address: u64,
    key: u64,
) -> isize {
    // SAFETY: an endpoint of the mock; the caller's buffer.
    let (end, bytes) = unsafe { (end_of(ep), std::slice::from_raw_parts(buffer.cast::<u8>(), n).to_vec()) };
    with(|world| {
        let most = world.ends[end].nature.inject;
        if n > most {
            world.wrong(format!("{n} bytes are injected where {most} fit"));
            return -(fi::FI_EINVAL as isize);
        }
        if world.ends[end].pending.len() >= world.ends[end].nature.queue {
            return -(fi::FI_EAGAIN as isize);
        }
        let what = What::Put { bytes: Ok(bytes), address, key };
        world.ends[end].pending.push_back(Pending { to: to as usize, context: 0, what });
        0
    })
}

pub(super) unsafe extern "C" fn writemsg(ep: *mut fi::fid_ep, message: *const fi::fi_msg_rma, flags: u64) -> isize {
    // SAFETY: an endpoint of the mock; the message and what it points to live during the call.
    unsafe {
        let (end, message) = (end_of(ep), &*message);
        let (iov, remote) = (&*message.msg_iov, &*message.rma_iov);
        let local = (iov.iov_base.expose_provenance(), iov.iov_len);
        let known = fi::FI_COMPLETION | fi::FI_INJECT | fi::FI_DELIVERY_COMPLETE | fi::FI_TRANSMIT_COMPLETE;
        with(|world| {
            let nature = world.ends[end].nature;
            let injected = flags & fi::FI_INJECT != 0;
            if flags & !known != 0 || flags & fi::FI_COMPLETION == 0 || iov.iov_len != remote.len {
                world.wrong(format!("a put with flags {flags:#x}"));
            }
            if injected && iov.iov_len > nature.inject {
                world.wrong(format!("{} bytes are injected where {} fit", iov.iov_len, nature.inject));
                return -(fi::FI_EINVAL as isize);
            }
            if flags & fi::FI_DELIVERY_COMPLETE != 0 && !nature.delivers {
                world.wrong("a completion is asked for that the provider has not got".into());
                return -(fi::FI_EINVAL as isize);
            }
            // What is injected is the network's on return; the rest is read when it takes effect.
            let bytes = match injected {
                true => Ok(std::slice::from_raw_parts(iov.iov_base.cast::<u8>(), iov.iov_len).to_vec()),
                false => Err(local),
            };
            let what = What::Put { bytes, address: remote.addr, key: remote.key };
            let pending = Pending { to: message.addr as usize, context: message.context.expose_provenance(), what };
            let desc = if message.desc.is_null() { ptr::null_mut() } else { *message.desc };
            world.issue(end, local, desc, pending)
        })
    }
}

pub(super) unsafe extern "C" fn read(
    ep: *mut fi::fid_ep,
    buffer: *mut c_void,
    n: usize,
    desc: *mut c_void,
    from: fi::fi_addr_t,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    // SAFETY: an endpoint of the mock.
    let end = unsafe { end_of(ep) };
    let local = (buffer.expose_provenance(), n);
    let what = What::Get { at: local.0, n, address, key };
    let pending = Pending { to: from as usize, context: context.expose_provenance(), what };
    with(|world| world.issue(end, local, desc, pending))
}

unsafe extern "C" fn strerror(_code: c_int) -> *const c_char {
    c"the mock refuses".as_ptr()
}

unsafe extern "C" fn version() -> u32 {
    fi::VERSION
}
