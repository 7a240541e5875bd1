//! Sets that span nodes, and whose pSync array is freed: they give their slots back, so that a program may allocate an array for each
//! of its phases.

use core::ops::Range;
use core::sync::atomic::Ordering::Relaxed;

use super::{KNOWN, KnownSet, RECENT, in_words};
use crate::collectives::missed_broadcasts;
use crate::diagnosis::errors;
use crate::start::threads;
use crate::teams::leasing;

/// Gives back what sets have whose arrays lie in `freed`, a part of the heap. All PEs are in the call that frees it, and have met there: so
/// all have left the collectives of these sets, as the members of a team have when it is destroyed, and none will enter one.
pub(crate) fn give_back(call: &'static str, freed: &Range<u64>) {
    let sets: Vec<Box<KnownSet>> = {
        let mut known = KNOWN.lock();
        let Some(known) = known.as_mut() else { return };
        known.extract_if(|key, set| set.door.is_none() && freed.contains(&key.array)).map(|(_, set)| set).collect()
    };
    for set in sets {
        if let Some(error) = missed_broadcasts::between_nodes(call, &set.team, &in_words(set.name)) {
            errors::fail(&error);
        }
        leasing::give_back_of_set(call, &set.team);
        // Another thread that has found the set for a name with the same entry may still look at it, or show it again.
        set.is_over.store(true, Relaxed);
        RECENT.forget(&set);
        if !threads::one_calls_at_a_time() {
            Box::leak(set);
        }
    }
}
