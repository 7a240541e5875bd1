//! The PEs of the job as this PE reaches them.

use std::sync::OnceLock;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_transport::{AddressBook, Participant};

/// The first bytes of a PE's address.
pub(crate) const MARK: &[u8] = b"oxucx1 ";

/// Where the job's PEs are, and how this PE deals with them. Every operation reads it, so it shares its lines with nothing: waits of all
/// threads try the locks beside it.
#[repr(align(128))]
pub(crate) struct Directory {
    pub(crate) me: u32,
    pes: u32,
    /// The time after which a silent peer is given up.
    pub(crate) give_up: Duration,
    /// UCX does the job's atomics.
    pub(crate) atomics: bool,
    pub(crate) book: OnceLock<Box<dyn AddressBook>>,
}

impl Directory {
    pub(crate) fn new(participant: &Participant<'_>, atomics: bool) -> Self {
        let Participant { me, pes, .. } = *participant;
        Self { me, pes, give_up: participant.give_up(), atomics, book: OnceLock::new() }
    }

    /// The address of a peer's serving worker.
    pub(crate) fn address(&self, pe: u32) -> Result<Vec<u8>, Error> {
        let book = self.book.get().ok_or_else(|| Error::new("UCX: the fabric is not connected yet"))?;
        if pe >= self.pes {
            return Err(Error::new(format!("there is no PE {pe} to reach over UCX")));
        }
        let bytes = book.address(pe)?;
        bytes.strip_prefix(MARK).filter(|address| !address.is_empty()).map(<[u8]>::to_vec).ok_or_else(|| {
            Error::new(format!("the address of PE {pe} cannot be read"))
                .because(format!("it is {:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(80)])))
                .fix("start all PEs with the same version of oxshmem and the same SHMEM_TRANSPORT")
        })
    }
}
