//! The thread that serves peers while their PE computes.
//!
//! A caller that waits serves peers itself, so that no other thread has to be woken between a message and the caller that waits
//! for it. The thread sleeps in the kernel while nothing happens and serves what comes while no caller polls. While callers
//! poll it only sleeps for a short time: two threads that wake for the same message hold each other up.
//!
//! # Memory order
//!
//! [`Callers`] holds signs of life, and all its accesses are relaxed. A thread that sees an old number serves once too often or
//! backs off once more, which costs time only: whatever is served has its own lock. `closed` is stored with release before the
//! thread is unparked and woken, and loaded with acquire before each turn; joining the thread orders everything else.

use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_os::sockets::{self, PollEntry};
use oxshmem_os::{process, signals, time};
use parking_lot::Mutex;

use crate::limits::{BACKOFF, BACKOFF_SHARE, GAP, GAP_OF_SHARED, LONGEST_BACKOFF, POLLS_PER_CLOCK};

/// The work that a provider gives its thread.
pub trait Drive: Send + Sync {
    /// The callers that serve peers themselves.
    fn callers(&self) -> &Callers;

    /// Serves peers and moves operations on. `resumed`: callers polled until now, and what they have left is now the thread's.
    fn turn(&self, resumed: bool) -> NextStep;

    /// Sleeps until there is something for [`Drive::turn`] or [`Drive::wake`] is called, for `most` at most.
    fn sleep(&self, most: Duration);

    /// Wakes the thread from [`Drive::sleep`]. Without it the thread sees the end when the sleep is over.
    fn wake(&self) {}

    /// The thread's turn while callers poll: the work that callers do not do.
    fn aside(&self) {}

    /// The backoff that takes the place of a sleep while callers send active messages and do not poll. `None`: these do not end a sleep.
    fn backoff_while_sending(&self) -> Option<Duration> {
        None
    }
}

/// The thread's next step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NextStep {
    /// There was something to serve, and there may be more.
    Again,
    /// There was nothing: [`Drive::sleep`], for at most this time.
    Sleep(Duration),
    /// There was nothing, and nothing to sleep on, or each operation of a caller would end the sleep: back off before the next look.
    Backoff(Duration),
}

/// From how many cycles on the time between two polls is a gap. Relaxed: a poll that sees an old number finds a gap too many or too few.
static SHORTEST_GAP: AtomicU64 = AtomicU64::new(GAP);

/// Tells the threads of all fabrics whether this PE shares its processor with others.
pub fn share_processors(are_shared: bool) {
    SHORTEST_GAP.store(if are_shared { GAP_OF_SHARED } else { GAP }, Ordering::Relaxed);
}

/// Signs of life of the callers that serve peers. They share their line with nothing else, because each look of each thread writes them.
#[derive(Default, Debug)]
#[repr(align(128))]
pub struct Callers {
    /// Changes with each poll.
    polls: AtomicU64,
    /// When the last poll was that has looked at the clock.
    polled: AtomicU64,
    /// The sum of the gaps between polls since the thread's last look, in cycles.
    away: AtomicU64,
    /// Callers that sleep until something comes, which they will serve.
    resting: AtomicU64,
}

impl Callers {
    /// A caller polls. Returns how often callers have polled before. Polls of callers that meet here may be counted once: it is enough
    /// that the number changes, and a locked instruction costs a tenth of a put. Some polls look at the clock, for the gaps: it costs as
    /// much as the rest of this, and a gap is noticed a few polls later.
    #[inline]
    pub fn note(&self) -> u64 {
        let before = self.polls.load(Ordering::Relaxed);
        self.polls.store(before.wrapping_add(1), Ordering::Relaxed);
        if before.is_multiple_of(POLLS_PER_CLOCK) {
            self.look_for_gap();
        }
        before
    }

