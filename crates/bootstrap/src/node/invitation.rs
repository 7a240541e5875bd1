//! The invitation of a node's leader to the other PEs of the node.

use oxshmem_base::Error;

use super::failures::SAME_VERSION;
use crate::Membership;

/// Where the leader listens and the word that only PEs of this job know.
#[derive(Clone, Copy)]
pub(super) struct Invitation {
    pub(super) name: [u8; 16],
    pub(super) token: [u8; 16],
}

impl Invitation {
    fn written(&self) -> Vec<u8> {
        [self.name, self.token].concat()
    }

    pub(super) fn publish(&self, job: &Membership, epoch: u32) -> Result<(), Error> {
        job.put(&format!("node.{epoch}.{}", job.node().members[0]), &self.written())
    }

    pub(super) fn published(job: &Membership, epoch: u32) -> Result<Invitation, Error> {
        let leader = job.node().members[0];
        Invitation::read(&job.get(leader, &format!("node.{epoch}.{leader}"))?)
    }

    pub(super) fn read(bytes: &[u8]) -> Result<Invitation, Error> {
        match bytes.split_first_chunk::<16>() {
            Some((&name, rest)) if rest.len() == 16 => {
                Ok(Invitation { name, token: rest.try_into().expect("its length was just seen") })
            }
            _ => Err(Error::new("the node's leader published something that is no address")
                .because(format!("32 bytes were expected, {} came", bytes.len()))
                .fix(SAME_VERSION)),
        }
    }

    /// The socket's name, readable in a list of the machine's sockets.
    pub(super) fn address(&self) -> Vec<u8> {
        format!("oxshmem-{:032x}", u128::from_be_bytes(self.name)).into_bytes()
    }
}
