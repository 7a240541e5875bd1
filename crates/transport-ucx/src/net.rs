//! What lanes, callers and the thread share: our memory, who serves, and how peers are found.

use std::collections::HashSet;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use oxshmem_base::Error;
use oxshmem_transport::Participant;
use oxshmem_transport::driver::Callers;
use parking_lot::Mutex;

use crate::channel::Channel;
use crate::handle::{Context, Worker};
use crate::message::Ask;
use crate::peers::{Directory, MARK};
use crate::region::Regions;
use crate::seat::Seat;

/// One PE's part in the job.
pub(crate) struct Net {
    pub(crate) peers: Directory,
    pub(crate) context: Arc<Context>,
    pub(crate) regions: Regions,
    /// What peers reach; none after the end.
    pub(crate) service: Mutex<Option<Worker>>,
    /// The PEs that have asked us something and have not said good-bye.
    pub(crate) guests: Mutex<HashSet<u32>>,
    /// Channels of lanes that exist, and channels whose lanes are gone: connections are made once.
    seats: Mutex<Seats>,
    pub(crate) callers: Callers,
    pub(crate) closed: AtomicBool,
}

#[derive(Default)]
struct Seats {
    taken: Vec<Arc<Seat>>,
    free: Vec<Arc<Seat>>,
    /// With a lost peer: kept until the end, because those who are not lost may still answer.
    broken: Vec<Arc<Seat>>,
}

impl Net {
    pub(crate) fn new(participant: &Participant<'_>, context: Arc<Context>, atomics: bool) -> Self {
        Self {
            peers: Directory::new(participant, atomics),
            regions: Regions::new(context.clone()),
            context,
            service: Mutex::default(),
            guests: Mutex::default(),
            seats: Mutex::default(),
            callers: Callers::default(),
            closed: AtomicBool::new(false),
        }
    }

    /// This PE's card.
    pub(crate) fn card(&self) -> Vec<u8> {
        let address = self.service.lock().as_ref().and_then(|service| service.address().ok());
        [MARK, &address.unwrap_or_default()].concat()
    }

    /// Serves what peers have asked; returns how much there was. Somebody else may just be doing so.
    pub(crate) fn serve(&self) -> usize {
        self.callers.note();
        self.service.try_lock().and_then(|service| service.as_ref().map(Worker::progress)).unwrap_or(0)
    }

    /// Moves on what lanes have under way while their callers do something else; also says whether any has.
    pub(crate) fn move_lanes(&self) -> (usize, bool) {
        let Some(seats) = self.seats.try_lock() else { return (0, true) };
        let busy = seats.taken.iter().filter(|seat| seat.under_way() > 0);
        busy.fold((0, false), |(done, _), seat| (done + seat.nudge(&self.peers), true))
    }

    /// Arms the workers of lanes that have something under way; none if one of them has something to do.
    pub(crate) fn arm_lanes(&self) -> Option<Vec<RawFd>> {
        let seats = self.seats.try_lock()?;
        seats.taken.iter().filter(|seat| seat.under_way() > 0).map(|seat| seat.arm()).collect()
    }

    /// A channel for a new lane.
    pub(crate) fn take_seat(&self) -> Result<Arc<Seat>, Error> {
        let free = self.seats.lock().free.pop();
        let seat = match free {
            Some(seat) => seat,
            None => Arc::new(Seat::new(Channel::new(self.context.clone())?)),
        };
        self.seats.lock().taken.push(seat.clone());
        Ok(seat)
    }

    /// Takes back the channel of a lane that ends.
    pub(crate) fn leave_seat(&self, seat: &Arc<Seat>, reusable: bool) {
        let mut seats = self.seats.lock();
        seats.taken.retain(|other| !Arc::ptr_eq(other, seat));
        if self.closed.load(Ordering::Relaxed) {
            return;
        }
        if reusable { seats.free.push(seat.clone()) } else { seats.broken.push(seat.clone()) }
    }

    /// The channels of all lanes, also of those that are gone.
    fn seats(&self) -> Vec<Arc<Seat>> {
        let seats = self.seats.lock();
        [&seats.taken, &seats.free, &seats.broken].into_iter().flatten().cloned().collect()
    }

    /// Says good-bye to all PEs that this one has asked.
    pub(crate) fn leave(&self) {
        let mut told = HashSet::new();
        for seat in self.seats() {
            let mut channel = seat.lock();
            for pe in channel.peers() {
                if told.insert(pe) {
                    channel.ask_bye(&self.peers, pe);
                }
            }
        }
    }

    /// Whether our good-byes are answered, and all that have asked us have said theirs: an answer of ours that is still under
    /// way would go with us.
    pub(crate) fn has_left(&self) -> bool {
        let answered = self.seats().iter().all(|seat| {
            let mut channel = seat.lock();
            channel.step(&self.peers);
            channel.owed() == 0
        });
        answered && self.guests.lock().is_empty()
    }

    /// Ends everything; nobody uses it any more.
    pub(crate) fn tear_down(&self) {
        self.closed.store(true, Ordering::Release);
        drop(std::mem::take(&mut *self.seats.lock()));
        drop(self.service.lock().take());
        self.regions.close();
    }

    /// A question that has come: whoever asks is a guest until the good-bye.
    pub(crate) fn note_guest(&self, pe: u32, ask: Ask) {
        let mut guests = self.guests.lock();
        match ask {
            Ask::Bye => guests.remove(&pe),
            _ => guests.insert(pe),
        };
    }
}
