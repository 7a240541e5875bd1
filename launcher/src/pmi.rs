//! The PMI-1 server without its sockets: lines in, lines out. Work per PE and fence is constant.

use std::collections::{BTreeSet, HashMap};

use oxshmem_bootstrap::LEAVES;
use oxshmem_bootstrap::pmi1::{LIMITS, PROCESS_MAPPING, Reply, Request};
use serde::{Deserialize, Serialize};

/// The effect of a request on the whole job.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum JobEffect {
    Answer(Reply),
    /// This PE waits; the answer comes when the others are in.
    Wait,
    /// All PEs here are in the barrier: it opens once the other hosts are in it.
    Release,
    /// End the job with this status.
    Abort(i32),
    /// There is nothing to do, and no answer.
    Nothing,
}

/// How far a PE has come in the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PmiStage {
    /// It has not spoken: perhaps not a PMI program at all.
    #[default]
    Silent,
    /// It has joined the job.
    Joined,
    /// It waits in a barrier.
    Waiting,
    /// It is in its last `shmem_finalize`, or behind it.
    Leaving,
    /// It has left properly.
    Finalized,
}

/// The key-value space of one job as one host knows it, and where the host's PEs stand.
#[derive(Debug)]
pub(crate) struct PmiServer {
    space: String,
    values: HashMap<String, String>,
    /// Values that were put here since the last barrier, for the other hosts.
    news: Vec<(String, String)>,
    /// Number of PEs of the job.
    size: u32,
    /// Which program of the command line each PE runs.
    apps: Vec<u32>,
    stages: Vec<PmiStage>,
    waiting: usize,
    /// The PEs in a barrier that is complete here and not open yet.
    complete: Option<BTreeSet<usize>>,
}

impl PmiServer {
    /// `apps`: the programs of the PEs that are served here, of a job of `size`. `mapping`: which PE is on which node.
    pub(crate) fn new(space: String, apps: Vec<u32>, size: u32, mapping: Option<String>) -> PmiServer {
        let values = mapping.map(|mapping| (PROCESS_MAPPING.to_string(), mapping)).into_iter().collect();
        PmiServer {
            space,
            values,
            news: Vec::new(),
            size,
            stages: vec![PmiStage::Silent; apps.len()],
            apps,
            waiting: 0,
            complete: None,
        }
    }

