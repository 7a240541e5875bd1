//! A provider whose PEs are threads of one process: segments are ordinary memory, an operation is a copy. It shows what
//! the trait means, runs under Miri, and with an adversary delays and reorders whatever fences allow, so that code above
//! the trait can be tested against the worst network there is.

mod card;
mod provider;

use std::collections::VecDeque;
use std::ops::Range;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use oxshmem_base::Error;
use parking_lot::{Condvar, Mutex};

use crate::driver::{Callers, Drive, Next};
use crate::loopback::card::{Card, Object};
use crate::software::Messages;
use crate::{
    Account, AddressBook, Amo, AmoDomain, Busy, Capabilities, Fabric, Features, Lane, LaneOptions, Memory, NotIssued,
    OperationLock, OutOfRange, Region, Remote, Segment, SignalUpdate, Width, deliver_old,
};

pub use provider::PROVIDER;

/// The kind of network.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Seed of an adversary that delays and reorders; without one, operations take effect as they are issued.
    pub adversary: Option<u64>,
    /// Its atomics; if it has none, there are only [`Messages`]. In the network domain a PE's card keeps an object from the
    /// moment it changes it until it has written it back, so that what a processor does to it meanwhile is lost.
    pub amo: AmoDomain,
    /// So many bytes of a put or get are issued at once.
    pub longest: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { adversary: None, amo: AmoDomain::Processor, longest: usize::MAX }
    }
}

/// The fabrics of `pes` PEs of one process.
pub fn fabrics(pes: u32, options: Options) -> Vec<Loopback> {
    let world = Arc::new(World::new(pes));
    (0..pes).map(|me| Loopback::new(me, world.clone(), options)).collect()
}

/// One PE's view of the process.
pub struct Loopback {
    me: u32,
    world: Arc<World>,
    options: Options,
    capabilities: Capabilities,
    /// The operations of its lanes: `Fabric::progress` moves them on too, as a network would.
    queues: Mutex<Vec<Arc<OperationLock<Queue>>>>,
}

struct World {
    memories: Vec<Memory>,
    mail: Vec<Mailbox>,
    /// Used in the network domain only.
    cards: Vec<Mutex<Card>>,
}

#[derive(Default)]
struct Mailbox {
    letters: Mutex<VecDeque<(u32, Vec<u8>)>>,
    arrived: Condvar,
}

impl World {
    fn new(pes: u32) -> Self {
        Self {
            memories: (0..pes).map(|_| Memory::default()).collect(),
            mail: (0..pes).map(|_| Mailbox::default()).collect(),
            cards: (0..pes).map(|_| Mutex::default()).collect(),
        }
    }
}

impl Loopback {
    fn new(me: u32, world: Arc<World>, options: Options) -> Self {
        let mut features = Features::ONE_SIDED | Features::GROWS;
        features.set(Features::ORDERED, options.adversary.is_none());
        let capabilities = Capabilities { features, amo: options.amo, inject: 4096, signal: Some(options.longest) };
        Self { me, world, options, capabilities, queues: Mutex::default() }
    }

    /// The message service of this PE, for [`crate::software::fill`].
    pub fn messages(&self) -> Box<dyn Messages> {
        Box::new(self.mail())
    }

    fn mail(&self) -> Mail {
        Mail { me: self.me, world: self.world.clone(), callers: Callers::default() }
    }
}

impl Fabric for Loopback {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn register(&self, region: Region, segment: Segment) -> Result<(), Error> {
        self.world.memories[self.me as usize].register(region, segment)
    }

    fn address(&self) -> Vec<u8> {
        self.me.to_le_bytes().to_vec()
    }

    fn connect(&self, _book: Box<dyn AddressBook>) -> Result<(), Error> {
        Ok(())
    }

