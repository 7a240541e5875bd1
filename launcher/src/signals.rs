//! The signals that the launcher itself receives.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use oxshmem_os::signals;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// The wish of the sender of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalWish {
    /// The PEs shall have this signal.
    Forward(i32),
    /// The job shall stop until it is continued.
    Stop,
}

impl SignalWish {
    /// Whether the signal ends processes of the job that do not handle it. SIGUSR1 is a question, and goes to no others.
    pub(crate) fn is_an_end(signal: i32) -> bool {
        !matches!(signal, libc::SIGCONT | libc::SIGWINCH | libc::SIGUSR1)
    }

    /// Whether no PE shall be started any more after the signal.
    pub(crate) fn is_against_starts(signal: i32) -> bool {
        matches!(signal, libc::SIGTERM | libc::SIGKILL | libc::SIGINT | libc::SIGHUP | libc::SIGQUIT)
    }
}

/// The signals that PEs may get.
const FORWARDED: [i32; 8] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGQUIT,
    libc::SIGCONT,
    libc::SIGWINCH,
];

/// All signals that the launcher listens to.
pub(crate) struct Signals {
    wishes: mpsc::UnboundedReceiver<SignalWish>,
}

impl Signals {
    /// Signals that were ignored when the launcher started (nohup, a shell's background job) stay ignored.
    pub(crate) fn listen() -> Signals {
        let (sender, wishes) = mpsc::unbounded_channel();
        let ignored = ignored();
        let forwarded = FORWARDED.iter().map(|&number| (number, SignalWish::Forward(number)));
        for (number, wish) in forwarded.chain([(libc::SIGTSTP, SignalWish::Stop)]) {
            if ignored >> (number - 1) & 1 == 0
                && let Ok(arrivals) = signal(SignalKind::from_raw(number))
            {
                tokio::task::spawn_local(pass_on(arrivals, wish, sender.clone()));
            }
        }
        Signals { wishes }
    }

    pub(crate) async fn next(&mut self) -> SignalWish {
        match self.wishes.recv().await {
            Some(wish) => wish,
            // Every signal is ignored: none will come.
            None => std::future::pending().await,
        }
    }

    /// Stops the launcher itself until it gets SIGCONT.
    pub(crate) fn stop_here() {
        let stopped = signals::Process::hold(std::process::id()).and_then(|own| own.signal(libc::SIGSTOP));
        // If we cannot stop, the PEs have; they continue with the next SIGCONT.
        drop(stopped);
        STOPS.fetch_add(1, Relaxed);
    }
}

/// Stops of this process that are over.
static STOPS: AtomicU32 = AtomicU32::new(0);

/// How often this process has stopped and gone on.
pub(crate) fn stops() -> u32 {
    STOPS.load(Relaxed)
}

async fn pass_on(mut arrivals: Signal, wish: SignalWish, wishes: mpsc::UnboundedSender<SignalWish>) {
    while arrivals.recv().await.is_some() {
        if wishes.send(wish).is_err() {
            return;
        }
    }
}

/// The job is over, and nobody listens any more: signals do to the launcher itself what they do to any process.
pub(crate) fn leave_to_system() {
    let ignored = ignored();
    let heard = FORWARDED.into_iter().chain([libc::SIGTSTP]).filter(|number| ignored >> (number - 1) & 1 == 0);
    heard.for_each(signals::restore_default);
}

/// Whether the wish to stop stops this process. The first process of a container cannot stop.
pub(crate) fn may_stop() -> bool {
    std::process::id() != 1 && ignored() >> (libc::SIGTSTP - 1) & 1 == 0
}

/// The set of signals this process was started to ignore.
fn ignored() -> u64 {
    set("SigIgn:")
}

/// A set of signals, as the kernel shows it.
fn set(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_the_launchers_own_behind_its_job() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let is_caught = || set("SigCgt:") >> (libc::SIGTERM - 1) & 1 == 1;
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let _signals = Signals::listen();
            assert!(is_caught());
        });
        assert!(is_caught(), "the runtime does not give it back");
        leave_to_system();
        assert!(!is_caught());
    }
}
