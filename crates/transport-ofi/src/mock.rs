//! A network behind libfabric's own tables, in one process: it demands what Slingshot's and other cards' providers demand,
//! refuses what they would refuse, and completes in the worst order that it has promised. The suite of all providers runs
//! over it without a network.

mod atomic;

use std::collections::{HashMap, VecDeque};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::zeroed;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use oxshmem_base::Error;
use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::Libfabric;
use oxshmem_transport::{Fabric, Lane, LaneOptions, Region, Remote, Segment, suite};

use crate::device::Selection;
use crate::open::{Ofi, Options, open_with};

/// What one of the mock's providers is like.
struct Nature {
    name: &'static CStr,
    mr_mode: c_int,
    inject: usize,
    /// Orderings that it keeps, and up to which length for puts.
    order: u64,
    waw: usize,
    /// Whether it can complete a put when its effect is there.
    delivers: bool,
    queue: usize,
    longest: usize,
    /// An atomic that it has not got.
    lacks: Option<fi::fi_op>,
    /// Domains that it offers: `NAME`, `NAME_1`, ... All but the first are slow; the third registers three
    /// pieces of memory and no more, the fourth cannot be opened.
    cards: usize,
}

const NATURES: &[Nature] = &[
    // Slingshot: keys of its own, registrations that belong to an endpoint, order of messages but not of long puts.
    Nature {
        name: c"mock_slingshot",
        mr_mode: fi::FI_MR_ENDPOINT | fi::FI_MR_ALLOCATED | fi::FI_MR_PROV_KEY,
        inject: 192,
        order: fi::FI_ORDER_SAS | fi::FI_ORDER_SAW | fi::FI_ORDER_WAW,
        waw: 192,
        delivers: true,
        queue: 256,
        longest: (1 << 32) - 1,
        lacks: None,
        cards: 4,
    },
    // Cards that want every local buffer registered and acknowledge before the data is there.
    Nature {
        name: c"mock_local",
        mr_mode: fi::FI_MR_LOCAL | fi::FI_MR_VIRT_ADDR | fi::FI_MR_ALLOCATED | fi::FI_MR_PROV_KEY,
        inject: 32,
        order: fi::FI_ORDER_RAW,
        waw: 0,
        delivers: false,
        queue: 16,
        longest: 1000,
        lacks: None,
        cards: 2,
    },
    // Nothing is demanded and everything kept.
    Nature {
        name: c"mock_orderly",
        mr_mode: 0,
        inject: 0,
        order: fi::FI_ORDER_SAS | fi::FI_ORDER_SAW | fi::FI_ORDER_WAW | fi::FI_ORDER_RAW | fi::FI_ORDER_WAR,
        waw: usize::MAX,
        delivers: true,
        queue: 64,
        longest: usize::MAX,
        lacks: None,
        cards: 2,
    },
    // Some atomics and not all.
    Nature {
        name: c"mock_incomplete",
        mr_mode: 0,
        inject: 0,
        order: 0,
        waw: 0,
        delivers: true,
        queue: 64,
        longest: usize::MAX,
        lacks: Some(fi::FI_BXOR),
        cards: 1,
    },
];

static MOCK: Libfabric = Libfabric { getinfo, freeinfo, dupinfo, fabric: open_fabric, strerror, version };

/// The network: all endpoints of the process.
#[derive(Default)]
struct World {
    ends: Vec<End>,
    keys: u64,
    dice: u64,
    /// What somebody has done against the rules.
    violations: Vec<String>,
}

struct End {
    nature: &'static Nature,
    memory: HashMap<u64, Registered>,
    receives: VecDeque<(usize, usize, usize)>,
    pending: VecDeque<Pending>,
    /// Puts that are complete for whoever issued them, and have not arrived.
    late: VecDeque<Pending>,
    done: VecDeque<fi::fi_cq_msg_entry>,
    errors: VecDeque<(usize, c_int)>,
    open: bool,
    enabled: bool,
    /// Which domain it is of.
    card: usize,
    /// Bytes of puts and gets.
    carried: usize,
}

// SAFETY: the contexts in the entries are numbers to the mock.
unsafe impl Send for End {}

struct Registered {
    base: usize,
    len: usize,
    enabled: bool,
    bound: bool,
}

