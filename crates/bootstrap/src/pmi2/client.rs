//! A process manager that speaks PMI-2.

use oxshmem_base::Error;

use super::{Pmi2Answer, Pmi2Query, Pmi2Reply};
use crate::manager::{Found, Manager};
use crate::pmi1::{self, LIMITS, PROCESS_MAPPING};
use crate::stream::Incoming;
use crate::wire::{Next, PmiSocket, confused};
use crate::{mapping, pmi1::Request};

/// A conversation that has begun.
#[derive(Debug)]
pub(crate) struct Pmi2Client {
    wire: PmiSocket,
    rank: u32,
    size: u32,
    job: String,
}

impl Pmi2Client {
    /// Opens the conversation; the error says why this is no PMI-2 server. `job`: the name that the launcher's
    /// variables give it.
    pub(crate) fn greet(wire: PmiSocket, rank: u32, job: &str) -> Result<Pmi2Client, String> {
        let open = Request::Init { version: 2, subversion: 0 }.encode();
        let line = |incoming: &mut Incoming| incoming.next_line().map(|line| line.and_then(pmi1::Reply::decode));
        match wire.try_ask(open.as_bytes(), line) {
            Ok(pmi1::Reply::Init { accepted: true, version: 2, .. }) => {}
            Ok(other) => return Err(format!("asked for version 2 it answered {other:?}")),
            Err(error) => return Err(error.to_string()),
        }
        let ask = |ask: Pmi2Query| wire.try_ask(&ask.encode(), next).map_err(|error| error.to_string());
        let (rank, size) = match ask(Pmi2Query::FullInit { job: job.into(), rank })? {
            Pmi2Answer::Place { rank, size, .. } if rank < size => (rank, size),
            other => return Err(format!("asked for the place of process {rank} it answered {other:?}")),
        };
        let job = match ask(Pmi2Query::JobName)? {
            Pmi2Answer::JobName(name) => name,
            other => return Err(format!("asked for the job's name it answered {other:?}")),
        };
        wire.settled()?;
        Ok(Pmi2Client { wire, rank, size, job })
    }

    fn ask(&self, ask: Pmi2Query) -> Result<Pmi2Answer, Error> {
        self.wire.ask(&ask.encode(), next)
    }
}

fn next(incoming: &mut Incoming) -> Next<Pmi2Answer> {
    incoming.next_frame().map(|frame| frame.and_then(Pmi2Reply::decode).map(|reply| reply.answer))
}

impl Manager for Pmi2Client {
    fn protocol(&self) -> String {
        "PMI-2".into()
    }

    fn job_name(&self) -> Option<&str> {
        Some(&self.job)
    }

    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn nodes(&self) -> Result<Option<Vec<u32>>, Error> {
        match self.ask(Pmi2Query::JobAttribute { key: PROCESS_MAPPING.into() })? {
            Pmi2Answer::JobAttribute(mapped) => Ok(mapped.and_then(|text| mapping::nodes_of(&text, self.size))),
            Pmi2Answer::Refused { .. } => Ok(None),
            other => Err(confused("PMI-2", PROCESS_MAPPING, &other)),
        }
    }

    fn longest(&self) -> usize {
        LIMITS.value - 1
    }

    fn put(&self, key: &str, text: &str) -> Result<(), Error> {
        match self.ask(Pmi2Query::Put { key: key.into(), value: text.into() })? {
            Pmi2Answer::Put(Ok(())) => Ok(()),
            Pmi2Answer::Put(Err(why)) => {
                Err(Error::new(format!("the launcher did not take the value {key}")).because(why))
            }
            other => Err(confused("PMI-2", key, &other)),
        }
    }

    fn fence(&self) -> Result<(), Error> {
        match self.ask(Pmi2Query::Fence)? {
            Pmi2Answer::Fenced(Ok(())) => Ok(()),
            Pmi2Answer::Fenced(Err(why)) => Err(Error::new("the launcher's fence failed").because(why)),
            other => Err(confused("PMI-2", "the fence", &other)),
        }
    }

    fn get(&self, from: u32, key: &str) -> Result<Found, Error> {
        let source = i32::try_from(from).unwrap_or(-1);
        match self.ask(Pmi2Query::Get { job: self.job.clone(), source, key: key.into() })? {
            Pmi2Answer::Got(Some(text)) => Ok(Ok(text)),
            Pmi2Answer::Got(None) => Ok(Err("not found".into())),
            Pmi2Answer::Refused { why, .. } => Ok(Err(why)),
            other => Err(confused("PMI-2", key, &other)),
        }
    }

    fn abort(&self, status: i32, message: &str) {
        let message = if message.is_empty() { format!("exit status {status}") } else { message.into() };
        self.wire.tell(&Pmi2Query::Abort { message }.encode());
    }

    fn finalize(&self) {
        // The process is leaving; a launcher that is already gone changes nothing.
        let _ = self.wire.try_ask(&Pmi2Query::Finalize.encode(), next);
    }

    fn hand_on(&self, to_programs: bool) {
        self.wire.hand_on(to_programs);
    }

    fn is_gone(&self) -> bool {
        self.wire.is_gone()
    }
}
