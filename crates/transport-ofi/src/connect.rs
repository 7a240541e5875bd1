//! How peers come to know each other when they first need to, and part.

use oxshmem_base::Error;
use oxshmem_libfabric_sys as fi;
use oxshmem_os::pacing;
use oxshmem_transport::NotIssued;

use crate::address::PeAddress;
use crate::endpoint::Issued;
use crate::engine::Engine;
use crate::message::Message;

/// EFA's fabric without libfabric's own protocol. It has the provider, the domains and the addresses of the other one, and its endpoints do
/// not understand that one's messages. Only cards that write have it, and libfabric from 2.1 on, which lists it first.
const DIRECT: &str = "efa-direct";

impl Engine {
    /// The address of a peer for an operation that is about to be issued. Before the first operation it has heard of
    /// us, so that after any barrier two PEs either both know each other or have nothing under way between them. So a
    /// PE that disconnects knows which peers have to disconnect.
    pub(crate) fn address(&mut self, pe: u32) -> Issued<fi::fi_addr_t> {
        if let Some(address) = self.first.peers.acquainted(pe) {
            return Ok(address);
        }
        if let Some(error) = self.broken() {
            return Err(error.clone().into());
        }
        self.address_of(pe)?;
        match self.first.peers.greeted(pe) {
            None => self.send(pe, &Message::Hello),
            Some(waited) if waited > self.give_up => {
                return Err(self.first.unreachable(pe, "it does not answer").into());
            }
            Some(_) => {}
        }
        Err(NotIssued::Busy)
    }

    /// The endpoint of a peer; its address is read when it is first needed.
    pub(crate) fn address_of(&mut self, pe: u32) -> Result<fi::fi_addr_t, Error> {
        if let Some(address) = self.first.peers.met(pe) {
            return Ok(address);
        }
        let Some(book) = &self.book else {
            return Err(Error::new(format!("PE {pe} is not reached before the fabric is connected")));
        };
        let address = PeAddress::decode(pe, &book.address(pe)?)?;
        let mine = self.first.objects.info.provider();
        if address.provider != mine {
            return Err(Error::new(format!("PE {pe} uses libfabric's provider {}, this PE {mine}", address.provider))
                .fix("set SHMEM_TRANSPORT=ofi:PROVIDER to one that all nodes have"));
        }
        let (ours, theirs) = (self.first.objects.info.place().0, &address.rails[0].fabric);
        if (ours == DIRECT) != (theirs == DIRECT) {
            return Err(Error::new(format!("PE {pe} is on libfabric's fabric {theirs}, this PE on {ours}"))
                .because("their endpoints do not understand each other's messages")
                .fix("set SHMEM_OFI_FABRIC to one that all nodes have, for EFA to efa"));
        }
        let met = self.first.meet(pe, 0, &address.rails[0])?;
        self.meet(pe, &address.rails)?;
        Ok(met)
    }

    /// A message of a peer has come. If the endpoint reaches peers by TCP, the connection is there now: one that the peer has made to this
    /// endpoint, or this PE to the peer's. It has no pauses if the peer is on this host.
    pub(crate) fn send_unpaced(&self, pe: u32) {
        if self.first.objects.info.endpoint().card {
            return;
        }
        let theirs = || Some(PeAddress::decode(pe, &self.book.as_ref()?.address(pe).ok()?).ok()?.rails[0].name.clone());
        let ends = pacing::socket_address(&self.first.objects.name)
            .zip(theirs().and_then(|name| pacing::socket_address(&name)));
        if let Some((mine, theirs)) = ends.filter(|(mine, theirs)| mine.ip() == theirs.ip()) {
            pacing::send_unpaced_where(|own, peer| own == mine || peer == theirs);
        }
    }
}
