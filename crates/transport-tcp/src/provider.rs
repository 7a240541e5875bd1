//! The offers of the provider, and how it opens.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mio::net::TcpListener;
use mio::{Token, Waker};
use oxshmem_base::Error;
use oxshmem_os::{descriptors, sockets};
use oxshmem_transport::driver::{Callers, Drive};
use oxshmem_transport::due::DueBoard;
use oxshmem_transport::{
    AddressBook, Agreed, AmoDomain, Capabilities, Fabric, Features, Grade, Lane, LaneOptions, NetworkAtomics, Offers,
    Participant, Provider, Region, RegisteredMemory, Segment, TransportOffer, WantedTransport, software,
};
use parking_lot::{Mutex, RwLock};
use ring::rand::{SecureRandom, SystemRandom};

use crate::address::PeAddress;
use crate::addresses::PeerAddresses;
use crate::interfaces::{self, Address};
use crate::lane::TcpLane;
use crate::lanes::LaneTable;
use crate::limits::{INJECT, SMALL, TOGETHER};
use crate::local::LocalPe;
use crate::net::Net;
use crate::pending::PendingConnections;
use crate::permits::Permits;
use crate::proto::admission::OTHER_FILES;
use crate::proto::handshake::Credentials;
use crate::watch::{LISTENER, Poller, ThreadPoller, WAKER, WatchList};

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

/// Connections of strangers that may wait in the kernel beside one of each PE.
const BACKLOG: u32 = 1024;

fn open(participant: &Participant<'_>, choice: &Agreed<'_>) -> Result<Box<dyn Fabric>, Error> {
    let failed = |what: &'static str| move |e: io::Error| Error::new(format!("TCP: {what}")).because(e);
    let Participant { me, pes, settings, secret, reached, .. } = *participant;
    let rails = settings.rails.unwrap_or(1).max(1);
    let interface = settings.tcp_interface.as_deref();
    let loopback = choice.one_host && interface.is_none();
    let addresses = interfaces::published(interface, reached, loopback)?;
    let only = ((interface.is_some() || loopback) && addresses.len() == 1).then(|| addresses[0].ip);
    let listener = listen(only, settings.tcp_ports)?;
    // One listener serves all addresses. Where the user wants some of them, it does not hear what comes to others.
    let several = interface.is_some() && only.is_none();
    let named = if several { addresses.iter().map(|address| address.ip).collect() } else { Vec::new() };
    // The kernel drops what comes beyond 128, which is what std and mio ask for, and a dropped connection is tried again after a
    // second, then three, then seven. All PEs may come at once, and strangers.
    sockets::let_wait(listener.as_fd(), pes.saturating_mul(rails.into()).saturating_add(BACKLOG))
        .map_err(failed("connections cannot wait for the listener"))?;
    let port = listener.local_addr().map_err(failed("the listener has no address"))?.port();
    let pollers = || {
        let (callers, thread) = (Poller::new()?, Poller::new()?);
        let watched = WatchList::new(&callers, &thread)?;
        Ok((callers, thread, watched))
    };
    let (callers, thread, watched) = pollers().map_err(failed("sockets cannot be polled"))?;
    let waker = Waker::new(thread.registry(), Token(WAKER)).map_err(failed("the progress thread cannot be woken"))?;
    let (job, secret) = secret.split_at(16);
    let (job, secret) = (job.try_into().expect("16 bytes"), secret.try_into().expect("32 bytes"));
    let links = usize::try_from(pes).unwrap_or(usize::MAX).saturating_mul(rails.into());
    let random = SystemRandom::new();
    let mut seed = [0; 8];
    random.fill(&mut seed).map_err(|_| Error::new("TCP: the system has no random numbers"))?;
    let seed = u64::from_le_bytes(seed);
    let local = LocalPe {
        me,
        credentials: Credentials { job, secret, encrypt: settings.tcp_encrypt },
        addresses: PeerAddresses {
            own: PeAddress { port, name: interfaces::name(), host: interfaces::host(), addresses },
            ports: settings.tcp_ports,
            rails,
            book: OnceLock::new(),
        },
        give_up: participant.give_up(),
        most_links: links,
        memory: RegisteredMemory::default(),
        lanes: LaneTable::default(),
        watched,
        due: DueBoard::new(move || {
            if let Err(e) = waker.wake() {
                tracing::error!("the progress thread cannot be woken: {e}");
            }
        }),
        permits: Permits::new(links, seed),
        lost: OnceLock::new(),
        random,
        seed,
        start: Instant::now(),
    };
    // Only where a connection to each peer might not fit: programs may count on descriptors being small numbers.
    if descriptors::limit() < links as u64 + OTHER_FILES
        && let Err(error) = descriptors::raise_limit()
    {
        tracing::warn!(%error, "the limit of open files cannot be raised");
    }
    let net = Net {
        local,
        by_token: (0..links).map(|_| OnceLock::new()).collect(),
        links: RwLock::default(),
        pending: PendingConnections::new(listener, named, participant.give_up()),
        poller: Mutex::new(callers),
        thread: Mutex::new(ThreadPoller::new(thread, participant.give_up())),
        callers: Callers::default(),
        turns: AtomicU64::new(0),
        fences: AtomicU64::new(0),
    };
    // Where there are several rails, long data is dealt over all of them.
    let (features, signal) = if rails == 1 { (Features::ORDERED, TOGETHER) } else { (Features::empty(), SMALL) };
    let capabilities = Capabilities { features, amo: AmoDomain::Processor, inject: INJECT, signal: Some(signal) };
    software::fill(me, participant.give_up(), Box::new(Tcp { net: Arc::new(net), capabilities }), None)
}

