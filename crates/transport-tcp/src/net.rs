//! What callers, lanes and the thread share: who there is, how they are found, and who is told of their sockets.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token, Waker};
use oxshmem_base::Error;
use oxshmem_transport::driver::Callers;
use oxshmem_transport::{Cards, Memory};
use parking_lot::{Mutex, RwLock};
use ring::rand::{SecureRandom, SystemRandom};

use crate::card::Card;
use crate::interfaces::{self, Address};
use crate::lanes::LaneTable;
use crate::link::Link;
use crate::pending::{FIRST_PENDING, PendingConnections};
use crate::progress::{FEW, FIRST_LINK, Poller, ThreadPoller};
use crate::proto::handshake::Credentials;

/// Where a PE may be reached: its address, and the name of the interface that has it there.
#[derive(Clone)]
pub(crate) struct Candidate {
    pub(crate) at: SocketAddr,
    interface: String,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.at, self.interface)
    }
}

/// One PE's part in the job.
pub(crate) struct Net {
    pub(crate) me: u32,
    pub(crate) credentials: Credentials,
    pub(crate) card: Card,
    pub(crate) ports: Option<(u16, u16)>,
    pub(crate) rails: u16,
    pub(crate) give_up: Duration,
    pub(crate) memory: Memory,
    pub(crate) cards: OnceLock<Box<dyn Cards>>,
    /// One slot per PE and rail; a PE that nobody talks to costs no more than that.
    pub(crate) by_token: Box<[OnceLock<Arc<Link>>]>,
    /// Those that exist.
    pub(crate) links: RwLock<Vec<Arc<Link>>>,
    /// How many those are, for those who serve them with the list already locked.
    pub(crate) count: AtomicUsize,
    pub(crate) pending: PendingConnections,
    /// The view of the sockets that callers share.
    pub(crate) poller: Mutex<Poller>,
    /// The thread's.
    pub(crate) watch: Mutex<ThreadPoller>,
    /// The descriptor that `poller` watches, for callers that sleep on it. It is open as long as this.
    pub(crate) watched: RawFd,
    pub(crate) registries: [Registry; 2],
    pub(crate) waker: Waker,
    pub(crate) callers: Callers,
    /// Turns of callers, more or less.
    pub(crate) turns: AtomicU64,
    /// Some link has something to send; see `remind`.
    pub(crate) due: AtomicBool,
    /// The thread waits in the kernel, or is about to.
    pub(crate) asleep: AtomicBool,
    /// Why the first PE that was lost is.
    pub(crate) lost: OnceLock<Error>,
    pub(crate) random: SystemRandom,
    pub(crate) lanes: LaneTable,
    pub(crate) start: Instant,
}

impl Net {
    /// The link to a PE, or `None` if there is no such PE or rail.
    pub(crate) fn link(&self, pe: u32, rail: u16) -> Option<&Arc<Link>> {
        if rail >= self.rails {
            return None;
        }
        let index = pe as usize * usize::from(self.rails) + usize::from(rail);
        let slot = self.by_token.get(index)?;
        Some(slot.get_or_init(|| {
            let link = Arc::new(Link::new(pe, rail, FIRST_LINK + index, self.give_up));
            let count = {
                let mut links = self.links.write();
                links.push(link.clone());
                self.count.store(links.len(), Ordering::SeqCst);
                links.len()
            };
            if count == FEW + 1
                && let Err(e) = self.enlist_all()
            {
                tracing::error!("sockets cannot be polled: {e}");
            }
            link
        }))
    }

    /// The link that has this token.
    pub(crate) fn link_of(&self, token: usize) -> Option<&Arc<Link>> {
        self.by_token.get(token.checked_sub(FIRST_LINK)?)?.get()
    }

    /// Where to try to reach a PE over a rail, in order.
    pub(crate) fn addresses(&self, pe: u32, rail: u16) -> Result<Vec<Candidate>, Error> {
        let card = self.card_of(pe)?;
        let same_host = card.host == self.card.host;
        let mut candidates = interfaces::candidates(&card.addresses, same_host, &self.card.addresses);
        if self.rails > 1 && !same_host {
            interfaces::spread(&mut candidates, rail);
        }
        let candidate = |a: Address| Candidate { at: SocketAddr::new(a.ip, card.port), interface: a.interface };
        Ok(candidates.into_iter().map(candidate).collect())
    }

    /// What a PE has told of itself.
    pub(crate) fn card_of(&self, pe: u32) -> Result<Card, Error> {
        let cards = self.cards.get().ok_or_else(|| Error::new("TCP: the fabric is not connected yet"))?;
        Card::decode(pe, &cards.card(pe)?)
    }

    /// Has the thread and callers told of what happens to a socket. Callers ask the sockets of a few links themselves;
    /// then every message would only pay for a notice that nobody reads.
    pub(crate) fn enlist(&self, socket: RawFd, token: usize) -> io::Result<()> {
        let is_link = (FIRST_LINK..FIRST_PENDING).contains(&token);
        let few = is_link && self.count.load(Ordering::SeqCst) <= FEW;
        let [callers, thread] = &self.registries;
        enlist_with(thread, socket, token)?;
        if few {
            // A pending connection that has become a link was enlisted before; any other socket was not, which is as good.
            let _ = callers.deregister(&mut SourceFd(&socket));
            return Ok(());
        }
        enlist_with(callers, socket, token)
    }

    /// There are no longer few links: callers need to be told of those that they asked until now.
    fn enlist_all(&self) -> io::Result<()> {
        let links = self.links.read().clone();
        links.iter().try_for_each(|link| link.enlist(self))
    }

    /// A number that has never been used.
    pub(crate) fn nonce(&self) -> Result<[u8; 32], Error> {
        let mut nonce = [0; 32];
        self.random.fill(&mut nonce).map_err(|_| Error::new("TCP: the system has no random numbers"))?;
        Ok(nonce)
    }
}

fn enlist_with(registry: &Registry, socket: RawFd, token: usize) -> io::Result<()> {
    let interest = Interest::READABLE | Interest::WRITABLE;
    match registry.register(&mut SourceFd(&socket), Token(token), interest) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            registry.reregister(&mut SourceFd(&socket), Token(token), interest)
        }
        result => result,
    }
}
