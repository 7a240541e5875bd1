//! One agent below this host: the command that started it, the bytes in its pipe, and who it looks after.

mod failures;

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use oxshmem_os::random;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::guardian::MARK;
use crate::hosts::allocation::OPTIONS_OF_SRUN;
use crate::hosts::is_here;
use crate::link::child;
use crate::link::frame::{self, AgentOrder, AgentReport, HostPes, JobDescription, NO_HOST};
use crate::link::greeting::{self, Greeting};
use crate::link::pulse::Pulse;
use crate::link::remote_shell::{self, RemotePath, SSH_CONNECTION};
use crate::remote::failures::{excerpt, failed_stage, is_turned_away, with_words};
use crate::verdict;
use crate::waiting::reach;

/// How much of what a remote shell says is kept for the message.
const LAST_WORDS: usize = 2000;
/// How long the remote shell may take to end when its pipe has.
const AFTERMATH: Duration = Duration::from_secs(2);
/// The pauses in milliseconds before further tries where sshd turns a connection away, each up to half as long again or half as short.
const PAUSES: [u64; 5] = [250, 500, 1000, 2000, 4000];
/// A report or an end of an agent.
#[derive(Debug)]
pub(crate) enum AgentEvent {
    /// It is one of ours and has its orders.
    Greeted,
    Report(AgentReport),
    /// Nothing more will come, for this reason.
    Over(String),
}

/// An agent and what is known of it.
pub(crate) struct RemoteAgent {
    /// Its PEs and those below it that have not ended.
    pub(crate) pes: BTreeSet<u32>,
    /// Its host and those below it that are not done.
    pub(crate) hosts: BTreeSet<u32>,
    pub(crate) greeted: bool,
    /// All of its PEs are in the fence.
    pub(crate) fenced: bool,
    /// It owes the answer to a census.
    pub(crate) owes_census: bool,
    pub(crate) pulse: Pulse<Instant>,
    /// How many agents there are from it downwards to the last.
    pub(crate) depth: u32,
    /// When it is no longer waited for, once its hosts are done.
    pub(crate) farewell: Option<Instant>,
    orders: Option<mpsc::UnboundedSender<Vec<u8>>>,
    abandon: Option<oneshot::Sender<String>>,
}

impl RemoteAgent {
    /// Starts an agent for these hosts; what comes from it is told with its number `index`. `starter`: our own host's number.
    pub(crate) fn start(
        index: usize,
        description: &JobDescription,
        host_pes: Vec<HostPes>,
        starter: u32,
        tell: mpsc::UnboundedSender<(usize, AgentEvent)>,
    ) -> RemoteAgent {
        let limit = description.plan.places.host_timeout;
        let (orders, to_write) = mpsc::unbounded_channel();
        let (abandon, abandoned) = oneshot::channel();
        let remote = RemoteAgent {
            pes: host_pes.iter().flat_map(|host| host.pes.iter().copied()).collect(),
            hosts: host_pes.iter().map(|host| host.host).collect(),
            greeted: false,
            fenced: false,
            owes_census: false,
            pulse: Pulse::new(limit, Instant::now()),
            depth: 1,
            farewell: None,
            orders: Some(orders),
            abandon: Some(abandon),
        };
        let words = words_for(description, &host_pes[0], starter);
        let mark = description.mark.clone();
        let first = AgentOrder::Start(Box::new(JobDescription { host_pes, ..description.clone() }));
        tokio::task::spawn_local(async move {
            let news = |news| drop(tell.send((index, news)));
            let opening = AgentOpening { first, orders: to_write };
            let why = match words {
                Ok(words) => start_and_converse(&words, &mark, opening, abandoned, &news).await,
                Err(why) => why,
            };
            news(AgentEvent::Over(why));
        });
        remote
    }

    pub(crate) fn send(&mut self, order: &AgentOrder) {
        if let Some(orders) = &self.orders {
            // The task that writes them ends only after the agent, and another report tells of that end.
            let _ = orders.send(frame::encode(order));
            self.pulse.spoke(Instant::now());
        }
    }

