//! The sockets that are watched: by callers, who share one view of them, and by the thread, which has its own.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token, Waker};
use oxshmem_base::Error;
use parking_lot::RwLock;

use crate::limits::FEW_LINKS;

pub(crate) const LISTENER: usize = 0;
pub(crate) const WAKER: usize = 1;
/// Tokens of links begin here.
pub(crate) const FIRST_LINK: usize = 2;
/// Tokens of connections that have not proven themselves begin here; below are those of links.
pub(crate) const FIRST_PENDING: usize = 1 << 40;

/// How often the thread looks at the clock while a peer owes something, and while none does; where patience is short,
/// the second is less.
const LOOKS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// With more links the thread looks at the clock less often.
const LINKS_IN_A_LOOK: usize = 64;
/// The next look comes after this many times the time that the last one took, because on a crowded host its links are
/// in no cache; but not later than the second number, and not later than this part of the patience with a silent peer.
const LOOK_SHARE: (u32, Duration, u32) = (20, Duration::from_secs(4), 8);

/// The list of sockets in both views.
pub(crate) struct WatchList {
    /// `None` once the fabric is closed. A caller that is late then finds no descriptor, instead of another file with its number.
    views: RwLock<Option<Views>>,
    links: AtomicUsize,
}

/// How sockets get into both views, and how the thread is woken from its own.
struct Views {
    callers: Registry,
    thread: Registry,
    waker: Waker,
}

impl WatchList {
    /// The list behind both views.
    pub(crate) fn new(callers: &Poller, thread: &Poller) -> io::Result<Self> {
        let registry = |poller: &Poller| poller.registry()?.try_clone();
        let waker = Waker::new(thread.registry()?, Token(WAKER))?;
        let views = Views { callers: registry(callers)?, thread: registry(thread)?, waker };
        Ok(Self { views: RwLock::new(Some(views)), links: AtomicUsize::new(0) })
    }

    /// The descriptor that is readable when something has happened to a socket of which callers are told. The caller only waits for it:
    /// one that is closed meanwhile ends the wait.
    pub(crate) fn descriptor(&self) -> Option<RawFd> {
        self.views.read().as_ref().map(|views| views.callers.as_raw_fd())
    }

    /// Wakes the thread from its wait. Without a thread nobody is to be woken.
    pub(crate) fn wake(&self) {
        if let Some(Err(e)) = self.views.read().as_ref().map(|views| views.waker.wake()) {
            tracing::error!("the progress thread cannot be woken: {e}");
        }
    }

    /// Gives the descriptors back: no socket can be added any more.
    pub(crate) fn close(&self) {
        *self.views.write() = None;
    }

    /// There are so many links, or more: threads that make links at once say so in any order.
    pub(crate) fn note_links(&self, count: usize) {
        self.links.fetch_max(count, Ordering::SeqCst);
    }

    /// Whether there are links, and callers ask the sockets of all of them themselves.
    pub(crate) fn has_few_links(&self) -> bool {
        (1..=FEW_LINKS).contains(&self.links.load(Ordering::SeqCst))
    }

    /// Has the thread and callers told of what happens to a socket. Callers ask the sockets of a few links themselves;
    /// then every message would only pay for a notice that no thread reads.
    pub(crate) fn add(&self, socket: RawFd, token: usize) -> io::Result<()> {
        let is_link = (FIRST_LINK..FIRST_PENDING).contains(&token);
        let few = is_link && self.links.load(Ordering::SeqCst) <= FEW_LINKS;
        let views = self.views.read();
        let Views { callers, thread, .. } = views.as_ref().ok_or_else(closed)?;
        add_to(thread, socket, token)?;
        if few {
            // A pending connection that has become a link was enlisted before; any other socket was not, which is as good.
            let _ = callers.deregister(&mut SourceFd(&socket));
            return Ok(());
        }
        add_to(callers, socket, token)
    }
}

/// The answer to a caller that is late.
fn closed() -> io::Error {
    io::Error::other("the library has been finalized")
}

fn add_to(registry: &Registry, socket: RawFd, token: usize) -> io::Result<()> {
    let interest = Interest::READABLE | Interest::WRITABLE;
    match registry.register(&mut SourceFd(&socket), Token(token), interest) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            registry.reregister(&mut SourceFd(&socket), Token(token), interest)
        }
        result => result,
    }
}

/// One view of all sockets. It shares its lines with nothing else: threads that look try the lock around it, beside words that every
/// operation reads.
#[repr(align(128))]
pub(crate) struct Poller {
    /// `None` once the fabric is closed.
    poll: Option<Poll>,
    events: Events,
    /// Links with more to read than fitted into one turn.
    again: Vec<usize>,
    /// Links whose peers have closed their connections.
    ended: Vec<usize>,
}

