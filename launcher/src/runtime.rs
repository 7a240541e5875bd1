//! The runtime of a launcher and of an agent.

use std::io;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

/// How many threads stay that wait for readers and writers. One of them may wait for input for ever.
const KEPT: usize = 2;
/// Longer than any job.
const FOR_EVER: Duration = Duration::from_secs(100 * 365 * 86_400);
/// The time for which each of them is busy at first, so that the next one is started.
const MOMENT: Duration = Duration::from_millis(5);

/// One thread for everything, and beside it those that wait for readers and writers. They are started now and stay: PEs may take all
/// threads that the system allows, and the runtime ends the process where it has none for such a wait.
pub(crate) fn runtime() -> io::Result<Runtime> {
    // Where the system allows no thread at all the runtime would panic.
    let probe = std::thread::Builder::new().spawn(|| ()).map_err(|error| {
        let why = format!("no thread can be started (ulimit -u, or pids.max of the control group): {error}");
        io::Error::new(error.kind(), why)
    })?;
    let _ = probe.join();
    let runtime = Builder::new_current_thread().enable_all().thread_keep_alive(FOR_EVER).build()?;
    for _ in 0..KEPT {
        runtime.spawn_blocking(|| std::thread::sleep(MOMENT));
    }
    Ok(runtime)
}
