//! A descriptor by which one thread ends the sleep of another.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use rustix::event::EventfdFlags;

/// Readable from [`Wakeup::wake`] until [`Wakeup::clear`].
#[derive(Debug)]
pub struct Wakeup(OwnedFd);

impl Wakeup {
    /// A new one, which is not readable.
    pub fn new() -> io::Result<Self> {
        Ok(Self(rustix::event::eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// The descriptor to wait for, as long as this lives.
    pub fn descriptor(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    /// Ends the sleep of the thread that waits for it, or the next sleep.
    pub fn wake(&self) -> io::Result<()> {
        rustix::io::write(&self.0, &1_u64.to_ne_bytes())?;
        Ok(())
    }

    /// The next sleep lasts until the next [`Wakeup::wake`].
    pub fn clear(&self) {
        // Nothing to read means that it was clear.
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::sockets::{PollEntry, wait_any};

    #[test]
    fn it_ends_one_sleep_until_it_is_cleared() {
        let wakeup = Wakeup::new().expect("an eventfd");
        let sleeps = || {
            let ready =
                wait_any(&[PollEntry::to_read(wakeup.descriptor())], Duration::ZERO).expect("it can be waited for");
            ready == [false]
        };
        assert!(sleeps());
        wakeup.wake().expect("it wakes");
        wakeup.wake().expect("it wakes again");
        assert!(!sleeps() && !sleeps());
        wakeup.clear();
        wakeup.clear();
        assert!(sleeps());
    }
}
