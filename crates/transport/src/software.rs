//! Operations that a provider lacks, made of those it has: atomics of messages that the target's processor executes, a
//! signal of a put, a fence and an atomic, long operations of short ones.

use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use oxshmem_base::Error;

use crate::{
    Amo, AmoDomain, Capabilities, Cards, Fabric, Features, Lane, LaneOptions, Memory, OutOfRange, Region, Remote,
    Segment, SignalUpdate, Width, deliver_old,
};

/// The least a provider without atomics must have: short messages from PE to PE, each delivered once, in any order.
pub trait Messages: Send + Sync {
    /// Sends at most 64 bytes.
    fn send(&self, pe: u32, message: &[u8]) -> Result<(), Error>;

    /// The next message and its sender; waits at most `patience` for one.
    fn receive(&self, patience: Duration) -> Option<(u32, Vec<u8>)>;

    /// Whether messages to a PE stay in order and arrive after the puts that were issued to it before have taken effect.
    fn follow_puts(&self) -> bool {
        false
    }
}

/// `fabric` with everything filled in. `messages` is needed if it has no atomics.
pub fn fill(fabric: Box<dyn Fabric>, messages: Option<Box<dyn Messages>>) -> Result<Box<dyn Fabric>, Error> {
    let had = fabric.capabilities().clone();
    let lacks_atomics = had.amo == AmoDomain::None;
    if !lacks_atomics && had.features.contains(Features::FUSED_SIGNAL) && had.longest == usize::MAX {
        return Ok(fabric);
    }
    let service = match messages {
        Some(messages) if lacks_atomics => Some(Arc::new(Service {
            messages,
            memory: Memory::default(),
            replies: Mutex::default(),
            last: AtomicU64::new(0),
            closed: AtomicBool::new(false),
        })),
        None if lacks_atomics => {
            return Err(Error::new("the provider has neither atomics nor messages").because(fabric.describe()));
        }
        _ => None,
    };
    let mut capabilities = Capabilities { longest: usize::MAX, ..had.clone() };
    if lacks_atomics {
        capabilities.amo = AmoDomain::Processor;
        // Atomics travel apart from puts, and the target's processor takes part.
        capabilities.features.remove(Features::ORDERED | Features::ONE_SIDED);
    }
    Ok(Box::new(Filled { fabric, had, capabilities, service, thread: Mutex::default() }))
}

struct Filled {
    fabric: Box<dyn Fabric>,
    had: Capabilities,
    capabilities: Capabilities,
    /// Present if atomics are made of messages.
    service: Option<Arc<Service>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Fabric for Filled {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn register(&self, region: Region, segment: Segment) -> Result<(), Error> {
        if let Some(service) = &self.service {
            service.memory.register(region, segment)?;
        }
        self.fabric.register(region, segment)
    }

    fn card(&self) -> Vec<u8> {
        self.fabric.card()
    }

    fn connect(&self, cards: Box<dyn Cards>) -> Result<(), Error> {
        self.fabric.connect(cards)?;
        if let Some(service) = self.service.clone() {
            let serve = move || {
                while !service.closed.load(Ordering::Relaxed) {
                    service.serve(Duration::from_millis(20));
                }
            };
            let thread = std::thread::Builder::new().name("oxshmem-amo".into()).spawn(serve);
            let thread = thread.map_err(|e| Error::new("cannot start the thread that serves atomics").because(e))?;
            *self.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        }
        Ok(())
    }

    fn lane(&self, options: LaneOptions) -> Result<Box<dyn Lane>, Error> {
        Ok(Box::new(FilledLane {
            lane: self.fabric.lane(options)?,
            longest: self.had.longest,
            fused: self.had.features.contains(Features::FUSED_SIGNAL) && self.service.is_none(),
            follow: self.had.features.contains(Features::ORDERED)
                && self.service.as_ref().is_some_and(|service| service.messages.follow_puts()),
            service: self.service.clone(),
            waiting: HashMap::new(),
            era: 0,
            error: None,
        }))
    }

    fn progress(&self) -> usize {
        let served = self.service.as_ref().is_some_and(|service| service.serve(Duration::ZERO));
        self.fabric.progress() + usize::from(served)
    }

    /// The service of atomics has its own thread.
    fn rest(&self, most: Duration) -> Option<usize> {
        self.fabric.rest(most)
    }

    fn lost(&self) -> Option<Error> {
        self.fabric.lost()
    }

    fn close(&self) {
        if let Some(service) = &self.service {
            service.closed.store(true, Ordering::Relaxed);
        }
        if let Some(thread) = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // A panic of the service has been printed already.
            let _ = thread.join();
        }
        self.fabric.close();
    }

