//! The thread that serves while a PE computes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use oxshmem_base::Error;
use parking_lot::Mutex;

use crate::progress::Net;

/// How long it sleeps at most before it looks whether it is over.
const PATIENCE: Duration = Duration::from_millis(20);

#[derive(Default)]
pub(crate) struct Server {
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Relaxed: it is only looked at now and then.
    over: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(&self, net: &Arc<Net>) -> Result<(), Error> {
        let (net, over) = (net.clone(), self.over.clone());
        let serve = move || {
            while !over.load(Ordering::Relaxed) {
                if let Some((from, _)) = net.rest(PATIENCE) {
                    tracing::warn!(from, "a letter was dropped: the endpoint does the atomics of this job");
                }
            }
        };
        let thread = std::thread::Builder::new().name("oxshmem-ofi".into()).spawn(serve);
        let thread = thread.map_err(|e| Error::new("cannot start the thread that serves libfabric").because(e))?;
        *self.thread.lock() = Some(thread);
        Ok(())
    }

    pub(crate) fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.lock().take() {
            // A panic of the thread has been printed already.
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
    }
}
