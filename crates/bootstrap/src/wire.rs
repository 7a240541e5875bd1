//! One stream to a PMI server: what we ask and what it answers, one at a time.

use std::io::{self, ErrorKind, Read};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_os::{FileIdentity, library, process, sockets};
use parking_lot::{Mutex, MutexGuard};

use crate::refusal::{ManagerRefusal, RefusalCause};
use crate::stream::{Incoming, Malformed};

/// How long a server may take for its first answers. A process that takes longer is no PMI server.
const FIRST_ANSWER: Duration = Duration::from_secs(30);

/// The end of the reason why the launcher's descriptor is not there.
const CLOSED: &str =
    "this program, or one between the launcher and it, has closed it, as a PE does for the programs that it starts";

/// Why an answer may be that to another question, or come to somebody else.
pub(crate) const TWO_SPEAK: &str = "perhaps another process of this PE asks the launcher at the same time (a program and its fork, or two programs started with &)";
/// The remedy.
pub(crate) const ONE_AT_A_TIME: &str = "start the programs of a PE one after the other, or each by an oshrun of its own, and let only one process of a program and its \
     forks call shmem_init";

/// Answers are read under the lock; an abort is written without it, because the holder may be waiting in a fence.
#[derive(Debug)]
pub(crate) struct PmiSocket {
    /// Of any family: an inherited socket says nothing about it, and reading and writing are the same.
    stream: UnixStream,
    /// The number that the launcher has given it, if this process has inherited it.
    number: Option<i32>,
    identity: FileIdentity,
    answers: Mutex<Incoming>,
}

impl PmiSocket {
    /// On a descriptor that the launcher has left open; the error says why it is none.
    pub(crate) fn inherited(number: i32) -> Result<PmiSocket, ManagerRefusal> {
        let closed = |error| ManagerRefusal::new(RefusalCause::ClosedDescriptor, format!("{error}: {CLOSED}"));
        let socket = sockets::inherited(number).map_err(closed)?;
        Ok(PmiSocket { number: Some(number), ..PmiSocket::on(socket)? })
    }

    /// To a server that listens on a port.
    pub(crate) fn connected(address: &str) -> Result<PmiSocket, String> {
        let (host, port) = host_and_port(address).ok_or("it is not HOST:PORT")?;
        let stream = TcpStream::connect((host, port)).or_else(|error| match is_this_host(host) {
            true => TcpStream::connect((Ipv4Addr::LOCALHOST, port)),
            false => Err(error),
        });
        let stream = stream.map_err(|error| error.to_string())?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        PmiSocket::on(stream.into())
    }

    fn on(socket: OwnedFd) -> Result<PmiSocket, String> {
        let identity = FileIdentity::of(&socket).map_err(|error| error.to_string())?;
        let wire = PmiSocket { stream: UnixStream::from(socket), number: None, identity, answers: Mutex::default() };
        wire.limit(Some(FIRST_ANSWER)).map(|()| wire)
    }

    /// The greeting is over: from now on an answer may take as long as the slowest process of the job.
    pub(crate) fn settled(&self) -> Result<(), String> {
        self.limit(None)
    }

    /// Whether the programs that this process starts find the server by the same descriptor.
    pub(crate) fn hand_on(&self, to_programs: bool) {
        if let Some(number) = self.number {
            sockets::hand_on(number, self.identity, to_programs);
        }
    }

    /// Whether the program has left the descriptor open. Otherwise a file of its own may have the number, and nothing is written there nor
    /// read from it.
    fn is_there(&self) -> bool {
        self.identity.is_that_of(&self.stream)
    }

    fn limit(&self, time: Option<Duration>) -> Result<(), String> {
        self.stream.set_read_timeout(time).map_err(|error| error.to_string())
    }

    /// Sends `bytes` and waits for the answer, which `next` cuts out of what arrives.
    pub(crate) fn try_ask<A>(&self, bytes: &[u8], next: impl Fn(&mut Incoming) -> Next<A>) -> io::Result<A> {
        let mut answers = self.answers.lock();
        if !self.is_there() {
            return Err(io::Error::other(closed_by_program()));
        }
        sockets::send_all(&self.stream, bytes)?;
        self.wait(&mut answers, next)
    }

    /// Waits for something that the server says unasked.
    pub(crate) fn listen<A>(&self, next: impl Fn(&mut Incoming) -> Next<A>) -> io::Result<A> {
        self.wait(&mut self.answers.lock(), next)
    }

