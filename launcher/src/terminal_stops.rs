//! PEs that the terminal stops, and the launcher, which it would stop.
//!
//! The launcher alone is in the foreground of its terminal. The kernel stops a PE that reads the terminal itself, as programs do
//! that ask for a password, or changes its settings. Without a word about it the job would stand still.

use std::fs::File;
use std::os::fd::AsFd;
use std::time::Duration;

use oxshmem_os::signals::{Process, stopped_by};
use oxshmem_os::{job_control, process};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use crate::link::frame::AgentReport;
use crate::signals;

/// The pause between two looks: many PEs may end at once, and each end is a reason to look.
const PAUSE: Duration = Duration::from_millis(200);

/// Notes each of these PEs that the terminal stops, once. A PE comes with the number of its process, which is our child.
pub(crate) async fn note(mut pes: Vec<(u32, u32)>, reports: mpsc::UnboundedSender<AgentReport>) {
    let has_terminal = File::open("/dev/tty").is_ok();
    // Without the signal no PE is looked at, and the job runs as well.
    let Some(mut children) = signal(SignalKind::child()).ok().filter(|_| has_terminal) else { return };
    loop {
        pes.retain(|&(pe, pid)| {
            let Some(text) = stopped_by(pid).and_then(|signal| sentence(pe, pid, signal)) else { return true };
            // The receiver lives as long as the job.
            let _ = reports.send(AgentReport::Note { text });
            false
        });
        if children.recv().await.is_none() {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Stops the whole job, as Ctrl-Z does, before a write to a terminal that stops writers of the background (`stty tostop`). Such a write
/// would stop the launcher alone, and agents take its silence for its end. Returns in the foreground.
pub(crate) fn stop_in_background(stream: &impl AsFd) {
    let mut asked = None;
    while job_control::would_stop_us(stream) && job_control::is_in_job_control() && signals::may_stop() {
        let stops = signals::stops();
        // One wish for each stop: a second one would come when the job goes on.
        if asked.replace(stops) != Some(stops)
            && Process::hold(process::pid()).and_then(|own| own.signal(libc::SIGTSTP)).is_err()
        {
            // The write stops the launcher.
            return;
        }
        std::thread::sleep(PAUSE);
    }
}

/// The note about a PE that this signal has stopped, if the terminal sends it.
fn sentence(pe: u32, pid: u32, signal: i32) -> Option<String> {
    let what = match signal {
        libc::SIGTTIN => "reads the terminal itself (SIGTTIN)",
        libc::SIGTTOU => "writes to the terminal itself or changes its settings (SIGTTOU)",
        _ => return None,
    };
    Some(format!(
        "note: PE {pe} (pid {pid}) {what}, which stops it, because only oshrun is in the foreground there: let it read its \
         standard input (--stdin), or give each PE a terminal, `oshrun -n 2 xterm -e ./program`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stops_by_others_than_the_terminal_are_the_users_own() {
        assert!(
            sentence(3, 17, libc::SIGTTIN)
                .is_some_and(|text| text.starts_with("note: PE 3 (pid 17) reads the terminal"))
        );
        assert!(sentence(3, 17, libc::SIGTTOU).is_some_and(|text| text.contains("changes its settings (SIGTTOU)")));
        assert_eq!([libc::SIGSTOP, libc::SIGTSTP].map(|signal| sentence(3, 17, signal)), [None, None]);
    }
}
