//! How peers come to know each other when they first need to, and part.

use std::time::Instant;

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

    /// Has the kernel send without pauses to new contacts on this host. If the endpoint reaches peers by TCP, their connections are there
    /// now: those that peers have made to this endpoint, and those of this PE to theirs.
    pub(crate) fn send_to_contacts_unpaced(&mut self) {
        let (begun, pes) = (Instant::now(), self.contacts.take());
        if self.first.objects.info.endpoint().card {
            return;
        }
        let name_of =
            |pe| Some(PeAddress::decode(pe, &self.book.as_ref()?.address(pe).ok()?).ok()?.rails[0].name.clone());
        if let Some(mine) = pacing::socket_address(&self.first.objects.name) {
            let theirs = pes.into_iter().filter_map(|pe| pacing::socket_address(&name_of(pe)?));
            let theirs: Vec<_> = theirs.filter(|theirs| theirs.ip() == mine.ip()).collect();
            if !theirs.is_empty() {
                pacing::send_unpaced_where(|own, peer| own == mine || theirs.contains(&peer));
            }
        }
        self.contacts.note_search(begun);
    }
}
