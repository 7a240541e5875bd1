//! The layer around every provider: a PE's operations on itself, and the atomics and signals that a provider lacks, made of
//! what it has.

mod answers;
mod by_messages;
mod coalescer;
mod filled_lane;
mod requester;
mod service;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use oxshmem_base::Error;

use crate::progress_thread::{Callers, Drive, NextStep, ProgressThread};
use crate::software::by_messages::{ByMessages, Unacknowledged};
use crate::software::filled_lane::FilledLane;
use crate::software::requester::Requester;
use crate::software::service::Service;
use crate::{
    Account, AddressBook, AmoDomain, Capabilities, Fabric, Features, Lane, LaneOptions, Region, RegisteredMemory,
    Segment, TakesTurns, WatchedTime,
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
    Ok(Box::new(Filled {
        me,
        give_up,
        fabric,
        capabilities,
        memory,
        service,
        progress_thread: ProgressThread::default(),
    }))
}

struct Filled {
    /// First: the thread ends before what it moves on is gone.
    progress_thread: ProgressThread,
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

    fn turn(&self, resumed: bool) -> NextStep {
        let next = self.drive.turn(resumed);
        if self.service.serve() {
            return NextStep::Again;
        }
        match (next, self.drive.backoff_while_sending()) {
            // Asked last: a turn with work in between leaves the answer to the next one.
            (NextStep::Sleep(_), Some(time)) if self.service.has_sent() => NextStep::Backoff(time),
            _ => next,
        }
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
        // First: memory that the network refuses is not registered here either, so that the region can grow by less later.
        self.fabric.register(region, segment)?;
        self.memory.register(region, segment)
    }

    fn address(&self) -> Vec<u8> {
        self.fabric.address()
    }

    fn connect(&self, book: Box<dyn AddressBook>) -> Result<(), Error> {
        self.fabric.connect(book)?;
        match (self.fabric.drive(), self.service.clone()) {
            (Some(drive), Some(service)) => {
                service.expect_thread(drive.clone());
                self.progress_thread.start(Arc::new(Serving { drive, service }))?;
            }
            (Some(drive), None) => self.progress_thread.start(drive)?,
            (None, Some(_)) => return Err(Error::new("the provider has messages and no thread that serves them")),
            (None, None) => {}
        }
        Ok(())
    }

    fn lane(&self, options: LaneOptions) -> Result<Box<dyn Lane>, Error> {
        let inner = self.fabric.capabilities();
        let asked = self.service.clone().map(|service| {
            let follows = inner.features.contains(Features::ORDERED) && service.messages.follow_puts();
            let unacknowledged = match (options.rarely_completed, service.messages.gather()) {
                _ if !service.messages.in_order() => Unacknowledged::None,
                (true, _) => Unacknowledged::All,
                (false, true) => Unacknowledged::Batches,
                (false, false) => Unacknowledged::None,
            };
            let skips_put_acknowledgements = unacknowledged == Unacknowledged::All && service.messages.beat_puts();
            ByMessages { requester: Requester::new(service), follows, unacknowledged, skips_put_acknowledgements }
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

    /// A message that another thread has taken from the network and left here makes no event: no other thread serves it
    /// while callers poll.
    fn rest(&self, most: Duration) -> Option<usize> {
        match &self.service {
            Some(service) if service.serve_caller() => Some(1),
            _ => self.fabric.rest(most),
        }
    }

    fn turns(&self) -> Option<&dyn TakesTurns> {
        self.fabric.turns()
    }

    fn lost(&self) -> Option<Error> {
        self.fabric.lost()
    }

    /// Waits until all peers have disconnected, and gives up when none of them has sent anything for the user's time.
    fn close(&self) {
        if self.progress_thread.is_running() {
            self.fabric.leave();
            let mut silence = WatchedTime::begin();
            while !self.fabric.has_left() {
                if self.progress() > 0 {
                    silence = WatchedTime::begin();
                } else if silence.look() > self.give_up {
                    tracing::warn!(fabric = self.fabric.describe(), "some PEs have not disconnected");
                    break;
                } else {
                    std::thread::sleep(Duration::from_micros(50));
                }
            }
            self.progress_thread.stop();
        }
        self.fabric.close();
    }

    fn describe(&self) -> String {
        self.fabric.describe()
    }
}