    fn lane(&self, _options: LaneOptions) -> Result<Box<dyn Lane>, Error> {
        let mut queues = self.queues.lock();
        // Each lane has dice of its own; the golden ratio spreads neighbouring seeds.
        let number = (u64::from(self.me) << 32) + queues.len() as u64 + 1;
        let dice = self.options.adversary.map(|seed| Dice(seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let account = Arc::<Account>::default();
        let queue = Arc::new(OperationLock::new(Queue { dice, account: account.clone(), ..Queue::default() }));
        queues.push(queue.clone());
        let by_card = self.options.amo == AmoDomain::Network;
        let longest = self.options.longest;
        Ok(Box::new(LoopbackLane { world: self.world.clone(), queue, account, by_card, longest }))
    }

    fn progress(&self) -> usize {
        // A lane that is gone and has nothing left leaves its queue to this list alone.
        let mut queues = self.queues.lock();
        queues.retain(|queue| Arc::strong_count(queue) > 1 || !queue.lock().pending.is_empty());
        queues.iter().map(|queue| queue.lock().deliver(&self.world)).sum()
    }

    fn drive(&self) -> Option<Arc<dyn Drive>> {
        (self.options.amo == AmoDomain::None).then(|| Arc::new(self.mail()) as Arc<dyn Drive>)
    }

    fn close(&self) {}

    fn describe(&self) -> String {
        format!("loopback: PE {} of {} in one process", self.me, self.world.memories.len())
    }
}

/// Pending operations from which on a lane of the adversary is busy.
const MANY: usize = 64;

struct LoopbackLane {
    world: Arc<World>,
    queue: Arc<OperationLock<Queue>>,
    account: Arc<Account>,
    by_card: bool,
    longest: usize,
}

impl LoopbackLane {
    /// An atomic in the domain of this network.
    fn atomic(&self, to: Remote, width: Width, amo: Amo, old: *mut u8) -> Effect {
        if self.by_card { Effect::Update { to, width, amo, old } } else { Effect::Amo { to, width, amo, old } }
    }

    /// Issues what `begin` puts into the queue. Without an adversary it takes effect at once; an adversary is sometimes busy
    /// and delivers something else instead.
    fn issue<R>(&self, begin: impl FnOnce(&mut Queue) -> R) -> Result<R, Busy> {
        let mut queue = self.queue.lock();
        let full = queue.pending.len() >= MANY;
        if queue.dice.as_mut().is_some_and(|dice| full || dice.one_in(8)) {
            return Err(Busy);
        }
        let result = begin(&mut queue);
        let at_once = queue.dice.as_mut().map_or(usize::MAX, |dice| usize::from(dice.one_in(4)));
        for _ in 0..at_once {
            if queue.deliver(&self.world) == 0 {
                break;
            }
        }
        Ok(result)
    }

    /// How much of `n` bytes is issued at once: sometimes less than there is room for.
    fn part(&self, queue: &mut Queue, n: usize) -> usize {
        let most = n.min(self.longest);
        let less = |dice: &mut Dice| if most > 8 && dice.one_in(4) { 1 + dice.below(most - 1) } else { most };
        queue.dice.as_mut().map_or(most, less)
    }
}

// SAFETY: buffers are touched only in `Queue::deliver`, while the operation is pending; regions only through `Memory`.
unsafe impl Lane for LoopbackLane {
    unsafe fn put(&self, to: Remote, source: *const u8, n: usize) -> Result<usize, Busy> {
        self.issue(|queue| {
            let mut copy = vec![0; self.part(queue, n)];
            let n = copy.len();
            // SAFETY: the caller of `put` promises that `source` is readable for at least `n` bytes; `copy` has as many.
            unsafe { ptr::copy(source, copy.as_mut_ptr(), n) };
            queue.put(to, Source::Copied(copy.into()), n);
            n
        })
    }

    unsafe fn put_nbi(&self, to: Remote, source: *const u8, n: usize) -> Result<usize, Busy> {
        self.issue(|queue| {
            let n = self.part(queue, n);
            queue.put(to, Source::Borrowed(source), n);
            n
        })
    }

    unsafe fn get_nbi(&self, dest: *mut u8, from: Remote, n: usize) -> Result<usize, Busy> {
        self.issue(|queue| {
            let n = self.part(queue, n);
            queue.push(from.pe, 0..0, Effect::Get { dest, from, n });
            n
        })
    }

    unsafe fn amo(&self, to: Remote, width: Width, amo: Amo, old: *mut u8) -> Result<(), Busy> {
        let effect = self.atomic(to, width, amo, old);
        self.issue(|queue| queue.push(to.pe, 0..0, effect))
    }

    unsafe fn put_signal(
        &self,
        to: Remote,
        source: *const u8,
        n: usize,
        signal: Remote,
        update: SignalUpdate,
    ) -> Result<(), Busy> {
        let update = self.atomic(signal, Width::Eight, update.amo(), ptr::null_mut());
        self.issue(|queue| {
            let data = queue.put(to, Source::Borrowed(source), n);
            queue.push(signal.pe, data, update);
        })
    }

    fn fence(&self) -> Result<(), Busy> {
        self.issue(|queue| queue.era += 1)
    }

    fn outstanding(&self) -> u64 {
        self.account.outstanding()
    }

    fn progress(&self) -> Result<usize, Error> {
        let mut queue = self.queue.lock();
        let done = queue.deliver(&self.world);
        queue.account.error().map_or(Ok(done), Err)
    }
}

/// The operations of one lane that have not taken effect.
#[derive(Default)]
struct Queue {
    pending: Vec<Pending>,
    issued: u64,
    era: u64,
    dice: Option<Dice>,
    account: Arc<Account>,
}

struct Pending {
    number: u64,
    /// Counts the lane's fences.
    era: u64,
    pe: u32,
    /// Operations that must take effect before.
    after: Range<u64>,
    effect: Effect,
}

enum Effect {
    Put {
        to: Remote,
        source: Source,
        start: usize,
        n: usize,
    },
    Get {
        dest: *mut u8,
        from: Remote,
        n: usize,
    },
    Amo {
        to: Remote,
        width: Width,
        amo: Amo,
        old: *mut u8,
    },
    /// An atomic of the target's card, which ends with a [`Effect::WriteBack`].
    Update {
        to: Remote,
        width: Width,
        amo: Amo,
        old: *mut u8,
    },
    WriteBack {
        pe: u32,
        object: Object,
    },
}

enum Source {
    Copied(Arc<[u8]>),
    Borrowed(*const u8),
}

// SAFETY: the pointers are the buffers of a lane's caller, who keeps them valid until completion on whatever thread.
unsafe impl Send for Effect {}

impl Queue {
    fn push(&mut self, pe: u32, after: Range<u64>, effect: Effect) {
        self.account.issue(1);
        self.pending.push(Pending { number: self.issued, era: self.era, pe, after, effect });
        self.issued += 1;
    }

    /// A put, which the adversary may tear into two unless it is a word. Returns the numbers of the parts.
    fn put(&mut self, to: Remote, source: Source, n: usize) -> Range<u64> {
        let first = self.issued;
        let tear = n > 8 && self.dice.as_mut().is_some_and(|dice| dice.one_in(2));
        let cut = if tear { 1 + self.dice.as_mut().map_or(0, |dice| dice.below(n - 1)) } else { n };
        if tear {
            let rest = match &source {
                Source::Copied(bytes) => Source::Copied(bytes.clone()),
                Source::Borrowed(at) => Source::Borrowed(*at),
            };
            self.push(to.pe, 0..0, Effect::Put { to, source: rest, start: cut, n: n - cut });
        }
        self.push(to.pe, 0..0, Effect::Put { to, source, start: 0, n: cut });
        first..self.issued
    }

    /// Lets one operation take effect, or a few.
    fn deliver(&mut self, world: &World) -> usize {
        let many = self.dice.as_mut().map_or(1, |dice| 1 + dice.below(4)).min(self.pending.len());
        for _ in 0..many {
            let start = self.dice.as_mut().map_or(0, |dice| dice.below(self.pending.len()));
            let count = self.pending.len();
            let next = (0..count).map(|i| (start + i) % count).find(|&i| self.may_go(i)).expect("the oldest may go");
            let Pending { number, era, pe, effect, .. } = self.pending.swap_remove(next);
            match take_effect(world, effect) {
                // It keeps its place in the order until it is over.
                Ok(Some(rest)) => self.pending.push(Pending { number, era, pe, after: 0..0, effect: rest }),
                Ok(None) => self.account.complete(1),
                Err(wrong) => {
                    self.account.fail(wrong.error(pe));
                    self.account.complete(1);
                }
            }
        }
        many
    }

    fn may_go(&self, i: usize) -> bool {
        let this = &self.pending[i];
        !self
            .pending
            .iter()
            .any(|other| (other.pe == this.pe && other.era < this.era) || this.after.contains(&other.number))
    }
}

/// Lets an effect happen, or begin; then what is left of it comes back.
fn take_effect(world: &World, effect: Effect) -> Result<Option<Effect>, OutOfRange> {
    let memory = |pe: u32| &world.memories[pe as usize];
    let card = |pe: u32| world.cards[pe as usize].lock();
    match effect {
        Effect::Put { to, source, start, n } => {
            let from = match &source {
                Source::Copied(bytes) => bytes[start..].as_ptr(),
                Source::Borrowed(at) => at.wrapping_add(start),
            };
            let (mut card, at) = (card(to.pe), to.offset + start as u64);
            // SAFETY: the source is ours or, while the operation is pending, kept by the caller of `put_nbi`.
            unsafe { memory(to.pe).put(to.region, at, from, n)? };
            card.look_again(memory(to.pe), to.region, at, n);
        }
        // SAFETY: the caller of `get_nbi` keeps the destination while the operation is pending.
        Effect::Get { dest, from, n } => unsafe { memory(from.pe).get(dest, from.region, from.offset, n)? },
        Effect::Amo { to, width, amo, old } => {
            let value = memory(to.pe).amo(to.region, to.offset, width, amo)?;
            // SAFETY: the caller of `amo` keeps `old` while the operation is pending.
            unsafe { deliver_old(old, width, value) };
        }
        Effect::Update { to, width, amo, old } => {
            let object = Object::of(to, width)?;
            let value = card(to.pe).update(memory(to.pe), object, amo)?;
            // SAFETY: the caller of `amo` keeps `old` while the operation is pending.
            unsafe { deliver_old(old, width, value) };
            return Ok(Some(Effect::WriteBack { pe: to.pe, object }));
        }
        Effect::WriteBack { pe, object } => card(pe).write_back(memory(pe), object),
    }
    Ok(None)
}

/// Reproducible chance (xorshift).
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// With this seed.
    pub fn new(seed: u64) -> Self {
        // The golden ratio spreads neighbouring seeds.
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// A number below `n`; 0 if that is 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 |= 1;
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % n.max(1)
    }

    /// `true` once in `n` times.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

struct Mail {
    me: u32,
    world: Arc<World>,
    callers: Callers,
}

impl Messages for Mail {
    fn send(&self, pe: u32, message: &[u8]) -> Result<(), NotIssued> {
        let mailbox = &self.world.mail[pe as usize];
        mailbox.letters.lock().push_back((self.me, message.to_vec()));
        mailbox.arrived.notify_all();
        Ok(())
    }

    fn receive(&self) -> Option<(u32, Vec<u8>)> {
        self.world.mail[self.me as usize].letters.lock().pop_front()
    }
}

impl Drive for Mail {
    fn callers(&self) -> &Callers {
        &self.callers
    }

    /// Memory needs no help; messages are served by the software above.
    fn turn(&self, _resumed: bool) -> Next {
        Next::Sleep(Duration::from_millis(20))
    }

    fn sleep(&self, most: Duration) {
        let mailbox = &self.world.mail[self.me as usize];
        let mut letters = mailbox.letters.lock();
        mailbox.arrived.wait_while_for(&mut letters, |letters| letters.is_empty(), most);
    }

    fn wake(&self) {
        self.world.mail[self.me as usize].arrived.notify_all();
    }
}
