//! Moves the serving worker on: by callers that wait, and by the thread ([`Drive`]).

use std::os::fd::RawFd;
use std::time::Duration;

use oxshmem_transport::driver::{Callers, Drive, Next, sleep_on};

use crate::net::Net;
use crate::objects::Worker;

/// The longest sleep of the thread while lanes have something under way, and while none has.
const SLEEPS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(100));
/// The nap where UCX has nothing to wait for.
const BLIND: Duration = Duration::from_millis(1);
/// So many turns in a row before others get a chance.
const TURNS: usize = 64;

impl Net {
    /// A caller's turn that waits for something to come, for `most` at most: to be served, or for a lane.
    pub(crate) fn rest(&self, most: Duration) -> usize {
        let done = self.serve() + self.move_lanes().0;
        if done > 0 {
            return done;
        }
        self.callers.rest(|| self.sleep(most));
        self.serve() + self.move_lanes().0
    }

    /// Arms the workers that could have something to do. `None`: one of them has, or somebody moves it on.
    fn arm(&self) -> Option<Vec<RawFd>> {
        let service = self.service.try_lock()?.as_ref().and_then(Worker::arm_to_sleep)?;
        let mut descriptors = self.arm_lanes()?;
        descriptors.push(service);
        Some(descriptors)
    }
}

impl Drive for Net {
    fn callers(&self) -> &Callers {
        &self.callers
    }

    fn turn(&self, _resumed: bool) -> Next {
        let (_, busy) = self.move_lanes();
        let service = self.service.lock();
        let Some(service) = service.as_ref() else { return Next::Nap(BLIND) };
        match (0..TURNS).any(|_| service.progress() == 0) {
            true if service.descriptor().is_none() => Next::Nap(BLIND),
            true => Next::Sleep(if busy { SLEEPS.0 } else { SLEEPS.1 }),
            false => Next::Again,
        }
    }

    fn sleep(&self, most: Duration) {
        match self.arm() {
            Some(descriptors) => {
                sleep_on(&descriptors, most);
            }
            None => std::thread::yield_now(),
        }
    }

    fn wake(&self) {
        if let Some(service) = self.service.lock().as_ref() {
            service.wake();
        }
    }
}
