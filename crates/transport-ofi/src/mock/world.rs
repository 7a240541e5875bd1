//! The mock's network: what is under way, when it takes effect, and who has broken a rule.

use std::collections::{HashMap, VecDeque};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::Ordering;

use oxshmem_libfabric_sys as fi;
use parking_lot::{Mutex, MutexGuard};

use super::atomic::MockAtomic;
use super::nature::{Nature, OrderPlace};

/// The network: all endpoints of the process.
#[derive(Default)]
pub(super) struct MockNetwork {
    pub(super) ends: Vec<MockEnd>,
    pub(super) keys: u64,
    pub(super) dice: u64,
    /// Breaches of the rules.
    pub(super) violations: Vec<String>,
}

pub(super) struct MockEnd {
    pub(super) nature: &'static Nature,
    pub(super) memory: HashMap<u64, Registered>,
    pub(super) receives: VecDeque<(usize, usize, usize)>,
    pub(super) pending: VecDeque<MockOperation>,
    /// Puts that are complete for whoever issued them, and have not arrived.
    pub(super) late: VecDeque<MockOperation>,
    pub(super) done: VecDeque<fi::fi_cq_msg_entry>,
    pub(super) errors: VecDeque<(usize, c_int)>,
    pub(super) open: bool,
    pub(super) enabled: bool,
    /// Which domain it is of.
    pub(super) card: usize,
    /// Bytes of puts and gets.
    pub(super) carried: usize,
    /// Puts and gets of peers.
    pub(super) served: u64,
    /// How many operations to each peer were answered with `FI_EAGAIN` because it was not connected.
    refusals: HashMap<usize, usize>,
}

impl MockEnd {
    pub(super) fn new(nature: &'static Nature) -> Self {
        Self {
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
            served: 0,
            refusals: HashMap::new(),
        }
    }
}

// SAFETY: the contexts in the entries are numbers to the mock.
unsafe impl Send for MockEnd {}

pub(super) struct Registered {
    pub(super) base: usize,
    pub(super) len: usize,
    pub(super) enabled: bool,
    pub(super) bound: bool,
}

/// An operation that has not taken effect.
pub(super) struct MockOperation {
    pub(super) to: usize,
    pub(super) context: usize,
    pub(super) what: MockEffect,
}

pub(super) enum MockEffect {
    Put { bytes: Result<Vec<u8>, (usize, usize)>, address: u64, key: u64 },
    Get { at: usize, n: usize, address: u64, key: u64 },
    Message(Vec<u8>),
    Atomic(MockAtomic),
}

impl MockEffect {
    fn place(&self) -> OrderPlace {
        match self {
            MockEffect::Put { bytes, .. } => OrderPlace::Put(bytes.as_ref().map_or_else(|(_, n)| *n, Vec::len)),
            MockEffect::Get { .. } => OrderPlace::Get,
            MockEffect::Message(_) => OrderPlace::Message,
            MockEffect::Atomic(atomic) => OrderPlace::Atomic { reads: atomic.reads() },
        }
    }
}

static WORLD: Mutex<Option<MockNetwork>> = Mutex::new(None);

pub(super) fn world() -> MutexGuard<'static, Option<MockNetwork>> {
    WORLD.lock()
}

pub(super) fn with<R>(act: impl FnOnce(&mut MockNetwork) -> R) -> R {
    act(world().get_or_insert_default())
}

