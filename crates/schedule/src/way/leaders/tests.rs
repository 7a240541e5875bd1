//! How leaders run the schedules of the standard table, whatever the size of the job.

use super::*;
use crate::algorithm::{Collective, OperatorLaw};
use crate::choose::{Question, choose};

/// The most nodes of a job.
const MOST_NODES: u32 = 16_384;

fn standard(collective: Collective, size: u32, bytes: u64) -> Schedule {
    choose(&[], &Question { collective, size, count: bytes, element: 1, root_apart: false })
}

#[test]
fn payloads_are_inline_among_as_many_leaders_as_there_may_be() {
    for nodes in [2, 3, 4, 5, 8, 100, 1000, MOST_NODES] {
        for collective in
            [Collective::Sync, Collective::Reduce(OperatorLaw::Idempotent), Collective::Reduce(OperatorLaw::Exact)]
        {
            let plan = Plan::new(nodes, if collective == Collective::Sync { 0 } else { 56 });
            let schedule = standard(collective, nodes, plan.count);
            let way = LeaderSchedule::find(schedule, false, &plan, 1, plan.count, Reach::Nothing).expect("a way");
            assert!(
                way.private && way.mailbox >= MESSAGE_HEAD + plan.count.div_ceil(4) as usize,
                "{collective} among {nodes}"
            );
        }
    }
}

/// With buffers there is a way for every collective that the leaders run, among as many as there may be.
#[test]
fn everything_long_has_a_way_among_as_many_leaders_as_there_may_be() {
    for nodes in [2, 5, 64, 1000, 4096, MOST_NODES - 1, MOST_NODES] {
        for bytes in [8, 1 << 10, 64 << 10, 16 << 20] {
            for collective in [
                Collective::Reduce(OperatorLaw::Idempotent),
                Collective::Reduce(OperatorLaw::Exact),
                Collective::Broadcast,
                Collective::Fcollect,
                Collective::Collect,
            ] {
                let plan = Plan::new(nodes, if collective == Collective::Collect { 0 } else { bytes });
                let schedule = standard(collective, nodes, plan.count);
                let way = LeaderSchedule::find(schedule, true, &plan, 1, bytes, Reach::Results);
                assert!(way.is_some(), "{collective} of {bytes} bytes among {nodes}: {schedule}");
            }
        }
    }
}

#[test]
fn long_messages_need_buffers_and_are_cut_to_them() {
    let plan = Plan::new(2, 1 << 20);
    let ring = standard(Collective::Reduce(OperatorLaw::Exact), 2, plan.count);
    assert!(LeaderSchedule::find(ring, false, &plan, 1, plan.count, Reach::Results).is_none());
    let way = LeaderSchedule::find(ring, true, &plan, 1, plan.count, Reach::Results).expect("a way");
    assert!(!way.private && way.piece as usize <= SCRATCH && way.piece > 0);
    assert!(LeaderSchedule::find(ring, true, &plan, 1, plan.count, Reach::Nothing).is_none());
    assert!(!way.lands && way.piece < plan.count);
    // No scratch bounds what lands in dest, and none is needed.
    for buffers in [false, true] {
        let way = LeaderSchedule::find(ring, buffers, &plan, 1, plan.count, Reach::Operands).expect("a way");
        assert!(way.lands && way.piece == plan.count);
    }
    // A schedule that puts to no dest needs no more than buffers.
    let dissemination = standard(Collective::Reduce(OperatorLaw::Idempotent), 2, 2048);
    let plan = Plan::new(2, 32 << 10);
    assert!(LeaderSchedule::find(dissemination, false, &plan, 1, plan.count, Reach::Nothing).is_none());
    let way = LeaderSchedule::find(dissemination, true, &plan, 1, plan.count, Reach::Nothing).expect("a way");
    assert!(!way.private && way.piece == plan.count);
}
