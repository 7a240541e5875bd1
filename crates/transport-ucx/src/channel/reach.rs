//! The peers of a channel: connected when they are first needed, with the keys of their memory.

use std::ffi::c_void;
use std::rc::Rc;

use oxshmem_base::Error;
use oxshmem_transport::{NotIssued, Region, Remote, WatchedTime};
use oxshmem_ucx_sys::{ucp_ep_h, ucs_status_t};

use super::question::Expected;
use super::reached::ReachedPeer;
use super::{Channel, Inbox, Issued, lost};
use crate::keys::MemoryKey;
use crate::load;
use crate::message::Ask;
use crate::objects::meaning;
use crate::peers::Directory;

/// The peer that an endpoint's failure belongs to.
pub(super) struct Watched {
    pe: u32,
    inbox: Rc<Inbox>,
}

/// The index of a peer that has not been connected to.
const UNKNOWN: u32 = u32::MAX;

impl Channel {
    /// The peer of a range, with keys for all of it; busy until these have come.
    pub(super) fn reach(&mut self, peers: &Directory, at: Remote, n: usize) -> Issued<usize> {
        let peer = self.peer(peers, at.pe)?;
        let known = |channel: &Self| channel.peers[peer].keys.len(at.region);
        let end = at.offset.checked_add(n as u64);
        if end.is_none_or(|end| end > known(self)) {
            // It may have grown since we asked.
            self.fetch_keys(peers, peer, at.region)?;
        }
        if end.is_none_or(|end| end > known(self)) {
            return Err(self.peers[peer].keys.out_of_range(at.region, at.offset, n).error(at.pe).into());
        }
        Ok(peer)
    }

    /// Asks for the keys of a region that are not known yet; busy until they have come. There is one such question at a time.
    fn fetch_keys(&mut self, peers: &Directory, peer: usize, region: Region) -> Issued {
        let ReachedPeer { pe, ref keys, .. } = self.peers[peer];
        let from = keys.of(region).len() as u64;
        if self.keys_asked.is_none() {
            *self.inbox.keys.borrow_mut() = None;
            self.keys_asked = Some((pe, region, WatchedTime::begin()));
            self.ask(peers, pe, Ask::Keys { region, from }, &[], Expected::Keys);
        }
        if let Some(error) = &*self.inbox.error.borrow() {
            self.keys_asked = None;
            return Err(error.clone().into());
        }
        let Some(reply) = self.inbox.keys.borrow_mut().take() else {
            let waited = self.keys_asked.as_mut().map(|(asked, _, time)| (*asked, time.look()));
            return match waited {
                Some((asked, waited)) if waited > peers.give_up => {
                    let seconds = peers.give_up.as_secs();
                    let why = format!("it has not said where its memory is for {seconds} s (SHMEM_PEER_TIMEOUT)");
                    self.inbox.lose(asked, &why);
                    Err(lost(asked, &why).into())
                }
                _ => Err(NotIssued::Busy),
            };
        };
        let Some((asked, of, _)) = self.keys_asked.take() else { return Err(NotIssued::Busy) };
        // They may be another peer's, for which another thread has asked: it finds them there when it looks again.
        self.add_keys(peers, asked, of, &reply)?;
        if (asked, of) == (pe, region) { Ok(()) } else { Err(NotIssued::Busy) }
    }

    /// Adds the keys that a peer has sent of a region.
    fn add_keys(&mut self, peers: &Directory, pe: u32, region: Region, reply: &[u8]) -> Issued {
        let keys = MemoryKey::all_of(reply).ok_or_else(|| {
            Error::new(format!("the memory keys of PE {pe} cannot be read"))
                .because(format!("they are {} bytes that make no sense", reply.len()))
                .fix("start all PEs with the same version of oxshmem")
        })?;
        let peer = self.peer(peers, pe)?;
        for key in keys {
            // SAFETY: the endpoint is the peer's, and lives as long as the channel, which drops its keys before its worker.
            let piece = unsafe { key.unpack(self.ucx(), self.peers[peer].endpoint)? };
            self.peers[peer].keys.add(region, piece);
        }
        Ok(())
    }

    /// The index of a peer, connected if it is new.
    pub(super) fn peer(&mut self, peers: &Directory, pe: u32) -> Result<usize, Error> {
        if let Some(&known) = self.index.get(pe as usize).filter(|&&known| known != UNKNOWN) {
            return Ok(known as usize);
        }
        // Waits on other lanes, and those of collectives on no lane, would wait for what cannot be sent to it.
        let endpoint = self.connect(peers, pe).inspect_err(|error| self.inbox.losses.note(error))?;
        let (place, number) = (pe as usize, self.peers.len());
        self.index.resize(self.index.len().max(place + 1), UNKNOWN);
        self.index[place] = number as u32;
        self.peers.push(ReachedPeer::new(pe, endpoint));
        self.connects = true;
        Ok(number)
    }

    fn connect(&mut self, peers: &Directory, pe: u32) -> Result<ucp_ep_h, Error> {
        let address = peers.address(pe)?;
        let watched = Rc::new(Watched { pe, inbox: self.inbox.clone() });
        let arg = Rc::as_ptr(&watched).cast_mut().cast();
        self.watched.push(watched);
        // SAFETY: `on_failure` takes a `Watched`, and the channel drops those after the worker.
        let endpoint = unsafe { self.worker.connect(&address, Some(on_failure), arg) };
        endpoint.map_err(|error| {
            Error::new(format!("PE {pe} cannot be reached over UCX"))
                .because(error)
                .fix("let UCX_TLS or SHMEM_TRANSPORT=ucx:... name transports that both nodes have (ucx_info -d)")
        })
    }
}

unsafe extern "C" fn on_failure(watched: *mut c_void, _endpoint: ucp_ep_h, status: ucs_status_t) {
    // SAFETY: `watched` belongs to the endpoint that has failed, and to the channel whose worker calls.
    let Watched { pe, inbox } = unsafe { &*watched.cast::<Watched>() };
    let why = load::library().map_or_else(|_| String::new(), |ucx| meaning(ucx, status));
    inbox.lose(*pe, &why);
    inbox.lost.borrow_mut().push(*pe);
}
