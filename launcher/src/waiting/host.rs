//! A host that waits for its launcher: `oshrun --wait-for-launch`. The process stays until the job that it was given is over,
//! and ends with the job's status, as the container of a pod should.

use std::cell::Cell;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use oxshmem_os::sockets;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::{Closing, PROOFS, receive, send};
use crate::link::remote_shell::SSH_CONNECTION;
use crate::link::sealed::{self, JobKey, RecordOpener, RecordSealer, SealedTalk, Welcome};
use crate::link::{child, greeting};
use crate::plan::WaitingHosts;
use crate::signals::{SignalWish, Signals};
use crate::{orphans, say, verdict};

/// The first argument that makes this program wait.
pub const ARGUMENT: &str = "--wait-for-launch";
/// The status of a host that no job has come to, or whose launcher was lost.
const ALONE: i32 = 1;
/// The status of a host that cannot wait.
const USAGE: i32 = 2;
/// Connections that have proved nothing yet. A scanner that opens more waits until some are over.
const STRANGERS: usize = 64;

/// Waits for a launcher, and looks after its PEs here; the exit status is that of the job.
pub fn wait(waiting: &WaitingHosts) -> i32 {
    let key = JobKey::read(&waiting.key).map_err(|error| error.to_string());
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    match key.and_then(|key| Ok((key, runtime().map_err(|error| error.to_string())?))) {
        Ok((key, runtime)) => LocalSet::new().block_on(&runtime, live(waiting, Rc::new(key))),
        Err(why) => refuse(&why),
    }
}

fn refuse(why: &str) -> i32 {
    say(&format!("cannot wait for a launch: {why}"));
    USAGE
}

/// A launcher that has the key.
struct Launcher {
    stream: TcpStream,
    seals: (RecordSealer, RecordOpener),
    from: SocketAddr,
}

async fn live(waiting: &WaitingHosts, key: Rc<JobKey>) -> i32 {
    let mut signals = Signals::listen();
    orphans::wait_for_all();
    let listener = match listen(waiting.port).await {
        Ok(listener) => listener,
        Err(error) => {
            return refuse(&format!("port {} cannot be had: {error}; name another with --wait-port", waiting.port));
        }
    };
    say(&format!("waits on port {} for the start of a job", waiting.port));
    let (tell, mut launchers) = mpsc::unbounded_channel();
    let is_busy = Rc::new(Cell::new(false));
    tokio::task::spawn_local(admit(listener, key, Rc::clone(&is_busy), tell));
    let until = Instant::now() + waiting.patience;
    let launcher = tokio::select! {
        status = ended_by(&mut signals) => return status,
        launcher = timeout_at(until, launchers.recv()) => launcher,
    };
    let Ok(Some(launcher)) = launcher else {
        say(&format!(
            "no job has been started here within {:?} (--wait-timeout)\n  to fix:  start `oshrun --hosts-wait` with \
             this host in -H, or --meet on the first host too, both with this key and --wait-port; or wait longer",
            waiting.patience
        ));
        return ALONE;
    };
    say(&format!("a job is started from {}", launcher.from));
    tokio::select! {
        status = ended_by(&mut signals) => status,
        status = serve(launcher) => status,
    }
}

/// Listens to both families of addresses, where the system has both.
async fn listen(port: u16) -> std::io::Result<TcpListener> {
    match sockets::listen_everywhere(port) {
        Ok(listener) => TcpListener::from_std(listener),
        // Without this it would listen beside a process that has the port for IPv6 only.
        Err(error) if error.kind() == ErrorKind::AddrInUse => Err(error),
        Err(_) => TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await,
    }
}

/// The status of a process that was told to end. The agent and its PEs end with it.
async fn ended_by(signals: &mut Signals) -> i32 {
    loop {
        if let SignalWish::Forward(signal) = signals.next().await
            && SignalWish::is_an_end(signal)
        {
            say(&format!("ends by signal {signal}"));
            return 128 + signal;
        }
    }
}

