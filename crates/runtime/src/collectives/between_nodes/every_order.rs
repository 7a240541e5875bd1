//! The search of a model's states: every order of its events.

use core::fmt::Debug;
use core::hash::{BuildHasher, Hash};
use std::collections::{HashMap, HashSet};
use std::hash::RandomState;

/// Takes every order of events from the first state on. `events` are those that can happen in a state, none where it `is_over` or where
/// no actor can go on. Returns how many states there are, or what is wrong in one of them.
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

/// As [`every_order`], for models whose members look again and again, so that one of them can always go on: from each state some order
/// of events has to lead to the end.
pub(in crate::collectives) fn every_order_ends<S: Clone + Hash, E: Copy + Debug>(
    first: S,
    events: impl Fn(&S) -> Vec<E>,
    is_over: impl Fn(&S) -> bool,
    apply: impl Fn(&mut S, E) -> Result<(), String>,
) -> Result<usize, String> {
    let hasher = RandomState::new();
    let mut known = HashMap::from([(hasher.hash_one(&first), 0)]);
    // How each state was reached first, and the states from which one event leads there.
    let (mut trail, mut before) = (vec![None], vec![Vec::new()]);
    let (mut open, mut ended) = (vec![(0, first)], Vec::new());
    while let Some((number, state)) = open.pop() {
        if is_over(&state) {
            ended.push(number);
        }
        for event in events(&state) {
            let mut next = state.clone();
            let applied = apply(&mut next, event);
            applied.map_err(|wrong| format!("{wrong}, behind {event:?} and {:?}", back(&trail, number)))?;
            let fresh = known.len();
            let there = *known.entry(hasher.hash_one(&next)).or_insert(fresh);
            if there == fresh {
                trail.push(Some((number, event)));
                before.push(Vec::new());
                open.push((there, next));
            }
            before[there].push(number);
        }
    }
    let mut ends = vec![false; known.len()];
    while let Some(number) = ended.pop() {
        if !core::mem::replace(&mut ends[number], true) {
            ended.append(&mut before[number]);
        }
    }
    match ends.iter().position(|ends| !ends) {
        Some(stuck) => Err(format!("nothing leads to the end, behind {:?}", back(&trail, stuck))),
        None => Ok(known.len()),
    }
}

/// The events that have led to a state, the last one first.
fn back<E: Copy>(trail: &[Option<(usize, E)>], from: usize) -> Vec<E> {
    core::iter::successors(trail[from], |(number, _)| trail[*number]).map(|(_, event)| event).collect()
}
