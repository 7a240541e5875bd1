//! The runtime of a launcher and of an agent.

use std::io;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

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
    let probe = std::thread::Builder::new().spawn(|| ());
    let probe = probe.map_err(|error| io::Error::new(error.kind(), without_threads(&error)))?;
    let _ = probe.join();
    let runtime = Builder::new_current_thread().enable_all().thread_keep_alive(FOR_EVER).build()?;
    for _ in 0..KEPT {
        runtime.spawn_blocking(|| std::thread::sleep(MOMENT));
    }
    Ok(runtime)
}

/// Returns at this time; never if there is none.
pub(crate) async fn at(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Why there is no runtime. The kernel refuses a thread to a process whose children will be in another process namespace.
fn without_threads(error: &io::Error) -> String {
    let cause = match error.kind() {
        io::ErrorKind::InvalidInput => "`unshare --pid` without `--fork`",
        _ => "ulimit -u, or pids.max of the control group",
    };
    format!("no thread can be started ({cause}): {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limit_is_blamed_for_a_missing_fork() {
        let because_of = |number| without_threads(&io::Error::from_raw_os_error(number));
        assert!(because_of(libc::EINVAL).starts_with("no thread can be started (`unshare --pid` without `--fork`)"));
        assert!(because_of(libc::EAGAIN).starts_with("no thread can be started (ulimit -u"));
    }
}
