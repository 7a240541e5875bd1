//! Threads as members of a team that meets level by level.

use oxshmem_reduce::{Max, Sum};

use super::*;
use crate::collectives::arguments::allowed;
use crate::collectives::node_exchange;
use crate::memory::control;
use crate::teams::members::Members;
use crate::teams::team::TeamState;
use oxshmem_reduce::{Operand as Reducible, Operator as Reducer};

/// Member `my` of a team whose caches, NUMA nodes and packages have 2, 4 and 8 members.
fn member(size: u32, my: u32, slot: u32, base: u64) -> TeamState {
    let domains = [2, 4, 8].map(|width| (0..size).map(|member| member / width).collect());
    let lines = (0..size).map(|window| &control::SLOT_LINES.get(window, slot).0).collect();
    TeamState::new(Members::Triplet { start: 0, stride: 1 }, size, my, slot, base).through(&domains, lines)
}

fn meet(size: u32, slot: u32, base: u64, act: impl Fn(&TeamState) + Sync) {
    control::tests::windows();
    std::thread::scope(|scope| {
        for my in 0..size {
            let act = &act;
            scope.spawn(move || act(&member(size, my, slot, base)));
        }
    });
}

fn reduce_by<O: Reducer, T: Reducible<O>>(team: &TeamState, values: &mut [T]) {
    let dest = values.as_mut_ptr().cast::<u8>();
    let reduction = Reduction {
        law: allowed(O::OP, T::KIND),
        kernel: Kernel::of::<O, T>(),
        element: size_of::<T>(),
        dest,
        source: dest,
        n: values.len(),
    };
    // SAFETY: a short reduction touches the caller's arrays only, and these have the elements.
    unsafe { reduce(Call::new(team, "test"), reduction) };
}

#[test]
fn everybody_sees_everybodys_payload_of_this_exchange() {
    for (slot, size, base) in [(20, 2, 0), (21, 7, (1 << 32) - 3), (22, 16, 1 << 40), (23, 19, 9)] {
        meet(size, slot, base, |team| {
            for round in 0..6 {
                let word = |member: u32| round << 8 | u64::from(member);
                let mut seen = 0;
                node_exchange::exchange(Call::new(team, "test"), &[word(team.my); PAYLOAD_WORDS], |member, words| {
                    assert_eq!(*words, [word(member); PAYLOAD_WORDS]);
                    seen += 1;
                });
                assert_eq!(seen, size);
            }
            assert_eq!(team.exchanges(), base + 6);
        });
    }
}

#[test]
fn members_learn_whether_all_have_the_same_words() {
    meet(19, 27, 3, |team| {
        let call = Call::new(team, "test");
        for round in 0..6 {
            assert!(call.have_same(&[round, u64::MAX, 0]));
            let other = u64::from(team.my == 7) << (10 * round);
            assert!(!call.have_same(&[round, other]));
        }
        assert_eq!(team.exchanges(), 3 + 12);
    });
}

#[test]
fn short_reductions_have_the_result_of_a_fold_in_team_order() {
    for (slot, size) in [(24, 3), (25, 8), (26, 17)] {
        meet(size, slot, 5, |team| {
            let own = |my: u32, i: usize| f64::from(my + 1) * 0.1 + i as f64 * 1e10;
            for n in [1, 3, 7] {
                let mut values: Vec<f64> = (0..n).map(|i| own(team.my, i)).collect();
                reduce_by::<Sum, f64>(team, &mut values);
                let folded: Vec<f64> =
                    (0..n).map(|i| (1..size).fold(own(0, i), |sum, member| sum + own(member, i))).collect();
                assert_eq!(values, folded);
                let mut greatest: Vec<i32> = (0..2 * n as i32).map(|i| i * 100 + team.my as i32).collect();
                reduce_by::<Max, i32>(team, &mut greatest);
                assert_eq!(greatest, (0..2 * n as i32).map(|i| i * 100 + size as i32 - 1).collect::<Vec<_>>());
                node_exchange::synchronise(Call::new(team, "test"));
            }
        });
    }
}