/// An operation that has not taken effect.
struct Pending {
    to: usize,
    context: usize,
    what: What,
}

enum What {
    Put { bytes: Result<Vec<u8>, (usize, usize)>, address: u64, key: u64 },
    Get { at: usize, n: usize, address: u64, key: u64 },
    Message(Vec<u8>),
    Atomic(atomic::Atomic),
}

static WORLD: Mutex<Option<World>> = Mutex::new(None);

fn world() -> MutexGuard<'static, Option<World>> {
    WORLD.lock().unwrap_or_else(PoisonError::into_inner)
}

fn with<R>(act: impl FnOnce(&mut World) -> R) -> R {
    act(world().get_or_insert_default())
}

impl World {
    fn below(&mut self, n: usize) -> usize {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) as usize % n.max(1)
    }

    fn wrong(&mut self, what: String) {
        if self.violations.len() < 20 {
            self.violations.push(what);
        }
    }

    /// Lets one operation of an endpoint take effect.
    fn step(&mut self, end: usize) {
        if self.ends[end].card > 0 && self.below(8) > 0 {
            return;
        }
        if self.below(3) == 0
            && let Some(late) = self.ends[end].late.pop_front()
        {
            self.arrive(end, &late);
        }
        let count = self.ends[end].pending.len();
        if count == 0 {
            return;
        }
        let nature = self.ends[end].nature;
        let chosen = self.below(count);
        // An operation goes before those that it has to follow only if there are none.
        let pending = &self.ends[end].pending;
        let keeps = |order: u64| nature.order & order == order;
        let written = |n: usize| keeps(fi::FI_ORDER_WAW) && n <= nature.waw;
        let length = |bytes: &Result<Vec<u8>, (usize, usize)>| bytes.as_ref().map_or_else(|(_, n)| *n, Vec::len);
        let follows = |later: &Pending, earlier: &Pending| {
            later.to == earlier.to
                && match (&later.what, &earlier.what) {
                    // An atomic writes, and may read as well.
                    (What::Atomic(atomic), What::Put { bytes, .. }) => {
                        written(length(bytes)) && (!atomic.reads() || keeps(fi::FI_ORDER_RAW))
                    }
                    (What::Put { bytes, .. }, What::Atomic(atomic)) => {
                        written(length(bytes)) && (!atomic.reads() || keeps(fi::FI_ORDER_WAR))
                    }
                    (What::Atomic(_), What::Atomic(_)) => written(8),
                    (What::Get { .. }, What::Atomic(_)) => keeps(fi::FI_ORDER_RAW),
                    (What::Put { bytes, .. }, What::Put { .. }) => written(length(bytes)),
                    (What::Message(_), What::Message(_)) => keeps(fi::FI_ORDER_SAS),
                    (What::Message(_), What::Put { .. }) => keeps(fi::FI_ORDER_SAW),
                    (What::Get { .. }, What::Put { .. }) => keeps(fi::FI_ORDER_RAW),
                    _ => false,
                }
        };
        let free = |i: usize| !pending.iter().take(i).any(|earlier| follows(&pending[i], earlier));
        let Some(next) = (0..count).map(|i| (chosen + i) % count).find(|&i| free(i)) else { return };
        if let What::Message(_) = pending[next].what
            && self.ends[pending[next].to].receives.is_empty()
            && self.ends[pending[next].to].open
        {
            return;
        }
        let Some(operation) = self.ends[end].pending.remove(next) else { return };
        self.take_effect(end, operation);
    }

    fn take_effect(&mut self, end: usize, operation: Pending) {
        if let What::Get { .. } = operation.what {
            // A read comes behind the puts that are late.
            while let Some(late) = self.ends[end].late.pop_front() {
                self.arrive(end, &late);
            }
        }
        let context = operation.context;
        let outcome = match &operation.what {
            What::Put { .. } if !self.ends[end].nature.delivers => {
                // The source may be reused after completion, so the network has its own copy.
                let Pending { to, what: What::Put { bytes, address, key }, .. } = operation else { unreachable!() };
                let bytes = match bytes {
                    Ok(bytes) => bytes,
                    // SAFETY: the source stays until completion, which is not yet.
                    Err((at, n)) => unsafe {
                        std::slice::from_raw_parts(ptr::with_exposed_provenance::<u8>(at), n).to_vec()
                    },
                };
                let what = What::Put { bytes: Ok(bytes), address, key };
                self.ends[end].late.push_back(Pending { to, context, what });
                Ok(0)
            }
            _ => self.land(end, &operation),
        };
        match outcome {
            // What was injected has no completion.
            Ok(_) if context == 0 => {}
            Ok(len) => self.complete(end, context, len),
            Err(code) => self.ends[end].errors.push_back((context, code)),
        }
    }

    fn complete(&mut self, end: usize, context: usize, len: usize) {
        check_context(self, context);
        let op_context = ptr::with_exposed_provenance_mut(context);
        self.ends[end].done.push_back(fi::fi_cq_msg_entry { op_context, flags: 0, len });
    }

    /// A put arrives that counts as complete already; nobody hears of its failure, so it is against the rules.
    fn arrive(&mut self, end: usize, late: &Pending) {
        if let Err(code) = self.land(end, late) {
            self.wrong(format!("a completed put has failed with {code}"));
        }
    }

    /// The bytes arrive.
    fn land(&mut self, end: usize, operation: &Pending) -> Result<usize, c_int> {
        let to = operation.to;
        match &operation.what {
            What::Put { bytes, address, key } => {
                let n = bytes.as_ref().map_or_else(|(_, n)| *n, Vec::len);
                let source = bytes.as_ref().map_or_else(|(at, _)| ptr::with_exposed_provenance(*at), |b| b.as_ptr());
                let at: *mut u8 = ptr::with_exposed_provenance_mut(self.find(to, *key, *address, n)?);
                // SAFETY: inside a registration, and the source is a copy or kept until completion. A word is stored
                // as one, as cards do.
                unsafe {
                    if n == 8 && at.addr().is_multiple_of(8) {
                        std::sync::atomic::AtomicU64::from_ptr(at.cast())
                            .store(source.cast::<u64>().read_unaligned(), Ordering::Release);
                    } else {
                        ptr::copy(source, at, n);
                    }
                }
                Ok(0)
            }
            What::Get { at, n, address, key } => {
                let from: *const u8 = ptr::with_exposed_provenance(self.find(to, *key, *address, *n)?);
                // SAFETY: inside a registration; the destination is kept until completion.
                unsafe { ptr::copy(from, ptr::with_exposed_provenance_mut(*at), *n) };
                Ok(0)
            }
            What::Atomic(atomic) => self.change(to, atomic),
            What::Message(bytes) => {
                let Some((at, room, context)) = self.ends[to].receives.pop_front() else {
                    return Err(fi::FI_ECANCELED);
                };
                if bytes.len() > room {
                    self.wrong(format!("endpoint {end} sends {} bytes where {room} are awaited", bytes.len()));
                    return Err(fi::FI_EINVAL);
                }
                // SAFETY: the receive's buffer is kept until its completion and long enough.
                unsafe { ptr::copy(bytes.as_ptr(), ptr::with_exposed_provenance_mut(at), bytes.len()) };
                self.complete(to, context, bytes.len());
                Ok(0)
            }
        }
    }

    fn find(&mut self, to: usize, key: u64, address: u64, n: usize) -> Result<usize, c_int> {
        let virtual_addresses = self.ends[to].nature.mr_mode & fi::FI_MR_VIRT_ADDR != 0;
        let Some(memory) = self.ends[to].memory.get(&key) else {
            self.wrong(format!("endpoint {to} has no key {key}"));
            return Err(fi::FI_EINVAL);
        };
        let offset = (address as usize).wrapping_sub(if virtual_addresses { memory.base } else { 0 });
        if !memory.enabled || offset.checked_add(n).is_none_or(|end| end > memory.len) {
            let what =
                format!("{n} bytes at {offset} of a registration of {} (enabled: {})", memory.len, memory.enabled);
            self.wrong(what);
            return Err(fi::FI_EINVAL);
        }
        Ok(memory.base + offset)
    }

    /// Whether local bytes are of the registration that is named, where that is demanded.
    fn is_registered(&mut self, end: usize, (at, n): (usize, usize), desc: *mut c_void) -> bool {
        if self.ends[end].nature.mr_mode & fi::FI_MR_LOCAL == 0 {
            return true;
        }
        let registered = self.ends[end].memory.get(&(desc.addr() as u64));
        let inside = registered.is_some_and(|memory| at >= memory.base && at + n <= memory.base + memory.len);
        if !inside {
            self.wrong(format!("local bytes are not of the registration that is named ({n} bytes)"));
        }
        inside
    }

    /// What every operation has to obey.
    fn issue(&mut self, end: usize, local: (usize, usize), desc: *mut c_void, pending: Pending) -> isize {
        let nature = self.ends[end].nature;
        let n = local.1;
        if self.ends[end].pending.len() + self.ends[end].done.len() >= nature.queue {
            return -(fi::FI_EAGAIN as isize);
        }
        if pending.context == 0 {
            self.wrong("an operation has no context".into());
        }
        if n > nature.longest {
            self.wrong(format!("an operation of {n} bytes where {} is the longest", nature.longest));
        }
        if !self.is_registered(end, local, desc) {
            return -(fi::FI_EINVAL as isize);
        }
        mark_context(pending.context);
        if !matches!(pending.what, What::Message(_) | What::Atomic(_)) {
            self.ends[end].carried += n;
        }
        self.ends[end].pending.push_back(pending);
        0
    }
}

