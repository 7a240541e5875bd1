//! The state of lanes that only the engine's lock protects.

use oxshmem_transport::{CompletionHabit, NumberMap, Remote};

/// The state of one lane between two calls. It lives in the engine, under whose lock it changes.
#[derive(Default)]
pub(crate) struct LaneState {
    /// The puts that have to be read back before they can be relied on. Each counts as an operation of the lane's account.
    pub(crate) unread: UnreadPuts,
    /// Whether the program waits for each put by itself, where puts are read back.
    pub(crate) habit: CompletionHabit,
    /// A fence was free because the first rail keeps order: no later put may take another rail and overtake it.
    pub(crate) fenced: bool,
    /// Atomics have been issued since the lane was empty that a fence cannot leave to the endpoint: it does not order them,
    /// or they are on this PE's own memory, which puts reach without it.
    pub(crate) unordered: bool,
}

/// Where the last put to each PE went, by rails.
#[derive(Default)]
pub(crate) struct UnreadPuts(Vec<NumberMap<u32, Remote>>);

/// The PEs for which there stays room when all has been read.
const FEW: usize = 64;

impl UnreadPuts {
    /// Notes the place of a put. Returns whether it is the first one to its PE by this rail.
    pub(crate) fn note(&mut self, rail: usize, place: Remote) -> bool {
        if self.0.len() <= rail {
            self.0.resize_with(rail + 1, NumberMap::default);
        }
        self.0[rail].insert(place.pe, place).is_none()
    }

    /// Takes the one to this PE by this rail.
    pub(crate) fn take(&mut self, rail: usize, pe: u32) -> Option<Remote> {
        self.0.get_mut(rail)?.remove(&pe)
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().map(|places| places.len() as u64).sum()
    }

    /// Whether there are some by another rail than the first one.
    pub(crate) fn are_abroad(&self) -> bool {
        self.0.iter().skip(1).any(|places| !places.is_empty())
    }

    /// Forgets those, by their rails and places, that need not be kept.
    pub(crate) fn retain(&mut self, mut is_kept: impl FnMut(usize, Remote) -> bool) {
        for (rail, places) in self.0.iter_mut().enumerate() {
            places.retain(|_, &mut place| is_kept(rail, place));
            if places.is_empty() {
                // The next search goes through all the room that is left.
                places.shrink_to(FEW);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use oxshmem_transport::Region;

    use super::*;

    #[test]
    fn the_last_place_of_each_pe_and_rail_is_unread() {
        let place = |pe, offset| Remote { pe, region: Region::Heap, offset };
        let mut unread = UnreadPuts::default();
        assert_eq!((unread.count(), unread.are_abroad()), (0, false));
        assert!((0..10_000).all(|pe| unread.note(0, place(pe, 1))), "each is the first");
        assert!((0..10_000).all(|pe| !unread.note(0, place(pe, 2))), "none is the first");
        assert_eq!((unread.count(), unread.are_abroad()), (10_000, false));
        assert!(unread.note(2, place(7, 3)) && !unread.note(2, place(7, 4)));
        assert_eq!((unread.count(), unread.are_abroad()), (10_001, true));
        let mut seen = 0;
        unread.retain(|rail, place| {
            seen += 1;
            assert_eq!((rail, place.offset), if rail == 0 { (0, 2) } else { (2, 4) });
            rail > 0 || place.pe == 9
        });
        assert_eq!((seen, unread.count(), unread.are_abroad()), (10_001, 2, true));
        unread.retain(|_, _| false);
        assert_eq!((unread.count(), unread.are_abroad()), (0, false));
        assert!(unread.note(0, place(9, 5)), "it was read back");
    }
}
