//! The teams that the program has used: their members, and which of their collectives comes next.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use oxshmem_base::chance::Sum;
use oxshmem_profile::layout::{TEAMS, team};
use parking_lot::Mutex;

use crate::library::library;

/// The name of a team in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TeamName {
    /// A handle of a team.
    Handle(usize),
    /// A handle of a context, whose team is meant.
    Context(usize),
    /// An active set: first PE, logarithm of the stride, size.
    Set(i32, i32, i32),
}

/// A team, for as long as the process lives.
#[derive(Debug)]
pub(crate) struct TeamEntry {
    /// The place in ledgers.
    pub(crate) slot: usize,
    /// The first words of its record in ledgers: first, stride, size, sum, number.
    pub(crate) identity: [u64; 5],
    members: Vec<u32>,
    /// How many collectives the members have begun.
    pub(crate) meetings: AtomicU64,
    /// Whether its handle is valid. A team of the same members that is made later takes its place.
    lives: AtomicBool,
}

#[cfg(test)]
impl TeamEntry {
    /// A team for tests of ledgers.
    pub(crate) fn of_nobody() -> Self {
        let (meetings, lives) = (AtomicU64::new(0), AtomicBool::new(true));
        Self { slot: 0, identity: [1; 5], members: Vec::new(), meetings, lives }
    }
}

#[derive(Default)]
struct TeamRegistry {
    names: HashMap<TeamName, &'static TeamEntry>,
    teams: Vec<&'static TeamEntry>,
}

static REGISTRY: Mutex<Option<TeamRegistry>> = Mutex::new(None);
/// Changes whenever a handle becomes invalid, so that no thread uses what it found before. Relaxed: the handle's thread sees its
/// own change, and others must not use the handle at the same time.
static AGE: AtomicU64 = AtomicU64::new(0);

/// How many handles have become invalid.
pub(crate) fn age() -> u64 {
    AGE.load(Relaxed)
}

/// The team of a handle.
pub(crate) fn of_team(handle: usize) -> Option<&'static TeamEntry> {
    find_or_add(TeamName::Handle(handle), || library().members(handle))
}

/// The team of a context.
pub(crate) fn of_context(handle: usize) -> Option<&'static TeamEntry> {
    let name = TeamName::Context(handle);
    let known = REGISTRY.lock().as_ref().and_then(|registry| registry.names.get(&name).copied());
    if known.is_some() {
        return known;
    }
    let entry = of_team(library().team_of(handle)?)?;
    REGISTRY.lock().get_or_insert_default().names.insert(name, entry);
    Some(entry)
}

/// An active set.
pub(crate) fn of_set(start: i32, stride: i32, size: i32) -> Option<&'static TeamEntry> {
    let members = || {
        let distance = 1_u32.checked_shl(stride as u32).unwrap_or(0);
        (0..size.max(0) as u32).map(|member| (start as u32).wrapping_add(member.wrapping_mul(distance))).collect()
    };
    find_or_add(TeamName::Set(start, stride, size), members)
}

/// Forgets a handle that is about to become invalid.
pub(crate) fn forget(handle: usize) {
    AGE.fetch_add(1, Relaxed);
    let mut registry = REGISTRY.lock();
    let Some(registry) = registry.as_mut() else { return };
    registry.names.remove(&TeamName::Context(handle));
    if let Some(entry) = registry.names.remove(&TeamName::Handle(handle)) {
        entry.lives.store(false, Relaxed);
        // The contexts of a team end with it.
        registry.names.retain(|name, of| !matches!(name, TeamName::Context(_)) || of.slot != entry.slot);
    }
}

/// Forgets all handles at the end of the library's life: in the next one they may stand for other teams.
pub(crate) fn forget_all() {
    AGE.fetch_add(1, Relaxed);
    if let Some(registry) = REGISTRY.lock().as_mut() {
        registry.names.clear();
        registry.teams.iter().for_each(|entry| entry.lives.store(false, Relaxed));
    }
}

