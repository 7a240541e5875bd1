//! How peers come to know each other when they first need to, and part.

use oxshmem_base::Error;
use oxshmem_libfabric_sys as fi;

use crate::card::Card;
use crate::engine::Engine;
use crate::message::Message;

impl Engine {
    /// The address of a peer to whom we are about to reach out. Before the first operation it has heard of us, so that
    /// after any barrier two PEs either both know each other or have nothing under way between them: who parts knows
    /// from whom to hear.
    pub(crate) fn address(&mut self, pe: u32) -> Result<fi::fi_addr_t, Error> {
        if let Some(address) = self.peers.acquainted(pe) {
            return Ok(address);
        }
        let address = self.address_of(pe)?;
        self.send(pe, &Message::Hello);
        self.wait_for(pe, "it does not answer", |peers| peers.knows_us(pe))?;
        Ok(address)
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