    fn wait<A>(
        &self,
        answers: &mut MutexGuard<'_, Incoming>,
        next: impl Fn(&mut Incoming) -> Next<A>,
    ) -> io::Result<A> {
        let mut bytes = [0; 2048];
        loop {
            if let Some(answer) = next(answers) {
                return answer.map_err(io::Error::other);
            }
            match (&self.stream).read(&mut bytes) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(length) => answers.feed(&bytes[..length]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// As [`try_ask`](PmiSocket::try_ask), in a job that has begun: the end of the stream is the end of the job, unless MPI has ended it.
    pub(crate) fn ask<A>(&self, bytes: &[u8], next: impl Fn(&mut Incoming) -> Next<A>) -> Result<A, Error> {
        self.try_ask(bytes, next).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe | ErrorKind::ConnectionReset => {
                if library::mpi_is_finalized() {
                    ended_with_mpi()
                } else {
                    orphaned()
                }
            }
            _ => error.downcast().unwrap_or_else(|error| {
                let broken = Error::new("the conversation with the launcher broke");
                if error.get_ref().is_some_and(|why| why.is::<Malformed>()) {
                    return broken.because(format!("{error}; {TWO_SPEAK}")).fix(ONE_AT_A_TIME);
                }
                broken.because(error)
            }),
        })
    }

    /// Sends without waiting. If the launcher is gone the message has no reader.
    pub(crate) fn tell(&self, bytes: &[u8]) {
        if self.is_there() {
            let _ = sockets::send_all(&self.stream, bytes);
        }
    }

    /// Without the descriptor nobody knows.
    pub(crate) fn is_gone(&self) -> bool {
        // A library of MPI in this process speaks to the server by the same connection, and there are servers that end it when MPI does.
        sockets::hung_up(&self.stream) && self.is_there() && !library::mpi_is_finalized()
    }
}

/// The next message, if it is complete.
pub(crate) type Next<A> = Option<Result<A, Malformed>>;

/// Without the launcher nothing would end this process, so it ends itself.
pub(crate) fn orphaned() -> ! {
    process::say(&format!(
        "oxshmem: the launcher closed the PMI connection of process {}: the job is over\n",
        process::pid()
    ));
    process::exit_now(1)
}

#[cold]
fn closed_by_program() -> Error {
    Error::new("the launcher can no longer be asked")
        .because("the program has closed the descriptor of the connection to the launcher")
        .fix("let the program close only what it has opened, or close the others before shmem_init, but for the number in PMI_FD")
}

/// The library of MPI in this process speaks to the server by the same connection, and shuts it down when it is finalized.
#[cold]
fn ended_with_mpi() -> Error {
    Error::new("the launcher can no longer be asked")
        .because("MPI has been finalized, which ended the connection to the launcher")
        .fix("call shmem_finalize before MPI_Finalize")
}

/// A message of a server that answers no request.
pub(crate) fn confused(protocol: &str, about: &str, answer: &impl std::fmt::Debug) -> Error {
    Error::new(format!("the launcher's {protocol} server answered about {about} what was not asked"))
        .because(format!("its answer was {}; {TWO_SPEAK}", brief(answer)))
        .fix(ONE_AT_A_TIME)
}

/// The beginning of an answer: it may have a long value.
pub(crate) fn brief(answer: &impl std::fmt::Debug) -> String {
    const LONGEST: usize = 80;
    let text = format!("{answer:?}");
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// The parts of `host:port`. An IPv6 address may stand in brackets; the port is behind the last colon in any case.
pub(crate) fn host_and_port(address: &str) -> Option<(&str, u16)> {
    let (host, port) = address.trim().rsplit_once(':')?;
    let in_brackets = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    Some((in_brackets.unwrap_or(host), port.parse().ok()?))
}

/// Whether a name is that of this host: a laptop's own name often resolves to nothing.
fn is_this_host(name: &str) -> bool {
    std::fs::read_to_string("/proc/sys/kernel/hostname").is_ok_and(|own| name == own.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_answer_is_told_by_its_beginning_and_its_reason() {
        let told = confused("PMI-1", "the barrier", &"x".repeat(2000)).to_string();
        assert!(told.len() < 700 && told.contains("xxx...; perhaps another process of this PE"), "{told}");
        assert!(told.contains("to fix:  start the programs of a PE one after the other"), "{told}");
    }

    #[test]
    fn this_host_is_reached_even_if_its_name_does_not_resolve() {
        let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        assert!(is_this_host(own.trim()));
        assert!(!["elsewhere.example", ""].into_iter().any(is_this_host));
    }

    #[test]
    fn hosts_of_any_kind_stand_before_the_last_colon() {
        for (address, expected) in [
            ("n1:4711", Some(("n1", 4711))),
            (" 10.0.0.1:4711\n", Some(("10.0.0.1", 4711))),
            ("[fd00::1]:4711", Some(("fd00::1", 4711))),
            ("fd00::1:4711", Some(("fd00::1", 4711))),
            ("[fe80::1%eth0]:4711", Some(("fe80::1%eth0", 4711))),
            ("4711", None),
            ("n1:port", None),
            ("n1:99999", None),
            ("", None),
        ] {
            assert_eq!(host_and_port(address), expected, "{address}");
        }
    }
}