    /// Whether there was a gap since the last look at the clock.
    #[inline]
    fn look_for_gap(&self) {
        let now = time::cycles();
        // Signed: the clock of the processor on which another caller has polled may be ahead of ours.
        let shortest = SHORTEST_GAP.load(Ordering::Relaxed).cast_signed();
        let since = now.wrapping_sub(self.polled.load(Ordering::Relaxed)).cast_signed();
        if since > shortest {
            let away = self.away.load(Ordering::Relaxed);
            self.away.store(away.saturating_add(since.cast_unsigned()), Ordering::Relaxed);
        }
        self.polled.store(now, Ordering::Relaxed);
    }

    /// How often callers have polled, more or less: the number of the next poll.
    #[inline]
    pub fn polls(&self) -> u64 {
        self.polls.load(Ordering::Relaxed)
    }

    /// A caller sleeps: the thread leaves to it what comes meanwhile.
    pub fn rest<T>(&self, sleep: impl FnOnce() -> T) -> T {
        self.resting.fetch_add(1, Ordering::Relaxed);
        let slept = sleep();
        self.resting.fetch_sub(1, Ordering::Relaxed);
        slept
    }

    /// Whether callers have polled since the last look, or sleep until something comes.
    pub fn have_polled_since(&self, seen: &mut u64) -> bool {
        let polls = self.polls.load(Ordering::Relaxed);
        std::mem::replace(seen, polls) != polls || self.resting.load(Ordering::Relaxed) > 0
    }

    /// Whether the gaps since the last call of this, `elapsed` cycles ago, were the greater part of the time. A machine that takes the
    /// processor away now and then, or a call that copies for long, makes gaps too, but no peer waits for the thread there.
    fn were_away(&self, elapsed: u64) -> bool {
        self.away.load(Ordering::Relaxed) > 0 && self.away.swap(0, Ordering::Relaxed) > elapsed / 2
    }
}

/// The backoff of the thread while callers poll.
///
/// The thread notices at the end of a backoff that callers have left for their own work. So backoffs are short where
/// callers do that most of the time; elsewhere they grow.
#[derive(Default)]
struct CallerBackoff {
    /// How many in a row.
    count: u32,
    /// For how long callers have polled without being away.
    steady: Duration,
}

impl CallerBackoff {
    /// The next backoff; `were_away`: the callers have done something else since the last one, most of the time.
    fn next(&mut self, were_away: bool) -> Duration {
        self.steady = if were_away { Duration::ZERO } else { self.steady };
        let longest = (self.steady / BACKOFF_SHARE).clamp(BACKOFF.1, LONGEST_BACKOFF);
        let time = (BACKOFF.0 * (1 << self.count.min(8))).min(longest);
        self.count += u32::from(time < longest);
        self.steady = self.steady.saturating_add(time);
        time
    }

    /// The thread has work of its own again. Returns whether it has backed off.
    fn end(&mut self) -> bool {
        std::mem::take(self).count > 0
    }
}

/// A fabric, and the thread that moves it on.
type Driven = (Arc<dyn Drive>, JoinHandle<()>);

/// The thread of one fabric.
#[derive(Default)]
pub struct ProgressThread {
    running: Mutex<Option<Driven>>,
    closed: Arc<AtomicBool>,
}

impl ProgressThread {
    /// Starts the thread.
    pub fn start(&self, drive: Arc<dyn Drive>) -> Result<(), Error> {
        let (closed, driven) = (self.closed.clone(), drive.clone());
        let build = || thread::Builder::new().name("oxshmem-network".into()).spawn(move || run(&*driven, &closed));
        let thread = signals::keeping_signals(build);
        let thread = thread.map_err(|error| unstarted(&error))?;
        *self.running.lock() = Some((drive, thread));
        Ok(())
    }

    /// Whether there is a thread.
    pub fn is_running(&self) -> bool {
        self.running.lock().is_some()
    }

