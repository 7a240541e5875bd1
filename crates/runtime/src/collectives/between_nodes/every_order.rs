//! The search of a model's states: every order of its events.

use core::fmt::Debug;
use core::hash::{BuildHasher, Hash};
use std::collections::HashSet;
use std::hash::RandomState;

/// Takes every order of events from the first state on. `events` are those that can happen in a state, none where it `is_over` or where
/// nobody can go on. Returns how many states there are, or what is wrong in one of them.
pub(super) fn every_order<S: Clone + Hash + Debug, E>(
    first: S,
    events: impl Fn(&S) -> Vec<E>,
    is_over: impl Fn(&S) -> bool,
    apply: impl Fn(&mut S, E) -> Result<(), String>,
) -> Result<usize, String> {
    let (mut known, hasher, mut open) = (HashSet::new(), RandomState::new(), vec![first]);
    while let Some(state) = open.pop() {
        let events = events(&state);
        if events.is_empty() && !is_over(&state) {
            return Err(format!("nobody can go on: {state:?}"));
        }
        for event in events {
            let mut next = state.clone();
            apply(&mut next, event)?;
            if known.insert(hasher.hash_one(&next)) {
                open.push(next);
            }
        }
    }
    Ok(known.len())
}