/// Lets every connection prove itself, and passes on the first that does. It listens as long as this process lives, so that
/// a second launcher is told that there is a first one.
async fn admit(listener: TcpListener, key: Rc<JobKey>, is_busy: Rc<Cell<bool>>, tell: mpsc::UnboundedSender<Launcher>) {
    let room = Arc::new(Semaphore::new(STRANGERS));
    loop {
        let Ok(seat) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((stream, from)) = listener.accept().await else {
            // Without free descriptors no connection can be accepted.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (key, is_busy, tell) = (Rc::clone(&key), Rc::clone(&is_busy), tell.clone());
        tokio::task::spawn_local(async move {
            let from = SocketAddr::new(from.ip().to_canonical(), from.port());
            if let Ok(Ok(Some(launcher))) = timeout(PROOFS, prove(stream, from, &key, &is_busy)).await {
                // Its reader lives as long as this process.
                let _ = tell.send(launcher);
            }
            drop(seat);
        });
    }
}

/// Hears a connection's proof. None: it was refused.
async fn prove(
    mut stream: TcpStream,
    from: SocketAddr,
    key: &JobKey,
    is_busy: &Cell<bool>,
) -> std::io::Result<Option<Launcher>> {
    let _ = stream.set_nodelay(true);
    let number = sealed::fresh_number()?;
    stream.write_all(&sealed::invitation(&number)).await?;
    let mut knock = [0; sealed::KNOCK];
    stream.read_exact(&mut knock).await?;
    let conversation = SealedTalk::new(key, number, sealed::knocked(&knock));
    let welcome = match conversation.admits(&knock) {
        false => Welcome::Stranger,
        true if is_busy.replace(true) => Welcome::Busy,
        true => Welcome::Ready,
    };
    let answered = stream.write_all(&conversation.answer(welcome)).await;
    if welcome == Welcome::Stranger {
        say(&format!("a launcher at {} has another key and is refused", from.ip()));
    }
    if welcome != Welcome::Ready {
        return Ok(None);
    }
    if let Err(error) = answered {
        is_busy.set(false);
        return Err(error);
    }
    Ok(Some(Launcher { stream, seals: conversation.of_agent(), from }))
}

/// The agent's life; its status.
async fn serve(launcher: Launcher) -> i32 {
    let Launcher { stream, seals: (sealer, opener), from } = launcher;
    let mut agent = match spawn(&stream, from) {
        Ok(agent) => agent,
        Err(error) => {
            say(&format!("the agent cannot be started: {error}"));
            return ALONE;
        }
    };
    let orders = agent.stdin.take().expect("it was asked for");
    let reports = agent.stdout.take().expect("it was asked for");
    let (from_launcher, to_launcher) = stream.into_split();
    let mut sending = tokio::task::spawn_local(send(reports, to_launcher, sealer));
    // The end of the orders, also of broken ones, is the end of the agent's input.
    let receiving = tokio::task::spawn_local(receive(from_launcher, opener, orders));
    tokio::select! {
        biased;
        _ = &mut sending => {}
        closing = receiving => {
            let why = match closing {
                Ok(Closing::Broken(why)) => why,
                _ => "it has ended before its job".into(),
            };
            say(&format!("the launcher is lost: {why}"));
            let _ = sending.await;
        }
    }
    agent.wait().await.map_or(ALONE, verdict::code)
}

fn spawn(stream: &TcpStream, from: SocketAddr) -> std::io::Result<Child> {
    let own = stream.local_addr()?;
    let (here, port) = (own.ip().to_canonical(), own.port());
    let mut command = Command::new("/proc/self/exe");
    // As sshd tells by which address this host was reached.
    let connection = format!("{} {} {here} {port}", from.ip(), from.port());
    command.args([greeting::ARGUMENT, greeting::WITH_STATUS]).env(SSH_CONNECTION, connection);
    child::piped(&mut command).spawn()
}
