//! A process manager behind a PMI library: for launchers whose wire is private, like Cray's PALS.

use oxshmem_base::Error;
use oxshmem_pmi_sys as sys;

use crate::manager::{Found, Manager};
use crate::mapping;
use crate::pmi1::{LIMITS, PROCESS_MAPPING};

/// A conversation through the launcher's library.
#[derive(Debug)]
struct LibraryClient(sys::Client);

/// Joins through the launcher's library; the error says why not.
pub(crate) fn join() -> Result<Box<dyn Manager>, String> {
    Ok(Box::new(LibraryClient(sys::Client::join()?)))
}

/// Whether a manager with this name is a launcher's library.
pub(crate) fn is_one(protocol: &str) -> bool {
    protocol.starts_with("libpmi")
}

impl LibraryClient {
    fn failed(&self, what: &str, why: String) -> Error {
        Error::new(format!("the launcher's library {} did not {what}", self.0.library())).because(why)
    }
}

/// Nobody knows whether the launcher is gone: the wire is the library's.
impl Manager for LibraryClient {
    fn protocol(&self) -> String {
        self.0.library().into()
    }

    fn rank(&self) -> u32 {
        self.0.rank()
    }

    fn size(&self) -> u32 {
        self.0.size()
    }

    fn nodes(&self) -> Result<Option<Vec<u32>>, Error> {
        // A library that has no attributes has no mapping either.
        let mapped = self.0.attribute(PROCESS_MAPPING).ok().flatten();
        Ok(mapped.and_then(|text| mapping::nodes_of(&text, self.0.size())))
    }

    fn longest(&self) -> usize {
        self.0.longest().min(LIMITS.value - 1)
    }

    fn put(&self, key: &str, text: &str) -> Result<(), Error> {
        self.0.put(key, text).map_err(|why| self.failed(&format!("take the value {key}"), why))
    }

    fn fence(&self) -> Result<(), Error> {
        self.0.fence().map_err(|why| self.failed("bring all processes together", why))
    }

    fn get(&self, from: u32, key: &str) -> Result<Found, Error> {
        Ok(self.0.get(from, key))
    }

    fn abort(&self, status: i32, message: &str) {
        self.0.abort(status, message);
    }

    fn finalize(&self) {
        self.0.finalize();
    }
}
