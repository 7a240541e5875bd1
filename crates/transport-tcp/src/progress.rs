//! Moves connections on: by callers that wait, and by the thread ([`Drive`]). Each side has its own view of the sockets.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use mio::{Events, Poll};
use oxshmem_transport::driver::{Callers, Drive, Next};

use crate::link::Manner;
use crate::net::Net;
use crate::pending::FIRST_PENDING;
use crate::socket;

pub(crate) const LISTENER: usize = 0;
pub(crate) const WAKER: usize = 1;
/// Tokens of links begin here.
pub(crate) const FIRST_LINK: usize = 2;

/// With so few connections a caller asks each socket itself, which is one call to the kernel less.
pub(crate) const FEW: usize = 2;
/// It still looks every so often for those who want to connect.
const LOOK_AROUND: u64 = 64;
/// How often the thread looks at the clock while somebody owes something, and while nobody does.
const LOOKS: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// One view of all sockets: callers share one, the thread has its own.
pub(crate) struct Poller {
    poll: Poll,
    events: Events,
    /// Links with more to read than fitted into one turn.
    ready: Vec<usize>,
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self { poll: Poll::new()?, events: Events::with_capacity(256), ready: Vec::new() })
    }

    pub(crate) fn registry(&self) -> &mio::Registry {
        self.poll.registry()
    }

    /// The descriptor that is readable when something has happened.
    pub(crate) fn as_raw_fd(&self) -> RawFd {
        self.poll.as_raw_fd()
    }

    /// Waits for at most `patience` for something to happen.
    fn wait(&mut self, patience: Duration) {
        let patience = if self.ready.is_empty() { patience } else { Duration::ZERO };
        match self.poll.poll(&mut self.events, Some(patience)) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => self.events.clear(),
            Err(e) => tracing::error!("sockets cannot be polled: {e}"),
        }
    }

    /// Serves all to which something has happened.
    fn serve(&mut self, net: &Net, manner: Manner) -> usize {
        let mut done = 0;
        let mut tokens = std::mem::take(&mut self.ready);
        for event in &self.events {
            match event.token().0 {
                LISTENER => net.pending.accept_all(net),
                WAKER => {}
                token if token >= FIRST_PENDING => net.pending.hear(net, token),
                token => tokens.push(token),
            }
        }
        self.events.clear();
        tokens.sort_unstable();
        tokens.dedup();
        for token in tokens {
            let Some(link) = net.link_of(token) else { continue };
            let (executed, more) = link.serve(net, manner);
            done += executed;
            if more {
                self.ready.push(token);
            }
        }
        done
    }
}

impl Net {
    /// A caller's turn.
    pub(crate) fn progress(&self) -> usize {
        self.callers.note();
        let turn = self.turns.load(Ordering::Relaxed);
        self.turns.store(turn.wrapping_add(1), Ordering::Relaxed);
        let mut done = 0;
        let few = {
            let links = self.links.read();
            let few = !links.is_empty() && links.len() <= FEW;
            if few {
                done += links.iter().map(|link| link.try_serve(self, Manner::Caller)).sum::<usize>();
            } else if self.due.load(Ordering::Relaxed) && self.due.swap(false, Ordering::SeqCst) {
                let due = links.iter().filter(|link| link.take_due());
                done += due.map(|link| link.try_serve(self, Manner::Caller)).sum::<usize>();
            }
            few
        };
        if (!few || turn.is_multiple_of(LOOK_AROUND))
            && let Some(mut poller) = self.poller.try_lock()
        {
            poller.wait(Duration::ZERO);
            done += poller.serve(self, Manner::Caller);
        }
        done
    }

    /// Asks all peers how far they are.
    pub(crate) fn ask(&self) {
        self.links.read().iter().for_each(|link| link.ask());
    }

    /// A caller's turn that waits for something to come, for `most` at most.
    pub(crate) fn rest(&self, most: Duration) -> usize {
        let mut sockets = Vec::with_capacity(1 + FEW);
        sockets.push((self.watched, false));
        {
            let links = self.links.read();
            if links.len() <= FEW {
                sockets.extend(links.iter().filter_map(|link| link.watch()));
            }
        }
        let happened = socket::wait(&sockets, most);
        let mut done = 0;
        if happened.first() == Some(&true)
            && let Some(mut poller) = self.poller.try_lock()
        {
            poller.wait(Duration::ZERO);
            done += poller.serve(self, Manner::Caller);
        }
        done + self.progress()
    }

    /// Something waits to be sent: if the thread is asleep, nobody may be there to send it.
    pub(crate) fn remind(&self) {
        // Dekker's agreement with `sleep`: each side writes its own flag before it reads the other's.
        self.due.store(true, Ordering::SeqCst);
        let asleep = self.asleep.load(Ordering::SeqCst) && self.asleep.swap(false, Ordering::SeqCst);
        if asleep {
            self.wake();
        }
    }

    fn serve_all(&self) {
        let links = self.links.read();
        for link in links.iter() {
            link.take_due();
            link.try_serve(self, Manner::Alone);
        }
    }

    /// Looks at the clock for all; returns whether somebody owes us something.
    fn look(&self) -> bool {
        let links = self.links.read().clone();
        let owed = links.iter().fold(false, |owed, link| link.look(self) | owed);
        self.pending.look(self) || owed
    }
}

/// The thread's own part of the sockets.
pub(crate) struct ThreadPoller {
    poller: Poller,
    /// When it looked at the clock last, and whether somebody owed something then.
    looked: Instant,
    waiting: bool,
}

impl ThreadPoller {
    pub(crate) fn new(poller: Poller) -> Self {
        Self { poller, looked: Instant::now(), waiting: true }
    }

    /// How often to look at the clock.
    fn interval(&self) -> Duration {
        if self.waiting { LOOKS.0 } else { LOOKS.1 }
    }

    fn look(&mut self, net: &Net) {
        if self.looked.elapsed() >= self.interval() {
            self.looked = Instant::now();
            self.waiting = net.look();
        }
    }
}

impl Drive for Net {
    fn callers(&self) -> &Callers {
        &self.callers
    }

    fn turn(&self, resumed: bool) -> Next {
        let mut watch = self.watch.lock();
        watch.look(self);
        if self.due.swap(false, Ordering::SeqCst) || resumed {
            self.serve_all();
        }
        watch.poller.serve(self, Manner::Alone);
        Next::Sleep(watch.interval())
    }

    fn sleep(&self, most: Duration) {
        let mut watch = self.watch.lock();
        self.asleep.store(true, Ordering::SeqCst);
        let patience = if self.due.load(Ordering::SeqCst) { Duration::ZERO } else { most };
        watch.poller.wait(patience);
        self.asleep.store(false, Ordering::SeqCst);
    }

    fn wake(&self) {
        if let Err(e) = self.waker.wake() {
            tracing::error!("the progress thread cannot be woken: {e}");
        }
    }

    /// Callers serve the links, but do not look at the clock, and seldom at new connections.
    fn aside(&self) {
        let mut watch = self.watch.lock();
        watch.look(self);
        watch.poller.serve_pending(self);
    }
}

impl Poller {
    fn serve_pending(&mut self, net: &Net) {
        for event in &self.events {
            match event.token().0 {
                LISTENER => net.pending.accept_all(net),
                token if token >= FIRST_PENDING => net.pending.hear(net, token),
                WAKER => {}
                token => self.ready.push(token),
            }
        }
        self.events.clear();
    }
}
