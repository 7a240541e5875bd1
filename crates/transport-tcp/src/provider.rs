//! The offers of the provider, and how it opens.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_os::descriptors;
use oxshmem_transport::progress_thread::Drive;
use oxshmem_transport::{
    AddressBook, Agreed, AmoDomain, Capabilities, Fabric, Features, Grade, Lane, LaneOptions, NetworkAtomics, Offers,
    Participant, Provider, Region, Segment, TransportOffer, WantedTransport, software,
};

use crate::address::PeAddress;
use crate::addresses::PeerAddresses;
use crate::interfaces::Address;
use crate::lane::TcpLane;
use crate::limits::{INJECT, SMALL, TOGETHER};
use crate::listener::PeListener;
use crate::local::LocalPe;
use crate::net::Net;
use crate::pending::PendingConnections;
use crate::proto::admission::OTHER_FILES;
use crate::watch::{LISTENER, Poller, WatchList};

/// TCP needs no card, so it can always be had.
pub static PROVIDER: Provider = Provider { name: "tcp", elsewhere: ELSEWHERE, offers, open };

const ELSEWHERE: &[(&str, &str)] = &[("sockets", ""), ("socket", ""), ("ethernet", ""), ("ip", "")];

fn offers(_participant: &Participant<'_>, wanted: &WantedTransport<'_>) -> Offers {
    match wanted.detail {
        None => {
            let atomics = NetworkAtomics::None("tcp has none of its own".into());
            Offers::one(TransportOffer { grade: Grade::Sockets, detail: String::new(), atomics })
        }
        Some(detail) => {
            Offers::none(format!("tcp:{detail}"), "tcp has no variants; SHMEM_TCP_INTERFACE chooses an interface")
        }
    }
}

fn open(participant: &Participant<'_>, choice: &Agreed<'_>) -> Result<Box<dyn Fabric>, Error> {
    let rails = participant.settings.rails.unwrap_or(1).max(1);
    let PeListener { listener, named, own } = PeListener::open(participant, rails, choice.one_host)?;
    let (callers, thread, watched) = pollers().map_err(|e| Error::new("TCP: sockets cannot be polled").because(e))?;
    let local = LocalPe::new(participant, own, rails, watched)?;
    if let Err(error) = descriptors::make_room(local.most_links as u64 + OTHER_FILES) {
        tracing::warn!(%error, "the limit of open files cannot be raised");
    }
    let pending = PendingConnections::new(listener, named, local.give_up);
    let net = Arc::new(Net::new(local, pending, callers, thread));
    // Where there are several rails, long data is dealt over all of them.
    let (features, signal) = if rails == 1 { (Features::ORDERED, TOGETHER) } else { (Features::empty(), SMALL) };
    let features = features | Features::COSTLY_LOOKS;
    let capabilities = Capabilities { features, amo: AmoDomain::Processor, inject: INJECT, signal: Some(signal) };
    software::fill(participant.me, participant.give_up(), Box::new(Tcp { net, capabilities }), None)
}

/// The callers' view of the sockets, the thread's, and the list behind both.
fn pollers() -> io::Result<(Poller, Poller, WatchList)> {
    let (callers, thread) = (Poller::new()?, Poller::new()?);
    let watched = WatchList::new(&callers, &thread)?;
    Ok((callers, thread, watched))
}

struct Tcp {
    net: Arc<Net>,
    capabilities: Capabilities,
}

impl Fabric for Tcp {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn register(&self, region: Region, segment: Segment) -> Result<(), Error> {
        self.net.local.memory.register(region, segment)
    }

    fn address(&self) -> Vec<u8> {
        self.net.local.addresses.own.encode()
    }

    fn connect(&self, book: Box<dyn AddressBook>) -> Result<(), Error> {
        let local = &self.net.local;
        if local.addresses.book.set(book).is_err() {
            return Err(Error::new("TCP: the fabric is connected already"));
        }
        let socket = self.net.pending.socket().ok_or_else(|| Error::new("TCP: the fabric is closed already"))?;
        local.watched.add(socket, LISTENER).map_err(|e| Error::new("TCP: new connections cannot be watched").because(e))
    }

    fn drive(&self) -> Option<Arc<dyn Drive>> {
        Some(self.net.clone())
    }

    fn lane(&self, options: LaneOptions) -> Result<Box<dyn Lane>, Error> {
        Ok(Box::new(TcpLane::new(self.net.clone(), options)))
    }

    fn progress(&self) -> usize {
        self.net.progress()
    }

    fn rest(&self, most: Duration) -> Option<usize> {
        Some(self.net.rest(most))
    }

    fn lost(&self) -> Option<Error> {
        self.net.local.lost.get().cloned()
    }

    fn leave(&self) {
        self.net.links.iter().for_each(|link| link.leave());
    }

    /// A socket that is closed with something unread in it would take with it what this PE has sent.
    fn has_left(&self) -> bool {
        self.net.links.iter().all(|link| link.is_over())
    }

    /// No descriptor stays, also where the fabric does because callers may be late. First goes the list: what a late caller opens cannot be
    /// watched, so it is closed again.
    fn close(&self) {
        self.net.local.watched.close();
        self.net.links.iter().for_each(|link| link.hang_up());
        self.net.pending.close();
        self.net.poller.lock().close();
        self.net.thread.lock().poller.close();
    }

    fn describe(&self) -> String {
        let Net { local: LocalPe { addresses: PeerAddresses { own, rails, .. }, credentials, .. }, pending, .. } =
            &*self.net;
        let PeAddress { port, addresses, .. } = own;
        let addresses = addresses.iter().map(Address::to_string).collect::<Vec<_>>().join(", ");
        let sealed = if credentials.encrypt { ", encrypted" } else { "" };
        let rails = if *rails > 1 { format!(", {rails} rails") } else { String::new() };
        let rejected = match pending.rejected() {
            (0, _) => String::new(),
            (count, why) => format!("; {count} strangers sent away (the last: {why})"),
        };
        format!("tcp: port {port} of {addresses}{rails}{sealed}{rejected}")
    }
}

impl Drop for Tcp {
    fn drop(&mut self) {
        self.close();
    }
}