    fn describe(&self) -> String {
        self.fabric.describe()
    }
}

/// Executes atomics of peers and collects the answers to ours.
struct Service {
    messages: Box<dyn Messages>,
    memory: Memory,
    replies: Mutex<HashMap<u64, Result<u64, OutOfRange>>>,
    last: AtomicU64,
    closed: AtomicBool,
}

impl Service {
    fn serve(&self, patience: Duration) -> bool {
        let Some((from, letter)) = self.messages.receive(patience) else { return false };
        match Letter::decode(&letter) {
            Some(Letter::Ask { number, region, offset, width, amo }) => {
                let outcome = self.memory.amo(region, offset, width, amo);
                let answer = Letter::Answer { number, region, offset, width, outcome };
                if let Err(error) = self.messages.send(from, &answer.encode()) {
                    tracing::error!(%error, from, "an answer to an atomic could not be sent");
                }
            }
            Some(Letter::Answer { number, outcome, .. }) => {
                self.replies.lock().unwrap_or_else(PoisonError::into_inner).insert(number, outcome);
            }
            None => tracing::warn!(from, "a message that is no atomic was dropped"),
        }
        true
    }
}

/// Both kinds have one layout: kind, region, width, operation, then four numbers.
enum Letter {
    Ask { number: u64, region: Region, offset: u64, width: Width, amo: Amo },
    Answer { number: u64, region: Region, offset: u64, width: Width, outcome: Result<u64, OutOfRange> },
}

const ASK: u8 = 1;
const DONE: u8 = 2;
const REFUSED: u8 = 3;

impl Letter {
    fn encode(&self) -> Vec<u8> {
        let (head, numbers) = match *self {
            Self::Ask { number, region, offset, width, amo } => {
                let (kind, value, cond) = amo.to_parts();
                ([ASK, region as u8, width as u8, kind], [number, offset, value, cond])
            }
            Self::Answer { number, region, offset, width, outcome: Ok(old) } => {
                ([DONE, region as u8, width as u8, 0], [number, offset, old, 0])
            }
            Self::Answer { number, region, offset, width, outcome: Err(wrong) } => {
                ([REFUSED, region as u8, width as u8, 0], [number, offset, wrong.registered as u64, 0])
            }
        };
        head.into_iter().chain(numbers.into_iter().flat_map(u64::to_le_bytes)).collect()
    }

    fn decode(letter: &[u8]) -> Option<Self> {
        let (&[kind, region, width, operation], numbers) = letter.split_first_chunk::<4>()?;
        let mut numbers = numbers.chunks_exact(8).map(|n| u64::from_le_bytes(n.try_into().expect("eight bytes")));
        let (number, offset, first, second) = (numbers.next()?, numbers.next()?, numbers.next()?, numbers.next()?);
        let (region, width) = (Region::try_from(region).ok()?, Width::try_from(width).ok()?);
        Some(match kind {
            ASK => Self::Ask { number, region, offset, width, amo: Amo::from_parts(operation, first, second)? },
            DONE => Self::Answer { number, region, offset, width, outcome: Ok(first) },
            REFUSED => {
                let wrong =
                    OutOfRange { region, offset, bytes: width.bytes(), registered: usize::try_from(first).ok()? };
                Self::Answer { number, region, offset, width, outcome: Err(wrong) }
            }
            _ => return None,
        })
    }
}

struct FilledLane {
    lane: Box<dyn Lane>,
    longest: usize,
    fused: bool,
    service: Option<Arc<Service>>,
    /// Puts stay in order, and messages come after them: a fence waits for nothing, and a put only for the answers of
    /// atomics on its PE that were asked for before the last fence.
    follow: bool,
    waiting: HashMap<u64, Waiting>,
    /// Counts fences.
    era: u64,
    error: Option<Error>,
}

/// Atomics of one lane that are under way at once. Beyond that who asks waits for answers: without a bound a caller that
/// never waits is thousands ahead of the target's processor, and whatever others ask comes behind all of it.
const MOST_ASKED: usize = 128;

struct Waiting {
    pe: u32,
    era: u64,
    width: Width,
    old: *mut u8,
}

// SAFETY: `old` belongs to the lane's caller, who keeps it valid until completion on whatever thread.
unsafe impl Send for Waiting {}

impl FilledLane {
    /// The pieces of an operation of `n` bytes: start and length. An operation of no bytes is one piece.
    fn pieces(&self, n: usize) -> impl Iterator<Item = (usize, usize)> + use<> {
        let longest = self.longest;
        (0..n.div_ceil(longest).max(1)).map(move |i| (i * longest, longest.min(n - i * longest)))
    }

