//! The PMI-1 server of a test job: a key-value space and a barrier, a thread for each PE.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use oxshmem_bootstrap::pmi1::{LIMITS, PROCESS_MAPPING, Reply, Request};
use oxshmem_bootstrap::{Incoming, process_mapping};
use parking_lot::{Mutex, MutexGuard};

pub(super) struct TestServer {
    pes: u32,
    job: Mutex<ServedJob>,
}

#[derive(Default)]
struct ServedJob {
    values: HashMap<String, String>,
    sockets: HashMap<usize, UnixStream>,
    waiting: u32,
    aborted: bool,
}

impl TestServer {
    /// For PEs that count as so many nodes, in equal blocks.
    pub(super) fn new(pes: u32, nodes: u32) -> Self {
        let mapping = process_mapping(pes, pes.div_ceil(nodes.max(1)));
        let values = HashMap::from([(PROCESS_MAPPING.into(), mapping)]);
        Self { pes, job: Mutex::new(ServedJob { values, ..ServedJob::default() }) }
    }

    /// The socket on which a PE gets its answers.
    pub(super) fn add(&self, pe: usize, socket: UnixStream) {
        self.job().sockets.insert(pe, socket);
    }

    /// Whether a PE has ended the job.
    pub(super) fn aborted(&self) -> bool {
        self.job().aborted
    }

    fn job(&self) -> MutexGuard<'_, ServedJob> {
        self.job.lock()
    }

    /// Answers one PE until it hangs up.
    pub(super) fn serve(&self, pe: usize, mut socket: UnixStream) {
        let (mut lines, mut part) = (Incoming::default(), [0; 4096]);
        while let Ok(read @ 1..) = socket.read(&mut part) {
            lines.feed(&part[..read]);
            while let Some(line) = lines.next_line() {
                let Ok(request) = line.and_then(Request::decode) else { return };
                self.answer(pe, request);
            }
        }
    }

    fn answer(&self, pe: usize, request: Request) {
        let mut job = self.job();
        let reply = match request {
            Request::Init { version, .. } => Reply::Init { version: 1, subversion: 1, accepted: version == 1 },
            Request::Maxes => Reply::Maxes(LIMITS),
            Request::AppNumber => Reply::AppNumber(0),
            Request::SpaceName => Reply::SpaceName("test".into()),
            Request::UniverseSize => Reply::UniverseSize(self.pes as i32),
            Request::Put { key, value, .. } => {
                job.values.insert(key, value);
                Reply::Put(Ok(()))
            }
            Request::Get { key, .. } => Reply::Get(job.values.get(&key).cloned().ok_or("key_not_found".into())),
            Request::BarrierIn => {
                job.waiting += 1;
                if job.waiting == self.pes {
                    job.waiting = 0;
                    let pes: Vec<_> = job.sockets.keys().copied().collect();
                    pes.into_iter().for_each(|pe| job.send(pe, &Reply::BarrierOut));
                }
                return;
            }
            Request::Finalize => Reply::Finalized,
            Request::Abort { .. } => {
                job.aborted = true;
                return;
            }
            Request::Here { .. } => Reply::Welcome(false),
            Request::Other(command) => Reply::Unsupported(command),
        };
        job.send(pe, &reply);
    }
}

impl ServedJob {
    fn send(&mut self, pe: usize, reply: &Reply) {
        if let Some(socket) = self.sockets.get_mut(&pe) {
            // A PE that has hung up wants no answer.
            let _ = socket.write_all(reply.encode().as_bytes());
        }
    }
}
