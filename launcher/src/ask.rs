//! The conversation between a running job and the programs of its user that ask what it does.
//!
//! The launcher listens on a socket whose name is in no file system (`@oxshmem/USER/PROCESS`), so that nothing is left of it when the
//! launcher is killed. Both sides make sure that the other one belongs to the same user. A question is a connection; the answer
//! is a [`JobView`] in JSON, and then the connection ends. A second socket is for PEs that have found a certain deadlock: they
//! cannot read debug information, and get the waits of all PEs in words. On a host with an agent it is the agent that listens
//! there, and passes the question on.

use std::io::{self, Read};
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_flight::{Witness, report, sockets};
use oxshmem_os::descriptors;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

/// How long a launcher may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

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

/// Somebody who waits for an answer.
pub(crate) struct Visitor {
    stream: tokio::net::UnixStream,
    wants: AnswerForm,
}

#[derive(Clone, Copy)]
enum AnswerForm {
    /// The [`JobView`] in JSON.
    View,
    /// The waits of all PEs in words, if all wait.
    Waits,
}

/// Those who come.
pub(crate) type Visitors = mpsc::UnboundedReceiver<Visitor>;

impl Visitor {
    /// Answers, in the background: a visitor who does not read keeps nobody.
    pub(crate) fn answer(self, view: &JobView) {
        let text = match self.wants {
            AnswerForm::View => serde_json::to_vec(view).expect("numbers and words have a JSON form"),
            AnswerForm::Waits => view.waits().into_bytes(),
        };
        self.tell(text);
    }

    /// Passes an answer on, in the background.
    pub(crate) fn tell(self, text: Vec<u8>) {
        let Self { mut stream, .. } = self;
        tokio::task::spawn_local(async move {
            // One that has gone needs no answer.
            let _ = tokio::time::timeout(PATIENCE, stream.write_all(&text)).await;
        });
    }
}

impl JobView {
    /// The waits of all PEs in words; nothing unless all PEs wait.
    pub(crate) fn waits(&self) -> String {
        let known = &self.witnesses;
        match known.len() == self.pes as usize && known.iter().all(Witness::is_waiting) {
            true => report::picture(known, self.pes),
            false => String::new(),
        }
    }
}

/// Lets programs of the same user ask. Without a socket nobody can, and the job runs as well.
pub(crate) fn listen() -> Visitors {
    listen_for(&[AnswerForm::View, AnswerForm::Waits])
}

/// Lets the PEs that this process has started ask for the waits of all.
pub(crate) fn listen_to_pes() -> Visitors {
    listen_for(&[AnswerForm::Waits])
}

fn listen_for(forms: &[AnswerForm]) -> Visitors {
    let (tell, visitors) = mpsc::unbounded_channel();
    let (user, own) = (descriptors::own_uid(), std::process::id());
    for &wants in forms {
        let name = match wants {
            AnswerForm::View => sockets::view(user, own),
            AnswerForm::Waits => sockets::waits(user, own),
        };
        let Ok(listener) = bind(&name) else { continue };
        let tell = tell.clone();
        tokio::task::spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let is_user = stream.peer_cred().is_ok_and(|peer| peer.uid() == user);
                if is_user && tell.send(Visitor { stream, wants }).is_err() {
                    return;
                }
            }
        });
    }
    visitors
}

fn bind(name: &str) -> io::Result<tokio::net::UnixListener> {
    let listener = descriptors::listen(name.as_bytes())?;
    listener.set_nonblocking(true)?;
    tokio::net::UnixListener::from_std(listener)
}

/// The jobs of this user on this machine, by the process numbers of their launchers.
pub fn jobs() -> Vec<u32> {
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let own = format!("@{}", sockets::views(descriptors::own_uid()));
    let mut jobs: Vec<u32> =
        sockets.lines().filter_map(|line| line.rsplit_once(' ')?.1.strip_prefix(&own)?.parse().ok()).collect();
    jobs.sort_unstable();
    jobs.dedup();
    jobs
}

/// The job that is meant: the named one, or the only one.
pub fn meant(job: Option<u32>) -> Result<u32, Error> {
    let all = jobs();
    match (job, &all[..]) {
        (Some(job), _) if all.contains(&job) => Ok(job),
        (None, [only]) => Ok(*only),
        (_, []) => Err(Error::new("no job of yours runs on this machine")
            .because("a job is seen on the host on which its oshrun runs, by the user who has started it")
            .fix("look there; a job under another launcher prints who waits for whom with SHMEM_HANG_SECS=10")),
        (Some(job), _) => Err(Error::new(format!("{job} is no running job of yours")).fix(choices(&all))),
        (None, _) => Err(Error::new(format!("{} jobs of yours run here", all.len())).fix(choices(&all))),
    }
}

fn choices(all: &[u32]) -> String {
    let one = |job: &u32| {
        let words = std::fs::read(format!("/proc/{job}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).trim_end_matches('\0').replace('\0', " ");
        format!("\n           {job}  {words}")
    };
    format!("name one of these:{}", all.iter().map(one).collect::<String>())
}

/// Asks a job what it does.
pub fn view(job: u32) -> Result<JobView, Error> {
    let silent = |why: &dyn std::fmt::Display| Error::new(format!("job {job} does not answer")).because(why);
    let ask = || {
        let mut stream = descriptors::connect(sockets::view(descriptors::own_uid(), job).as_bytes())?;
        if descriptors::peer_uid(&stream)? != descriptors::own_uid() {
            return Err(io::Error::other("another user has taken its name"));
        }
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut text = Vec::new();
        stream.read_to_end(&mut text)?;
        Ok(text)
    };
    let text = ask().map_err(|error| silent(&error))?;
    serde_json::from_slice(&text).map_err(|error| {
        silent(&format!("what it says cannot be read: {error}")).fix("use the oxshmem that belongs to the job's oshrun")
    })
}
