//! From the launcher to an agent that waits: the pipe of the agent, carried over one sealed connection.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::time::Duration;

use oxshmem_os::process;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::{Closing, PROOFS, receive, send};
use crate::link::sealed::{self, JobKey, RecordOpener, RecordSealer, SealedTalk, Welcome};
use crate::plan::WaitingHosts;

/// The first argument that makes this program the way to an agent that waits.
pub const ARGUMENT: &str = "--reach";
/// How long one address may take to answer.
const CONNECT: Duration = Duration::from_secs(5);
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(250);

/// The words that start this program as the way to a host.
pub(crate) fn words(own: &str, host: &str, waiting: &WaitingHosts) -> Vec<String> {
    let key = waiting.key.display().to_string();
    let patience = waiting.patience.as_secs_f64().to_string();
    vec![own.into(), ARGUMENT.into(), host.into(), waiting.port.to_string(), key, patience]
}

/// Whether a command is this one.
pub(crate) fn is_meant(words: &[String]) -> bool {
    words.get(1).is_some_and(|word| word == ARGUMENT)
}

/// Carries the pipe of the agent on a host; the exit status. Its arguments are those of [`words`].
pub fn carry(arguments: &[OsString]) -> i32 {
    // The launcher puts the name of the host before why its agent is not, or no longer, there.
    carried(arguments).map_or_else(|why| failed(&why), |()| 0)
}

fn carried(arguments: &[OsString]) -> Result<(), String> {
    let text = |at: usize| arguments.get(at).map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let patience = text(3).parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let (Ok(port), Some(patience)) = (text(1).parse(), patience) else {
        return Err("it is started by oshrun only".into());
    };
    let key = JobKey::read(text(2).as_ref()).map_err(|error| error.in_one_line())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let carried = runtime.block_on(async {
        match talk(reach(&text(0), port, &key, patience).await?).await {
            Closing::Told => Ok(()),
            Closing::Broken(why) => Err(format!(
                "the connection to its agent is lost ({why}): the host or its pod was ended or started anew, and its PEs with it"
            )),
        }
    });
    // A thread may still wait for orders.
    runtime.shutdown_background();
    carried
}

fn failed(why: &str) -> i32 {
    process::say(&format!("{why}\n"));
    1
}

/// A connection to an agent that has proved itself.
type ReachedAgent = (TcpStream, (RecordSealer, RecordOpener));

async fn talk((stream, (sealer, opener)): ReachedAgent) -> Closing {
    let (from, to) = stream.into_split();
    let orders = tokio::spawn(send(tokio::io::stdin(), to, sealer));
    let closing = receive(from, opener, tokio::io::stdout()).await;
    orders.abort();
    closing
}

/// The agent of a host, once it is there: its pod may come late, and its name later still.
async fn reach(host: &str, port: u16, key: &JobKey, patience: Duration) -> Result<ReachedAgent, String> {
    let until = Instant::now() + patience;
    loop {
        let why = match timeout_at(until, attempt(host, port, key)).await {
            Ok(Ok(reached)) => return Ok(reached),
            Ok(Err(Hindrance::Passing(why))) => why,
            Ok(Err(Hindrance::Final(why))) => return Err(why),
            Err(_) => "nothing came from it".into(),
        };
        if Instant::now() + PAUSE >= until {
            return Err(format!(
                "no agent has answered within {patience:?} (--wait-timeout); the last attempt: {why}; see whether the host \
                 or pod runs `oshrun --wait-for-launch`, or --meet with the same -H"
            ));
        }
        sleep(PAUSE).await;
    }
}

/// Why an attempt came to nothing.
enum Hindrance {
    /// A later attempt may succeed.
    Passing(String),
    Final(String),
}

async fn attempt(host: &str, port: u16, key: &JobKey) -> Result<ReachedAgent, Hindrance> {
    let no_address = |error| Hindrance::Passing(format!("its name has no address yet ({error})"));
    let mut why = Hindrance::Passing("its name has no address yet".into());
    for address in lookup_host((host, port)).await.map_err(no_address)? {
        match at(address, key).await {
            Err(passing @ Hindrance::Passing(_)) => why = passing,
            told => return told,
        }
    }
    Err(why)
}

async fn at(address: SocketAddr, key: &JobKey) -> Result<ReachedAgent, Hindrance> {
    let silent = |_| Hindrance::Passing(format!("{address} has not answered for {CONNECT:?}"));
    let connected = timeout(CONNECT, TcpStream::connect(address)).await.map_err(silent)?;
    let stream = connected.map_err(|error| Hindrance::Passing(format!("{address}: {error}")))?;
    let mute = |_| Err(Hindrance::Passing(format!("what listens at {address} says nothing")));
    timeout(PROOFS, prove(stream, address, key)).await.unwrap_or_else(mute)
}

async fn prove(mut stream: TcpStream, address: SocketAddr, key: &JobKey) -> Result<ReachedAgent, Hindrance> {
    let broken = |error: std::io::Error| Hindrance::Passing(format!("{address}: {error}"));
    let _ = stream.set_nodelay(true);
    let mut invitation = [0; sealed::INVITATION];
    stream.read_exact(&mut invitation).await.map_err(broken)?;
    let agent = sealed::invited(&invitation)
        .ok_or_else(|| Hindrance::Final(format!("what listens at {address} is no agent of this version of oshrun")))?;
    let conversation = SealedTalk::new(key, agent, sealed::fresh_number().map_err(broken)?);
    stream.write_all(&conversation.knock()).await.map_err(broken)?;
    let mut answer = [0; sealed::ANSWER];
    stream.read_exact(&mut answer).await.map_err(broken)?;
    match conversation.answered(&answer) {
        Some(Welcome::Ready) => Ok((stream, conversation.of_launcher())),
        Some(Welcome::Busy) => Err(Hindrance::Passing(format!("the agent at {address} is in another job"))),
        Some(Welcome::Stranger) => Err(Hindrance::Final(format!(
            "the agent at {address} refuses the key of this job: it has another one; give the same Secret to all pods"
        ))),
        None => Err(Hindrance::Final(format!("what listens at {address} does not know the key of this job"))),
    }
}
