//! The network of one PE: its operations under way, one effect at a time, and the service thread that reaches its memory.

use std::path::PathBuf;
use std::slice;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};

use oxshmem_base::Error;
use oxshmem_os::{futex, signals};
use oxshmem_transport::{OutOfRange, Participant, RegisteredMemory, deliver_old};
use parking_lot::Mutex;

use crate::arena::{ArenaMap, NetworkSlot, SimArena, TurnHolder};
use crate::chance::Chance;
use crate::operation::{Movement, Operation, PutSource};
use crate::options::SimOptions;
use crate::queue::{OperationQueue, QueueStep};
use crate::reach::MemoryAccess;
use crate::story::Story;
use crate::strategy::{OperationOrder, SeedPlan};
use crate::watch::{LOOK, TurnWatch};

/// One PE of a simulated job.
pub(crate) struct Pe {
    pub(crate) me: u32,
    pub(crate) node: u32,
    pub(crate) pes: u32,
    /// Tells the fabrics of one process apart.
    pub(crate) life: u64,
    pub(crate) plan: SeedPlan,
    pub(crate) memory: RegisteredMemory,
    pub(crate) queue: Mutex<OperationQueue>,
    pub(crate) story: Option<Story>,
    pub(crate) summary: Option<PathBuf>,
    /// Whether a thread of this PE has come to its first step.
    pub(crate) joined: AtomicBool,
    /// The arena that PE 0 has made; the others map it when they connect.
    pub(crate) arena: OnceLock<ArenaMap>,
    pub(crate) closed: AtomicBool,
    pub(crate) service: Mutex<Option<JoinHandle<()>>>,
}

impl Pe {
    pub(crate) fn new(participant: &Participant<'_>, life: u64, options: SimOptions) -> Self {
        let Participant { me, pes, node, .. } = *participant;
        let plan = SeedPlan::new(&options, pes);
        Self {
            me,
            node,
            pes,
            life,
            plan,
            memory: RegisteredMemory::default(),
            queue: Mutex::default(),
            story: options.story.map(|path| Story::new(path, me)),
            summary: options.summary,
            joined: AtomicBool::new(false),
            arena: OnceLock::new(),
            closed: AtomicBool::new(false),
            service: Mutex::default(),
        }
    }

    /// The arena. Lanes and steps exist only while the fabric is connected.
    pub(crate) fn arena(&self) -> &SimArena {
        self.arena.get().expect("a fabric is connected before it is used")
    }

