//! The job this process belongs to: its number, the others, and the key-value space between them.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_base::knobs::Settings;
use oxshmem_os::{process, sockets};

use crate::claim::{self, Claim};
use crate::node::{self, Node};
use crate::pmi1::{LIMITS, Limits, Lines, PROCESS_MAPPING, Reply, Request};
use crate::{mapping, published};

/// How long a server may take for its first answer; whoever holds the descriptor then is no PMI-1 server.
const FIRST_ANSWER: Duration = Duration::from_secs(30);

/// Membership in a job. It lasts as long as the process: a library that is initialised a second time keeps it.
#[derive(Debug)]
pub struct Job {
    rank: u32,
    size: u32,
    node: Node,
    /// The node of every PE, by its number among the job's nodes.
    nodes: Vec<u32>,
    ours: bool,
    space: Space,
}

/// Where published values live.
#[derive(Debug)]
enum Space {
    Alone(Mutex<BTreeMap<String, Vec<u8>>>),
    Served(Server),
}

/// One conversation with a PMI-1 server. Answers are read under the lock; an abort is written without it, because the
/// holder may be waiting in a fence.
#[derive(Debug)]
struct Server {
    stream: UnixStream,
    name: String,
    limits: Limits,
    answers: Mutex<Lines>,
}

impl Job {
    /// Finds the job of this process: a PMI-1 server if one answers, else this process is a job of its own, unless
    /// the environment says otherwise.
    pub fn join(settings: &Settings) -> Result<Job, Error> {
        Job::join_as_told(|name| std::env::var(name).ok(), settings.singleton)
    }

    fn join_as_told(variable: impl Fn(&str) -> Option<String>, singleton: bool) -> Result<Job, Error> {
        if singleton {
            return Ok(Job::alone());
        }
        let number = |name| variable(name)?.trim().parse::<u32>().ok();
        let refusal = match (number("PMI_FD"), number("PMI_RANK"), number("PMI_SIZE")) {
            (Some(fd), Some(rank), Some(size)) if rank < size => match Server::greet(fd, rank) {
                Ok(server) => {
                    return Job::served(server, rank, size, variable("OXSHMEM_JOB").is_some());
                }
                Err(why) => format!("PMI_FD={fd} does not answer as a PMI-1 server: {why}"),
            },
            (None, ..) => "PMI_FD is not set".into(),
            _ => "PMI_FD is set, but PMI_RANK and PMI_SIZE do not number this task".into(),
        };
        match claim::claimed(&variable) {
            None => Ok(Job::alone()),
            Some(Claim { what, remedy }) => {
                Err(Error::new(format!("this process was started as {what}, but no PMI-1 server answered"))
                    .because(refusal)
                    .fix(format!("start it with {remedy}; SHMEM_SINGLETON=1 makes every task a job of its own")))
            }
        }
    }

    fn alone() -> Job {
        let node = Node::of(&[0], 0);
        Job { rank: 0, size: 1, node, nodes: vec![0], ours: false, space: Space::Alone(Mutex::default()) }
    }

    fn served(server: Server, rank: u32, size: u32, ours: bool) -> Result<Job, Error> {
        let mut job = Job { rank, size, ours, ..Job::alone() };
        let mapped = server.get(PROCESS_MAPPING)?.ok().and_then(|text| mapping::nodes_of(&text, size));
        job.space = Space::Served(server);
        let nodes = match mapped {
            Some(nodes) => nodes,
            None => node::by_identity(&job)?,
        };
        job.node = Node::of(&nodes, rank);
        job.nodes = node::numbered(&nodes);
        Ok(job)
    }

    /// This process's number in the job.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many processes the job has.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The node this process is on and who shares it.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// The node of a PE, by its number among the job's nodes.
    pub fn node_of(&self, pe: u32) -> u32 {
        self.nodes[pe as usize]
    }

    /// Whether `oshrun` is the launcher.
    pub fn launched_by_us(&self) -> bool {
        self.ours
    }

    /// Publishes bytes of any length under a key of at most 48 bytes that nobody used before. Others can read them
    /// after the next [`fence`](Job::fence).
    pub fn put(&self, key: &str, bytes: &[u8]) -> Result<(), Error> {
        assert!(key.len() <= 48 && !key.contains([' ', '=', '\n']), "a key must leave room for piece numbers: {key}");
        match &self.space {
            Space::Alone(values) => {
                held(values).insert(key.into(), bytes.into());
                Ok(())
            }
            Space::Served(server) => {
                let longest = server.limits.value.min(LIMITS.value) - 1;
                published::pieces(key, bytes, longest).into_iter().try_for_each(|(key, text)| server.put(key, text))
            }
        }
    }

    /// Waits until every PE of the job has called it; what was put before can be read afterwards.
    pub fn fence(&self) -> Result<(), Error> {
        let Space::Served(server) = &self.space else {
            return Ok(());
        };
        match server.ask(&Request::BarrierIn)? {
            Reply::BarrierOut => Ok(()),
            other => Err(server.confused("the barrier", &other)),
        }
    }