/// While an operation is under way its context is the provider's.
fn mark_context(context: usize) {
    let place: *mut fi::fi_context2 = ptr::with_exposed_provenance_mut(context);
    // SAFETY: `FI_CONTEXT2` promises a context of this size until the completion.
    unsafe { (*place).internal = [ptr::without_provenance_mut(context ^ 0x5A5A); 8] };
}

fn check_context(world: &mut World, context: usize) {
    let place: *const fi::fi_context2 = ptr::with_exposed_provenance(context);
    // SAFETY: as above.
    let intact = unsafe { (*place).internal }.iter().all(|word| word.addr() == context ^ 0x5A5A);
    if !intact {
        world.wrong("a context was changed while its operation was under way".into());
    }
}

/// An object of the mock: libfabric's structure, then which endpoint it belongs to.
#[repr(C)]
struct Object<T> {
    fid: T,
    end: usize,
    key: u64,
    busy: AtomicBool,
}

fn object<T>(fid: T, end: usize, key: u64) -> *mut T {
    Box::leak(Box::new(Object { fid, end, key, busy: AtomicBool::new(false) })) as *mut Object<T> as *mut T
}

/// Which endpoint an object is of.
///
/// # Safety
/// `fid` is of the mock's making.
unsafe fn end_of<T>(fid: *mut T) -> usize {
    // SAFETY: the caller's promise.
    unsafe { (*fid.cast::<Object<T>>()).end }
}