    pub(crate) fn chance(&self) -> Chance<'_> {
        Chance(&self.arena().chance)
    }

    pub(crate) fn slot(&self) -> &NetworkSlot {
        &self.arena().networks[self.me as usize]
    }

    /// Starts the thread that answers for this PE's memory and takes the turns of its network.
    pub(crate) fn start_service(self: &Arc<Self>) -> Result<(), Error> {
        let pe = self.clone();
        let serve = move || {
            let _alarm = AbortOnPanic;
            pe.serve();
        };
        let thread = signals::keeping_signals(|| thread::Builder::new().name("oxshmem-sim".into()).spawn(serve));
        let thread = thread.map_err(|error| Error::new("sim: the service thread cannot be started").because(error))?;
        *self.service.lock() = Some(thread);
        Ok(())
    }

    fn serve(&self) {
        let slot = self.slot();
        let mut watch = TurnWatch::default();
        while !self.closed.load(Acquire) {
            let bell = slot.bell.load(Acquire);
            slot.answer(&self.memory);
            if self.arena().turn() == TurnHolder::Network(self.me) {
                self.effect();
                self.give_on(None);
                continue;
            }
            // Where all PEs compute or poll their memory, no thread of theirs waits for a turn: then the network goes
            // on by this thread.
            if !futex::wait(&slot.bell, bell, Some(2 * LOOK)) {
                watch.look(self.arena());
                self.take_over();
            }
        }
    }

    /// Does one thing for one operation. The caller has the turn, or has it for this network.
    pub(crate) fn effect(&self) {
        let mut queue = self.queue.lock();
        let now = self.arena().step.load(Relaxed);
        let starves = |operation: &Operation| self.plan.starves(self.me, operation.to.pe) && !operation.is_overdue(now);
        let mut steps = queue.steps(|operation| !starves(operation));
        if steps.is_empty() {
            steps = queue.steps(|_| true);
        }
        if let Some(step) = self.choose(&queue, &steps) {
            self.take(&mut queue, step);
        }
        self.count(&queue);
    }

    fn choose(&self, queue: &OperationQueue, steps: &[QueueStep]) -> Option<QueueStep> {
        let chance = self.chance();
        let step = self.arena().step.load(Relaxed);
        if self.plan.is_kind(step) {
            // In the order of issue, and nothing that need not be done.
            return steps.iter().copied().find(|step| !matches!(step, QueueStep::Read { .. } | QueueStep::Lose { .. }));
        }
        // An operation comes in the end, though others are issued all the time.
        let is_overdue = |next: &&QueueStep| {
            let goes_on = matches!(next, QueueStep::Land { .. } | QueueStep::Complete { .. });
            goes_on && queue.operations[next.operation()].is_overdue(step)
        };
        if let Some(&overdue) = steps.iter().find(is_overdue) {
            return Some(overdue);
        }
        // A lane and not an operation is chosen first, so that a stream on one of them does not hold up the others.
        let lane_of = |step: &QueueStep| queue.operations[step.operation()].place.lane;
        let mut lanes: Vec<u64> = steps.iter().map(lane_of).collect();
        lanes.sort_unstable();
        lanes.dedup();
        let lane = self.plan.lane(&chance, self.me, &lanes)?;
        let of_lane: Vec<QueueStep> = steps.iter().copied().filter(|step| lane_of(step) == lane).collect();
        let operation = match self.plan.order {
            OperationOrder::Oldest => of_lane.first()?.operation(),
            OperationOrder::Newest => of_lane.last()?.operation(),
            OperationOrder::Any => of_lane[chance.below(of_lane.len())].operation(),
        };
        let its: Vec<QueueStep> = of_lane.into_iter().filter(|step| step.operation() == operation).collect();
        let chosen = its[chance.below(its.len())];
        match chosen {
            // A connection breaks seldom.
            QueueStep::Lose { .. } if !chance.one_in(4) => Some(its[0]),
            _ => Some(chosen),
        }
    }

    fn take(&self, queue: &mut OperationQueue, step: QueueStep) {
        let arena = self.arena();
        let act = |pe: u32| arena.activity(pe).fetch_add(1, Relaxed);
        match step {
            QueueStep::Read { operation, part } => {
                let operation = &mut queue.operations[operation];
                let bytes = source(operation, part);
                self.note(|| format!("reads {} of {}", range(operation, part), describe(operation)));
                operation.parts[part].read = Some(bytes);
                // A caller may wait until its buffers have been read.
                act(self.me);
            }
            QueueStep::Lose { operation, part } => {
                let operation = &mut queue.operations[operation];
                self.note(|| format!("loses {} of {}, to read it again", range(operation, part), describe(operation)));
                (operation.parts[part].read, operation.parts[part].lost) = (None, true);
            }
            QueueStep::Land { operation: place, part } => {
                let operation = &mut queue.operations[place];
                self.note(|| format!("lands {} of {}", range(operation, part), describe(operation)));
                let landed = self.land(operation, part);
                act(if operation.is_ordered() { operation.to.pe } else { self.me });
                operation.parts.swap_remove(part);
                if let Err(wrong) = landed {
                    operation.account.fail(wrong.error(operation.to.pe));
                    queue.refuse(place);
                }
            }
            QueueStep::Complete { operation } => {
                let operation = queue.operations.remove(operation);
                self.note(|| format!("completes {}", describe(&operation)));
                operation.account.complete(1);
                act(self.me);
            }
        }
    }

    /// Lets a part take effect. The target may be gone: then nothing happens.
    fn land(&self, operation: &mut Operation, part: usize) -> Result<(), OutOfRange> {
        let target = &self.arena().networks[operation.to.pe as usize];
        let bytes = operation.parts[part].bytes.clone();
        // A place beyond all numbers stays out of range.
        let offset = operation.to.offset.saturating_add(bytes.start as u64);
        let to = oxshmem_transport::Remote { offset, ..operation.to };
        let answer = match &operation.action {
            Movement::Put(_) => {
                let data = operation.parts[part].read.take().unwrap_or_else(|| source(operation, part));
                target.ask(to, MemoryAccess::Put(&data))
            }
            Movement::Get(dest) => {
                let mut data = vec![0; bytes.len()];
                let answer = target.ask(to, MemoryAccess::Get(&mut data));
                if matches!(answer, Some(Ok(_))) {
                    // SAFETY: the caller of `get_nbi` keeps the destination, of which this is a part, until completion.
                    unsafe { dest.add(bytes.start).copy_from_nonoverlapping(data.as_ptr(), data.len()) };
                }
                answer
            }
            &Movement::Amo(width, amo, old) => {
                let answer = target.ask(operation.to, MemoryAccess::Amo(width, amo));
                if let Some(Ok(value)) = answer {
                    // SAFETY: the caller of `amo` keeps `old`, or gave null, until completion.
                    unsafe { deliver_old(old, width, value) };
                }
                answer
            }
        };
        answer.map_or(Ok(()), |answer| answer.map(drop))
    }

    /// Tells the scheduler how many operations are under way.
    pub(crate) fn count(&self, queue: &OperationQueue) {
        let held = queue.count(|operation| self.plan.starves(self.me, operation.to.pe));
        self.slot().held.store(held, Relaxed);
        self.slot().pending.store(queue.operations.len() as u32 - held, Relaxed);
    }

    /// Writes what the network does at this step, if there is a story.
    pub(crate) fn note(&self, what: impl FnOnce() -> String) {
        if let Some(story) = &self.story {
            story.write(self.arena().step.load(Relaxed), "network", &what());
        }
    }
}

/// Ends the process when the service thread panics: no other thread answers for the PE, and the job would stand still.
struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            std::process::abort();
        }
    }
}

/// The bytes of a part, read now.
fn source(operation: &Operation, part: usize) -> Box<[u8]> {
    let bytes = operation.parts[part].bytes.clone();
    match &operation.action {
        Movement::Put(PutSource::Copied(copy)) => copy[bytes].into(),
        Movement::Put(PutSource::Borrowed(start) | PutSource::Signalled(start)) => {
            // SAFETY: the caller of `put_nbi` or `put_signal` keeps the source readable until completion, and this is a part of it. A program
            // that writes it meanwhile is wrong; then any bytes are as good.
            unsafe { slice::from_raw_parts(start.add(bytes.start), bytes.len()) }.into()
        }
        Movement::Get(_) | Movement::Amo(..) => Box::default(),
    }
}

fn range(operation: &Operation, part: usize) -> String {
    let bytes = &operation.parts[part].bytes;
    format!("bytes {}..{}", bytes.start, bytes.end)
}

/// An operation as the story names it.
pub(crate) fn describe(operation: &Operation) -> String {
    let Operation { number, target, .. } = operation;
    format!("{} #{number} {target}", operation.name())
}
