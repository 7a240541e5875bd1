//! The provider: its offer, and one PE's view of the simulated network.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::Release};

use oxshmem_base::Error;
use oxshmem_transport::{
    AddressBook, Agreed, AmoDomain, Capabilities, Fabric, Features, Grade, Lane, LaneOptions, NetworkAtomics, Offers,
    Participant, Provider, Region, Segment, TakesTurns, TransportOffer, WantedTransport, software,
};

use crate::arena::{Actor, ActorState, ArenaMap, DIED, LEFT, MOST_PES, ring};
use crate::chance::seeded;
use crate::lane::SimLane;
use crate::network::Pe;
use crate::options::SimOptions;
use crate::story;
use crate::turns::StepKind;

/// Only for users who name it.
pub static PROVIDER: Provider = Provider { name: "sim", elsewhere: &[], offers, open };

fn offers(participant: &Participant<'_>, wanted: &WantedTransport<'_>) -> Offers {
    if !wanted.named {
        return Offers::none("sim", "it finds faults of programs; SHMEM_TRANSPORT=sim asks for it");
    }
    if participant.pes as usize > MOST_PES {
        return Offers::none("sim", format!("it carries {MOST_PES} PEs at most, and the job has {}", participant.pes));
    }
    match SimOptions::read(wanted.detail.unwrap_or_default()) {
        Ok(_) => Offers::one(TransportOffer {
            grade: Grade::Software,
            detail: wanted.detail.unwrap_or_default().into(),
            atomics: NetworkAtomics::None("the processors of the simulated nodes do them".into()),
        }),
        Err(error) => Offers::none("sim", error.in_one_line()),
    }
}

fn open(participant: &Participant<'_>, choice: &Agreed<'_>) -> Result<Box<dyn Fabric>, Error> {
    static LIVES: AtomicU64 = AtomicU64::new(0);
    let options = SimOptions::read(choice.detail)?;
    let me = participant.me;
    let seed = options.seed;
    let pe = Pe::new(participant, LIVES.fetch_add(1, Relaxed), options);
    if me == 0 {
        let arena = ArenaMap::create()?;
        arena.chance.store(seeded(seed), Relaxed);
        for (number, slot) in (0..).zip(&arena.networks) {
            slot.priority.store(seeded(!seed ^ number), Relaxed);
        }
        // Only this function sets it.
        let _ = pe.arena.set(arena);
    }
    let features = if pe.plan.served { Features::empty() } else { Features::ONE_SIDED };
    let signal = pe.plan.signals.then_some(usize::MAX);
    let capabilities = Capabilities { features, amo: AmoDomain::Processor, inject: 4096, signal };
    software::fill(me, participant.give_up(), Box::new(Sim { pe: Arc::new(pe), capabilities }), None)
}

struct Sim {
    pe: Arc<Pe>,
    capabilities: Capabilities,
}

impl Fabric for Sim {
    fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    fn register(&self, region: Region, segment: Segment) -> Result<(), Error> {
        self.pe.memory.register(region, segment)
    }

    /// The process and the descriptor of the arena, which only PE 0 has before the others connect.
    fn address(&self) -> Vec<u8> {
        let descriptor = self.pe.arena.get().map_or(-1, ArenaMap::descriptor);
        [std::process::id().to_le_bytes(), descriptor.to_le_bytes()].concat()
    }

    fn connect(&self, book: Box<dyn AddressBook>) -> Result<(), Error> {
        let pe = &self.pe;
        if pe.me > 0 {
            let first = book.address(0)?;
            let word = |at: usize| first.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            let (Some(process), Some(descriptor)) = (word(0), word(4)) else {
                return Err(
                    Error::new("sim: the address of PE 0 cannot be read").fix("run one version of oxshmem on all PEs")
                );
            };
            let arena = ArenaMap::attach(u32::from_le_bytes(process), i32::from_le_bytes(descriptor))?;
            if pe.arena.set(arena).is_err() {
                return Err(Error::new("sim: the fabric is connected already"));
            }
        }
        pe.slot().process.store(std::process::id(), Relaxed);
        pe.slot().node.store(pe.node, Relaxed);
        pe.start_service()
    }

    fn lane(&self, _options: LaneOptions) -> Result<Box<dyn Lane>, Error> {
        Ok(Box::new(SimLane::new(self.pe.clone())))
    }

    fn progress(&self) -> usize {
        self.pe.step(StepKind::Poll);
        0
    }

    fn turns(&self) -> Option<&dyn TakesTurns> {
        Some(self)
    }

    fn lost(&self) -> Option<Error> {
        let arena = self.pe.arena.get()?;
        let slots = (0..self.pe.pes).zip(&arena.networks);
        let (dead, _) = slots.into_iter().find(|(_, slot)| slot.over.load(Relaxed) == DIED)?;
        Some(
            Error::new(format!("PE {dead} cannot be reached"))
                .because("its process has ended")
                .fix("look at what it printed; every seed ends here if the program ends one of its PEs early"),
        )
    }

    fn close(&self) {
        let pe = &self.pe;
        let Some(arena) = pe.arena.get().filter(|_| !pe.closed.swap(true, Release)) else { return };
        let is_ours = |actor: &Actor| actor.state() != ActorState::Absent && actor.pe.load(Relaxed) == pe.me;
        let mut has_turn = false;
        for (number, actor) in (0..).zip(&arena.actors).filter(|(_, actor)| is_ours(actor)) {
            actor.set_state(ActorState::Absent);
            has_turn |= pe.claim(number);
        }
        pe.slot().over.store(LEFT, Relaxed);
        if has_turn {
            pe.give_on(None);
        }
        ring(&pe.slot().bell);
        if let Some(service) = pe.service.lock().take() {
            // A panic of the thread has been printed already.
            let _ = service.join();
        }
        let is_last = arena.left.fetch_add(1, Relaxed) + 1 == pe.pes;
        if let Some(path) = pe.summary.as_ref().filter(|_| is_last) {
            story::summarise(path, pe.plan.strategy.name(), pe.plan.seed, arena);
        }
    }

    fn describe(&self) -> String {
        let plan = &self.pe.plan;
        format!("sim: {} with seed {}, PE {} of {}", plan.strategy.name(), plan.seed, self.pe.me, self.pe.pes)
    }
}

impl TakesTurns for Sim {
    fn look(&self, again: bool) {
        self.pe.step(if again { StepKind::LookAgain } else { StepKind::Act });
    }

    fn step_out(&self) {
        self.pe.step_out();
    }

    fn allocated(&self, offset: u64, bytes: u64) {
        if let Some(story) = &self.pe.story {
            story.blocks.lock().add(offset, bytes);
        }
    }

    fn freed(&self, offset: u64) {
        if let Some(story) = &self.pe.story {
            story.blocks.lock().remove(offset);
        }
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        self.close();
    }
}
