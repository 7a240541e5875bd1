//! The layer around every provider: a PE's operations on itself, and the atomics and signals that a provider lacks, made of
//! what it has.

mod active_message;
mod coalescer;
mod requester;
mod service;

use std::ptr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxshmem_base::Error;

use crate::driver::{Callers, Drive, Driver, Next};
use crate::software::active_message::TargetTask;
use crate::software::requester::Requester;
use crate::software::service::Service;
use crate::{
    Account, AddressBook, Amo, AmoDomain, Busy, Capabilities, Fabric, Features, Lane, LaneOptions, OutOfRange, Region,
    RegisteredMemory, Remote, Segment, SignalUpdate, TakesTurns, Width, deliver_old,
};

pub use service::Messages;

/// `fabric`, the provider of PE `me`, with everything filled in. `messages` is needed if it has no atomics. A silent peer is
/// given up after `give_up`.
pub fn fill(
    me: u32,
    give_up: Duration,
    fabric: Box<dyn Fabric>,
    messages: Option<Box<dyn Messages>>,
) -> Result<Box<dyn Fabric>, Error> {
    let mut capabilities = fabric.capabilities().clone();
    let memory = Arc::<RegisteredMemory>::default();
    let mut service = None;
    if capabilities.amo == AmoDomain::None {
        let Some(messages) = messages else {
            return Err(Error::new("the provider has neither atomics nor messages").because(fabric.describe()));
        };
        let made = Service::new(messages, memory.clone());
        capabilities.amo = AmoDomain::Processor;
        capabilities.signal = Some(made.longest_put());
        service = Some(Arc::new(made));
        // Atomics travel apart from puts, and the target's processor takes part.
        capabilities.features.remove(Features::ORDERED | Features::ONE_SIDED);
    }
    Ok(Box::new(Filled { me, give_up, fabric, capabilities, memory, service, driver: Driver::default() }))
}

struct Filled {
    /// First: the thread ends before what it moves on is gone.
    driver: Driver,
    me: u32,
    give_up: Duration,
    fabric: Box<dyn Fabric>,
    capabilities: Capabilities,
    memory: Arc<RegisteredMemory>,
    /// Present if atomics are made of messages.
    service: Option<Arc<Service>>,
}

/// A provider's thread, which serves atomics as well.
struct Serving {
    drive: Arc<dyn Drive>,
    service: Arc<Service>,
}

impl Drive for Serving {
    fn callers(&self) -> &Callers {
        self.drive.callers()
    }

    fn turn(&self, resumed: bool) -> Next {
        let next = self.drive.turn(resumed);
        if self.service.serve() { Next::Again } else { next }
    }

    fn sleep(&self, most: Duration) {
        self.service.sleep(|| self.drive.sleep(most));
    }

    fn wake(&self) {
        self.drive.wake();
    }

    fn aside(&self) {
        self.drive.aside();
    }
}

impl Fabric for Filled {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn register(&self, region: Region, segment: Segment) -> Result<(), Error> {
        self.memory.register(region, segment)?;
        self.fabric.register(region, segment)
    }

    fn address(&self) -> Vec<u8> {
        self.fabric.address()
    }

    fn connect(&self, book: Box<dyn AddressBook>) -> Result<(), Error> {
        self.fabric.connect(book)?;
        match (self.fabric.drive(), self.service.clone()) {
            (Some(drive), Some(service)) => {
                service.expect_thread(drive.clone());
                self.driver.start(Arc::new(Serving { drive, service }))?;
            }
            (Some(drive), None) => self.driver.start(drive)?,
            (None, Some(_)) => return Err(Error::new("the provider has messages and no thread that serves them")),
            (None, None) => {}
        }
        Ok(())
    }

    fn lane(&self, options: LaneOptions) -> Result<Box<dyn Lane>, Error> {
        let inner = self.fabric.capabilities();
        let asked = self.service.clone().map(|service| {
            let follows = inner.features.contains(Features::ORDERED) && service.messages().follow_puts();
            let skips_acknowledgements = options.rarely_completed && service.messages().in_order();
            let skips_put_acknowledgements = skips_acknowledgements && service.messages().beat_puts();
            ByMessages {
                requester: Requester::new(service),
                follows,
                skips_acknowledgements,
                skips_put_acknowledgements,
            }
        });
        Ok(Box::new(FilledLane {
            me: self.me,
            lane: self.fabric.lane(options)?,
            memory: self.memory.clone(),
            by_network: inner.amo == AmoDomain::Network,
            own: Account::default(),
            asked,
        }))
    }

    fn progress(&self) -> usize {
        let done = self.fabric.progress();
        // A message that has just come is served at once.
        done + self.service.as_ref().map_or(0, |service| usize::from(service.serve_caller()))
    }

    fn rest(&self, most: Duration) -> Option<usize> {
        self.fabric.rest(most)
    }