fn leak<T>(table: T) -> *mut T {
    Box::leak(Box::new(table))
}

/// The part that all objects begin with.
fn base(close: unsafe extern "C" fn(*mut fi::fid) -> c_int) -> fi::fid {
    // SAFETY: all-zero tables lack every function.
    unsafe {
        let mut ops: fi::fi_ops = zeroed();
        ops.close = Some(close);
        ops.bind = Some(bind);
        ops.control = Some(control);
        let mut fid: fi::fid = zeroed();
        fid.ops = leak(ops);
        fid
    }
}

unsafe extern "C" fn close_nothing(_: *mut fi::fid) -> c_int {
    0
}

unsafe extern "C" fn close_endpoint(fid: *mut fi::fid) -> c_int {
    // SAFETY: an endpoint of the mock.
    let end = unsafe { end_of(fid.cast::<fi::fid_ep>()) };
    with(|world| {
        world.ends[end].open = false;
        world.ends[end].receives.clear();
    });
    0
}

unsafe extern "C" fn close_memory(fid: *mut fi::fid) -> c_int {
    // SAFETY: memory of the mock.
    let object = unsafe { &*fid.cast::<Object<fi::fid_mr>>() };
    with(|world| {
        let end = &mut world.ends[object.end];
        end.memory.remove(&object.key);
        let bound = end.nature.mr_mode & fi::FI_MR_ENDPOINT != 0;
        if bound && !end.open {
            world.wrong("memory is closed after the endpoint that it is bound to".into());
        }
    });
    0
}

