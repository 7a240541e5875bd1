//! Messages that arrive in any order, of another call, or too long; and the ways of runs.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use super::*;
use crate::collectives::between_nodes::MOST_NODES;
use crate::collectives::between_nodes::reach::Reach;
use crate::collectives::signature::CallKind;
use crate::collectives::signature::Signature;
use oxshmem_schedule::algorithm::{Collective, Operator, Schedule};
use oxshmem_schedule::choose::{Question, choose};
use oxshmem_schedule::step::Plan;

fn standard(collective: Collective, size: u32, bytes: u64) -> Schedule {
    choose(&[], &Question { collective, size, count: bytes, element: 1, root_apart: false })
}

#[test]
fn a_message_is_there_when_all_its_words_are_in_any_order() {
    for bytes in [0_usize, 1, 4, 5, 8, 56, 200] {
        let content: Vec<u8> = (0..bytes).map(|i| i as u8 ^ 0x5a).collect();
        let mut message = [0; MAILBOX_WORDS];
        let mine = Signature::of(CallKind::Sum).with(bytes, 0);
        let length = write(&mut message, 9, mine, (Place::Dest, 77), &content);
        // Words of an earlier run may look like anything but this stamp.
        let stale = || -> Vec<AtomicU64> { message.iter().map(|word| AtomicU64::new(word ^ (2 << 32))).collect() };
        for last in 0..length {
            let mailbox = stale();
            for i in (0..length).filter(|&i| i != last) {
                mailbox[i].store(message[i], Relaxed);
                assert_eq!(arrived(&mailbox, 9, mine), Ok(None), "{bytes} bytes without word {last}");
            }
            mailbox[last].store(message[last], Relaxed);
            assert_eq!(arrived(&mailbox, 9, mine), Ok(Some(bytes)));
            assert_eq!(arrived(&mailbox, 11, mine), Ok(None));
        }
    }
}

#[test]
fn fault_W1_a_message_of_another_call_or_that_is_too_long_is_not_believed() {
    let (sum, barrier) = (Signature::of(CallKind::Sum).with(48, 0), Signature::of(CallKind::Barrier));
    let mut message = [0; MAILBOX_WORDS];
    let length = write(&mut message, 9, sum, (Place::Dest, 0), &[7; 48]);
    let mailbox: Vec<AtomicU64> = message.iter().map(|&word| AtomicU64::new(word)).collect();
    assert_eq!(arrived(&mailbox, 9, sum), Ok(Some(48)));
    assert_eq!(arrived(&mailbox, 9, barrier), Err(sum));
    assert_eq!(arrived(&mailbox[..length - 1], 9, sum), Err(sum));
    // A head that says more than the box holds, and one whose content is elsewhere.
    mailbox[0].store(message[0] | 0xfffe, Relaxed);
    assert_eq!(arrived(&mailbox, 9, sum), Err(sum));
    mailbox[0].store(head(9, sum, IN_PLACE), Relaxed);
    assert_eq!(arrived(&mailbox, 9, sum), Ok(Some(IN_PLACE)));
    assert_eq!(arrived(&mailbox, 9, barrier), Err(sum));
    assert_eq!(arrived(&mailbox, 11, sum), Ok(None));
}

#[test]
fn payloads_are_inline_among_as_many_leaders_as_there_may_be() {
    for nodes in [2, 3, 4, 5, 8, 100, 1000, MOST_NODES] {
        for collective in
            [Collective::Sync, Collective::Reduce(Operator::Idempotent), Collective::Reduce(Operator::Exact)]
        {
            let plan = Plan::new(nodes, if collective == Collective::Sync { 0 } else { 56 });
            let schedule = standard(collective, nodes, plan.count);
            let way = LeaderSchedule::find(schedule, None, &plan, 1, plan.count, Reach::Nothing).expect("a way");
            assert!(way.private && way.mailbox >= length(plan.count as usize), "{collective} among {nodes}");
        }
    }
}

/// With buffers there is a way for every collective that the leaders run, among as many as there may be.
#[test]
fn everything_long_has_a_way_among_as_many_leaders_as_there_may_be() {
    for nodes in [2, 5, 64, 1000, 4096, MOST_NODES - 1, MOST_NODES] {
        for bytes in [8, 1 << 10, 64 << 10, 16 << 20] {
            for collective in [
                Collective::Reduce(Operator::Idempotent),
                Collective::Reduce(Operator::Exact),
                Collective::Broadcast,
                Collective::Fcollect,
                Collective::Collect,
            ] {
                let plan = Plan::new(nodes, if collective == Collective::Collect { 0 } else { bytes });
                let schedule = standard(collective, nodes, plan.count);
                let way = LeaderSchedule::find(schedule, Some(0), &plan, 1, bytes, Reach::Results);
                assert!(way.is_some(), "{collective} of {bytes} bytes among {nodes}: {schedule}");
            }
        }
    }
}

#[test]
fn long_messages_need_buffers_and_are_cut_to_them() {
    let plan = Plan::new(2, 1 << 20);
    let ring = standard(Collective::Reduce(Operator::Exact), 2, plan.count);
    assert!(LeaderSchedule::find(ring, None, &plan, 1, plan.count, Reach::Results).is_none());
    let way = LeaderSchedule::find(ring, Some(0), &plan, 1, plan.count, Reach::Results).expect("a way");
    assert!(!way.private && way.piece as usize <= SCRATCH && way.piece > 0);
    assert!(LeaderSchedule::find(ring, Some(0), &plan, 1, plan.count, Reach::Nothing).is_none());
    assert!(!way.lands && way.piece < plan.count);
    // No scratch bounds what lands in dest, and none is needed.
    for set in [None, Some(0)] {
        let way = LeaderSchedule::find(ring, set, &plan, 1, plan.count, Reach::Operands).expect("a way");
        assert!(way.lands && way.piece == plan.count);
    }
    // A schedule that spares everybody's dest needs no more than buffers.
    let dissemination = standard(Collective::Reduce(Operator::Idempotent), 2, 2048);
    let plan = Plan::new(2, 32 << 10);
    assert!(LeaderSchedule::find(dissemination, None, &plan, 1, plan.count, Reach::Nothing).is_none());
    let way = LeaderSchedule::find(dissemination, Some(0), &plan, 1, plan.count, Reach::Nothing).expect("a way");
    assert!(!way.private && way.piece == plan.count);
}

/// The words of a run stay where later runs send nothing.
#[test]
fn a_word_is_cleared_before_its_stamp_comes_again() {
    for written in [0, 1, 2, 7, (1 << 29) - 2, (1 << 29) - 1, 1 << 29, u32::MAX - 1, u32::MAX] {
        let period = written & !((1 << 29) - 1);
        let later = (1..4).flat_map(|i| [0, 1].map(|run| period.wrapping_add(i << 29).wrapping_add(run)));
        // A run clears the other parity.
        assert!(later.into_iter().any(|run| run & 1 != written & 1 && clears(run)), "the words of run {written} stay");
    }
}

#[test]
fn stamps_differ_for_two_thousand_million_runs_and_are_never_zero() {
    let stamp = |generation: u32| generation << 1 | 1;
    for generation in [0, 1, u32::MAX - 3, u32::MAX, 1 << 30] {
        assert_ne!(stamp(generation), 0);
        assert_ne!(stamp(generation), stamp(generation.wrapping_add(1 << 29)));
        assert_ne!(stamp(generation), stamp(generation.wrapping_add((1 << 31) - 1)));
    }
}
