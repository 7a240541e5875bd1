//! The addresses of the job's PEs: this PE's own, and where to try to reach another one.

use std::fmt;
use std::net::SocketAddr;
use std::sync::OnceLock;

use oxshmem_base::Error;
use oxshmem_transport::AddressBook;

use crate::address::PeAddress;
use crate::interfaces::{self, Address};

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

/// All addresses that this PE knows or can look up.
pub(crate) struct PeerAddresses {
    /// This PE's own.
    pub(crate) own: PeAddress,
    /// The ports that the user has named for listeners.
    pub(crate) ports: Option<(u16, u16)>,
    pub(crate) rails: u16,
    /// Where the addresses of other PEs come from, once the fabric is connected.
    pub(crate) book: OnceLock<Box<dyn AddressBook>>,
}

impl PeerAddresses {
    /// The address that a PE has published.
    pub(crate) fn of(&self, pe: u32) -> Result<PeAddress, Error> {
        let book = self.book.get().ok_or_else(|| Error::new("TCP: the fabric is not connected yet"))?;
        PeAddress::decode(pe, &book.address(pe)?)
    }

    /// Where to try to reach a PE over a rail, in order.
    pub(crate) fn candidates(&self, pe: u32, rail: u16) -> Result<Vec<Candidate>, Error> {
        let peer = self.of(pe)?;
        let same_host = peer.host == self.own.host;
        let mut candidates = interfaces::candidates(&peer.addresses, same_host, &self.own.addresses);
        if self.rails > 1 && !same_host {
            interfaces::spread(&mut candidates, rail);
        }
        let candidate = |a: Address| Candidate { at: SocketAddr::new(a.ip, peer.port), interface: a.interface };
        Ok(candidates.into_iter().map(candidate).collect())
    }
}