unsafe extern "C" fn bind(fid: *mut fi::fid, _to: *mut fi::fid, _flags: u64) -> c_int {
    // SAFETY: an object of the mock; only memory has a key.
    let object = unsafe { &*fid.cast::<Object<fi::fid_mr>>() };
    // SAFETY: as above.
    if unsafe { (*fid).fclass } == MEMORY {
        with(|world| {
            if let Some(memory) = world.ends[object.end].memory.get_mut(&object.key) {
                memory.bound = true;
            }
        });
    }
    0
}

const MEMORY: usize = 77;

unsafe extern "C" fn control(fid: *mut fi::fid, command: c_int, _argument: *mut c_void) -> c_int {
    if command != fi::FI_ENABLE as c_int {
        return -fi::FI_ENOSYS;
    }
    // SAFETY: an object of the mock.
    if unsafe { (*fid).fclass } != MEMORY {
        // SAFETY: only endpoints are enabled otherwise.
        let end = unsafe { end_of(fid.cast::<fi::fid_ep>()) };
        with(|world| world.ends[end].enabled = true);
        return 0;
    }
    let object = fid.cast::<Object<fi::fid_mr>>();
    // SAFETY: memory of the mock.
    let (end, key) = unsafe { ((*object).end, (*object).key) };
    with(|world| {
        let enabled = world.ends[end].enabled;
        let Some(memory) = world.ends[end].memory.get_mut(&key) else { return -fi::FI_EINVAL };
        if !memory.bound || !enabled {
            world.wrong("memory is enabled before it is bound to an enabled endpoint".into());
            return -fi::FI_EINVAL;
        }
        memory.enabled = true;
        // SAFETY: as above; the key is known from now on.
        unsafe { (*object).fid.key = key };
        0
    })
}

/// An entry with its attributes; the entry comes first, so that its address is the whole's.
#[repr(C)]
struct Entry {
    info: fi::fi_info,
    tx: fi::fi_tx_attr,
    rx: fi::fi_rx_attr,
    ep: fi::fi_ep_attr,
    domain: fi::fi_domain_attr,
    fabric: fi::fi_fabric_attr,
}

fn entry(from: Option<&Entry>) -> *mut fi::fi_info {
    // SAFETY: all-zero attributes are an empty entry; copies share nothing but strings, which stay.
    unsafe {
        let entry: &mut Entry = Box::leak(Box::new(from.map_or_else(|| zeroed(), |entry| ptr::read(entry))));
        entry.info.next = ptr::null_mut();
        entry.info.tx_attr = &raw mut entry.tx;
        entry.info.rx_attr = &raw mut entry.rx;
        entry.info.ep_attr = &raw mut entry.ep;
        entry.info.domain_attr = &raw mut entry.domain;
        entry.info.fabric_attr = &raw mut entry.fabric;
        ptr::from_mut(entry).cast()
    }
}

unsafe extern "C" fn dupinfo(info: *const fi::fi_info) -> *mut fi::fi_info {
    // SAFETY: null or an entry of the mock.
    entry(unsafe { info.cast::<Entry>().as_ref() })
}

unsafe extern "C" fn freeinfo(info: *mut fi::fi_info) {
    let mut info = info;
    while !info.is_null() {
        // SAFETY: entries of the mock, leaked from boxes.
        let whole = unsafe { Box::from_raw(info.cast::<Entry>()) };
        info = whole.info.next;
    }
}

