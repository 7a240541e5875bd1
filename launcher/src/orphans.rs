//! Orphans in a container whose first process is this one.
//!
//! The kernel gives the first process every process whose parent has ended, and no other one can wait for it. Until then it
//! stays a zombie, which counts among the processes that the container may have: a job whose PEs start programs in the
//! background again and again would come to the limit.

use std::time::Duration;

use oxshmem_os::{process, signals};
use tokio::signal::unix::{SignalKind, signal};

/// The pause between two looks. What ends of our own children is waited for meanwhile by those who have started it.
const PAUSE: Duration = Duration::from_millis(200);

/// Waits for orphans as long as the runtime lives, if this is the first process.
pub(crate) fn wait_for_all() {
    if process::pid() != 1 {
        return;
    }
    tokio::task::spawn_local(async {
        // Without the signal they stay until the container ends.
        let Ok(mut children) = signal(SignalKind::child()) else { return };
        while children.recv().await.is_some() {
            tokio::time::sleep(PAUSE).await;
            signals::reap_orphans();
        }
    });
}
