//! The state that lanes, callers and the thread share: our memory, the serving channel, and how peers are found.

use std::collections::HashSet;
use std::num::NonZero;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_os::descriptors;
use oxshmem_transport::due::SleepMark;
use oxshmem_transport::progress_thread::Callers;
use oxshmem_transport::{LaneOptions, Losses, Participant};
use parking_lot::Mutex;

use crate::answer::AnswerSender;
use crate::backlog::Backlog;
use crate::channel::{Channel, LONGEST_MESSAGE};
use crate::eager;
use crate::objects::UcxContext;
use crate::peers::{Directory, MARK};
use crate::region::Regions;
use crate::shared_channel::SharedChannel;

/// Looks of a caller for each one at lanes that have nothing under way but messages without an answer. Mostly UCX has sent these: only the
/// end of one may wait for room in a socket. Each look at a lane is a call of the kernel over TCP. Chosen.
pub(crate) const LOOKS_PER_END: u64 = 8;

/// How long the flush of the last answers takes at most. UCX calls an answer sent when it has copied it, and a worker that goes takes with it
/// what its card has not sent; the peer would wait `SHMEM_PEER_TIMEOUT` seconds for it. A card sends it in microseconds. Where the peer has it
/// and has left before it acknowledges it, nothing ends the flush, and each job would end by so much later. Chosen.
const LAST_FLUSH: Duration = Duration::from_millis(100);

/// One PE's part in the job.
pub(crate) struct Net {
    pub(crate) peers: Directory,
    pub(crate) context: Arc<UcxContext>,
    pub(crate) regions: Regions,
    /// The channel whose worker peers reach; none after the end.
    pub(crate) service: Mutex<Option<Arc<SharedChannel>>>,
    /// A lane has the serving channel.
    service_is_taken: AtomicBool,
    guests: Mutex<Guests>,
    pub(crate) backlog: Backlog,
    pub(crate) answers: AnswerSender,
    /// Peers that cannot be reached, and puts that could not be received.
    pub(crate) losses: Arc<Losses>,
    /// Channels of lanes that exist, and channels whose lanes are gone: connections are made once.
    channels: Mutex<Channels>,
    pub(crate) most_channels: usize,
    pub(crate) callers: Callers,
    pub(crate) asleep: SleepMark,
    pub(crate) closed: AtomicBool,
}

/// The PEs that have asked us something and have not said good-bye.
#[derive(Default)]
struct Guests {
    all: HashSet<u32>,
    /// One of them that has just asked, and so will often be the next to ask.
    last: Option<u32>,
}

/// The lock around them is tried at each look of each thread, so it shares its line with nothing else.
#[derive(Default)]
#[repr(align(128))]
struct Channels {
    /// Once for each lane.
    taken: Vec<Arc<SharedChannel>>,
    free: Vec<Arc<SharedChannel>>,
    /// With a lost peer: kept until the end, because peers that are not lost may still answer.
    broken: Vec<Arc<SharedChannel>>,
    /// Looks of callers that have found the lock free.
    looks: u64,
}

impl Channels {
    /// A channel that another lane has, where lanes are so many that descriptors would run short. It is quiet when all
    /// of its lanes are, and a fence is one of all of them: that is more than a lane asks for. So threads that wait for
    /// one of the lanes hold those back that issue on the others (`Lane::account`).
    fn to_share(&self, most: usize, longest_message: usize) -> Option<Arc<SharedChannel>> {
        let is_alike = |shared: &&Arc<SharedChannel>| shared.lock_briefly().longest_message == longest_message;
        let shareable = || self.taken.iter().filter(|shared| !shared.is_unshared()).filter(is_alike);
        let count = shareable().count();
        (count >= most).then(|| shareable().nth(count % most).cloned()).flatten()
    }

    /// Moves on the channels of lanes that have something under way and are `such`; also says whether there is one.
    fn move_on(&self, peers: &Directory, such: impl Fn(&SharedChannel) -> bool) -> (usize, bool) {
        let busy = self.taken.iter().filter(|shared| shared.to_move() > 0 && such(shared));
        busy.fold((0, false), |(done, _), shared| (done + shared.nudge(peers), true))
    }
}

