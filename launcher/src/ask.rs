//! The conversation between a running job and the programs of its user that ask what it does.
//!
//! The launcher listens on a socket whose name is in no file system (`@oxshmem/USER/PROCESS`), so that nothing is left of it when the
//! launcher is killed. Both sides make sure that the other one belongs to the same user. A question is a connection; the answer
//! is a [`JobView`] in JSON, and then the connection ends. A second socket is for PEs that have found a certain deadlock: they
//! cannot read debug information, and get the waits of all PEs in words. On a host with an agent it is the agent that listens
//! there, and passes the question on.

mod jobs;

use std::io;
use std::time::Duration;

use oxshmem_base::{Error, file};
use oxshmem_flight::report::{self, Certainty};
use oxshmem_flight::{Witness, sockets};
use oxshmem_os::{descriptors, kernel_text};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

pub use jobs::{jobs, meant};

/// How long a launcher may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one that is stopped may take, if who asks does not wait until it goes on.
const MOMENT: Duration = Duration::from_secs(1);
/// The pause after a connection that could not be accepted.
const AGAIN: Duration = Duration::from_millis(100);
/// No view of a job is longer: one of 1,024 PEs takes less than 4 MiB.
const LONGEST: u64 = 256 << 20;

/// Everything that a job says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobView {
    /// The process number of its launcher, which is its name.
    pub job: u32,
    /// How many PEs it has.
    pub pes: u32,
    /// How long it has been running.
    pub seconds: f64,
    /// The programs and their arguments.
    pub command: String,
    /// The host of each PE; empty: the launcher's own.
    pub hosts: Vec<String>,
    /// The state of each PE.
    pub witnesses: Vec<Witness>,
}

/// A connection that waits for an answer.
pub(crate) struct Visitor {
    stream: tokio::net::UnixStream,
    wants: AnswerForm,
}

#[derive(Clone, Copy)]
pub(crate) enum AnswerForm {
    /// The [`JobView`] in JSON.
    View,
    /// The waits of all PEs in words, if all wait.
    Waits,
}

/// The connections as they come.
pub(crate) type Visitors = mpsc::UnboundedReceiver<Visitor>;

impl Visitor {
    /// Answers in the background, so that a visitor that does not read delays nothing.
    pub(crate) fn answer(self, view: &JobView) {
        let text = match self.wants {
            AnswerForm::View => serde_json::to_vec(view).expect("numbers and words have a JSON form"),
            // PEs ask for this when they have proven a deadlock.
            AnswerForm::Waits => view.waits(Certainty::Proven).into_bytes(),
        };
        self.tell(text);
    }

    /// Passes an answer on, in the background.
    pub(crate) fn tell(self, text: Vec<u8>) {
        let Self { mut stream, .. } = self;
        tokio::task::spawn_local(async move {
            // A visitor that has gone needs no answer.
            let _ = tokio::time::timeout(PATIENCE, stream.write_all(&text)).await;
        });
    }
}

impl JobView {
    /// The waits of all PEs in words; nothing unless all PEs wait.
    pub(crate) fn waits(&self, certainty: Certainty) -> String {
        let known = &self.witnesses;
        if known.len() == self.pes as usize && known.iter().all(Witness::is_waiting) {
            report::picture(known, self.pes, certainty)
        } else {
            String::new()
        }
    }
}

/// Lets programs of the same user ask. Without a socket none can, and the job still runs.
pub(crate) fn listen(forms: &[AnswerForm]) -> Visitors {
    let (tell, visitors) = mpsc::unbounded_channel();
    let (user, own) = (descriptors::own_uid(), std::process::id());
    for &wants in forms {
        let bound = match wants {
            // Any user can take any name before us: `oxshmem why` knows ours by the owner, under each such name.
            AnswerForm::View => {
                bind(&sockets::view(user, own)).or_else(|_| bind(&sockets::other_view(user, own, random())))
            }
            AnswerForm::Waits => bind(&sockets::waits(user, own)),
        };
        let Ok(listener) = bound else { continue };
        let tell = tell.clone();
        tokio::task::spawn_local(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    // Without free descriptors no connection can be accepted.
                    tokio::time::sleep(AGAIN).await;
                    continue;
                };
                let is_user = stream.peer_cred().is_ok_and(|peer| peer.uid() == user);
                if is_user && tell.send(Visitor { stream, wants }).is_err() {
                    return;
                }
            }
        });
    }
    visitors
}

