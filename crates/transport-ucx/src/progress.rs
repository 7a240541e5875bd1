//! Who moves the serving worker on: callers that wait, and a thread that steps aside for them.
//!
//! A caller serves while it waits, so that no other thread has to be woken between a question and the one who answers.
//! The thread sleeps in the kernel while nothing happens and serves what comes while nobody polls, so that a PE that
//! computes is reached; while callers poll, or sleep until something comes, it only naps: two that wake for the same message
//! hold each other up.

use std::os::fd::RawFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::handle::Worker;
use crate::net::Net;

/// Shortest and longest nap of the thread while callers poll.
const NAPS: (Duration, Duration) = (Duration::from_micros(50), Duration::from_micros(400));
/// How long the thread sleeps at most while lanes have something under way, and while none has.
const SLEEPS: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(100));
/// How long it sleeps where UCX has nothing to wait for.
const BLIND: Duration = Duration::from_millis(1);
/// So many turns in a row before others get a chance.
const TURNS: usize = 64;

/// What the thread does next.
enum Next {
    Serve,
    Watch(RawFd),
    Doze,
}

impl Net {
    /// A caller's turn that waits for something to come, for `most` at most: to be served, or for a lane.
    pub(crate) fn rest(&self, most: Duration) -> usize {
        let done = self.serve() + self.move_lanes().0;
        if done > 0 {
            return done;
        }
        let service = {
            let service = self.service.try_lock();
            service.as_ref().and_then(|service| service.as_ref()).and_then(Worker::arm_to_sleep)
        };
        let Some(mut descriptors) = self.arm_lanes() else { return 0 };
        match service {
            Some(descriptor) => descriptors.push(descriptor),
            // Somebody serves, or something has come.
            None => return self.serve(),
        }
        self.resting.fetch_add(1, Ordering::Relaxed);
        watch(&descriptors, most);
        self.resting.fetch_sub(1, Ordering::Relaxed);
        self.serve() + self.move_lanes().0
    }

    /// The thread's life.
    pub(crate) fn work(&self) {
        let (mut seen, mut nap) = (0, NAPS.0);
        while !self.closed.load(Ordering::Acquire) {
            if self.is_attended(&mut seen) {
                std::thread::sleep(nap);
                nap = (nap * 2).min(NAPS.1);
                continue;
            }
            nap = NAPS.0;
            let (_, busy) = self.move_lanes();
            match self.turn() {
                Next::Serve => {}
                Next::Watch(service) if busy => match self.arm_lanes() {
                    Some(lanes) => watch(&[&lanes[..], &[service]].concat(), SLEEPS.0),
                    None => watch(&[service], NAPS.1),
                },
                Next::Watch(service) => watch(&[service], SLEEPS.1),
                Next::Doze => std::thread::sleep(BLIND),
            }
        }
    }

    /// Whether callers have polled since the last look, or sleep until something comes.
    fn is_attended(&self, seen: &mut u64) -> bool {
        let polls = self.polls.load(Ordering::Relaxed);
        std::mem::replace(seen, polls) != polls || self.resting.load(Ordering::Relaxed) > 0
    }

    /// Serves what there is, and arms the worker when there is nothing.
    fn turn(&self) -> Next {
        let service = self.service.lock();
        let Some(service) = service.as_ref() else { return Next::Doze };
        if (0..TURNS).any(|_| service.progress() == 0) {
            match service.arm_to_sleep() {
                Some(descriptor) => return Next::Watch(descriptor),
                None if service.descriptor().is_none() => return Next::Doze,
                None => {}
            }
        }
        Next::Serve
    }

    /// Wakes the thread, to see that it is over.
    pub(crate) fn wake(&self) {
        if let Some(service) = self.service.lock().as_ref() {
            service.wake();
        }
    }
}

/// Sleeps until something happens to one of these, which their owners keep open meanwhile.
fn watch(descriptors: &[RawFd], patience: Duration) {
    let entry = |&fd: &RawFd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    let mut polls: Vec<libc::pollfd> = descriptors.iter().map(entry).collect();
    let patience =
        libc::timespec { tv_sec: patience.as_secs() as libc::time_t, tv_nsec: patience.subsec_nanos().into() };
    // SAFETY: as many entries as are said, and a time that lives in this function. Whatever it returns, the caller looks
    // again.
    unsafe { libc::ppoll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, &patience, std::ptr::null()) };
}

#[cfg(test)]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
mod tests {
    use std::sync::Arc;

    use crate::card::Devices;
    use crate::handle::Context;

    use super::*;

    #[test]
    fn fault_P3_the_thread_leaves_messages_to_a_caller_that_sleeps_until_one_comes() {
        let context = Context::new(Some("tcp"), Devices::with(&[]), 1, false);
        let service = context.and_then(|context| Ok((Worker::new(context.clone())?, context)));
        let (service, context) = match service {
            Ok(made) => made,
            Err(error) => {
                return println!(
                    "not run: fault_P3_the_thread_leaves_messages_to_a_caller_that_sleeps_until_one_comes: {error}"
                );
            }
        };
        let net = Arc::new(Net::new(0, 1, context, false));
        *net.service.lock() = Some(service);
        let mut seen = 0;
        assert!(!net.is_attended(&mut seen), "nobody has called");
        let caller = std::thread::spawn({
            let net = net.clone();
            move || {
                while !net.closed.load(Ordering::Acquire) {
                    net.rest(Duration::from_secs(1));
                }
            }
        });
        while net.resting.load(Ordering::Relaxed) == 0 {
            std::thread::yield_now();
        }
        assert!(net.is_attended(&mut seen) && net.is_attended(&mut seen), "a caller sleeps");
        net.closed.store(true, Ordering::Release);
        caller.join().expect("it does not panic");
        net.is_attended(&mut seen);
        assert!(!net.is_attended(&mut seen), "the caller has gone");
        net.tear_down();
    }
}
