//! A process manager that speaks PMI-1.

use std::io::ErrorKind;

use oxshmem_base::Error;

use super::{LIMITS, PROCESS_MAPPING, Reply, Request, WireLimits};
use crate::manager::{Found, LEAVES, Manager, OUR_JOBS};
use crate::mapping;
use crate::refusal::{ManagerRefusal, RefusalCause};
use crate::stream::Incoming;
use crate::wire::{Next, PmiSocket, TWO_SPEAK, brief, confused};

/// A conversation that has begun.
#[derive(Debug)]
pub(crate) struct Pmi1Client {
    wire: PmiSocket,
    rank: u32,
    size: u32,
    /// The name of the key-value space.
    space: String,
    limits: WireLimits,
}

/// The facts about this process in a launcher's variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TaskFacts {
    pub(crate) rank: u32,
    pub(crate) size: u32,
}

/// Says at a server's port which process this is, and is told its place.
pub(crate) fn introduce(wire: &PmiSocket, id: u32) -> Result<TaskFacts, ManagerRefusal> {
    let hello = Request::Here { id };
    match wire.try_ask(hello.encode().as_bytes(), next) {
        Ok(Reply::Welcome(true)) => {}
        other => return Err(unexpected(&hello, other)),
    }
    let (mut rank, mut size) = (None, None);
    // `debug` is the last of what is told.
    loop {
        match wire.listen(next) {
            Ok(Reply::Set { name, value }) => match name.as_str() {
                "rank" => rank = u32::try_from(value).ok(),
                "size" => size = u32::try_from(value).ok(),
                "debug" => break,
                _ => {}
            },
            other => return Err(unexpected(&hello, other)),
        }
    }
    match (rank, size) {
        (Some(rank), Some(size)) if rank < size => Ok(TaskFacts { rank, size }),
        _ => Err(format!("it told rank {rank:?} and size {size:?}").into()),
    }
}

impl Pmi1Client {
    /// Opens the conversation; the error says why this is no PMI-1 server.
    pub(crate) fn greet(
        wire: PmiSocket,
        TaskFacts { rank, size }: TaskFacts,
    ) -> Result<Pmi1Client, (ManagerRefusal, PmiSocket)> {
        let hello =
            [Request::Init { version: 1, subversion: 1 }, Request::Maxes, Request::AppNumber, Request::SpaceName];
        let (mut limits, mut space) = (LIMITS, String::new());
        for request in &hello {
            match (request, wire.try_ask(request.encode().as_bytes(), next)) {
                (Request::Init { .. }, Ok(Reply::Init { accepted: true, version: 1, .. })) => {}
                (Request::AppNumber, Ok(_)) => {}
                (Request::Maxes, Ok(Reply::Maxes(granted))) if granted.key >= 56 && granted.value >= 64 => {
                    limits = granted;
                }
                (Request::SpaceName, Ok(Reply::SpaceName(name))) => space = name,
                (_, other) => return Err((unexpected(request, other), wire)),
            }
        }
        match wire.settled() {
            Ok(()) => Ok(Pmi1Client { wire, rank, size, space, limits }),
            Err(why) => Err((why.into(), wire)),
        }
    }

    fn ask(&self, request: &Request) -> Result<Reply, Error> {
        self.wire.ask(request.encode().as_bytes(), next)
    }
}

fn next(incoming: &mut Incoming) -> Next<Reply> {
    incoming.next_line().map(|line| line.and_then(Reply::decode))
}

fn unexpected(request: &Request, answer: std::io::Result<Reply>) -> ManagerRefusal {
    let (cause, why) = match answer {
        Ok(reply @ Reply::Init { .. }) if matches!(request, Request::Init { .. }) => {
            (RefusalCause::OtherVersion, format!("it refuses version 1: asked {request:?} it answered {reply:?}"))
        }
        Ok(reply) => (RefusalCause::TwoSpeak, format!("asked {request:?} it answered {}; {TWO_SPEAK}", brief(&reply))),
        Err(error) if error.kind() == ErrorKind::WouldBlock => {
            (RefusalCause::TwoSpeak, format!("asked {request:?} it was silent; {TWO_SPEAK}"))
        }
        Err(error) => (RefusalCause::Other, error.to_string()),
    };
    ManagerRefusal::new(cause, why)
}

impl Manager for Pmi1Client {
    fn protocol(&self) -> String {
        "PMI-1".into()
    }

    fn job_name(&self) -> Option<&str> {
        Some(&self.space)
    }

    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn nodes(&self) -> Result<Option<Vec<u32>>, Error> {
        let mapped = self.get(0, PROCESS_MAPPING)?;
        Ok(mapped.ok().and_then(|text| mapping::nodes_of(&text, self.size)))
    }

    fn longest(&self) -> usize {
        self.limits.value.min(LIMITS.value) - 1
    }

    fn put(&self, key: &str, text: &str) -> Result<(), Error> {
        match self.ask(&Request::Put { space: self.space.clone(), key: key.into(), value: text.into() })? {
            Reply::Put(Ok(())) => Ok(()),
            Reply::Put(Err(why)) => Err(Error::new(format!("the launcher did not take the value {key}")).because(why)),
            other => Err(confused("PMI-1", key, &other)),
        }
    }

    fn fence(&self) -> Result<(), Error> {
        match self.ask(&Request::BarrierIn)? {
            Reply::BarrierOut => Ok(()),
            other => Err(confused("PMI-1", "the barrier", &other)),
        }
    }

    fn get(&self, _: u32, key: &str) -> Result<Found, Error> {
        match self.ask(&Request::Get { space: self.space.clone(), key: key.into() })? {
            Reply::Get(found) => Ok(found),
            other => Err(confused("PMI-1", key, &other)),
        }
    }

    fn abort(&self, status: i32, _: &str) {
        self.wire.tell(Request::Abort { status }.encode().as_bytes());
    }

    fn finalize(&self) {
        // The process is leaving; a launcher that is already gone changes nothing.
        let _ = self.wire.try_ask(Request::Finalize.encode().as_bytes(), next);
    }

    fn leaves(&self) {
        if self.space.starts_with(OUR_JOBS) {
            self.wire.tell(Request::Other(LEAVES.into()).encode().as_bytes());
        }
    }

    fn hand_on(&self, to_programs: bool) {
        self.wire.hand_on(to_programs);
    }

    fn is_gone(&self) -> bool {
        self.wire.is_gone()
    }
}