    /// Ends the agent's remote shell and says why; the PEs end with it.
    pub(crate) fn give_up(&mut self, why: String) {
        if let Some(abandon) = self.abandon.take() {
            // The conversation may just have ended by itself.
            let _ = abandon.send(why);
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.orders.is_none()
    }

    /// Nothing more will come.
    pub(crate) fn over(&mut self) {
        self.orders = None;
        self.farewell = None;
        self.fenced = false;
        self.owes_census = false;
        self.pes.clear();
        self.hosts.clear();
    }
}

/// The command for a host. The launcher's own host needs no remote shell, unless the user has named one.
///
/// The launcher alone (`starter` is [`NO_HOST`]) has a host of its own among those that it starts. An agent has none: a host of
/// another domain that has the same name as that of the agent is another machine.
pub(crate) fn words_for(description: &JobDescription, host: &HostPes, starter: u32) -> Result<Vec<String>, String> {
    let places = &description.plan.places;
    let own = std::env::current_exe().map_err(|error| format!("oshrun cannot find itself: {error}"))?;
    if places.launch_agent.is_none() && starter == NO_HOST && is_here(&host.name) {
        return Ok(vec![own.display().to_string(), greeting::ARGUMENT.into()]);
    }
    if let Some(waiting) = &places.waiting {
        return Ok(reach::words(&own.display().to_string(), &host.name, waiting));
    }
    let exactly = places.remote_prefix.as_ref().map(|prefix| prefix.join("bin/oshrun"));
    let place = exactly.as_deref().map_or(RemotePath::AsHere(&own), RemotePath::Exactly);
    let shell = places.launch_agent.as_deref().unwrap_or(remote_shell::SSH);
    remote_shell::command(shell, &host.name, host.host, place).map_err(|why| format!("--launch-agent {shell}: {why}"))
}

fn spawn(words: &[String], mark: &str) -> Result<Child, String> {
    let mut command = Command::new(&words[0]);
    // The agent must find its own address there and not that of the connection that started us.
    command.args(&words[1..]).env(MARK, mark).env_remove(SSH_CONNECTION).stderr(Stdio::piped());
    for name in OPTIONS_OF_SRUN {
        command.env_remove(name);
    }
    child::piped(&mut command).spawn().map_err(|error| failures::unspawned(&words[0], &error))
}

/// The orders for an agent that has greeted us: the first one, and those that follow.
struct AgentOpening {
    first: AgentOrder,
    orders: mpsc::UnboundedReceiver<Vec<u8>>,
}

/// How a conversation has ended, and why.
enum ConversationEnd {
    Over(String),
    /// sshd has closed the connection before it asked for a key.
    TurnedAway(String),
}

/// Starts the remote shell and has the whole conversation with the agent; why it ended.
///
/// An sshd that has many connections whose users are not known yet closes further ones at random (`MaxStartups`: from ten on by default).
/// That of a gateway to many hosts has them at once. So a connection that is turned away is tried again a little later.
async fn start_and_converse(
    words: &[String],
    mark: &str,
    opening: AgentOpening,
    mut abandoned: oneshot::Receiver<String>,
    news: &impl Fn(AgentEvent),
) -> String {
    let (mut opening, mut pauses) = (Some(opening), PAUSES.into_iter());
    loop {
        let end = match spawn(words, mark) {
            Ok(child) => converse(child, words, &mut opening, &mut abandoned, news).await,
            Err(why) => return why,
        };
        let why = match end {
            ConversationEnd::Over(why) => return why,
            ConversationEnd::TurnedAway(why) => why,
        };
        let Some(pause) = pauses.next() else {
            let tries = PAUSES.len() + 1;
            return format!(
                "{why}; sshd has closed {tries} connections there before it asked for a key (see its MaxStartups)"
            );
        };
        tokio::select! {
            given_up = &mut abandoned => return given_up.map_or_else(|_| why.clone(), |given_up| format!("{given_up}; {why}")),
            () = tokio::time::sleep(about(Duration::from_millis(pause))) => {}
        }
    }
}

/// Half to one and a half of a time, so that those who were turned away together do not come back together.
fn about(pause: Duration) -> Duration {
    let mut chance = [0_u8];
    // Without a random number they come back together.
    let _ = random::fill(&mut chance);
    pause.mul_f64(0.5 + f64::from(chance[0]) / 256.0)
}

/// A remote shell. Unless it has been waited for, what it has started ends with it, also where the launcher leaves.
struct RemoteShell(Child);

impl Drop for RemoteShell {
    fn drop(&mut self) {
        child::kill_group(&self.0);
    }
}

/// One conversation with an agent, from its greeting to the end.
async fn converse(
    process: Child,
    words: &[String],
    opening: &mut Option<AgentOpening>,
    abandoned: &mut oneshot::Receiver<String>,
    news: &impl Fn(AgentEvent),
) -> ConversationEnd {
    let mut shell = RemoteShell(process);
    let process = &mut shell.0;
    let stdin = process.stdin.take().expect("it was asked for");
    let mut stdout = process.stdout.take().expect("it was asked for");
    let stderr = process.stderr.take().expect("it was asked for");
    let said = tokio::task::spawn_local(last_words(stderr));
    let (mut heard, mut greeted) = (Vec::new(), false);
    let listening = async {
        let Some(rest) = greet(&mut stdout, &mut heard).await? else { return Ok(()) };
        greeted = true;
        news(AgentEvent::Greeted);
        let AgentOpening { first, orders } = opening.take().expect("an agent that has greeted is not started again");
        // An agent that reads no more has ended, which is told elsewhere.
        tokio::task::spawn_local(child::send(stdin, frame::encode(&first), orders));
        let heard = child::listen(&mut stdout, &rest, |report| news(AgentEvent::Report(report))).await;
        heard.map_err(|why| format!("its agent sent nonsense: {why}"))
    };
    let found = tokio::select! {
        found = listening => found,
        why = &mut *abandoned => Err(why.unwrap_or_default()),
    };
    if found.is_err() {
        child::kill_group(process);
    }
    let ended = tokio::time::timeout(AFTERMATH, process.wait()).await;
    drop(shell);
    let said = match tokio::time::timeout(AFTERMATH, said).await {
        Ok(Ok(said)) => said,
        _ => String::new(),
    };
    ConversationEnd::Over(match (found, ended) {
        (Err(why), _) => with_words(why, &said),
        // The way to an agent that waits says itself at which stage it has failed.
        (Ok(()), _) if reach::is_meant(words) && !said.is_empty() => said,
        (Ok(()), Ok(Ok(status))) if greeted => {
            with_words(format!("its agent {}", verdict::manner(status, None)), &said)
        }
        (Ok(()), Ok(Ok(status))) => {
            let why = failed_stage(words, status, &said, &heard);
            if is_turned_away(status, &said) {
                return ConversationEnd::TurnedAway(why);
            }
            why
        }
        (Ok(()), _) => with_words("the remote shell closed its output and went on".into(), &said),
    })
}

/// Waits for the greeting; what came behind it. `heard` holds everything until then.
async fn greet(stdout: &mut (impl AsyncRead + Unpin), heard: &mut Vec<u8>) -> Result<Option<Vec<u8>>, String> {
    let mut bytes = vec![0; 4096];
    loop {
        match stdout.read(&mut bytes).await {
            Ok(0) | Err(_) => return Ok(None),
            Ok(length) => heard.extend_from_slice(&bytes[..length]),
        }
        match greeting::judge(heard) {
            Greeting::Unfinished => {}
            Greeting::Ours { rest } => return Ok(Some(rest)),
            Greeting::Other { build } => {
                return Err(format!(
                    "a different build of oshrun is there: {build}, and {} here; install the same one on all hosts, or \
                     name its place with --remote-prefix",
                    greeting::build()
                ));
            }
            Greeting::Stranger => return Err(format!("what answers there is not oshrun: {}", excerpt(heard))),
        }
    }
}

/// The end of what a stream says.
async fn last_words(mut stream: impl AsyncRead + Unpin) -> String {
    let (mut said, mut bytes) = (Vec::new(), vec![0; 4096]);
    while let Ok(length @ 1..) = stream.read(&mut bytes).await {
        said.extend_from_slice(&bytes[..length]);
        said.drain(..said.len().saturating_sub(LAST_WORDS));
    }
    String::from_utf8_lossy(&said).trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_lie_around_their_time() {
        let second = Duration::from_secs(1);
        assert!((0..1000).all(|_| (second / 2..second * 3 / 2).contains(&about(second))));
    }
}
