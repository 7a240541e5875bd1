//! The service of a process manager to one process of its job, whichever protocol carries it.

use std::collections::BTreeMap;
use std::fmt;

use oxshmem_base::Error;
use parking_lot::Mutex;

/// The beginning of the names that `oshrun` gives its jobs. A variable would not tell: launchers that are started inside a job hand it on.
pub const OUR_JOBS: &str = "oxshmem_";

/// A command beyond PMI-1, which `oshrun` takes without an answer: the process is in its last `shmem_finalize`, and has met all others.
pub const LEAVES: &str = "oxshmem_leaves";

/// A process manager as one process of its job sees it.
///
/// Errors of these calls are the end of the job: a manager that does not do them cannot start one. If the manager is
/// gone the process ends itself, because nothing else would end it.
pub trait Manager: fmt::Debug + Send + Sync {
    /// The protocol, for messages: `PMI-1`, `PMIx 4.2.2`.
    fn protocol(&self) -> String;

    /// The name of the job, if the protocol tells it.
    fn job_name(&self) -> Option<&str> {
        None
    }

    /// This process's number.
    fn rank(&self) -> u32;

    /// How many processes the job has.
    fn size(&self) -> u32;

    /// The node number of every process, if the manager knows. The numbers may have gaps.
    fn nodes(&self) -> Result<Option<Vec<u32>>, Error>;

    /// How many bytes a published text may have.
    fn longest(&self) -> usize;

    /// Publishes a text under a key that no process used before; others can read it after the next fence.
    fn put(&self, key: &str, text: &str) -> Result<(), Error>;

    /// Waits until every process has called it.
    fn fence(&self) -> Result<(), Error>;

    /// The text that process `from` published under this key before the last fence.
    fn get(&self, from: u32, key: &str) -> Result<Found, Error>;

    /// Asks for the end of the whole job. It may be called while another thread waits in a fence.
    fn abort(&self, status: i32, message: &str);

    /// Says that this process ends properly.
    fn finalize(&self);

    /// Says that this process gives up the memory of the job, to a manager that wants to know.
    fn leaves(&self) {}

    /// Whether the programs that this process starts may speak to the manager in its place. A wire that no other program finds has nothing
    /// to do here.
    fn hand_on(&self, _to_programs: bool) {}

    /// Whether the manager is gone, as far as that is known.
    fn is_gone(&self) -> bool {
        false
    }
}

/// A published text, or why there is none.
pub type Found = Result<String, String>;

/// The manager of a process that is a job of its own.
#[derive(Debug, Default)]
pub(crate) struct Alone {
    values: Mutex<BTreeMap<String, String>>,
}

impl Manager for Alone {
    fn protocol(&self) -> String {
        "no launcher".into()
    }

    fn rank(&self) -> u32 {
        0
    }

    fn size(&self) -> u32 {
        1
    }

    fn nodes(&self) -> Result<Option<Vec<u32>>, Error> {
        Ok(Some(vec![0]))
    }

    fn longest(&self) -> usize {
        usize::MAX
    }

    fn put(&self, key: &str, text: &str) -> Result<(), Error> {
        self.values.lock().insert(key.into(), text.into());
        Ok(())
    }

    fn fence(&self) -> Result<(), Error> {
        Ok(())
    }

    fn get(&self, _: u32, key: &str) -> Result<Found, Error> {
        Ok(self.values.lock().get(key).cloned().ok_or_else(|| "nobody put it".into()))
    }

    fn abort(&self, _: i32, _: &str) {}

    fn finalize(&self) {}
}
