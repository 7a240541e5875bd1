//! Which PE has ended without finalize among those that a wait needs.

use super::{Collectives, Needs};
use crate::memory::control::{ControlBlock, State};
use crate::network;
use crate::start::{job, state};

/// A PE among those that a wait needs which has ended without finalize.
pub(super) fn among(needs: Needs<'_>) -> Option<u32> {
    let first = if let Needs::One(pe) | Needs::Room(pe) | Needs::FirstMember(pe, _) | Needs::Lock(pe) = needs {
        job::window_of(pe)
    } else {
        None
    };
    if let Some(life) = state::current() {
        life.windows.roll().call(first);
    }
    match needs {
        Needs::Anyone | Needs::Variables(..) | Needs::Collectives(Collectives::All(None)) => last_to_go(),
        Needs::One(pe) | Needs::Room(pe) | Needs::FirstMember(pe, _) | Needs::Lock(pe) => {
            first_gone(std::iter::once(pe))
        }
        Needs::All(circle)
        | Needs::Collectives(
            Collectives::All(Some(circle)) | Collectives::Of(circle, _) | Collectives::One(circle, ..),
        ) => first_gone((0..circle.size()).map(|member| circle.world(member))),
    }
}

/// A PE whose end leaves no PE that could end the wait, because all others have gone before it.
fn last_to_go() -> Option<u32> {
    // Another thread may have ended the library meanwhile: then there are no PEs.
    let me = ControlBlock::if_open()?;
    let mut others = (0..job::pes_on_node()).filter(|&window| !core::ptr::eq(ControlBlock::of(window), me));
    let is_gone = |window: u32| ControlBlock::of(window).state() == State::Gone;
    if network::is_open() || job::pes_on_node() < 2 || !others.clone().all(is_gone) {
        return None;
    }
    others.next().map(job::pe_in_window)
}

fn first_gone(pes: impl Iterator<Item = u32> + Clone) -> Option<u32> {
    let is_gone = |window: u32| ControlBlock::of(window).state() == State::Gone;
    let on_node = pes.clone().find(|pe| job::window_of(*pe).is_some_and(is_gone));
    on_node.or_else(|| network::gone_among(job::joined()?, pes.filter(|pe| job::window_of(*pe).is_none())))
}