unsafe extern "C" fn getinfo(
    asked: u32,
    _node: *const c_char,
    _service: *const c_char,
    _flags: u64,
    hints: *const fi::fi_info,
    list: *mut *mut fi::fi_info,
) -> c_int {
    assert_eq!(asked, fi::VERSION);
    // SAFETY: hints are an entry of the mock.
    let hints = unsafe { &*hints.cast::<Entry>() };
    let wanted = hints.fabric.prov_name;
    let mut next = ptr::null_mut();
    let all = NATURES.iter().flat_map(|nature| (0..nature.cards).map(move |card| (nature, card)));
    for (nature, card) in all.rev() {
        // SAFETY: null or a string.
        let named = wanted.is_null() || unsafe { CStr::from_ptr(wanted) } == nature.name;
        let delivers = nature.delivers || hints.tx.op_flags & fi::FI_DELIVERY_COMPLETE == 0;
        let ordered = hints.tx.msg_order & !nature.order == 0;
        if !named || !delivers || !ordered || nature.mr_mode & !hints.domain.mr_mode != 0 {
            continue;
        }
        let info = entry(Some(hints));
        // SAFETY: just made.
        let whole = unsafe { &mut *info.cast::<Entry>() };
        whole.info.caps = fi::FI_MSG | fi::FI_RMA | fi::FI_REMOTE_COMM | hints.info.caps & fi::FI_ATOMIC;
        whole.info.next = next;
        whole.tx.inject_size = nature.inject;
        whole.tx.size = nature.queue;
        whole.rx.size = nature.queue;
        whole.tx.msg_order = nature.order;
        whole.rx.msg_order = nature.order;
        whole.ep.max_msg_size = nature.longest;
        whole.ep.max_order_waw_size = nature.waw;
        whole.ep.max_order_raw_size = nature.waw;
        whole.ep.max_order_war_size = nature.waw;
        whole.domain.mr_mode = nature.mr_mode;
        whole.domain.name = card_name(nature, card).into_raw();
        whole.fabric.name = CString::from(nature.name).into_raw();
        whole.fabric.prov_name = CString::from(nature.name).into_raw();
        next = info;
    }
    // SAFETY: the caller's variable.
    unsafe { *list = next };
    if next.is_null() { -fi::FI_ENODATA } else { 0 }
}

fn card_name(nature: &Nature, card: usize) -> CString {
    let name = nature.name.to_string_lossy();
    let name = if card == 0 { name.into_owned() } else { format!("{name}_{card}") };
    CString::new(name).expect("no zero byte")
}

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
            world.ends.push(End {
                nature,
                memory: HashMap::new(),
                receives: VecDeque::new(),
                pending: VecDeque::new(),
                late: VecDeque::new(),
                done: VecDeque::new(),
                errors: VecDeque::new(),
                open: true,
                enabled: false,
                card: 0,
                carried: 0,
            });
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

