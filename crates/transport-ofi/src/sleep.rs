//! The sleep of callers and of the thread where the endpoints have something to sleep on.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use oxshmem_os::wakeup::Wakeup;
use oxshmem_transport::progress_thread::sleep_on;

/// The descriptors to sleep on.
pub(crate) struct QueueDescriptors {
    /// Those of the queues, and behind them that of `wakeup`.
    all: Vec<RawFd>,
    queues: usize,
    /// Ends a sleep of the thread.
    wakeup: Option<Wakeup>,
}

impl QueueDescriptors {
    /// `all` are those of the queues. Where no other descriptor can be had, only the queues end the thread's sleep.
    pub(crate) fn new(mut all: Vec<RawFd>) -> Self {
        let queues = all.len();
        let wakeup = Wakeup::new().inspect_err(|error| tracing::debug!(%error, "nothing wakes the thread")).ok();
        all.extend(wakeup.as_ref().map(Wakeup::descriptor));
        Self { all, queues, wakeup }
    }

    /// A caller sleeps until one of the queues has something. Returns whether one has. A wake-up is for the thread, which clears it
    /// when it sleeps. It does not sleep while callers look at the network, so a wake-up that comes late would end all sleeps of callers.
    pub(crate) fn doze(&self, most: Duration) -> bool {
        sleep_on(&self.all[..self.queues], most)
    }

    /// The thread sleeps until one of the queues has something, or it is woken.
    pub(crate) fn sleep(&self, most: Duration) {
        sleep_on(&self.all, most);
    }

    /// Whether the thread's sleep can be ended.
    pub(crate) fn can_be_woken(&self) -> bool {
        self.wakeup.is_some()
    }

    /// Ends the thread's sleep, or the next one.
    pub(crate) fn wake(&self) -> io::Result<()> {
        self.wakeup.as_ref().map_or(Ok(()), Wakeup::wake)
    }

    /// The thread's next sleep lasts until it is woken again.
    pub(crate) fn clear(&self) {
        if let Some(wakeup) = &self.wakeup {
            wakeup.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_wake_up_ends_a_sleep_of_the_thread_and_none_of_a_caller() {
        let (mut peer, queue) = UnixStream::pair().expect("a pair");
        let descriptors = QueueDescriptors::new(vec![queue.as_raw_fd()]);
        assert!(descriptors.can_be_woken());
        let (moment, long) = (Duration::from_millis(1), Duration::from_secs(100));
        descriptors.wake().expect("it wakes");
        assert!(!descriptors.doze(moment), "a caller is woken for the thread");
        let begun = Instant::now();
        descriptors.sleep(long);
        assert!(begun.elapsed() < long, "the thread slept on");
        descriptors.clear();
        peer.write_all(b"x").expect("there is room");
        assert!(descriptors.doze(long), "a queue has something");
        descriptors.sleep(long);
        assert!(begun.elapsed() < long, "a queue has something");
    }
}