    /// The bytes that some PE published under this key before the last fence.
    pub fn get(&self, key: &str) -> Result<Vec<u8>, Error> {
        match &self.space {
            Space::Alone(values) => held(values).get(key).cloned().ok_or_else(|| not_published(key, "nobody put it")),
            Space::Served(server) => published::assemble(key, |key| match server.get(key)? {
                Ok(text) => Ok(text),
                Err(why) => Err(not_published(key, &why)),
            })?
            .ok_or_else(|| not_published(key, "what is there was put by another library")),
        }
    }

    /// Ends the whole job with this status: the launcher ends the other PEs, this process is gone at once.
    pub fn abort(&self, status: i32, message: &str) -> ! {
        if !message.is_empty() {
            // In one piece, so that the lines of several PEs do not mix.
            let _ = std::io::stderr().write_all(format!("{message}\n").as_bytes());
        }
        if let Space::Served(server) = &self.space {
            // If the launcher is gone there is nobody to tell, and the other PEs end by the same sign.
            let _ = (&server.stream).write_all(Request::Abort { status }.encode().as_bytes());
        }
        process::exit_now(status)
    }

    /// Tells the launcher that this PE ends properly. For the exit of the process: there is no return into the job.
    pub fn done(&self) {
        if let Space::Served(server) = &self.space {
            let mut answers = held(&server.answers);
            // The PE is leaving; a launcher that is already gone changes nothing.
            let _ = server.exchange(&mut answers, &Request::Finalize);
        }
    }

    /// Ends this process if the launcher is gone. For waits that do not themselves talk to the server.
    pub fn end_if_orphaned(&self) {
        if let Space::Served(server) = &self.space
            && sockets::hung_up(&server.stream)
        {
            orphaned();
        }
    }

    /// A job whose PEs have these places and no server.
    #[cfg(test)]
    pub(crate) fn placed(rank: u32, nodes: &[u32]) -> Job {
        let (node, size, nodes) = (Node::of(nodes, rank), nodes.len() as u32, node::numbered(nodes));
        Job { rank, size, node, nodes, ..Job::alone() }
    }
}

impl Server {
    /// Opens the conversation on an inherited descriptor; the error says why it is none.
    fn greet(fd: u32, rank: u32) -> Result<Server, String> {
        let inherited = i32::try_from(fd).map_err(|_| "no such descriptor".to_string())?;
        let stream = UnixStream::from(sockets::inherited(inherited).map_err(|error| error.to_string())?);
        stream.set_read_timeout(Some(FIRST_ANSWER)).map_err(|error| error.to_string())?;
        let mut server = Server { stream, name: String::new(), limits: LIMITS, answers: Mutex::new(Lines::default()) };
        let hello =
            [Request::Init { version: 1, subversion: 1 }, Request::Maxes, Request::AppNumber, Request::SpaceName];
        for request in &hello {
            let answer = server.exchange(&mut held(&server.answers), request);
            match (request, answer.map_err(|error| error.to_string())?) {
                (Request::Init { .. }, Reply::Init { accepted: true, .. }) | (Request::AppNumber, _) => {}
                (Request::Maxes, Reply::Maxes(limits)) if limits.key >= 56 && limits.value >= 64 => {
                    server.limits = limits;
                }
                (Request::SpaceName, Reply::SpaceName(name)) => server.name = name,
                (_, other) => {
                    return Err(format!("PE {rank} asked {request:?} and was told {other:?}"));
                }
            }
        }
        server.stream.set_read_timeout(None).map_err(|error| error.to_string())?;
        Ok(server)
    }

    fn put(&self, key: String, value: String) -> Result<(), Error> {
        match self.ask(&Request::Put { space: self.name.clone(), key: key.clone(), value })? {
            Reply::Put(Ok(())) => Ok(()),
            Reply::Put(Err(why)) => Err(Error::new(format!("the launcher did not take the value {key}")).because(why)),
            other => Err(self.confused(&key, &other)),
        }
    }

    fn get(&self, key: &str) -> Result<Result<String, String>, Error> {
        match self.ask(&Request::Get { space: self.name.clone(), key: key.into() })? {
            Reply::Get(found) => Ok(found),
            other => Err(self.confused(key, &other)),
        }
    }

