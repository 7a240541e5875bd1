//! How peers come to know each other when they first need to, and part.

use oxshmem_base::Error;
use oxshmem_libfabric_sys as fi;
use oxshmem_transport::NotIssued;

use crate::card::Card;
use crate::engine::{Engine, Issued};
use crate::message::Message;

impl Engine {
    /// The address of a peer to whom we are about to reach out. Before the first operation it has heard of us, so that
    /// after any barrier two PEs either both know each other or have nothing under way between them: who parts knows
    /// from whom to hear.
    pub(crate) fn address(&mut self, pe: u32) -> Issued<fi::fi_addr_t> {
        if let Some(address) = self.peers.acquainted(pe) {
            return Ok(address);
        }
        if let Some(error) = &self.broken {
            return Err(error.clone().into());
        }
        self.address_of(pe)?;
        match self.peers.greeted(pe) {
            None => self.send(pe, &Message::Hello),
            Some(since) if since.elapsed() > self.give_up => {
                return Err(self.unreachable(pe, "it does not answer").into());
            }
            Some(_) => {}
        }
        Err(NotIssued::Busy)
    }

    /// The address of a peer; its card is read when it is first needed.
    pub(crate) fn address_of(&mut self, pe: u32) -> Result<fi::fi_addr_t, Error> {
        if let Some(address) = self.peers.met(pe) {
            return Ok(address);
        }
        let Some(cards) = &self.cards else {
            return Err(Error::new(format!("PE {pe} is not reached before the fabric is connected")));
        };
        let card = Card::decode(pe, &cards.card(pe)?)?;
        let mine = self.port.info.provider();
        if card.provider != mine {
            return Err(Error::new(format!("PE {pe} uses libfabric's provider {}, this PE {mine}", card.provider))
                .fix("set SHMEM_TRANSPORT=ofi:PROVIDER to one that all nodes have"));
        }
        let address = self.port.insert(&card.rails[0].name)?;
        self.peers.meet(pe, address, 0, &card.rails[0].windows);
        self.meet(pe, &card.rails)?;
        Ok(address)
    }
}
