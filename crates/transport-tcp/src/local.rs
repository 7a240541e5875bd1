//! This PE as its links see it: its memory, its lanes, the sockets that are watched for it, and the addresses of the others.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use oxshmem_base::Error;
use oxshmem_transport::due::DueBoard;
use oxshmem_transport::{Participant, RegisteredMemory};
use ring::rand::{SecureRandom, SystemRandom};

use crate::address::PeAddress;
use crate::addresses::PeerAddresses;
use crate::lanes::LaneTable;
use crate::permits::Permits;
use crate::proto::Probes;
use crate::proto::handshake::Credentials;
use crate::watch::WatchList;

/// The state that every link of this PE needs and no link owns.
pub(crate) struct LocalPe {
    pub(crate) me: u32,
    pub(crate) credentials: Credentials,
    pub(crate) addresses: PeerAddresses,
    /// A peer that is silent for this time is given up.
    pub(crate) give_up: Duration,
    /// How many links this PE has at most.
    pub(crate) most_links: usize,
    pub(crate) memory: RegisteredMemory,
    pub(crate) lanes: LaneTable,
    pub(crate) watched: Arc<WatchList>,
    pub(crate) due: DueBoard,
    pub(crate) unasked: UnaskedLinks,
    /// Few links connect at a time.
    pub(crate) permits: Permits,
    /// Why the first PE that was lost is.
    pub(crate) lost: OnceLock<Error>,
    pub(crate) random: SystemRandom,
    /// Differs from PE to PE; no secret.
    pub(crate) seed: u64,
    pub(crate) start: Instant,
}

/// How many links have something under way for which their peer has not been asked. The count shares its line with nothing else, because
/// threads that issue write it.
///
/// Relaxed: the changes for one link alternate under its lock. So a thread that has issued and then sees zero sees that the peer of
/// that link has been asked since. What another thread has just issued may be missed, and is seen at the next look.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct UnaskedLinks(AtomicUsize);

impl UnaskedLinks {
    /// Counts a link that has become one of them, or is none any more.
    pub(crate) fn count(&self, unasked: bool) {
        if unasked {
            self.0.fetch_add(1, Ordering::Relaxed);
        } else {
            self.0.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Whether there are any.
    pub(crate) fn exist(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

impl LocalPe {
    /// `own`: where peers find it.
    pub(crate) fn new(
        participant: &Participant<'_>,
        own: PeAddress,
        rails: u16,
        watched: WatchList,
    ) -> Result<Self, Error> {
        let Participant { me, pes, settings, secret, .. } = *participant;
        let (job, secret) = secret.split_at(16);
        let (job, secret) = (job.try_into().expect("16 bytes"), secret.try_into().expect("32 bytes"));
        let most_links = usize::try_from(pes).unwrap_or(usize::MAX).saturating_mul(rails.into());
        let random = SystemRandom::new();
        let seed = u64::from_le_bytes(random_bytes(&random)?);
        let watched = Arc::new(watched);
        let woken = watched.clone();
        Ok(Self {
            me,
            credentials: Credentials { job, secret, encrypt: settings.tcp_encrypt },
            addresses: PeerAddresses { own, ports: settings.tcp_ports, rails, book: OnceLock::new() },
            give_up: participant.give_up(),
            most_links,
            memory: RegisteredMemory::default(),
            lanes: LaneTable::default(),
            watched,
            due: DueBoard::new(move || woken.wake()),
            unasked: UnaskedLinks::default(),
            permits: Permits::new(most_links, seed),
            lost: OnceLock::new(),
            random,
            seed,
            start: Instant::now(),
        })
    }

    /// The probes of the connection of a link.
    pub(crate) fn probes(&self, token: usize) -> Probes {
        Probes::new(self.give_up, self.most_links as u64, self.seed ^ token as u64)
    }

    /// A number that has never been used.
    pub(crate) fn nonce(&self) -> Result<[u8; 32], Error> {
        random_bytes(&self.random)
    }
}

fn random_bytes<const N: usize>(random: &SystemRandom) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    random.fill(&mut bytes).map_err(|_| Error::new("TCP: the system has no random numbers"))?;
    Ok(bytes)
}

/// The turns of callers and the fences of lanes before an operation.
#[derive(Clone, Copy)]
pub(crate) struct IssueTime {
    pub(crate) turns: u64,
    pub(crate) fences: u64,
}