    /// Sends a request and waits for its answer. The end of the stream is the end of the job.
    fn ask(&self, request: &Request) -> Result<Reply, Error> {
        self.exchange(&mut held(&self.answers), request).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => orphaned(),
            _ => Error::new("the conversation with the launcher broke").because(error.to_string()),
        })
    }

    fn exchange(&self, answers: &mut Lines, request: &Request) -> std::io::Result<Reply> {
        (&self.stream).write_all(request.encode().as_bytes())?;
        let mut bytes = [0; 2048];
        loop {
            if let Some(line) = answers.next_line() {
                return line.and_then(|line| Reply::decode(&line)).map_err(std::io::Error::other);
            }
            match (&self.stream).read(&mut bytes) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => answers.feed(&bytes[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn confused(&self, about: &str, reply: &Reply) -> Error {
        Error::new(format!("the launcher's PMI-1 server answered about {about} what was not asked"))
            .because(format!("its answer was {reply:?}"))
    }
}

/// The launcher is the lifeline: without it nobody would end this process, so it ends itself.
fn orphaned() -> ! {
    eprintln!("oxshmem: the launcher closed the PMI connection of process {}: the job is over", process::pid());
    process::exit_now(1)
}

fn not_published(key: &str, why: &str) -> Error {
    Error::new(format!("no PE published {key}")).because(why.to_string())
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    // No holder panics between two writes; what a panicking thread left is whole.
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::os::fd::AsRawFd;
    use std::sync::Arc;

    /// A server as foreign as PMI-1 allows: short values, no process mapping.
    struct Foreign {
        values: Mutex<BTreeMap<String, String>>,
        barrier: std::sync::Barrier,
    }

    impl Foreign {
        fn serve(&self, stream: UnixStream) {
            for line in BufReader::new(&stream).lines() {
                let reply = match Request::decode(&line.unwrap()).unwrap() {
                    Request::Init { .. } => Reply::Init { version: 1, subversion: 1, accepted: true },
                    Request::Maxes => Reply::Maxes(Limits { space: 64, key: 64, value: 80 }),
                    Request::SpaceName => Reply::SpaceName("foreign".into()),
                    Request::Put { key, value, .. } => {
                        assert!(value.len() < 80, "the client keeps to what it was granted");
                        assert_eq!(held(&self.values).insert(key, value), None, "no key is put twice");
                        Reply::Put(Ok(()))
                    }
                    Request::Get { key, .. } => {
                        Reply::Get(held(&self.values).get(&key).cloned().ok_or("not_found".into()))
                    }
                    Request::BarrierIn => {
                        self.barrier.wait();
                        Reply::BarrierOut
                    }
                    Request::Finalize => Reply::Finalized,
                    other => Reply::Unsupported(format!("{other:?}")),
                };
                (&stream).write_all(reply.encode().as_bytes()).unwrap();
            }
        }
    }

    fn environment(fd: i32, rank: u32, size: u32) -> impl Fn(&str) -> Option<String> {
        move |name| match name {
            "PMI_FD" => Some(fd.to_string()),
            "PMI_RANK" => Some(rank.to_string()),
            "PMI_SIZE" => Some(size.to_string()),
            _ => None,
        }
    }

    #[test]
    fn init_under_a_foreign_server_without_a_mapping() {
        const SIZE: u32 = 3;
        let server = Arc::new(Foreign { values: Mutex::default(), barrier: std::sync::Barrier::new(SIZE as usize) });
        let clients = (0..SIZE).map(|rank| {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let server = Arc::clone(&server);
            std::thread::spawn(move || server.serve(theirs));
            std::thread::spawn(move || {
                let job = Job::join_as_told(environment(ours.as_raw_fd(), rank, SIZE), false).unwrap();
                let everyone = Node { index: 0, count: 1, members: vec![0, 1, 2], my_index: rank as usize };
                assert_eq!((job.rank(), job.size(), job.node()), (rank, SIZE, &everyone));
                assert!(!job.launched_by_us());
                let long = vec![rank as u8; 1000];
                job.put(&format!("long.{rank}"), &long).unwrap();
                job.fence().unwrap();
                assert_eq!(
                    job.get(&format!("long.{}", (rank + 1) % SIZE)).unwrap(),
                    vec![((rank + 1) % SIZE) as u8; 1000]
                );
                assert!(job.get("nothing").unwrap_err().to_string().contains("not_found"));
                job.done();
            })
        });
        clients.collect::<Vec<_>>().into_iter().for_each(|client| client.join().unwrap());
    }

    #[test]
    fn init_with_a_descriptor_that_is_no_server() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        std::thread::spawn(move || {
            let mut line = String::new();
            BufReader::new(&theirs).read_line(&mut line).unwrap();
            (&theirs).write_all(b"HTTP/1.1 400 Bad Request\n").unwrap();
        });
        let error = Job::join_as_told(environment(ours.as_raw_fd(), 0, 2), false).unwrap_err().to_string();
        assert!(error.contains("one of 2 tasks") && error.contains("does not answer as a PMI-1 server"), "{error}");
        let alone = Job::join_as_told(environment(ours.as_raw_fd(), 0, 2), true).unwrap();
        assert_eq!((alone.rank(), alone.size()), (0, 1), "SHMEM_SINGLETON is obeyed");
    }

    #[test]
    fn values_of_one_pe_alone() {
        let job = Job::alone();
        job.put("key", b"value").unwrap();
        job.fence().unwrap();
        assert_eq!(job.get("key").unwrap(), b"value");
        assert!(job.get("other").unwrap_err().to_string().contains("no PE published other"));
    }
}