    /// Takes the answers that have come.
    fn collect(&mut self) -> usize {
        let Some(service) = &self.service else { return 0 };
        service.serve(Duration::ZERO);
        if self.waiting.is_empty() {
            return 0;
        }
        let before = self.waiting.len();
        // The answers are gone through, not the questions, of which there may be many more.
        let mut replies = service.replies.lock().unwrap_or_else(PoisonError::into_inner);
        replies.retain(|number, outcome| {
            // Not ours: another lane's.
            let Some(asked) = self.waiting.remove(number) else { return true };
            match *outcome {
                // SAFETY: the caller of `amo` keeps `old` until completion, which is now.
                Ok(value) => unsafe { deliver_old(asked.old, asked.width, value) },
                Err(wrong) => drop(self.error.get_or_insert_with(|| wrong.error(asked.pe))),
            }
            false
        });
        before - self.waiting.len()
    }

    /// Waits until nothing that was asked of `pe` before the last fence could still take effect after what is issued now.
    fn settle(&mut self, pe: u32) {
        let era = self.era;
        let early = |lane: &Self| lane.waiting.values().any(|asked| asked.pe == pe && asked.era < era);
        while self.follow && !self.waiting.is_empty() && early(self) && self.progress().is_ok() {
            std::thread::yield_now();
        }
    }
}

impl Remote {
    fn plus(self, bytes: usize) -> Self {
        Self { offset: self.offset + bytes as u64, ..self }
    }
}

// SAFETY: buffers are handed on to the inner lane under the same promises; `old` is written before completion.
unsafe impl Lane for FilledLane {
    unsafe fn put(&mut self, to: Remote, source: *const u8, n: usize) {
        self.settle(to.pe);
        for (start, n) in self.pieces(n) {
            // SAFETY: a piece of what the caller promised.
            unsafe { self.lane.put(to.plus(start), source.add(start), n) };
        }
    }

    unsafe fn put_nbi(&mut self, to: Remote, source: *const u8, n: usize) {
        self.settle(to.pe);
        for (start, n) in self.pieces(n) {
            // SAFETY: a piece of what the caller promised.
            unsafe { self.lane.put_nbi(to.plus(start), source.add(start), n) };
        }
    }

    unsafe fn get_nbi(&mut self, dest: *mut u8, from: Remote, n: usize) {
        for (start, n) in self.pieces(n) {
            // SAFETY: a piece of what the caller promised.
            unsafe { self.lane.get_nbi(dest.add(start), from.plus(start), n) };
        }
    }

    unsafe fn amo(&mut self, to: Remote, width: Width, amo: Amo, old: *mut u8) {
        if self.service.is_none() {
            // SAFETY: `old` and `to` go unchanged to the inner lane, which asks for the promise that our caller has made.
            return unsafe { self.lane.amo(to, width, amo, old) };
        }
        while self.waiting.len() >= MOST_ASKED && self.progress().is_ok() {
            std::thread::yield_now();
        }
        let Some(service) = &self.service else { return };
        let number = service.last.fetch_add(1, Ordering::Relaxed);
        let ask = Letter::Ask { number, region: to.region, offset: to.offset, width, amo };
        match service.messages.send(to.pe, &ask.encode()) {
            Ok(()) => drop(self.waiting.insert(number, Waiting { pe: to.pe, era: self.era, width, old })),
            Err(error) => drop(self.error.get_or_insert(error)),
        }
    }

    unsafe fn put_signal(&mut self, to: Remote, source: *const u8, n: usize, signal: Remote, update: SignalUpdate) {
        // SAFETY: the caller's promise, in pieces or whole.
        unsafe {
            if self.fused && n <= self.longest {
                return self.lane.put_signal(to, source, n, signal, update);
            }
            self.put_nbi(to, source, n);
            // A message follows the puts by itself, but for those that the inner lane must wait for at a fence.
            match self.follow && to.pe == signal.pe {
                true => self.lane.fence(),
                false => self.fence(),
            }
            self.amo(signal, Width::Eight, update.amo(), ptr::null_mut());
        }
    }

    /// Atomics made of messages know nothing of the inner lane's order, unless they follow it: both sides are waited for.
    fn fence(&mut self) {
        if self.service.is_none() || self.follow {
            self.era += 1;
            return self.lane.fence();
        }
        while self.outstanding() > 0 && self.progress().is_ok() {
            std::thread::yield_now();
        }
    }

    fn outstanding(&self) -> u64 {
        self.lane.outstanding() + self.waiting.len() as u64
    }

    fn progress(&mut self) -> Result<usize, Error> {
        let collected = self.collect();
        let done = self.lane.progress()?;
        self.error.clone().map_or(Ok(collected + done), Err)
    }
}