impl MockNetwork {
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) as usize % n.max(1)
    }

    pub(super) fn wrong(&mut self, what: String) {
        if self.violations.len() < 20 {
            self.violations.push(what);
        }
    }

    /// An endpoint looks at its completions: operations take effect. Where software moves data, those of all endpoints do that are
    /// for this one, and no others.
    pub(super) fn progress(&mut self, end: usize) {
        for _ in 0..4 {
            match self.ends[end].nature.by_software {
                false => self.step(end, None),
                true => (0..self.ends.len()).for_each(|from| self.step(from, Some(end))),
            }
        }
    }

    /// Whether the connection to a peer is still being made, so that an operation has to be tried again.
    pub(super) fn connects(&mut self, end: usize, to: usize) -> bool {
        let most = self.ends[end].nature.connects_for;
        let refusals = self.ends[end].refusals.entry(to).or_default();
        *refusals = (*refusals + 1).min(most + 1);
        *refusals <= most
    }

    /// Lets one operation of an endpoint take effect, of those for `target` if there is one.
    fn step(&mut self, end: usize, target: Option<usize>) {
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
        let follows = |later: &MockOperation, earlier: &MockOperation| {
            later.to == earlier.to && nature.follows(later.what.place(), earlier.what.place())
        };
        let meant = |i: usize| target.is_none_or(|target| pending[i].to == target);
        let free = |i: usize| meant(i) && !pending.iter().take(i).any(|earlier| follows(&pending[i], earlier));
        let Some(next) = (0..count).map(|i| (chosen + i) % count).find(|&i| free(i)) else { return };
        if let MockEffect::Message(_) = pending[next].what
            && self.ends[pending[next].to].receives.is_empty()
            && self.ends[pending[next].to].open
        {
            return;
        }
        let Some(operation) = self.ends[end].pending.remove(next) else { return };
        self.take_effect(end, operation);
    }

    fn take_effect(&mut self, end: usize, operation: MockOperation) {
        if let MockEffect::Get { .. } = operation.what {
            // A read comes behind the puts that are late.
            while let Some(late) = self.ends[end].late.pop_front() {
                self.arrive(end, &late);
            }
        }
        let context = operation.context;
        let outcome = match &operation.what {
            MockEffect::Put { .. } if !self.ends[end].nature.delivers => {
                // The source may be reused after completion, so the network has its own copy.
                let MockOperation { to, what: MockEffect::Put { bytes, address, key }, .. } = operation else {
                    unreachable!()
                };
                let bytes = match bytes {
                    Ok(bytes) => bytes,
                    // SAFETY: the source stays until completion, which is not yet.
                    Err((at, n)) => unsafe {
                        std::slice::from_raw_parts(ptr::with_exposed_provenance::<u8>(at), n).to_vec()
                    },
                };
                let what = MockEffect::Put { bytes: Ok(bytes), address, key };
                self.ends[end].late.push_back(MockOperation { to, context, what });
                Ok(0)
            }
            _ => self.land(end, &operation),
        };
        match outcome {
            // An injected put has no completion.
            Ok(_) if context == 0 => {}
            Ok(len) => self.complete(end, context, len),
            Err(code) => self.ends[end].errors.push_back((context, code)),
        }
    }

    pub(super) fn complete(&mut self, end: usize, context: usize, len: usize) {
        check_context(self, context);
        let op_context = ptr::with_exposed_provenance_mut(context);
        self.ends[end].done.push_back(fi::fi_cq_msg_entry { op_context, flags: 0, len });
    }

    /// A put arrives that counts as complete already; nobody hears of its failure, so it is against the rules.
    fn arrive(&mut self, end: usize, late: &MockOperation) {
        if let Err(code) = self.land(end, late) {
            self.wrong(format!("a completed put has failed with {code}"));
        }
    }

    /// The bytes arrive.
    fn land(&mut self, end: usize, operation: &MockOperation) -> Result<usize, c_int> {
        let to = operation.to;
        match &operation.what {
            MockEffect::Put { bytes, address, key } => {
                let n = bytes.as_ref().map_or_else(|(_, n)| *n, Vec::len);
                let source = bytes.as_ref().map_or_else(|(at, _)| ptr::with_exposed_provenance(*at), |b| b.as_ptr());
                let at: *mut u8 = ptr::with_exposed_provenance_mut(self.find(to, *key, *address, n)?);
                self.ends[to].served += 1;
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
            MockEffect::Get { at, n, address, key } => {
                let from: *const u8 = ptr::with_exposed_provenance(self.find(to, *key, *address, *n)?);
                self.ends[to].served += 1;
                // SAFETY: inside a registration; the destination is kept until completion.
                unsafe { ptr::copy(from, ptr::with_exposed_provenance_mut(*at), *n) };
                Ok(0)
            }
            MockEffect::Atomic(atomic) => {
                let at = self.find(to, atomic.key, atomic.address, atomic.bytes)?;
                if !at.is_multiple_of(atomic.bytes) {
                    self.wrong(format!("an atomic on {} bytes at {at:#x}", atomic.bytes));
                    return Err(fi::FI_EINVAL);
                }
                // SAFETY: `find` has found a registration around the object, which is aligned.
                unsafe { atomic.happen(at) };
                Ok(0)
            }
            MockEffect::Message(bytes) => {
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

    pub(super) fn find(&mut self, to: usize, key: u64, address: u64, n: usize) -> Result<usize, c_int> {
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
    pub(super) fn is_registered(&mut self, end: usize, (at, n): (usize, usize), desc: *mut c_void) -> bool {
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

    /// Issues an operation, if it obeys the rules of all.
    pub(super) fn issue(
        &mut self,
        end: usize,
        local: (usize, usize),
        desc: *mut c_void,
        pending: MockOperation,
    ) -> isize {
        let nature = self.ends[end].nature;
        let n = local.1;
        let is_full = self.ends[end].pending.len() + self.ends[end].done.len() >= nature.queue;
        if is_full || self.connects(end, pending.to) {
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
        if !matches!(pending.what, MockEffect::Message(_) | MockEffect::Atomic(_)) {
            self.ends[end].carried += n;
        }
        self.ends[end].pending.push_back(pending);
        0
    }
}

/// While an operation is under way its context is the provider's.
pub(super) fn mark_context(context: usize) {
    let place: *mut fi::fi_context2 = ptr::with_exposed_provenance_mut(context);
    // SAFETY: `FI_CONTEXT2` promises a context of this size until the completion.
    unsafe { (*place).internal = [ptr::without_provenance_mut(context ^ 0x5A5A); 8] };
}

fn check_context(world: &mut MockNetwork, context: usize) {
    let place: *const fi::fi_context2 = ptr::with_exposed_provenance(context);
    // SAFETY: `FI_CONTEXT2` promises a context of this size until the completion, which is not before this call.
    let intact = unsafe { (*place).internal }.iter().all(|word| word.addr() == context ^ 0x5A5A);
    if !intact {
        world.wrong("a context was changed while its operation was under way".into());
    }
}