/// The entry of a handle or an active set. A new handle reuses the entry of a team of the same members whose handle has become
/// invalid. `None`: there are no members, or ledgers have no room for another team.
fn find_or_add(name: TeamName, members: impl FnOnce() -> Vec<u32>) -> Option<&'static TeamEntry> {
    let mut registry = REGISTRY.lock();
    let registry = registry.get_or_insert_default();
    if let Some(entry) = registry.names.get(&name) {
        return Some(entry);
    }
    let is_set = matches!(name, TeamName::Set(..));
    let members = members();
    let (first, size) = (*members.first()?, members.len() as u64);
    let same = |entry: &&&'static TeamEntry| {
        (entry.identity[team::NUMBER] == team::ACTIVE_SET) == is_set && entry.members == members
    };
    let reusable = registry.teams.iter().filter(same).find(|entry| is_set || !entry.lives.load(Relaxed)).copied();
    let entry = match reusable {
        Some(entry) => entry,
        None if registry.teams.len() >= TEAMS.records => return None,
        None => {
            let number = registry.teams.iter().filter(same).count() as u64;
            let (stride, sum) = shape(&members);
            let entry: &'static TeamEntry = Box::leak(Box::new(TeamEntry {
                slot: registry.teams.len(),
                identity: [first.into(), stride, size, sum, if is_set { team::ACTIVE_SET } else { number }],
                members,
                meetings: AtomicU64::new(0),
                lives: AtomicBool::new(true),
            }));
            registry.teams.push(entry);
            entry
        }
    };
    entry.lives.store(true, Relaxed);
    registry.names.insert(name, entry);
    Some(entry)
}

/// The distance of members, or 0 and a sum over them.
fn shape(members: &[u32]) -> (u64, u64) {
    let distance = members.get(1).map_or(1, |second| second.wrapping_sub(members[0]));
    if members.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == distance) {
        return (distance.into(), 0);
    }
    (0, Sum::of(members.iter().copied()))
}

/// World number of a member of the team of a context; `None` also where the registry has no room for the team.
pub(crate) fn world_number(team: Option<&TeamEntry>, member: i32) -> Option<u32> {
    team?.world(member)
}

impl TeamEntry {
    /// World number of a member.
    pub(crate) fn world(&self, member: i32) -> Option<u32> {
        self.members.get(usize::try_from(member).ok()?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn active_sets_have_one_entry_and_know_their_members() {
        let (first, again, other) = (of_set(2, 1, 3).unwrap(), of_set(2, 1, 3).unwrap(), of_set(2, 0, 3).unwrap());
        assert_eq!((first.slot, first.identity), (again.slot, [2, 2, 3, 0, team::ACTIVE_SET]));
        assert_ne!(first.slot, other.slot);
        assert_eq!([0, 1, 2, 3, -1].map(|member| first.world(member)), [Some(2), Some(4), Some(6), None, None]);
        assert!(of_set(0, 0, 0).is_none());
        // Without an entry of its team, a member's number is not taken for a world number.
        assert_eq!((world_number(Some(first), 1), world_number(None, 1)), (Some(4), None));
    }

    #[test]
    fn a_team_that_is_made_anew_takes_the_place_of_the_former() {
        let make = |handle| find_or_add(TeamName::Handle(handle), || vec![40, 43, 41]).unwrap();
        let (first, beside) = (make(1), make(2));
        assert_eq!((first.identity[team::NUMBER], beside.identity[team::NUMBER]), (0, 1));
        assert_eq!((first.identity[team::STRIDE], first.identity[team::SUM]), (0, beside.identity[team::SUM]));
        let before = age();
        forget(1);
        assert!(age() > before);
        assert_eq!(make(3).slot, first.slot);
        // In another life of the library the handle is that of another team.
        forget_all();
        let other = find_or_add(TeamName::Handle(3), || vec![7, 9]).unwrap();
        assert_eq!(other.members, [7, 9]);
    }
}