/// A number that no other user can guess before the socket has its name.
fn random() -> u64 {
    let mut bytes = [0; 8];
    // Without random bytes this name may be taken, too, and then no program can ask.
    let _ = oxshmem_os::random::fill(&mut bytes);
    u64::from_ne_bytes(bytes)
}

fn bind(name: &str) -> io::Result<tokio::net::UnixListener> {
    let listener = descriptors::listen(name.as_bytes())?;
    listener.set_nonblocking(true)?;
    tokio::net::UnixListener::from_std(listener)
}

/// Asks a job what it does.
pub fn view(job: u32) -> Result<JobView, Error> {
    view_within(job, PATIENCE)
}

/// The same for one who asks once, and need not see a job go on that is stopped.
pub(crate) fn view_at_once(job: u32) -> Result<JobView, Error> {
    view_within(job, MOMENT)
}

/// `of_stopped`: how long a job that is stopped may take to go on and answer.
fn view_within(job: u32, of_stopped: Duration) -> Result<JobView, Error> {
    let unanswered = || Error::new(format!("job {job} does not answer"));
    let reached = || {
        let stream = jobs::socket(job)?;
        let launcher = descriptors::peer_pid(&stream)?;
        let patience = if launcher.is_some_and(is_stopped) { of_stopped } else { PATIENCE };
        stream.set_read_timeout(Some(patience))?;
        Ok((stream, launcher))
    };
    let (stream, launcher) = reached().map_err(|error: io::Error| unanswered().because(error))?;
    let text = file::bounded(stream, LONGEST).map_err(|error| explained(unanswered(), &error, launcher))?;
    serde_json::from_slice(&text).map_err(|error| {
        unanswered()
            .because(format!("what it says cannot be read: {error}"))
            .fix("use the oxshmem that belongs to the job's oshrun")
    })
}

/// Why there is no answer. `launcher`: the process that owes it.
fn explained(unanswered: Error, error: &io::Error, launcher: Option<u32>) -> Error {
    // The kernel gives the first of them at the end of a limit.
    let is_silent = matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
    match launcher.filter(|&launcher| is_silent && is_stopped(launcher)) {
        Some(launcher) => unanswered
            .because("its oshrun is stopped")
            .fix(format!("continue it with fg or kill -CONT {launcher}, and ask again")),
        None if is_silent => unanswered
            .because(format!("nothing has come within {} s", PATIENCE.as_secs()))
            .fix("ask again; a machine with many more processes than processors may take long"),
        None => unanswered.because(error),
    }
}

/// Whether a signal has stopped a process, as Ctrl-Z does.
fn is_stopped(pid: u32) -> bool {
    let stat = kernel_text::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|fields| fields.starts_with('T'))
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::process::Command;

    use oxshmem_os::signals::Process;

    use super::*;

    #[test]
    fn a_job_that_is_stopped_is_to_be_continued() {
        let mut child = Command::new("sleep").arg("600").spawn().expect("sleep starts");
        let (pid, process) = (child.id(), Process::hold(child.id()).expect("our child"));
        let why = |kind: ErrorKind| explained(Error::new("no answer"), &kind.into(), Some(pid)).to_string();
        assert!(why(ErrorKind::WouldBlock).contains("nothing has come within 10 s"));
        process.signal(libc::SIGSTOP).expect("our child");
        while !is_stopped(pid) {
            std::thread::yield_now();
        }
        for kind in [ErrorKind::WouldBlock, ErrorKind::TimedOut] {
            let told = why(kind);
            assert!(told.contains("its oshrun is stopped") && told.contains(&format!("kill -CONT {pid}")), "{told}");
        }
        assert!(!why(ErrorKind::ConnectionReset).contains("stopped"), "it has answered that it does not answer");
        child.kill().expect("our child");
        child.wait().expect("our child");
    }
}
