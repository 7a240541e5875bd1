//! Process managers for tests.

use oxshmem_base::Error;
use oxshmem_os::process;

use crate::manager::{Found, Manager};

/// Knows the places of all and nothing else.
#[derive(Debug)]
pub(crate) struct Silent {
    pub(crate) rank: u32,
    pub(crate) nodes: Vec<u32>,
}

impl Manager for Silent {
    fn protocol(&self) -> String {
        "silence".into()
    }

    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.nodes.len() as u32
    }

    fn nodes(&self) -> Result<Option<Vec<u32>>, Error> {
        Ok(Some(self.nodes.clone()))
    }

    fn longest(&self) -> usize {
        1023
    }

    fn put(&self, _: &str, _: &str) -> Result<(), Error> {
        Ok(())
    }

    fn fence(&self) -> Result<(), Error> {
        Ok(())
    }

    fn get(&self, _: u32, _: &str) -> Result<Found, Error> {
        Ok(Err("silence".into()))
    }

    /// Kills the process that asks for it, as many servers do before they answer.
    fn abort(&self, _: i32, _: &str) {
        process::kill_self()
    }

    fn finalize(&self) {}
}
