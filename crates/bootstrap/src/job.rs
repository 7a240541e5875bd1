//! The job this process belongs to: its number, the others, and what they tell each other through the launcher.

use std::io::Write;

use oxshmem_base::Error;
use oxshmem_base::knobs::Settings;
use oxshmem_os::{library, process};

use crate::manager::{Manager, OUR_JOBS};
use crate::node::{self, OwnNode};
use crate::places::NodeMap;
use crate::{find, published, wire};

/// Membership in a job. It lasts as long as the process: a library that is initialised a second time keeps it.
#[derive(Debug)]
pub struct Membership {
    manager: Box<dyn Manager>,
    places: NodeMap,
    node: OwnNode,
}

impl Membership {
    /// Finds the job of this process: a process manager if one answers, else this process is a job of its own, unless
    /// the environment says otherwise.
    pub fn join(settings: &Settings) -> Result<Membership, Error> {
        let variable = |name: &str| std::env::var(name).ok();
        let manager = find::manager(&variable, settings)?;
        let protocol = manager.protocol();
        Membership::of(manager).map_err(|error| find::explained(error, &protocol, &variable, settings))
    }

    /// The job that this manager serves.
    pub fn of(manager: Box<dyn Manager>) -> Result<Membership, Error> {
        let nodes = match manager.nodes()? {
            Some(nodes) => nodes,
            None => node::by_identity(&*manager)?,
        };
        let (places, node) = (NodeMap::new(&nodes), OwnNode::of(&nodes, manager.rank()));
        Ok(Membership { manager, places, node })
    }

    /// This process's number in the job.
    pub fn rank(&self) -> u32 {
        self.manager.rank()
    }

    /// How many processes the job has.
    pub fn size(&self) -> u32 {
        self.manager.size()
    }

    /// The node that this process is on, and the PEs that share it.
    pub fn node(&self) -> &OwnNode {
        &self.node
    }

    /// The node of every PE.
    pub fn places(&self) -> &NodeMap {
        &self.places
    }

    /// The name that the launcher has given the job, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.manager.job_name()
    }

    /// Whether `oshrun` is the launcher.
    pub fn launched_by_us(&self) -> bool {
        self.name().is_some_and(|name| name.starts_with(OUR_JOBS))
    }

    /// The protocol of the launcher.
    pub fn protocol(&self) -> String {
        self.manager.protocol()
    }

    /// Publishes bytes of any length under a key of at most 48 bytes that no PE used before. Others can read them
    /// after the next [`fence`](Membership::fence).
    pub fn put(&self, key: &str, bytes: &[u8]) -> Result<(), Error> {
        published::put(&*self.manager, key, bytes)
    }

    /// Waits until every PE of the job has called it; what was put before can be read afterwards.
    pub fn fence(&self) -> Result<(), Error> {
        self.manager.fence()
    }

    /// A fence of PEs that are about to disconnect. Where MPI has been finalized, it may have ended the connection to the launcher, on all
    /// PEs alike. Then each goes on: those that are not as far are served until they disconnect.
    pub fn last_fence(&self) -> Result<(), Error> {
        self.fence().or_else(|error| if library::mpi_is_finalized() { Ok(()) } else { Err(error) })
    }

    /// The bytes that PE `from` published under this key before the last fence.
    pub fn get(&self, from: u32, key: &str) -> Result<Vec<u8>, Error> {
        published::get(&*self.manager, from, key)
    }

    /// Ends the whole job with this status: the launcher ends the other PEs, this process is gone at once.
    pub fn abort(&self, status: i32, message: &str) -> ! {
        if !message.is_empty() {
            // In one piece, so that the lines of several PEs do not mix.
            let _ = std::io::stderr().write_all(format!("{message}\n").as_bytes());
        }
        // Before the launcher knows: many kill this process as soon as they do, with what it has not written yet (INIT-9).
        process::flush_output();
        self.manager.abort(status, message);
        process::end(status)
    }

    /// Tells `oshrun`, which then has other advice for a crash, that this process gives up the memory of the job. The next fence takes it back.
    pub fn leaves(&self) {
        self.manager.leaves();
    }

    /// Tells the launcher that this PE ends properly. For the exit of the process: there is no return into the job.
    pub fn done(&self) {
        self.manager.finalize();
    }

    /// Whether the programs that this process starts may join the job in its place. While the library is in use they may not: the launcher
    /// would take their fence for this PE's. Between two lives they may: a process can become the next program of its script by exec.
    pub fn hand_on(&self, to_programs: bool) {
        self.manager.hand_on(to_programs);
    }

    /// Ends this process if the launcher is gone. For waits that do not themselves talk to it.
    pub fn end_if_orphaned(&self) {
        if self.manager.is_gone() {
            wire::orphaned();
        }
    }

    /// A job whose PEs have these places and no server.
    #[cfg(test)]
    pub(crate) fn placed(rank: u32, nodes: &[u32]) -> Membership {
        let manager = Box::new(crate::test::Silent { rank, nodes: nodes.to_vec() });
        Membership::of(manager).expect("its places are given")
    }
}

#[cfg(test)]
mod tests;
