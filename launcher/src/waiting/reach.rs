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
    let text = |at: usize| arguments.get(at).map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
    let patience = text(3).parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let (Ok(port), Some(patience)) = (text(1).parse(), patience) else { return failed("it is started by oshrun only") };
    let key = match JobKey::read(text(2).as_ref()) {
        Ok(key) => key,
        Err(error) => return failed(&error.in_one_line()),
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.to_string()),
    };
    let status = runtime.block_on(async {
        let (stream, seals) = match reach(&text(0), port, &key, patience).await {
            Ok(reached) => reached,
            Err(why) => return failed(&why),
        };
        match talk(stream, seals).await {
            Closing::Told => 0,
            Closing::Broken(why) => failed(&format!(
                "the connection to its agent is lost ({why}): the host or its pod was ended or started anew, and its PEs with it"
            )),
        }
    });
    // A thread may still wait for orders.
    runtime.shutdown_background();
    status
}

/// Says why the agent is not, or no longer, there. The launcher puts the name of the host before it.
fn failed(why: &str) -> i32 {
    process::say(&format!("{why}\n"));
    1
}

async fn talk(stream: TcpStream, (sealer, opener): (RecordSealer, RecordOpener)) -> Closing {
    let (from, to) = stream.into_split();
    let orders = tokio::spawn(send(tokio::io::stdin(), to, sealer));
    let closing = receive(from, opener, tokio::io::stdout()).await;
    orders.abort();
    closing
}

/// The agent of a host, once it is there: its pod may come late, and its name later still.
async fn reach(
    host: &str,
    port: u16,
    key: &JobKey,
    patience: Duration,
) -> Result<(TcpStream, (RecordSealer, RecordOpener)), String> {
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

async fn attempt(host: &str, port: u16, key: &JobKey) -> Result<(TcpStream, (RecordSealer, RecordOpener)), Hindrance> {
    let passing = |why: String| Hindrance::Passing(why);
    let addresses: Vec<SocketAddr> = match lookup_host((host, port)).await {
        Ok(addresses) => addresses.collect(),
        Err(error) => return Err(passing(format!("its name has no address yet ({error})"))),
    };
    let mut why = passing("its name has no address yet".into());
    for address in addresses {
        let stream = match timeout(CONNECT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                why = passing(format!("{address}: {error}"));
                continue;
            }
            Err(_) => {
                why = passing(format!("{address} has not answered for {CONNECT:?}"));
                continue;
            }
        };
        match timeout(PROOFS, prove(stream, address, key)).await {
            Ok(Ok(reached)) => return Ok(reached),
            Ok(Err(hindrance @ Hindrance::Final(_))) => return Err(hindrance),
            Ok(Err(hindrance)) => why = hindrance,
            Err(_) => why = passing(format!("what listens at {address} says nothing")),
        }
    }
    Err(why)
}

async fn prove(
    mut stream: TcpStream,
    address: SocketAddr,
    key: &JobKey,
) -> Result<(TcpStream, (RecordSealer, RecordOpener)), Hindrance> {
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
        Some(Welcome::Ready) => {
            let seals = conversation.of_launcher();
            Ok((stream, seals))
        }
        Some(Welcome::Busy) => Err(Hindrance::Passing(format!("the agent at {address} is in another job"))),
        Some(Welcome::Stranger) => Err(Hindrance::Final(format!(
            "the agent at {address} refuses the key of this job: it has another one; give the same Secret to all pods"
        ))),
        None => Err(Hindrance::Final(format!("what listens at {address} does not know the key of this job"))),
    }
}
