//! A process manager that speaks PMIx, through its library.

use std::collections::BTreeMap;

use oxshmem_base::Error;
use oxshmem_pmix_sys as sys;

use crate::manager::{Found, Manager};
use crate::refusal::{ManagerRefusal, RefusalCause};
use crate::wire;

/// Longer texts go in pieces: servers send values from node to node whole.
const LONGEST: usize = 1 << 20;

/// A connection to a PMIx server.
#[derive(Debug)]
struct PmixClient {
    inner: sys::Client,
    size: u32,
}

/// Joins by PMIx where the environment names a server; the error says why not.
pub(crate) fn join(variable: &dyn Fn(&str) -> Option<String>) -> Result<Box<dyn Manager>, ManagerRefusal> {
    let Some(job) = variable("PMIX_NAMESPACE") else { return Err("PMIX_NAMESPACE is not set".into()) };
    let refused = |cause, why: String| {
        ManagerRefusal::new(cause, format!("PMIX_NAMESPACE={job}, but PMIx cannot be used: {why}"))
    };
    let inner = sys::Client::connect(|| wire::orphaned()).map_err(|refusal| match refusal {
        sys::NoConnection::Library(why) => refused(RefusalCause::Other, why),
        sys::NoConnection::Call(why) => refused(RefusalCause::PmixCall, why),
    })?;
    let size = inner.job_size().map_err(|why| refused(RefusalCause::PmixCall, why))?;
    if inner.rank() < size {
        Ok(Box::new(PmixClient { inner, size }))
    } else {
        Err(refused(RefusalCause::Other, format!("it says process {} of {size}", inner.rank())))
    }
}

fn failed(what: &str, why: String) -> Error {
    Error::new(format!("the launcher's PMIx server did not {what}")).because(why)
}

/// PMIx itself tells of a server that is gone, and then the process ends.
impl Manager for PmixClient {
    fn protocol(&self) -> String {
        format!("PMIx {}", self.inner.version())
    }

    fn rank(&self) -> u32 {
        self.inner.rank()
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn nodes(&self) -> Result<Option<Vec<u32>>, Error> {
        // The names of the hosts: every server tells those of all processes at the start, numbers only some.
        let mut seen = BTreeMap::new();
        let number = |rank| {
            let next = seen.len() as u32;
            self.inner.host(rank).ok().map(|host| *seen.entry(host).or_insert(next))
        };
        Ok((0..self.size).map(number).collect())
    }

    fn longest(&self) -> usize {
        LONGEST
    }

    fn put(&self, key: &str, text: &str) -> Result<(), Error> {
        self.inner.put(key, text).map_err(|why| failed(&format!("take the value {key}"), why))
    }

    fn fence(&self) -> Result<(), Error> {
        self.inner.commit().and_then(|()| self.inner.fence()).map_err(|why| failed("bring all processes together", why))
    }

    fn get(&self, from: u32, key: &str) -> Result<Found, Error> {
        Ok(self.inner.text(from, key))
    }

    fn abort(&self, status: i32, message: &str) {
        self.inner.abort(status, message);
    }

    fn finalize(&self) {
        self.inner.finalize();
    }
}