    fn turns(&self) -> Option<&dyn TakesTurns> {
        self.fabric.turns()
    }

    fn lost(&self) -> Option<Error> {
        self.fabric.lost()
    }

    /// Peers of which nothing is heard for the user's time are not waited for any longer.
    fn close(&self) {
        if self.driver.is_running() {
            self.fabric.leave();
            let mut heard = Instant::now();
            while !self.fabric.has_left() {
                if self.progress() > 0 {
                    heard = Instant::now();
                } else if heard.elapsed() > self.give_up {
                    tracing::warn!(fabric = self.fabric.describe(), "some PEs have not disconnected");
                    break;
                } else {
                    std::thread::sleep(Duration::from_micros(50));
                }
            }
            self.driver.stop();
        }
        self.fabric.close();
    }

    fn describe(&self) -> String {
        self.fabric.describe()
    }
}

struct FilledLane {
    me: u32,
    lane: Box<dyn Lane>,
    memory: Arc<RegisteredMemory>,
    /// All atomics of the job are the network's, those of a PE on itself too.
    by_network: bool,
    /// Errors of operations of this PE on itself.
    own: Account,
    asked: Option<ByMessages>,
}

/// How atomics, and puts with signals, are made of messages.
struct ByMessages {
    requester: Requester,
    /// They follow the puts: then a fence waits for nothing, and a put only for the answers of those on its PE that were sent before
    /// the last fence.
    follows: bool,
    /// Operations that need no old value go unacknowledged.
    skips_acknowledgements: bool,
    /// So do puts that fit a message.
    skips_put_acknowledgements: bool,
}

impl ByMessages {
    /// The requester, if a put of so many bytes to this PE goes by message. So does a put that would have to wait for messages before it:
    /// they stay in order by themselves. So does one that joins a batch.
    fn sends_put(&self, pe: u32, n: usize) -> Option<&Requester> {
        let requester = &self.requester;
        let fits = self.skips_acknowledgements && (1..=requester.longest_put()).contains(&n);
        let waits = || self.follows && requester.may_be_overtaken(pe) || requester.gathers(pe, n);
        (fits && (self.skips_put_acknowledgements || waits())).then_some(requester)
    }

    /// Has something done that needs no old value.
    fn request(&self, pe: u32, task: TargetTask<'_>) -> Result<(), Busy> {
        if self.skips_acknowledgements {
            return self.requester.send_unacknowledged(pe, task);
        }
        // SAFETY: null asks for no old value.
        unsafe { self.requester.ask(pe, task, ptr::null_mut()) }
    }
}

/// The bytes of a put.
///
/// # Safety
/// `source` is readable for `n` bytes, which nobody writes while the slice is used.
unsafe fn bytes<'s>(source: *const u8, n: usize) -> &'s [u8] {
    // SAFETY: the source is readable for `n` bytes, as this function demands; an empty slice needs no address.
    if n == 0 { &[] } else { unsafe { std::slice::from_raw_parts(source, n) } }
}

impl FilledLane {
    /// An operation of this PE on itself has been done, or is wrong.
    fn here(&self, outcome: Result<(), OutOfRange>) {
        if let Err(wrong) = outcome {
            self.own.fail(wrong.error(self.me));
        }
    }

    /// The first error of operations that this layer does.
    #[inline]
    fn failure(&self) -> Option<Error> {
        let asked = self.asked.as_ref().map(|asked| &asked.requester.account);
        [asked, Some(&self.own)].into_iter().flatten().find(|account| account.has_failed())?.error()
    }

    /// A put may be issued now without overtaking an atomic that a fence has put before it.
    fn may_put_to(&self, pe: u32) -> Result<(), Busy> {
        match &self.asked {
            Some(ByMessages { requester, follows: true, .. }) if requester.may_be_overtaken(pe) => Err(Busy),
            _ => Ok(()),
        }
    }
}

// SAFETY: buffers are handed on to the inner lane under the same promises, or used before the call returns; `old` is written
// before completion; this PE's own memory is bounded by what it has registered.
unsafe impl Lane for FilledLane {
    unsafe fn put(&self, to: Remote, source: *const u8, n: usize) -> Result<usize, Busy> {
        if to.pe == self.me {
            // SAFETY: the caller promises that the source is readable for `n` bytes.
            self.here(unsafe { self.memory.put(to.region, to.offset, source, n) });
            return Ok(n);
        }
        if let Some(requester) = self.asked.as_ref().and_then(|asked| asked.sends_put(to.pe, n)) {
            // SAFETY: the caller promises that the source is readable for `n` bytes; the message has a copy.
            let data = unsafe { bytes(source, n) };
            return requester
                .send_unacknowledged(to.pe, TargetTask::Put { to: to.position(), data, signal: None })
                .map(|()| n);
        }
        self.may_put_to(to.pe)?;
        // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
        let issued = unsafe { self.lane.put(to, source, n)? };
        if let Some(asked) = self.asked.as_ref().filter(|asked| asked.skips_acknowledgements) {
            asked.requester.note_put(to.pe);
        }
        Ok(issued)
    }