/// Channels that lanes have to themselves, besides those of lanes that are [`LaneOptions::unshared`].
///
/// A quarter of the descriptors that the process may have is for their workers, each of which has some of its own and, over sockets, one for
/// each peer. A worker takes 4.5 MB of memory too (UCX 1.13), and no more threads than there are processors issue at once: hundreds of contexts
/// keep operations apart, and are no faster with a worker each.
fn most_channels(descriptors: u64, processors: usize, pes: u32) -> usize {
    const OWN: u64 = 8;
    const FOR_FEW_PROCESSORS: usize = 16;
    let by_descriptors = usize::try_from(descriptors / 4 / (OWN + u64::from(pes))).unwrap_or(usize::MAX).max(4);
    by_descriptors.min((2 * processors).max(FOR_FEW_PROCESSORS))
}

/// Connections of TCP's for each PE: to its serving worker from the two channels that a PE has at least, the runtime's and that of the
/// default context, and from its channels to the own serving worker.
const CONNECTIONS_EACH: u64 = 4;
/// Descriptors that are no connections: those of the program, of the node's PEs, and of workers.
const OTHER_FILES: u64 = 200;

/// Over TCP the PEs of a large job take more descriptors than the usual limit allows.
fn make_room(pes: u32) {
    if let Err(error) = descriptors::make_room(CONNECTIONS_EACH * u64::from(pes) + OTHER_FILES) {
        tracing::warn!(%error, "the limit of open files cannot be raised");
    }
}

impl Net {
    pub(crate) fn new(participant: &Participant<'_>, context: Arc<UcxContext>, atomics: bool) -> Self {
        if context.by_processors {
            make_room(participant.pes);
        }
        let processors = thread::available_parallelism().map_or(1, NonZero::get);
        let more_lanes = if context.sends_messages { eager::asked_for(|name| std::env::var(name).ok()) } else { None };
        if let Some(setting) = more_lanes {
            tracing::warn!("UCX: {setting} has no effect: puts are messages, and only one lane keeps their order");
        }
        Self {
            peers: Directory::new(participant, atomics),
            regions: Regions::new(context.clone()),
            context,
            service: Mutex::default(),
            service_is_taken: AtomicBool::new(false),
            guests: Mutex::default(),
            backlog: Backlog::default(),
            answers: AnswerSender::default(),
            losses: Arc::default(),
            channels: Mutex::default(),
            most_channels: most_channels(descriptors::limit(), processors, participant.pes),
            callers: Callers::default(),
            asleep: SleepMark::default(),
            closed: AtomicBool::new(false),
        }
    }

    pub(crate) fn address(&self) -> Vec<u8> {
        let service = self.service.lock();
        let address = service.as_ref().and_then(|service| service.lock().worker.address().ok());
        [MARK, &address.unwrap_or_default()].concat()
    }

    /// Serves what peers have asked; returns how much there was. Another thread may be serving already.
    pub(crate) fn serve(&self) -> usize {
        self.callers.note();
        self.nudge_service()
    }

    /// Moves the serving channel on unless another thread does.
    pub(crate) fn nudge_service(&self) -> usize {
        let service = self.service.try_lock();
        service.and_then(|service| service.as_ref().map(|shared| shared.nudge(&self.peers))).unwrap_or(0)
    }

    /// A look of a caller that waits: serves peers and moves lanes on, those that have only messages under way now and then. The lock counts
    /// the looks: one that finds it held does not use up the turn of the ends.
    pub(crate) fn look(&self) -> usize {
        let served = self.serve();
        let Some(mut channels) = self.channels.try_lock() else { return served };
        channels.looks += 1;
        let all = channels.looks.is_multiple_of(LOOKS_PER_END);
        served + channels.move_on(&self.peers, |shared| all || !shared.only_lingers()).0
    }

    /// Moves on what lanes have under way while their callers do something else; also says whether any has.
    pub(crate) fn move_lanes(&self) -> (usize, bool) {
        self.channels.try_lock().map_or((0, true), |channels| channels.move_on(&self.peers, |_| true))
    }

    /// Arms the workers of lanes that have something under way; none if one of them has something to do.
    pub(crate) fn arm_lanes(&self) -> Option<Vec<RawFd>> {
        let channels = self.channels.try_lock()?;
        channels.taken.iter().filter(|shared| shared.to_move() > 0).map(|shared| shared.arm()).collect()
    }