unsafe extern "C" fn receive(
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

unsafe extern "C" fn inject(
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

unsafe extern "C" fn writemsg(ep: *mut fi::fid_ep, message: *const fi::fi_msg_rma, flags: u64) -> isize {
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

unsafe extern "C" fn read(
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

/// One job at a time: there is one network.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    *world() = None;
    turn
}

/// PE `me` of a job over so many rails of one of the mock's providers.
fn pe(provider: &str, me: u32, pes: u32, rails: usize) -> Box<dyn Fabric> {
    let selection = Selection { provider: Some(provider.into()), rails: Some(rails), ..Selection::default() };
    open_with(&MOCK, &Options { me, pes, selection }).expect("the mock opens")
}

/// The same with the provider's atomics.
fn pe_with_atomics(provider: &str, me: u32, pes: u32, rails: usize) -> Result<Box<dyn Fabric>, Error> {
    let provider = Some(provider.into());
    let selection = Selection { provider, rails: Some(rails), atomics: true, ..Selection::default() };
    open_with(&MOCK, &Options { me, pes, selection })
}

/// The suite with the provider's own atomics.
fn with_atomics(provider: &str, rails: usize) {
    let _alone = alone();
    let pe = |me, pes| pe_with_atomics(provider, me, pes, rails).expect("the mock opens");
    suite::threads(2, |pes| (0..pes).map(|me| pe(me, pes)).collect());
    nobody_broke_a_rule();
}

fn nobody_broke_a_rule() {
    let violations = with(|world| std::mem::take(&mut world.violations));
    assert!(violations.is_empty(), "{violations:#?}");
}

/// The suite over one of the mock's providers, with as many rails for each PE; nobody breaks a rule.
fn over(provider: &str, rails: &[usize]) {
    let _alone = alone();
    suite::threads(rails.len() as u32, |pes| (0..pes).map(|me| pe(provider, me, pes, rails[me as usize])).collect());
    nobody_broke_a_rule();
    let used = with(|world| world.ends.iter().filter(|end| end.card > 0 && end.carried > 0).count());
    // A rail is used where the peer has one, too; the PEs stand in a ring.
    let shared = |(me, &mine): (usize, &usize)| mine.min(rails[(me + 1) % rails.len()]) - 1;
    assert!(used >= rails.iter().enumerate().map(shared).sum(), "{used} further rails were used");
}

#[test]
fn what_slingshot_demands_is_obeyed() {
    over("mock_slingshot", &[1; 3]);
}

#[test]
fn local_registrations_and_early_completions_are_obeyed() {
    over("mock_local", &[1; 3]);
}

#[test]
fn order_is_used_where_it_is_kept() {
    over("mock_orderly", &[1; 3]);
}

#[test]
fn atomics_of_slingshot() {
    with_atomics("mock_slingshot", 2);
}

#[test]
fn atomics_with_local_registrations_and_early_completions() {
    with_atomics("mock_local", 1);
}

#[test]
fn atomics_in_order() {
    with_atomics("mock_orderly", 2);
}

#[test]
fn who_lacks_an_atomic_is_not_of_the_networks_domain() {
    let _alone = alone();
    let refused = pe_with_atomics("mock_incomplete", 0, 1, 1).err().expect("an error").to_string();
    assert!(refused.contains("lacks an atomic") && refused.contains("Xor(0) on 4 bytes"), "{refused}");
    drop(pe("mock_incomplete", 0, 1, 1));
    nobody_broke_a_rule();
}

#[test]
fn slingshot_has_rails() {
    over("mock_slingshot", &[3; 3]);
}

#[test]
fn completed_puts_are_read_back_by_their_own_rail() {
    over("mock_local", &[2; 3]);
}

#[test]
fn order_ends_where_another_rail_begins() {
    over("mock_orderly", &[2; 3]);
}

#[test]
fn peers_meet_on_the_rails_that_both_have() {
    over("mock_slingshot", &[3, 1, 2]);
    over("mock_orderly", &[1, 2, 1]);
}

/// Plays a job of two PEs of which the second only serves: what the first issues on its lane moves on when that lane waits
/// and never otherwise. `play` also gets the endpoints of the first PE's rails.
fn one_sided(provider: &str, rails: usize, play: impl FnOnce(&mut dyn Lane, &[usize])) {
    let options = |me| {
        let selection = Selection { provider: Some(provider.into()), rails: Some(rails), ..Selection::default() };
        Options { me, pes: 2, selection }
    };
    let pes = [0, 1].map(|me| Ofi::open(&MOCK, &options(me)).expect("the mock opens"));
    let ends: Vec<usize> = with(|world| (0..world.ends.len() / 2).collect());
    let mut memory = [0, 1].map(|_| vec![0u8; LONG + 64]);
    for (pe, memory) in pes.iter().zip(&mut memory) {
        let segment = Segment { base: memory.as_mut_ptr(), len: memory.len() };
        pe.register(Region::Heap, segment).expect("memory is registered");
    }
    let cards: Vec<_> = pes.iter().map(Fabric::card).collect();
    for pe in &pes {
        pe.connect(Box::new(suite::AllCards(cards.clone()))).expect("it connects");
    }
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Acquire) {
                pes[1].progress();
            }
        });
        // Whatever happens the other thread ends.
        let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            play(&mut *pes[0].lane(LaneOptions::default()).expect("a lane"), &ends);
        }));
        over.store(true, Ordering::Release);
        if let Err(panic) = played {
            std::panic::resume_unwind(panic);
        }
    });
    drop(pes);
}

const LONG: usize = 1 << 20;
static SOURCE: [u8; LONG] = [7; LONG];
const FLAG: Remote = Remote { pe: 1, region: Region::Heap, offset: LONG as u64 };
const DATA: Remote = Remote { pe: 1, region: Region::Heap, offset: 0 };

/// Puts that have not taken effect, by these endpoints.
fn puts_under_way(ends: &[usize]) -> usize {
    let is_put = |pending: &&Pending| matches!(pending.what, What::Put { .. });
    with(|world| {
        let of = |&end: &usize| &world.ends[end];
        ends.iter().map(|end| of(end).pending.iter().filter(is_put).count() + of(end).late.len()).sum()
    })
}