    unsafe fn put_nbi(&self, to: Remote, source: *const u8, n: usize) -> Result<usize, Busy> {
        if to.pe == self.me {
            // SAFETY: the caller promises that the source is readable for `n` bytes.
            self.here(unsafe { self.memory.put(to.region, to.offset, source, n) });
            return Ok(n);
        }
        if self.asked.as_ref().is_some_and(|asked| asked.sends_put(to.pe, n).is_some()) {
            // SAFETY: the source is readable for `n` bytes until completion; `put` needs it during the call.
            return unsafe { self.put(to, source, n) };
        }
        self.may_put_to(to.pe)?;
        // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
        unsafe { self.lane.put_nbi(to, source, n) }
    }

    unsafe fn get_nbi(&self, dest: *mut u8, from: Remote, n: usize) -> Result<usize, Busy> {
        if from.pe == self.me {
            // SAFETY: the caller promises that the destination is writable for `n` bytes.
            self.here(unsafe { self.memory.get(dest, from.region, from.offset, n) });
            return Ok(n);
        }
        // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
        unsafe { self.lane.get_nbi(dest, from, n) }
    }

    unsafe fn amo(&self, to: Remote, width: Width, amo: Amo, old: *mut u8) -> Result<(), Busy> {
        if to.pe == self.me && !self.by_network {
            let outcome = self.memory.amo(to.region, to.offset, width, amo);
            // SAFETY: the caller promises that `old` is null or writable.
            self.here(outcome.map(|value| unsafe { deliver_old(old, width, value) }));
            return Ok(());
        }
        match &self.asked {
            Some(asked) if old.is_null() => asked.request(to.pe, TargetTask::Amo { at: to.position(), width, amo }),
            // SAFETY: the caller keeps `old` until completion.
            Some(asked) => unsafe {
                asked.requester.ask(to.pe, TargetTask::Amo { at: to.position(), width, amo }, old)
            },
            // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
            None => unsafe { self.lane.amo(to, width, amo, old) },
        }
    }

    unsafe fn put_signal(
        &self,
        to: Remote,
        source: *const u8,
        n: usize,
        signal: Remote,
        update: SignalUpdate,
    ) -> Result<(), Busy> {
        if to.pe == self.me {
            // SAFETY: the caller promises that the source is readable for `n` bytes.
            let put = unsafe { self.memory.put(to.region, to.offset, source, n) };
            if let Err(wrong) = put {
                self.own.fail(wrong.error(self.me));
                return Ok(());
            }
            // SAFETY: null asks for no old value.
            return unsafe { self.amo(signal, Width::Eight, update.amo(), ptr::null_mut()) };
        }
        if let Some(asked) = &self.asked {
            // SAFETY: the caller promises that the source is readable for `n` bytes; the message has a copy.
            let data = unsafe { bytes(source, n) };
            return asked.request(
                to.pe,
                TargetTask::Put { to: to.position(), data, signal: Some((signal.position(), update)) },
            );
        }
        // SAFETY: the arguments go unchanged to the inner lane, which asks for the promise that our caller has made.
        unsafe { self.lane.put_signal(to, source, n, signal, update) }
    }

    /// Atomics made of messages know nothing of the inner lane's order, unless they follow it: both sides are complete then.
    fn fence(&self) -> Result<(), Busy> {
        match &self.asked {
            Some(ByMessages { follows: false, .. }) if self.outstanding() > 0 => Err(Busy),
            Some(ByMessages { follows: false, .. }) => Ok(()),
            Some(ByMessages { requester, .. }) => {
                requester.fence();
                self.lane.fence()
            }
            None => self.lane.fence(),
        }
    }

    /// A message follows the puts by itself, but for those that the inner lane must wait for.
    fn fence_puts(&self) -> Result<(), Busy> {
        match &self.asked {
            Some(ByMessages { follows: false, .. }) => self.fence(),
            _ => self.lane.fence_puts(),
        }
    }

    fn outstanding(&self) -> u64 {
        self.lane.outstanding() + self.asked.as_ref().map_or(0, |asked| asked.requester.account.outstanding())
    }

    fn progress(&self) -> Result<usize, Error> {
        let collected = self.asked.as_ref().map_or(0, |asked| asked.requester.collect());
        let done = self.lane.progress()?;
        self.failure().map_or(Ok(collected + done), Err)
    }

    /// A message has a copy of what it carries, but for the place of an old value.
    fn poll_local_completion(&self) -> Result<bool, Error> {
        let requester = self.asked.as_ref().map(|asked| &asked.requester);
        let expects = requester.is_some_and(Requester::expects_values);
        let free = self.lane.poll_local_completion()?;
        self.failure().map_or(Ok(free && !expects), Err)
    }
}