    /// A channel for a new lane.
    ///
    /// The runtime's own lane gets the serving one if its puts are messages: the messages between two PEs go by one connection then, so
    /// that acknowledgements of TCP's travel with data, and a caller looks at one worker.
    pub(crate) fn take_channel(&self, options: LaneOptions) -> Result<Arc<SharedChannel>, Error> {
        let longest_message = match (self.context.sends_messages, options.rarely_completed) {
            (true, true) => usize::MAX,
            (true, false) => LONGEST_MESSAGE,
            (false, _) => 0,
        };
        if self.context.sends_messages
            && options.rarely_completed
            && let Some(shared) = &*self.service.lock()
            && !self.service_is_taken.swap(true, Ordering::AcqRel)
        {
            shared.lock().longest_message = longest_message;
            return Ok(shared.clone());
        }
        let mut channels = self.channels.lock();
        let free = channels.free.pop();
        let to_share = || channels.to_share(self.most_channels, longest_message).filter(|_| !options.unshared);
        let shared = match free.or_else(to_share) {
            Some(shared) => shared,
            None => Arc::new(SharedChannel::new(Channel::new(self.context.clone(), self.losses.clone())?)),
        };
        shared.lock().longest_message = longest_message;
        shared.set_unshared(options.unshared);
        channels.taken.push(shared.clone());
        Ok(shared)
    }

    /// Whether peers reach the worker of this channel.
    fn is_serving(&self, shared: &Arc<SharedChannel>) -> bool {
        self.service.lock().as_ref().is_some_and(|service| Arc::ptr_eq(service, shared))
    }

    /// Takes back the channel of a lane that ends, with nothing under way.
    pub(crate) fn leave_channel(&self, shared: &Arc<SharedChannel>) {
        if self.is_serving(shared) {
            shared.lock().renew();
            return self.service_is_taken.store(false, Ordering::Release);
        }
        let mut channels = self.channels.lock();
        if let Some(at) = channels.taken.iter().rposition(|other| Arc::ptr_eq(other, shared)) {
            channels.taken.remove(at);
        }
        if channels.taken.iter().any(|other| Arc::ptr_eq(other, shared)) {
            return;
        }
        if self.closed.load(Ordering::Relaxed) {
            return;
        }
        let reusable = shared.lock().renew();
        if reusable { channels.free.push(shared.clone()) } else { channels.broken.push(shared.clone()) }
    }

    /// The serving channel and those of all lanes, also of those that are gone.
    fn channels(&self) -> Vec<Arc<SharedChannel>> {
        let (service, channels) = (self.service.lock(), self.channels.lock());
        service
            .iter()
            .chain([&channels.taken, &channels.free, &channels.broken].into_iter().flatten())
            .cloned()
            .collect()
    }

    /// Says good-bye to all PEs that this one has asked.
    pub(crate) fn leave(&self) {
        self.losses.begin_leaving();
        let mut greeted = HashSet::new();
        for shared in self.channels() {
            let mut channel = shared.lock();
            for pe in channel.peers() {
                if greeted.insert(pe) {
                    channel.ask_bye(&self.peers, pe);
                }
            }
        }
    }

    /// Whether our good-byes are answered, and all that have asked us have said theirs and have their answers: one that is still under
    /// way would go with us.
    pub(crate) fn has_left(&self) -> bool {
        let answered = self.channels().iter().all(|shared| {
            let mut channel = shared.lock();
            channel.step(&self.peers);
            channel.to_end() == 0
        });
        answered && self.have_guests_left()
    }

    fn have_guests_left(&self) -> bool {
        let service = self.service.lock();
        // A good-bye is noted before it is answered. While the channel is held, none is between the two.
        let _held = service.as_ref().map(|shared| shared.lock());
        self.guests.lock().all.is_empty() && !self.answers.are_under_way()
    }

    /// Ends everything; no thread uses it any more.
    pub(crate) fn tear_down(&self) {
        self.closed.store(true, Ordering::Release);
        drop(std::mem::take(&mut *self.channels.lock()));
        let service = self.service.lock().take();
        if let Some(service) = service {
            service.lock().worker.flush_within(LAST_FLUSH);
        }
        self.regions.close();
    }

    /// A question has come: its sender is a guest until the good-bye.
    pub(crate) fn note_guest(&self, pe: u32) {
        let mut guests = self.guests.lock();
        if guests.last != Some(pe) {
            guests.last = Some(pe);
            guests.all.insert(pe);
        }
    }

    /// A guest has said good-bye.
    pub(crate) fn forget_guest(&self, pe: u32) {
        let mut guests = self.guests.lock();
        guests.last = None;
        guests.all.remove(&pe);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_share_channels_where_descriptors_or_processors_are_fewer() {
        let most = |descriptors, processors| most_channels(descriptors, processors, 2);
        assert_eq!([most(1 << 20, 2), most(1 << 20, 8), most(1 << 20, 64)], [16, 16, 128]);
        assert_eq!([most(1024, 64), most(200, 64), most(0, 1)], [25, 5, 4]);
    }
}
