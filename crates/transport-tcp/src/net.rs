//! One PE's part in the job: its links, the connections that are not links yet, and the thread and callers that move
//! them on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use oxshmem_transport::progress_thread::Callers;
use parking_lot::Mutex;

use crate::append_list::AppendList;
use crate::limits::FEW_LINKS;
use crate::link::Link;
use crate::local::{IssueTime, LocalPe};
use crate::pending::{Arrival, PendingConnections};
use crate::proto::handshake::Route;
use crate::unreachable;
use crate::watch::{FIRST_LINK, LISTENER, Poller, ThreadPoller};

/// The state that callers, lanes and the thread share.
pub(crate) struct Net {
    pub(crate) local: LocalPe,
    /// One slot per PE and rail; a PE with which there is no traffic costs no more than that.
    pub(crate) by_token: Box<[OnceLock<Arc<Link>>]>,
    /// Those that exist.
    pub(crate) links: AppendList<Arc<Link>>,
    pub(crate) pending: PendingConnections,
    /// The view of the sockets that callers share.
    pub(crate) poller: Mutex<Poller>,
    /// The thread's.
    pub(crate) thread: Mutex<ThreadPoller>,
    pub(crate) callers: Callers,
    fences: FenceCount,
}

/// How many fences lanes have made, more or less. The count shares its line with nothing else, because each fence of each thread writes
/// it. Relaxed: it only decides when a message goes.
#[derive(Default)]
#[repr(align(128))]
struct FenceCount(AtomicU64);

impl Net {
    pub(crate) fn new(local: LocalPe, pending: PendingConnections, callers: Poller, thread: Poller) -> Self {
        Self {
            by_token: (0..local.most_links).map(|_| OnceLock::new()).collect(),
            links: AppendList::default(),
            pending,
            poller: Mutex::new(callers),
            thread: Mutex::new(ThreadPoller::new(thread, local.give_up)),
            callers: Callers::default(),
            fences: FenceCount::default(),
            local,
        }
    }

    /// Now, as far as this thread knows.
    pub(crate) fn issue_time(&self) -> IssueTime {
        IssueTime { turns: self.callers.polls(), fences: self.fences.0.load(Ordering::Relaxed) }
    }

    /// A lane has made a fence. Fences of lanes that meet here may be counted once: it is enough that the number changes.
    pub(crate) fn note_fence(&self) {
        let FenceCount(count) = &self.fences;
        count.store(count.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    /// The place of the link to a PE, and its number; `None` if there is no such PE or rail.
    fn place(&self, pe: u32, rail: u16) -> Option<(&OnceLock<Arc<Link>>, usize)> {
        let rails = self.local.addresses.rails;
        if rail >= rails {
            return None;
        }
        let index = pe as usize * usize::from(rails) + usize::from(rail);
        Some((self.by_token.get(index)?, index))
    }

    /// The link to a PE, if there has been traffic.
    pub(crate) fn known_link(&self, pe: u32, rail: u16) -> Option<&Arc<Link>> {
        self.place(pe, rail)?.0.get()
    }

    /// The link to a PE, or `None` if there is no such PE or rail.
    pub(crate) fn link(&self, pe: u32, rail: u16) -> Option<&Arc<Link>> {
        let (slot, index) = self.place(pe, rail)?;
        Some(slot.get_or_init(|| {
            let route = Route { from: self.local.me, to: pe, rail };
            let link =
                Arc::new(Link::new(route, FIRST_LINK + index, self.local.give_up, self.local.seed ^ index as u64));
            // It is in the list before any thread can leave something behind on it: who takes the board's flag goes through the list.
            let count = self.links.push(link.clone());
            self.local.watched.note_links(count);
            if count == FEW_LINKS + 1 {
                self.watch_all();
            }
            link
        }))
    }

    /// There are no longer few links: from now on the poller tells callers of those that they asked themselves.
    fn watch_all(&self) {
        if let Err(e) = self.links.iter().try_for_each(|link| link.watch(&self.local)) {
            tracing::error!("sockets cannot be polled: {e}");
        }
    }

    pub(crate) fn link_of(&self, token: usize) -> Option<&Arc<Link>> {
        self.by_token.get(token.checked_sub(FIRST_LINK)?)?.get()
    }

    /// The link to the PE that has come by this route.
    fn link_back(&self, route: Route) -> Option<&Arc<Link>> {
        self.link(route.from, route.rail).filter(|_| route.from != self.local.me)
    }

    /// Accepts connections, or hears a connection that has not proven itself. Returns whether there may be more to do at once.
    pub(crate) fn welcome(&self, token: usize) -> bool {
        if token == LISTENER {
            return self.pending.accept_some(&self.local, |arrival| self.settle(arrival));
        }
        if let Some(arrival) = self.pending.hear(token) {
            self.settle(arrival);
        }
        false
    }

    /// A handshake with a PE of the job has ended.
    pub(crate) fn settle(&self, arrival: Arrival) {
        match arrival {
            Arrival::Proven(proven) => match self.link_back(proven.route) {
                Some(link) => link.adopt(&self.local, proven.stream, proven.acceptor, proven.standing),
                None => match self.link_back(Route { rail: 0, ..proven.route }) {
                    Some(first) => {
                        let Route { from, rail, .. } = proven.route;
                        first.refuse(&self.local, unreachable::lacks_rail(&self.local, from, rail));
                    }
                    None => self.pending.reject("a PE that does not exist"),
                },
            },
            Arrival::Differs(route) => {
                if let Some(link) = self.link_back(route) {
                    link.refuse(&self.local, unreachable::differs(&self.local, route.from));
                }
            }
            // Two PEs may connect to each other at once. One of them closes its connection when it has adopted the other's.
            Arrival::Closed(route, why) => {
                if self.link_back(route).is_none_or(|link| link.socket().is_none()) {
                    self.pending.reject(&why);
                }
            }
        }
    }

    /// Lets links connect whose turn has come.
    pub(crate) fn connect_next(&self) {
        while let Some((token, permit)) = self.local.permits.next() {
            if let Some(link) = self.link_of(token) {
                link.connect(&self.local, permit);
            }
        }
    }
}