    /// Ends the thread, if there is one.
    pub fn stop(&self) {
        let Some((drive, thread)) = self.running.lock().take() else { return };
        self.closed.store(true, Ordering::Release);
        thread.thread().unpark();
        drive.wake();
        // A panic of the thread has been printed already.
        let _ = thread.join();
    }
}

impl Drop for ProgressThread {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Why there is no thread. The kernel says of a limit only that the caller may try again.
fn unstarted(error: &io::Error) -> Error {
    let said = Error::new("the thread that serves peers cannot be started").because(error);
    match error.kind() {
        io::ErrorKind::WouldBlock => said.fix(
            "raise the limit of processes and threads (ulimit -u, or pids.max of the control group), or run fewer PEs on a \
             host: on several nodes each has one or two threads besides its own",
        ),
        _ => said.fix("see whether a filter of system calls or a security policy forbids threads (seccomp of the container)"),
    }
}

fn run(drive: &dyn Drive, closed: &AtomicBool) {
    if let Err(error) = process::prefer_short_slices() {
        tracing::debug!(%error, "beside other processes peers are answered later");
    }
    let (mut seen, mut backoff, mut exact) = (0, CallerBackoff::default(), false);
    let mut looked = time::cycles();
    while !closed.load(Ordering::Acquire) {
        if drive.callers().have_polled_since(&mut seen) {
            drive.aside();
            let elapsed = time::cycles().wrapping_sub(std::mem::replace(&mut looked, time::cycles()));
            thread::park_timeout(backoff.next(drive.callers().were_away(elapsed)));
            continue;
        }
        match drive.turn(backoff.end()) {
            NextStep::Again => {}
            NextStep::Sleep(most) => drive.sleep(most),
            NextStep::Backoff(time) => {
                if !std::mem::replace(&mut exact, true)
                    && let Err(error) = process::sleep_exactly()
                {
                    tracing::debug!(%error, "short sleeps take longer");
                }
                thread::park_timeout(time);
            }
        }
    }
}

/// Sleeps until one of these descriptors has something to read, for `most` at most. Returns whether one has.
pub fn sleep_on(descriptors: &[RawFd], most: Duration) -> bool {
    let awaited: Vec<PollEntry> = descriptors.iter().copied().map(PollEntry::to_read).collect();
    sleep_until_ready(&awaited, most).contains(&true)
}

/// Sleeps until one of these descriptors is ready, for `most` at most. Says of each whether it is.
pub fn sleep_until_ready(awaited: &[PollEntry], most: Duration) -> Vec<bool> {
    sockets::wait_any(awaited, most).unwrap_or_else(|error| {
        tracing::warn!(%error, "the network's descriptors cannot be waited for");
        vec![false; awaited.len()]
    })
}

#[cfg(test)]
#[allow(non_snake_case, reason = "tests carry the number of the fault")]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn a_limit_of_threads_is_named_with_what_to_do() {
        let said = |kind: io::ErrorKind| unstarted(&kind.into()).to_string();
        assert!(said(io::ErrorKind::WouldBlock).contains("ulimit -u, or pids.max"));
        assert!(said(io::ErrorKind::PermissionDenied).contains("seccomp"));
    }

    /// Counts what the thread does.
    #[derive(Default)]
    struct Counted {
        callers: Callers,
        turns: AtomicUsize,
        asides: AtomicUsize,
        sleeps: AtomicUsize,
    }

    impl Drive for Counted {
        fn callers(&self) -> &Callers {
            &self.callers
        }

        fn turn(&self, _resumed: bool) -> NextStep {
            match self.turns.fetch_add(1, Ordering::SeqCst) {
                0 => NextStep::Again,
                _ => NextStep::Sleep(Duration::from_secs(1000)),
            }
        }

        fn sleep(&self, most: Duration) {
            self.sleeps.fetch_add(1, Ordering::SeqCst);
            thread::park_timeout(most);
        }

        fn aside(&self) {
            self.asides.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// A thread that is still not there after this time never comes.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn until(done: impl Fn() -> bool) {
        let begun = std::time::Instant::now();
        while !done() {
            assert!(begun.elapsed() < PATIENCE, "the thread has not come in {PATIENCE:?}");
            thread::yield_now();
        }
    }

    #[test]
    fn the_thread_serves_until_nothing_comes_and_then_sleeps_until_the_end() {
        let (thread, counted) = (ProgressThread::default(), Arc::<Counted>::default());
        thread.start(counted.clone()).expect("a thread");
        until(|| counted.sleeps.load(Ordering::SeqCst) == 1);
        assert_eq!(counted.turns.load(Ordering::SeqCst), 2);
        thread.stop();
        thread.stop();
        assert!(!thread.is_running());
    }

    #[test]
    fn fault_P3_the_thread_leaves_messages_to_a_caller_that_sleeps_until_one_comes() {
        let (thread, counted) = (ProgressThread::default(), Arc::<Counted>::default());
        counted.callers.rest(|| {
            thread.start(counted.clone()).expect("a thread");
            until(|| counted.asides.load(Ordering::SeqCst) > 2);
            assert_eq!(counted.turns.load(Ordering::SeqCst), 0, "the caller serves");
        });
        until(|| counted.turns.load(Ordering::SeqCst) > 0);
    }

    #[test]
    fn backoff_grows_only_while_callers_are_not_away() {
        let mut backoff = CallerBackoff::default();
        let first: Vec<u128> = (0..5).map(|_| backoff.next(false).as_micros()).collect();
        assert_eq!(first, [50, 100, 200, 400, 400]);
        let mut polled = Duration::ZERO;
        while backoff.next(false) < LONGEST_BACKOFF {
            polled += BACKOFF.1;
        }
        assert!(polled < LONGEST_BACKOFF * BACKOFF_SHARE, "backoffs grow");
        assert_eq!(backoff.next(true), BACKOFF.1, "the callers compute");
        assert!(backoff.next(false) == BACKOFF.1 && backoff.next(true) == BACKOFF.1);
        assert!(backoff.end() && !backoff.end());
        assert_eq!(backoff.next(false), BACKOFF.0);
    }

    /// One test, because a process has one shortest gap.
    #[test]
    fn gaps_between_polls_are_seen_once_and_are_longer_where_processors_are_shared() {
        let callers = Callers::default();
        let poll_after = |away: u64| {
            callers.polled.store(time::cycles().wrapping_sub(away), Ordering::Relaxed);
            for _ in 0..POLLS_PER_CLOCK {
                callers.note();
            }
        };
        for (are_shared, shortest) in [(false, GAP), (true, GAP_OF_SHARED), (false, GAP)] {
            share_processors(are_shared);
            poll_after(shortest + 1);
            assert!(callers.were_away(2 * shortest) && !callers.were_away(0), "{are_shared}");
            poll_after(shortest + 1);
            // The test itself may lose its processor for a while.
            assert!(!callers.were_away(u64::MAX), "a gap in a long time is no absence: {are_shared}");
            // The test itself may lose its processor for a while.
            let has_none = |_| {
                poll_after(shortest / 2);
                !callers.were_away(0)
            };
            assert!((0..1000).any(has_none), "{are_shared}");
        }
    }

    #[test]
    fn a_poll_is_seen_once() {
        let (callers, mut seen) = (Callers::default(), 0);
        assert!(!callers.have_polled_since(&mut seen), "nobody has called");
        callers.note();
        assert!(callers.have_polled_since(&mut seen));
        assert!(!callers.have_polled_since(&mut seen), "the caller has gone");
    }

    #[test]
    fn polls_are_numbered_in_their_order() {
        let callers = Callers::default();
        assert_eq!(callers.polls(), 0);
        assert_eq!([callers.note(), callers.note(), callers.polls()], [0, 1, 2]);
    }
}