#[test]
fn a_fence_waits_for_other_rails_and_for_nothing_else() {
    let _alone = alone();
    one_sided("mock_orderly", 2, |lane, ends| {
        // SAFETY: the source stays.
        unsafe { lane.put_nbi(DATA, SOURCE.as_ptr(), LONG) };
        assert!(puts_under_way(&ends[1..]) > 0, "the second rail has no share");
        lane.fence();
        assert_eq!(puts_under_way(&ends[1..]), 0, "a fence left puts of the other rail behind");
        // SAFETY: copied.
        unsafe { lane.put_nbi(FLAG, SOURCE.as_ptr(), 8) };
        assert_eq!(puts_under_way(ends), 1);
        lane.fence();
        assert_eq!(puts_under_way(ends), 1, "a fence waited although one rail keeps the order");
        quiet(lane);
    });
    nobody_broke_a_rule();
}

#[test]
fn a_long_put_behind_a_fence_does_not_overtake_by_another_rail() {
    let _alone = alone();
    one_sided("mock_orderly", 2, |lane, ends| {
        // SAFETY: the source stays.
        unsafe {
            lane.put_nbi(FLAG, SOURCE.as_ptr(), 8);
            lane.fence();
            lane.put_nbi(DATA, SOURCE.as_ptr(), LONG);
        }
        let short = |put: &&Pending| matches!(&put.what, What::Put { bytes: Err((_, 8)) | Ok(_), .. });
        let left = with(|world| world.ends[ends[0]].pending.iter().filter(short).count());
        assert_eq!(left, 0, "the put from before the fence is still under way");
        assert!(puts_under_way(&ends[1..]) > 0, "the second rail has no share");
        quiet(lane);
    });
    nobody_broke_a_rule();
}

/// Nothing that is complete for the network alone counts as complete, on any rail.
#[test]
fn what_is_complete_has_been_read_back_on_every_rail() {
    let _alone = alone();
    one_sided("mock_local", 2, |lane, ends| {
        for _ in 0..4 {
            // SAFETY: the source stays.
            unsafe { lane.put_nbi(DATA, SOURCE.as_ptr(), LONG) };
            quiet(lane);
            assert_eq!(puts_under_way(ends), 0, "a quiet left puts behind");
        }
        let shares = with(|world| ends.iter().map(|&end| world.ends[end].carried).collect::<Vec<_>>());
        assert!(shares.iter().all(|&bytes| bytes > LONG / 8), "the rails have carried {shares:?}");
    });
    nobody_broke_a_rule();
}

#[test]
fn a_rail_that_cannot_be_opened_says_why() {
    let _alone = alone();
    let words = pe("mock_slingshot", 0, 1, 5).describe();
    assert!(words.contains("on mock_slingshot and mock_slingshot_1 and mock_slingshot_2,"), "{words}");
    let why = "without mock_slingshot_3 (libfabric's provider mock_slingshot on mock_slingshot_3 has failed to make the domain";
    assert!(words.contains(why) && words.contains(", 1 more that SHMEM_RAILS=5 asks for"), "{words}");
}

#[test]
fn rails_begin_with_the_nearest_card_and_only_cards_have_them_unasked() {
    let _alone = alone();
    let cards = |provider: &str, change: &dyn Fn(&mut Selection)| {
        let mut selection = Selection { provider: Some(provider.into()), cards_each: 2, ..Selection::default() };
        change(&mut selection);
        let words = open_with(&MOCK, &Options { me: 0, pes: 1, selection }).expect("the mock opens").describe();
        words.split([',', '(']).next().and_then(|words| Some(words.split_once(" on ")?.1.trim().to_owned()))
    };
    let near = ["mock_slingshot_2", "mock_slingshot_1", "mock_slingshot"].map(String::from);
    let found = cards("mock_slingshot", &|selection| selection.nearest = near.to_vec());
    assert_eq!(found.as_deref(), Some("mock_slingshot_2 and mock_slingshot_1"));
    let found = cards("mock_slingshot", &|selection| {
        selection.nearest = near.to_vec();
        selection.domain = Some("mock_slingshot_1, mock_slingshot".into());
    });
    assert_eq!(found.as_deref(), Some("mock_slingshot_1 and mock_slingshot"));
    assert_eq!(cards("mock_orderly", &|_| {}).as_deref(), Some("mock_orderly"));
    let found = cards("mock_orderly", &|selection| selection.rails = Some(2));
    assert_eq!(found.as_deref(), Some("mock_orderly and mock_orderly_1"));
}

fn quiet(lane: &mut dyn Lane) {
    while lane.outstanding() > 0 {
        lane.progress().expect("nothing is wrong");
    }
}