/// The advice where descriptors are gone. Programs that become daemons close all that they do not know.
pub(crate) const CLOSED_BY_PROGRAM: &str = "let the program close only the descriptors that it has opened, or all others before shmem_init; a filter of system calls (seccomp) must \
     allow epoll";

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        let poll = Some(Poll::new()?);
        Ok(Self { poll, events: Events::with_capacity(256), again: Vec::new(), ended: Vec::new() })
    }

    pub(crate) fn registry(&self) -> io::Result<&Registry> {
        self.poll.as_ref().map(Poll::registry).ok_or_else(closed)
    }

    /// Gives the descriptor back: nothing happens any more.
    pub(crate) fn close(&mut self) {
        (self.poll, self.again, self.ended) = (None, Vec::new(), Vec::new());
        self.events.clear();
    }

    /// Waits for at most `most` for something to happen. An error means that no socket will be heard any more.
    pub(crate) fn wait(&mut self, most: Duration) -> Result<(), Error> {
        let most = if self.again.is_empty() { most } else { Duration::ZERO };
        let Some(poll) = &mut self.poll else { return Ok(()) };
        match poll.poll(&mut self.events, Some(most)) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {
                self.events.clear();
                Ok(())
            }
            Err(e) => Err(Error::new("TCP: sockets cannot be polled").because(e).fix(CLOSED_BY_PROGRAM)),
        }
    }

    /// The tokens of the sockets to which something has happened, each once.
    pub(crate) fn happened(&mut self) -> Vec<usize> {
        let mut tokens = std::mem::take(&mut self.again);
        tokens.extend(self.events.iter().map(|event| event.token().0).filter(|&token| token != WAKER));
        let ended = self.events.iter().filter(|event| event.is_read_closed()).map(|event| event.token().0);
        self.ended.extend(ended.filter(|token| (FIRST_LINK..FIRST_PENDING).contains(token)));
        self.events.clear();
        tokens.sort_unstable();
        tokens.dedup();
        tokens
    }

    /// Whether the peer of this link has closed its connection, which is told once. The event may be the one of its last bytes.
    pub(crate) fn take_end(&mut self, token: usize) -> bool {
        let before = self.ended.len();
        self.ended.retain(|&ended| ended != token);
        self.ended.len() < before
    }

    /// Whether something is left to be done of which no event will tell.
    pub(crate) fn has_more(&self) -> bool {
        !self.again.is_empty()
    }

    /// Something is left to be done for this socket.
    pub(crate) fn again(&mut self, token: usize) {
        self.again.push(token);
    }
}

/// The thread's view, and its clock.
pub(crate) struct ThreadPoller {
    pub(crate) poller: Poller,
    /// When it looked at the clock last.
    looked: Instant,
    /// Whether a peer owed something then.
    pub(crate) owed: bool,
    /// How many links it looked at.
    links: usize,
    /// How long that took.
    took: Duration,
    /// The longest time between two looks, also of those that took long.
    longest: Duration,
}

impl ThreadPoller {
    /// A silent peer is given up after `limit`.
    pub(crate) fn new(poller: Poller, limit: Duration) -> Self {
        let longest = (limit / LOOK_SHARE.2).min(LOOK_SHARE.1);
        Self { longest, poller, looked: Instant::now(), owed: true, links: 0, took: Duration::ZERO }
    }

    /// How often to look at the clock.
    pub(crate) fn interval(&self) -> Duration {
        // A look takes each link's lock. With a thousand links on each of a thousand PEs a look every 20 ms takes both processors.
        let looks = u32::try_from(self.links / LINKS_IN_A_LOOK).unwrap_or(u32::MAX);
        // A peer whose frame comes slowly waits for a sign of life, so the first look at the frame comes in time where patience is short.
        let longest = LOOKS.1.min(self.longest);
        let interval = if self.owed { LOOKS.0.saturating_mul(1 + looks).min(longest) } else { longest };
        interval.max(self.took.saturating_mul(LOOK_SHARE.0).min(self.longest))
    }

    /// A look at this many links is over. Those that owe nothing cost as much as others.
    pub(crate) fn looked_at(&mut self, links: usize) {
        (self.links, self.took) = (links, self.looked.elapsed());
    }

    /// Whether it is time to look at the clock; if so, the next time is one interval away.
    pub(crate) fn take_time(&mut self) -> bool {
        let is_time = self.looked.elapsed() >= self.interval();
        if is_time {
            self.looked = Instant::now();
        }
        is_time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A silent peer's connection is replaced after a third of the patience.
    #[test]
    fn who_is_owed_nothing_gives_signs_of_life_in_time() {
        for limit in [1, 2, 3, 30].map(Duration::from_secs) {
            let mut thread = ThreadPoller::new(Poller::new().expect("there are descriptors"), limit);
            for (owed, links, took) in [(false, 1, 0), (true, 4096, 0), (false, 4096, 1_000)] {
                (thread.owed, thread.links, thread.took) = (owed, links, Duration::from_millis(took));
                let interval = thread.interval();
                assert!(interval < limit / 4, "{interval:?} with a patience of {limit:?}");
            }
        }
    }
}
