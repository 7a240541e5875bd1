//! A provider whose PEs are threads of one process: segments are ordinary memory, an operation is a copy. It shows what
//! the trait means, runs under Miri, and with an adversary delays and reorders whatever fences allow, so that code above
//! the trait can be tested against the worst network there is.

mod card;
mod job;
mod messages;
mod provider;
mod queue;

use std::ptr;
use std::sync::Arc;

use oxshmem_base::Error;
use oxshmem_base::chance::Dice;
use parking_lot::Mutex;

use crate::progress_thread::{Callers, Drive};
use crate::software::Messages;
use crate::{
    Account, AddressBook, Amo, AmoDomain, AtomicArguments, Busy, Capabilities, Fabric, Features, GetArguments, Lane,
    LaneOptions, OperationLock, PutArguments, Region, Remote, Segment, SignalUpdate, Width,
};

use self::job::LoopbackJob;
use self::messages::LoopbackMessages;
use self::queue::{Effect, Queue, Source};

pub use provider::PROVIDER;

/// The kind of network.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Seed of an adversary that delays and reorders; without one, operations take effect as they are issued.
    pub adversary: Option<u64>,
    /// Its atomics; if it has none, there are only [`Messages`]. In the network domain a PE's card keeps an object from the
    /// moment it changes it until it has written it back, so that what a processor does to it meanwhile is lost.
    pub amo: AmoDomain,
    /// Bytes of a put or get that are issued at once.
    pub longest: usize,
    /// Bytes of the longest message. If that is more than the least, 64, the provider says that messages beat puts.
    pub message: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { adversary: None, amo: AmoDomain::Processor, longest: usize::MAX, message: 64 }
    }
}

/// The fabrics of `pes` PEs of one process.
pub fn fabrics(pes: u32, options: Options) -> Vec<Loopback> {
    let job = Arc::new(LoopbackJob::new(pes));
    (0..pes).map(|me| Loopback::new(me, job.clone(), options)).collect()
}

/// One PE's view of the process.
pub struct Loopback {
    me: u32,
    job: Arc<LoopbackJob>,
    options: Options,
    capabilities: Capabilities,
    /// The operations of its lanes: `Fabric::progress` moves them on too, as a network would.
    queues: Mutex<Vec<Arc<OperationLock<Queue>>>>,
}

impl Loopback {
    fn new(me: u32, job: Arc<LoopbackJob>, options: Options) -> Self {
        let mut features = Features::ONE_SIDED;
        features.set(Features::ORDERED, options.adversary.is_none());
        let capabilities = Capabilities { features, amo: options.amo, inject: 4096, signal: Some(options.longest) };
        Self { me, job, options, capabilities, queues: Mutex::default() }
    }

    /// The message service of this PE, for [`crate::software::fill`].
    pub fn messages(&self) -> Box<dyn Messages> {
        Box::new(self.mailbox())
    }

    fn mailbox(&self) -> LoopbackMessages {
        LoopbackMessages {
            me: self.me,
            job: self.job.clone(),
            callers: Callers::default(),
            longest: self.options.message,
        }
    }
}

impl Fabric for Loopback {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn register(&self, region: Region, segment: Segment) -> Result<(), Error> {
        self.job.memories[self.me as usize].register(region, segment)
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
        let dice = self.options.adversary.map(|seed| Dice::stream(seed, number));
        let account = Arc::<Account>::default();
        let queue = Arc::new(OperationLock::new(Queue::new(dice, account.clone())));
        queues.push(queue.clone());
        let by_card = self.options.amo == AmoDomain::Network;
        let longest = self.options.longest;
        Ok(Box::new(LoopbackLane { job: self.job.clone(), queue, account, by_card, longest }))
    }

    fn progress(&self) -> usize {
        // A lane that is gone and has nothing left leaves its queue to this list alone.
        let mut queues = self.queues.lock();
        queues.retain(|queue| Arc::strong_count(queue) > 1 || !queue.lock().pending.is_empty());
        queues.iter().map(|queue| queue.lock().deliver(&self.job)).sum()
    }

    fn drive(&self) -> Option<Arc<dyn Drive>> {
        (self.options.amo == AmoDomain::None).then(|| Arc::new(self.mailbox()) as Arc<dyn Drive>)
    }

    fn close(&self) {}

    fn describe(&self) -> String {
        format!("loopback: PE {} of {} in one process", self.me, self.job.memories.len())
    }
}

/// Pending operations from which on a lane of the adversary is busy.
const MANY: usize = 64;

struct LoopbackLane {
    job: Arc<LoopbackJob>,
    queue: Arc<OperationLock<Queue>>,
    account: Arc<Account>,
    by_card: bool,
    longest: usize,
}

impl LoopbackLane {
    /// An atomic in the domain of this network.
    fn atomic(&self, to: Remote, width: Width, amo: Amo, old: *mut u8) -> Effect {
        Effect::Amo { to, width, amo, old, by_card: self.by_card }
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
            if queue.deliver(&self.job) == 0 {
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

// SAFETY: buffers are touched only in `Queue::deliver`, while the operation is pending; regions only through `RegisteredMemory`.
unsafe impl Lane for LoopbackLane {
    unsafe fn put(&self, put: &PutArguments) -> usize {
        let &PutArguments { to, source, n } = put;
        put.left(self.issue(|queue| {
            let mut copy = vec![0; self.part(queue, n)];
            let n = copy.len();
            // SAFETY: the caller of `put` promises that `source` is readable for at least `n` bytes; `copy` has as many.
            unsafe { ptr::copy(source, copy.as_mut_ptr(), n) };
            queue.put(to, Source::Copied(copy.into()), n);
            n
        }))
    }

    unsafe fn put_nbi(&self, put: &PutArguments) -> usize {
        let &PutArguments { to, source, n } = put;
        put.left(self.issue(|queue| {
            let n = self.part(queue, n);
            queue.put(to, Source::Borrowed(source), n);
            n
        }))
    }

    unsafe fn get_nbi(&self, get: &GetArguments) -> usize {
        let &GetArguments { dest, from, n } = get;
        get.left(self.issue(|queue| {
            let n = self.part(queue, n);
            queue.push(from.pe, 0..0, Effect::Get { dest, from, n });
            n
        }))
    }

    unsafe fn amo(&self, atomic: &AtomicArguments) -> Result<(), Busy> {
        let &AtomicArguments { to, width, amo, old } = atomic;
        let effect = self.atomic(to, width, amo, old);
        self.issue(|queue| queue.push(to.pe, 0..0, effect))
    }

    unsafe fn put_signal(&self, put: &PutArguments, signal: Remote, update: SignalUpdate) -> Result<(), Busy> {
        let &PutArguments { to, source, n } = put;
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

    fn has_failed(&self) -> bool {
        self.account.has_failed()
    }

    fn progress(&self) -> Result<usize, Error> {
        let mut queue = self.queue.lock();
        let done = queue.deliver(&self.job);
        queue.account.error().map_or(Ok(done), Err)
    }
}
