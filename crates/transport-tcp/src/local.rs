//! This PE as its links see it: its memory, its lanes, the sockets that are watched for it, and the addresses of the others.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use oxshmem_base::Error;
use oxshmem_transport::RegisteredMemory;
use oxshmem_transport::due::DueBoard;
use ring::rand::{SecureRandom, SystemRandom};

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
    pub(crate) watched: WatchList,
    pub(crate) due: DueBoard,
    /// Few links connect at a time.
    pub(crate) permits: Permits,
    /// Why the first PE that was lost is.
    pub(crate) lost: OnceLock<Error>,
    pub(crate) random: SystemRandom,
    /// Differs from PE to PE; no secret.
    pub(crate) seed: u64,
    pub(crate) start: Instant,
}

impl LocalPe {
    /// The probes of the connection of a link.
    pub(crate) fn probes(&self, token: usize) -> Probes {
        Probes::new(self.give_up, self.most_links as u64, self.seed ^ token as u64)
    }

    /// A number that has never been used.
    pub(crate) fn nonce(&self) -> Result<[u8; 32], Error> {
        let mut nonce = [0; 32];
        self.random.fill(&mut nonce).map_err(|_| Error::new("TCP: the system has no random numbers"))?;
        Ok(nonce)
    }
}
