//! Moves the serving channel on: by callers that wait, and by the thread ([`Drive`]).

use std::os::fd::RawFd;
use std::time::Duration;

use oxshmem_transport::progress_thread::{Callers, Drive, NextStep, sleep_on};

use crate::net::Net;

/// The longest sleep of the thread while lanes have something under way, and while none has.
const SLEEPS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(100));
/// The longest sleep while a caller moves its lane on.
const BESIDE_A_CALLER: Duration = Duration::from_micros(400);
/// The backoff where UCX has nothing to wait for.
const BLIND: Duration = Duration::from_millis(1);
/// Turns in a row before other threads get one.
const TURNS: usize = 64;

impl Net {
    /// A caller's turn that waits for something to come, for `most` at most: to be served, or for a lane.
    pub(crate) fn rest(&self, most: Duration) -> usize {
        let done = self.serve() + self.move_lanes().0;
        if done > 0 {
            return done;
        }
        match self.arm_service().and_then(|service| Some((service, self.arm_lanes()?))) {
            Some((service, mut descriptors)) => {
                descriptors.push(service);
                self.callers.rest(|| sleep_on(&descriptors, most));
            }
            None => std::thread::yield_now(),
        }
        self.serve() + self.move_lanes().0
    }

    /// Arms the serving channel. `None`: it has something to do, or another thread serves.
    fn arm_service(&self) -> Option<RawFd> {
        self.service.try_lock()?.as_ref()?.arm()
    }
}

impl Net {
    /// Wakes the thread, if it sleeps, for a message that waits in a channel that the caller has just unlocked: there may
    /// be no caller that sends it.
    pub(crate) fn remind(&self) {
        self.asleep.remind(|| self.wake());
    }

    /// Sleeps until something comes, unless there is something to do now.
    fn sleep_armed(&self, most: Duration) {
        let Some(service) = self.arm_service() else { return std::thread::yield_now() };
        match self.arm_lanes() {
            Some(mut descriptors) => {
                descriptors.push(service);
                sleep_on(&descriptors, most);
            }
            // The lane's caller moves it on, and a thread that looks again at once would take its messages and its processor.
            None => {
                sleep_on(&[service], most.min(BESIDE_A_CALLER));
            }
        }
    }
}

impl Drive for Net {
    fn callers(&self) -> &Callers {
        &self.callers
    }

    fn turn(&self, _resumed: bool) -> NextStep {
        let (_, busy) = self.move_lanes();
        let service = self.service.lock();
        let Some(shared) = service.as_ref() else { return NextStep::Backoff(BLIND) };
        let mut channel = shared.lock();
        match (0..TURNS).any(|_| channel.step(&self.peers) == 0) {
            true if channel.worker.descriptor().is_none() => NextStep::Backoff(BLIND),
            true => NextStep::Sleep(if busy || channel.to_move() > 0 { SLEEPS.0 } else { SLEEPS.1 }),
            false => NextStep::Again,
        }
    }

    fn sleep(&self, most: Duration) {
        self.asleep.sleep(|| {
            // A batch that was begun since the turn is sent.
            if self.nudge_service() + self.move_lanes().0 == 0 {
                self.sleep_armed(most);
            }
        });
    }

    fn wake(&self) {
        if let Some(shared) = self.service.lock().as_ref() {
            shared.lock().worker.wake();
        }
    }
}