/// The first port of the range that is free, or any.
fn listen(only: Option<IpAddr>, ports: Option<(u16, u16)>) -> Result<TcpListener, Error> {
    let (first, last) = ports.unwrap_or((0, 0));
    let mut refused = None;
    for port in first..=last {
        match listen_at(only, port) {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => refused = Some(error),
            Err(error) => return Err(Error::new(format!("TCP: no port to listen on ({port})")).because(error)),
        }
    }
    let why = refused.map_or_else(String::new, |error| format!("; the last: {error}"));
    let all = if first == last { "it is".into() } else { format!("all {} are", last - first + 1) };
    Err(Error::new(format!("TCP: none of the ports SHMEM_TCP_PORTS={first}-{last} is free on {}", interfaces::name()))
        .because(format!("each PE of a host needs one, and {all} in use{why}"))
        .fix("name more ports; the firewall has to let them through"))
}

/// Every address of the host, unless only one is wanted.
fn listen_at(only: Option<IpAddr>, port: u16) -> io::Result<TcpListener> {
    if let Some(ip) = only {
        return TcpListener::bind(SocketAddr::new(ip, port));
    }
    sockets::listen_everywhere(port).map(TcpListener::from_std).or_else(|error| match error.kind() {
        // Without this it would listen beside a process that has the port for IPv6 only.
        io::ErrorKind::AddrInUse => Err(error),
        _ => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port).into()),
    })
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
        let watched = local.watched.add(self.net.pending.listener.as_raw_fd(), LISTENER);
        watched.map_err(|e| Error::new("TCP: new connections cannot be watched").because(e))
    }

    fn drive(&self) -> Option<Arc<dyn Drive>> {
        Some(self.net.clone())
    }

    fn lane(&self, options: LaneOptions) -> Result<Box<dyn Lane>, Error> {
        Ok(Box::new(TcpLane::new(self.net.clone(), options)?))
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
        self.net.links.read().iter().for_each(|link| link.leave());
    }

    /// A socket that is closed with something unread in it would take with it what this PE has sent.
    fn has_left(&self) -> bool {
        self.net.links.read().iter().all(|link| link.is_over())
    }

    fn close(&self) {
        self.net.links.read().iter().for_each(|link| link.hang_up());
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