    /// Values that were put here since the last call.
    pub(crate) fn take_news(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.news)
    }

    /// Takes what was put on other hosts.
    pub(crate) fn learn(&mut self, values: Vec<(String, String)>) {
        self.values.extend(values);
    }

    /// Whether a PE of this host has never joined the job.
    pub(crate) fn has_silent(&self) -> bool {
        self.stages.contains(&PmiStage::Silent)
    }

    pub(crate) fn stage(&self, pe: usize) -> PmiStage {
        self.stages[pe]
    }

    /// How many PEs stand in a barrier.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting + self.complete.as_ref().map_or(0, BTreeSet::len)
    }

    /// Whether a barrier is complete here and not open yet.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete.is_some()
    }

    /// The other hosts are in the barrier, too. Returns the PEs to answer, and whether all here are in the next one.
    pub(crate) fn open(&mut self) -> (BTreeSet<usize>, bool) {
        let members = self.complete.take().unwrap_or_default();
        (members, !self.stages.is_empty() && self.completes())
    }

    pub(crate) fn handle(&mut self, pe: usize, request: Request) -> JobEffect {
        JobEffect::Answer(match request {
            Request::Init { version, .. } => {
                let accepted = version == 1;
                if accepted {
                    // A script may run another program behind one that was killed in a barrier.
                    self.leave_barrier(pe);
                    self.stages[pe] = PmiStage::Joined;
                }
                Reply::Init { version: 1, subversion: 1, accepted }
            }
            Request::Maxes => Reply::Maxes(LIMITS),
            Request::AppNumber => Reply::AppNumber(self.apps[pe] as i32),
            Request::SpaceName => Reply::SpaceName(self.space.clone()),
            Request::UniverseSize => Reply::UniverseSize(self.size as i32),
            // A later value replaces an earlier one: a script may run several programs one after the other.
            Request::Put { key, value, .. } => {
                self.news.push((key.clone(), value.clone()));
                self.values.insert(key, value);
                Reply::Put(Ok(()))
            }
            Request::Get { key, .. } => Reply::Get(self.values.get(&key).cloned().ok_or("key_not_found".into())),
            Request::BarrierIn => return self.enter(pe),
            Request::Finalize => {
                self.leave_barrier(pe);
                self.stages[pe] = PmiStage::Finalized;
                Reply::Finalized
            }
            Request::Abort { status } => return JobEffect::Abort(status),
            Request::Here { .. } => Reply::Welcome(false),
            Request::Other(command) if command == LEAVES => {
                // A library of MPI may have left by the same wire.
                if self.stages[pe] == PmiStage::Joined {
                    self.stages[pe] = PmiStage::Leaving;
                }
                return JobEffect::Nothing;
            }
            Request::Other(command) => Reply::Unsupported(command),
        })
    }

    fn enter(&mut self, pe: usize) -> JobEffect {
        if self.stages[pe] != PmiStage::Waiting {
            self.stages[pe] = PmiStage::Waiting;
            self.waiting += 1;
        }
        if self.completes() { JobEffect::Release } else { JobEffect::Wait }
    }

    /// Completes the barrier if all PEs here are in it, and the one before it is open.
    fn completes(&mut self) -> bool {
        let is_complete = self.waiting == self.stages.len() && self.complete.is_none();
        if is_complete {
            self.waiting = 0;
            self.stages.fill(PmiStage::Joined);
            self.complete = Some((0..self.stages.len()).collect());
        }
        is_complete
    }

    /// A PE that ends while it waits, or begins anew, no longer counts as waiting. A barrier that is complete here stays so,
    /// and does not answer it.
    pub(crate) fn leave_barrier(&mut self, pe: usize) {
        if let Some(members) = &mut self.complete {
            members.remove(&pe);
        }
        if self.stages[pe] == PmiStage::Waiting {
            self.stages[pe] = PmiStage::Joined;
            self.waiting -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(key: &str, value: &str) -> Request {
        Request::Put { space: "s".into(), key: key.into(), value: value.into() }
    }

    fn get(key: &str) -> Request {
        Request::Get { space: "s".into(), key: key.into() }
    }

    #[test]
    fn the_latest_value_is_found() {
        let mapping = "(vector,(0,1,3))".to_string();
        let mut server = PmiServer::new("s".into(), vec![0, 0, 1], 3, Some(mapping.clone()));
        assert_eq!(server.handle(0, put("a", "1")), JobEffect::Answer(Reply::Put(Ok(()))));
        server.handle(1, put("a", "2"));
        assert_eq!(server.handle(2, get("a")), JobEffect::Answer(Reply::Get(Ok("2".into()))));
        assert!(matches!(server.handle(2, get("b")), JobEffect::Answer(Reply::Get(Err(_)))));
        assert_eq!(server.handle(2, get(PROCESS_MAPPING)), JobEffect::Answer(Reply::Get(Ok(mapping))));
        assert_eq!(server.handle(2, Request::AppNumber), JobEffect::Answer(Reply::AppNumber(1)));
    }

    #[test]
    fn a_barrier_opens_for_all_at_once_and_again() {
        let mut server = PmiServer::new("s".into(), vec![0; 3], 3, None);
        for _ in 0..2 {
            assert_eq!(server.handle(0, Request::BarrierIn), JobEffect::Wait);
            assert_eq!(server.handle(0, Request::BarrierIn), JobEffect::Wait, "twice from one PE is once");
            assert_eq!(server.handle(2, Request::BarrierIn), JobEffect::Wait);
            assert_eq!(server.handle(1, Request::BarrierIn), JobEffect::Release);
            assert_eq!((server.waiting(), server.open()), (3, (BTreeSet::from([0, 1, 2]), false)));
        }
        server.handle(0, Request::BarrierIn);
        server.leave_barrier(0);
        assert_eq!(server.waiting(), 0);
    }

    #[test]
    fn a_program_behind_one_that_was_killed_in_a_barrier_opens_it_for_nobody() {
        let mut server = PmiServer::new("s".into(), vec![0; 2], 2, None);
        let init = || Request::Init { version: 1, subversion: 1 };
        (0..2).for_each(|pe| drop(server.handle(pe, init())));
        assert_eq!(server.handle(0, Request::BarrierIn), JobEffect::Wait);
        server.handle(0, init());
        assert_eq!((server.waiting(), server.stage(0)), (0, PmiStage::Joined));
        assert_eq!(server.handle(0, Request::BarrierIn), JobEffect::Wait, "PE 1 has not come");
        assert_eq!(server.handle(1, Request::BarrierIn), JobEffect::Release);
    }

    #[test]
    fn a_barrier_that_other_hosts_open_late_answers_no_program_that_has_begun_meanwhile() {
        let mut server = PmiServer::new("s".into(), vec![0; 2], 4, None);
        let begin = |server: &mut PmiServer, pe| {
            let reply = server.handle(pe, Request::Init { version: 1, subversion: 1 });
            assert!(matches!(reply, JobEffect::Answer(Reply::Init { accepted: true, .. })));
        };
        (0..2).for_each(|pe| begin(&mut server, pe));
        assert_eq!(server.handle(0, Request::BarrierIn), JobEffect::Wait);
        assert_eq!(server.handle(1, Request::BarrierIn), JobEffect::Release);
        // The program of PE 0 is killed, and its script runs the next one.
        begin(&mut server, 0);
        assert_eq!((server.waiting(), server.is_complete()), (1, true));
        assert_eq!(server.handle(0, Request::BarrierIn), JobEffect::Wait);
        assert_eq!(server.open(), (BTreeSet::from([1]), false));
        assert_eq!(server.handle(1, Request::BarrierIn), JobEffect::Release);
        // Both are killed, and the next programs are all in a barrier before this one is open.
        (0..2).for_each(|pe| begin(&mut server, pe));
        (0..2).for_each(|pe| assert_eq!(server.handle(pe, Request::BarrierIn), JobEffect::Wait));
        assert_eq!(server.open(), (BTreeSet::new(), true));
        assert_eq!(server.open(), (BTreeSet::from([0, 1]), false));
        // A host without PEs has no barrier of its own.
        assert_eq!(PmiServer::new("s".into(), Vec::new(), 4, None).open(), (BTreeSet::new(), false));
    }

    #[test]
    fn what_is_put_travels_once() {
        let mut server = PmiServer::new("s".into(), vec![0, 0], 4, None);
        server.handle(0, put("a", "1"));
        server.handle(1, put("b", "2"));
        assert_eq!(server.take_news(), [("a".into(), "1".into()), ("b".into(), "2".into())]);
        assert_eq!(server.take_news(), []);
        server.learn(vec![("c".into(), "3".into())]);
        assert_eq!(server.take_news(), []);
        assert_eq!(server.handle(0, get("c")), JobEffect::Answer(Reply::Get(Ok("3".into()))));
        assert_eq!(server.handle(0, Request::UniverseSize), JobEffect::Answer(Reply::UniverseSize(4)));
    }

    #[test]
    fn a_pe_leaves_until_the_next_barrier() {
        let mut server = PmiServer::new("s".into(), vec![0], 1, None);
        let leave = |server: &mut PmiServer| {
            assert_eq!(server.handle(0, Request::Other(LEAVES.into())), JobEffect::Nothing);
            server.stage(0)
        };
        assert_eq!(leave(&mut server), PmiStage::Silent);
        server.handle(0, Request::Init { version: 1, subversion: 1 });
        assert_eq!(leave(&mut server), PmiStage::Leaving);
        assert_eq!(server.handle(0, Request::BarrierIn), JobEffect::Release);
        assert_eq!(server.stage(0), PmiStage::Joined);
        server.handle(0, Request::Finalize);
        assert_eq!(leave(&mut server), PmiStage::Finalized);
    }

    #[test]
    fn versions_we_do_not_speak_are_refused_and_unknown_commands_answered() {
        let mut server = PmiServer::new("s".into(), vec![0], 1, None);
        let reply = server.handle(0, Request::Init { version: 2, subversion: 0 });
        assert!(matches!(reply, JobEffect::Answer(Reply::Init { accepted: false, .. })));
        assert_eq!(server.stage(0), PmiStage::Silent);
        let reply = server.handle(0, Request::Other("publish_name".into()));
        assert_eq!(reply, JobEffect::Answer(Reply::Unsupported("publish_name".into())));
        assert_eq!(server.handle(0, Request::Abort { status: 7 }), JobEffect::Abort(7));
    }
}
