//! Loopback as a provider like any other.

use std::sync::{Arc, Weak};

use oxshmem_base::Error;
use parking_lot::Mutex;

use super::{Loopback, Options, World};
use crate::{Agreed, AmoDomain, Fabric, Grade, NetworkAtomics, Offer, Offers, Participant, Provider, Wanted, software};

/// PEs that are threads of one process. A number as detail is the seed of an adversary.
pub static PROVIDER: Provider = Provider { name: "loopback", offers, open };

fn offers(_participant: &Participant<'_>, wanted: &Wanted<'_>) -> Offers {
    if !wanted.named {
        return Offers::none("loopback", "its PEs are threads of one process");
    }
    match seed(wanted.detail.unwrap_or_default()) {
        Ok(_) => {
            let detail = wanted.detail.unwrap_or_default().into();
            Offers::one(Offer { grade: Grade::Software, detail, atomics: NetworkAtomics::Software })
        }
        Err(error) => Offers::none("loopback", error.in_one_line()),
    }
}

fn open(participant: &Participant<'_>, choice: &Agreed<'_>) -> Result<Box<dyn Fabric>, Error> {
    let amo = if choice.atomics { AmoDomain::Network } else { AmoDomain::Processor };
    let options = Options { adversary: seed(choice.detail)?, amo, ..Options::default() };
    let Participant { me, pes, .. } = *participant;
    software::fill(
        me,
        participant.give_up(),
        Box::new(Loopback::new(me, world_of(participant.secret, pes), options)),
        None,
    )
}

/// The job that has this secret, which its first PE makes.
fn world_of(secret: &[u8; 48], pes: u32) -> Arc<World> {
    static WORLDS: Mutex<Vec<([u8; 48], Weak<World>)>> = Mutex::new(Vec::new());
    let mut worlds = WORLDS.lock();
    worlds.retain(|(_, world)| world.strong_count() > 0);
    let known = worlds.iter().find(|(known, _)| known == secret).and_then(|(_, world)| world.upgrade());
    known.unwrap_or_else(|| {
        let world = Arc::new(World::new(pes));
        worlds.push((*secret, Arc::downgrade(&world)));
        world
    })
}

fn seed(detail: &str) -> Result<Option<u64>, Error> {
    if detail.is_empty() {
        return Ok(None);
    }
    detail.parse().map(Some).map_err(|error| {
        Error::new(format!("loopback:{detail} cannot be read")).because(error).fix("name the seed of an adversary")
    })
}
