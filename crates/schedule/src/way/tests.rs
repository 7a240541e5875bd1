//! The choice of ways: which one small, medium and long calls take, and that no call is without one.

use std::format;
use std::vec::Vec;

use super::*;
use crate::algorithm::chain::ReduceChain;
use crate::algorithm::names::find;
use crate::choose::{STANDARD, from_json};
use crate::node::{MOST_PIECES, PIECE, Shape, WIDTH};

const MAXIMUM: OperatorLaw = OperatorLaw::Idempotent;
const FLOATING_SUM: OperatorLaw = OperatorLaw::FixedTree;

/// A team of `most` members on each of `nodes` nodes.
fn between(nodes: u32, most: u32) -> TeamFacts<'static> {
    let leases = LeaseState::Wanted;
    let span = NodeSpan { nodes, fewest: most, most, in_order: true, buffers: leases, ring: leases };
    TeamFacts { span: Some(span), ..TeamFacts::plain(nodes * most) }
}

fn reduction(law: OperatorLaw, bytes: usize) -> ReduceFacts {
    ReduceFacts { law, element: 8, n: bytes / 8, in_place: false }
}

/// The first word of the way.
fn name(way: CollectiveWay) -> std::string::String {
    format!("{way}").split(':').next().unwrap_or_default().into()
}

#[test]
fn a_team_on_one_node_exchanges_what_fits_a_payload() {
    let team = TeamFacts::plain(8);
    for (bytes, operand, block) in [
        (8, "exchange", "exchange"),
        (PAYLOAD, "exchange", "exchange"),
        (PAYLOAD + 8, "eager", "members"),
        (EAGER_OPERAND, "eager", "members"),
        (EAGER_OPERAND + 8, "members", "members"),
        (1 << 30, "members", "members"),
    ] {
        for way in [
            team.reduce(reduction(MAXIMUM, bytes)),
            team.reduce(reduction(FLOATING_SUM, bytes)),
            team.scan(reduction(OperatorLaw::Exact, bytes), true),
        ] {
            assert_eq!(name(way), operand, "{bytes}");
        }
        assert_eq!(name(team.fcollect(bytes)), block, "{bytes}");
    }
    assert_eq!(name(team.barrier()), "exchange");
    assert_eq!((name(team.alltoall(7, None)), name(team.alltoall(8, None))), ("exchange".into(), "members".into()));
    assert_eq!(name(team.alltoall(1, apart(1))), "members");
    assert_eq!(team.collect(), None);
}

#[test]
fn a_root_on_a_node_posts_short_broadcasts_where_it_may() {
    let ways =
        |team: TeamFacts<'_>| [8, NODE_POST, NODE_POST + 1].map(|bytes| name(team.broadcast(bytes, 3, 0, false)));
    assert_eq!(ways(TeamFacts::plain(8)), ["eager", "eager", "members"]);
    assert_eq!(ways(TeamFacts { posts: false, ..TeamFacts::plain(8) }), ["exchange", "members", "members"]);
}

#[test]
fn more_pes_than_processors_meet_once_also_for_longer_data() {
    let rules = Rules { crowded: true, ..Rules::default() };
    let team = |size| TeamFacts { rules, ..TeamFacts::plain(size) };
    let maximum = |size, bytes| name(team(size).reduce(reduction(MAXIMUM, bytes)));
    assert_eq!(
        (maximum(8, EAGER_OPERANDS / 8), maximum(8, EAGER_OPERANDS / 8 + 8)),
        ("eager".into(), "members".into())
    );
    assert_eq!((maximum(2, EAGER_OPERANDS / 2), maximum(1000, 64)), ("eager".into(), "members".into()));
    let gather = [NODE_EAGER, NODE_EAGER + 1].map(|bytes| name(team(8).fcollect(bytes)));
    assert_eq!(gather, ["eager", "members"]);
    for strided in [None, apart(8)] {
        let blocks = [NODE_EAGER / 8, NODE_EAGER / 8 + 1].map(|bytes| name(team(8).alltoall(bytes, strided)));
        assert_eq!(blocks, ["eager", "members"]);
    }
}

#[test]
fn a_maximum_between_nodes_goes_inline_then_eagerly_then_in_slices_then_by_rendezvous() {
    let ways = |team: TeamFacts<'_>, law| {
        [8, 1 << 10, 200 << 10, 16 << 20].map(|bytes| name(team.reduce(reduction(law, bytes))))
    };
    assert_eq!(ways(between(4, 1), MAXIMUM), ["inline", "eager", "slices", "rendezvous"]);
    // The order of the team: nothing is combined on the way.
    assert_eq!(ways(between(4, 1), FLOATING_SUM), ["exchange", "gathered", "slices", "members"]);
    // Two operands have one order.
    assert_eq!(ways(between(2, 1), FLOATING_SUM), ["exchange", "gathered", "slices", "rendezvous"]);
    assert_eq!(ways(between(16, 1), MAXIMUM), ["inline", "eager", "rendezvous", "rendezvous"]);
    let without = ways(between(4, 1).without_buffers(), MAXIMUM);
    assert_eq!(without, ["inline", "rendezvous", "rendezvous", "rendezvous"]);
}

/// Of two NaN a sum is the left one, so that both members must have the same one there.
#[test]
fn a_floating_sum_of_two_operands_goes_by_no_census() {
    let rows = from_json(r#"{"version": 1, "rows": [{"collective": "reduce-exact", "schedule": "census"}]}"#);
    let rows = rows.expect("a table");
    for rules in [Rules { served: true, ..Rules::default() }, Rules { own: &rows, ..Rules::default() }] {
        let team = TeamFacts { rules, ..between(2, 1) }.without_buffers();
        let schedule = |law| match team.reduce(reduction(law, 1 << 10)) {
            CollectiveWay::Rendezvous(way) => format!("{}", way.schedule),
            way => panic!("without buffers it goes by {way}"),
        };
        assert_eq!([OperatorLaw::Exact, FLOATING_SUM].map(schedule), ["census", "ring"]);
    }
}

#[test]
fn a_prefix_sum_between_nodes_is_gathered_while_all_operands_fit() {
    let sizes = [8, PAYLOAD + 8, GATHER / 8, GATHER / 8 + 8];
    let ways = |team: TeamFacts<'_>, law| {
        [true, false].map(|inclusive| sizes.map(|bytes| name(team.scan(reduction(law, bytes), inclusive))))
    };
    let team = between(4, 2);
    for law in [OperatorLaw::Exact, FLOATING_SUM] {
        assert_eq!(ways(team, law), [["exchange", "gathered", "gathered", "members"]; 2]);
        assert_eq!(ways(team.without_buffers(), law), [["exchange", "members", "members", "members"]; 2]);
    }
}

#[test]
fn a_collect_between_nodes_has_room_for_blocks_like_the_last_ones() {
    let team = between(4, 2);
    let equal = |team: &TeamFacts<'_>, block: usize| team.collect_room(block, block * team.size as usize);
    // Short blocks travel with an exchange anyhow.
    assert_eq!([8, COLLECT_INLINE].map(|block| equal(&team, block)), [0, 0]);
    assert_eq!([COLLECT_INLINE + 1, 100, 1000, 16 << 10].map(|block| equal(&team, block)), [64, 128, 1024, 16 << 10]);
    // No gather buffer holds these.
    assert_eq!([GATHER / 8 - COLLECT_HEAD + 1, GATHER, usize::MAX / 8].map(|block| equal(&team, block)), [0; 3]);
    // Places that would be empty for the most.
    assert_eq!([1 << 10, 3 << 10, 4 << 10].map(|total| team.collect_room(1024, total)), [0, 0, 1024]);
    assert_eq!(team.collect_room(COLLECT_PADDING, COLLECT_PADDING), COLLECT_PADDING);
    assert_eq!(equal(&TeamFacts::plain(8), 100), 0, "members of one node read each other's blocks");
}

#[test]
fn a_broadcast_between_nodes_goes_through_rings_if_there_are_any() {
    let ways = |team: TeamFacts<'_>| {
        [8, EAGER_BROADCAST, GATHER, GATHER + 1].map(|bytes| name(team.broadcast(bytes, 5, 1, false)))
    };
    let team = between(4, 2);
    assert_eq!(ways(team), ["ring", "ring", "gathered", "rendezvous"]);
    assert_eq!(ways(team.without_ring()), ["gathered", "gathered", "gathered", "rendezvous"]);
    assert_eq!(ways(team.without_ring().without_buffers()), ["inline", "rendezvous", "rendezvous", "rendezvous"]);
}

#[test]
fn long_gathers_want_nodes_in_order_and_long_all_to_alls_nodes_of_similar_size() {
    let team = between(3, 2);
    assert_eq!([64, 64 << 10].map(|bytes| name(team.fcollect(bytes))), ["gathered", "rendezvous"]);
    assert_eq!([64, 64 << 10].map(|bytes| name(team.alltoall(bytes, None))), ["parts", "members"]);
    let crowded = TeamFacts { rules: Rules { crowded: true, ..team.rules }, ..team };
    let sizes = [16 << 10, 64 << 10, 128 << 10];
    assert_eq!(sizes.map(|bytes| name(crowded.alltoall(bytes, None))), ["parts", "parts", "members"]);
    assert_eq!(
        [64 << 10, 512 << 10, 1 << 20].map(|bytes| name(crowded.alltoall(bytes, apart(8)))),
        ["parts", "parts", "members"]
    );
    let span = |change: &dyn Fn(&mut NodeSpan)| {
        let mut span = team.span.expect("several nodes");
        change(&mut span);
        TeamFacts { span: Some(span), ..team }
    };
    let scattered = span(&|span| span.in_order = false);
    assert_eq!([8, 64, 64 << 10].map(|bytes| name(scattered.fcollect(bytes))), ["exchange", "gathered", "members"]);
    let uneven = |size| TeamFacts { size, ..span(&|span| span.fewest = 1) };
    // In the room of six, five members leave little empty; of the long parts of four, more than half would be.
    assert_eq!([64, 4 << 10].map(|bytes| name(uneven(5).alltoall(bytes, None))), ["parts", "parts"]);
    assert_eq!([64, 4 << 10].map(|bytes| name(uneven(4).alltoall(bytes, None))), ["parts", "members"]);
}

#[test]
fn sums_in_order_that_no_buffers_hold_go_in_pieces_where_pes_share_processors() {
    let team = scattered(between(2, 3));
    let crowded = TeamFacts { rules: Rules { crowded: true, ..team.rules }, ..team };
    let sum = |team: TeamFacts<'_>, bytes| team.reduce(reduction(FLOATING_SUM, bytes));
    let scan = |team: TeamFacts<'_>, bytes| team.scan(reduction(OperatorLaw::Exact, bytes), true);
    let long = [64 << 10, 96 << 10, 1 << 20];
    assert_eq!(long.map(|bytes| name(sum(team, bytes))), ["slices", "members", "members"]);
    assert_eq!(long.map(|bytes| name(sum(crowded, bytes))), ["slices", "pieces", "members"]);
    assert_eq!(long.map(|bytes| name(scan(crowded, bytes))), ["pieces", "pieces", "members"]);
    assert_eq!(name(scan(crowded.without_buffers(), 64 << 10)), "members");
    // The fewest pieces, the last of which is no exchange.
    for bytes in (48 << 10..200 << 10).step_by(8) {
        let n = bytes / 8;
        for (way, piece_of) in [(sum(crowded, bytes), &sum as &dyn Fn(_, _) -> _), (scan(crowded, bytes), &scan)] {
            let CollectiveWay::Pieces(piece) = way else { continue };
            assert!(n.div_ceil(piece) <= PIECES_OF_ELEMENTS && piece < n);
            let last = n - (n.div_ceil(piece) - 1) * piece;
            for n in [piece, last] {
                let way = piece_of(crowded, 8 * n);
                assert!(matches!(way, CollectiveWay::Gathered(_) | CollectiveWay::Slices { .. }), "{n}: {way:?}");
            }
        }
    }
}

/// The same team, the members of whose nodes do not follow each other.
fn scattered(team: TeamFacts<'_>) -> TeamFacts<'_> {
    TeamFacts { span: team.span.map(|span| NodeSpan { in_order: false, ..span }), ..team }
}

#[test]
fn long_sums_in_order_go_along_a_chain_of_nodes_where_pes_share_processors() {
    let rules = Rules { crowded: true, served: true, ..Rules::default() };
    let team = |nodes, most| TeamFacts { rules, ..between(nodes, most) };
    let chain = |team: TeamFacts<'_>, call| match team.reduce(call) {
        CollectiveWay::Rendezvous(way) => Some(way.schedule).filter(|way| matches!(way, Schedule::ReduceChain(_))),
        _ => None,
    };
    for (nodes, most) in [(2, 2), (5, 1), (4, 2), (8, 1), (64, 3)] {
        let shortest = chain_from(nodes).div_ceil(most as usize).next_multiple_of(8);
        let sum = |bytes| reduction(FLOATING_SUM, bytes);
        let (team, whole) =
            (team(nodes, most), Schedule::ReduceChain(ReduceChain { segment: (CHAIN_SEGMENT / 8) as u64 }));
        for bytes in [shortest, 4 << 20, 1 << 30] {
            assert_eq!(chain(team, sum(bytes)), Some(whole), "{nodes} {most} {bytes}");
            // The operands land in the destination: no buffers are needed.
            assert_eq!(chain(team.without_buffers(), sum(bytes)), Some(whole), "{nodes} {most} {bytes}");
            assert_eq!(chain(scattered(team), sum(bytes)), None, "{nodes} {most} {bytes}");
            assert_eq!(
                chain(TeamFacts { rules: Rules::default(), ..team }, sum(bytes)),
                None,
                "{nodes} {most} {bytes}"
            );
            assert_eq!(chain(team, reduction(OperatorLaw::Exact, bytes)), None, "{nodes} {most} {bytes}");
        }
        assert_eq!(chain(team, sum(shortest - 8)), None, "{nodes} {most}");
    }
    for nodes in 2..=CHAIN_SINGLE_NODES {
        assert_eq!(
            chain(team(nodes, 1), reduction(FLOATING_SUM, 4 << 20)),
            None,
            "few single members have shorter ways"
        );
    }
    // In place the operands land in the scratch, to which the array is cut.
    let in_place = |bytes| ReduceFacts { in_place: true, ..reduction(FLOATING_SUM, bytes) };
    let names = |team: TeamFacts<'_>| [512 << 10, 4 << 20].map(|bytes| name(team.reduce(in_place(bytes))));
    assert_eq!(names(team(4, 1)), ["pieces", "members"]);
    assert_eq!(names(team(5, 1)), ["pieces", "rendezvous"]);
    assert_eq!(names(team(4, 2)), ["rendezvous", "rendezvous"]);
    assert_eq!(names(team(4, 2).without_buffers()), ["members", "members"]);
}

fn apart(bytes: usize) -> Option<StridedElements> {
    Some(StridedElements { bytes, are_apart: true })
}

#[test]
fn pieces_of_strided_blocks_have_whole_elements() {
    let team = between(4, 2);
    let crowded = TeamFacts { rules: Rules { crowded: true, ..team.rules }, ..team };
    for element in [1, 2, 4, 8, 16] {
        for bytes in (element..200 << 10).step_by(element * 37) {
            let way = crowded.alltoall(bytes, apart(element));
            let CollectiveWay::Parts(parts) = way else { panic!("{bytes} of {element} go by {way}") };
            let room = (parts.part as usize - PART_HEAD) / 4 / element * element;
            assert!(room > 0 && bytes.div_ceil(room) <= PIECES_OF_STRIDED_BLOCKS, "{bytes} of {element}: {parts:?}");
        }
    }
    // Gets of whole blocks bring nothing else, and cost less than more pieces.
    assert!(matches!(crowded.alltoall(32 << 10, None), CollectiveWay::Parts(_)));
    let whole = Some(StridedElements { bytes: 8, are_apart: false });
    assert_eq!([None, whole].map(|strided| crowded.alltoall(200 << 10, strided)), [CollectiveWay::Members; 2]);
}

/// Without mailboxes no signal says in which call its sender is: members with different lengths would take garbage.
#[test]
fn what_is_gathered_before_all_have_met_goes_by_signals_that_name_their_call() {
    for (nodes, most) in [2, 3, 4, 5, 6, 7, 8, 9, 16, 64].into_iter().flat_map(|nodes| [(nodes, 1), (nodes, 3)]) {
        for (crowded, served) in [(false, false), (false, true), (true, false), (true, true)] {
            let team = TeamFacts { rules: Rules { own: &[], crowded, served }, ..between(nodes, most) }.without_ring();
            for bytes in (64..=GATHER).step_by(1000) {
                for way in [
                    team.fcollect(bytes),
                    team.reduce(reduction(FLOATING_SUM, bytes)),
                    team.scan(reduction(FLOATING_SUM, bytes), true),
                    team.broadcast(bytes, 0, 0, false),
                ] {
                    if let CollectiveWay::Gathered(way) = way {
                        assert!(way.mailbox > 0, "{nodes} nodes, {most} on each, {bytes} bytes: {way:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_first_way_that_fits_is_taken_whatever_the_size_of_the_job() {
    for nodes in [2, 3, 5, 8, 9, 64, 1000, 16_384] {
        for most in [1, 3] {
            for leases in [LeaseState::Held, LeaseState::Wanted, LeaseState::Missing] {
                let mut team = between(nodes, most);
                team.span = team.span.map(|span| NodeSpan { buffers: leases, ring: leases, ..span });
                for (crowded, served) in [(false, false), (true, true)] {
                    team.rules = Rules { own: &[], crowded, served };
                    assert!(team.meeting(nodes).is_some_and(|way| way.private), "{nodes}");
                    for bytes in [8, 56, 64, 1 << 10, 60 << 10, 1 << 20, 1 << 30] {
                        let maximum = team.reduce(reduction(MAXIMUM, bytes));
                        let short = bytes <= PAYLOAD;
                        assert_eq!(matches!(maximum, CollectiveWay::Inline(_)), short, "{nodes} {bytes}: {maximum}");
                        let broadcast = team.broadcast(bytes, 1, 0, true);
                        assert_ne!(broadcast, CollectiveWay::Members, "{nodes} {bytes}");
                        if leases == LeaseState::Missing {
                            let all = [maximum, broadcast, team.fcollect(bytes), team.alltoall(bytes, None)];
                            assert!(
                                all.iter()
                                    .all(|way| !way.wants_buffers() || matches!(way, CollectiveWay::Rendezvous(_)))
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn rows_of_the_user_run_schedules_on_a_node_and_move_the_line_between_eager_and_rendezvous() {
    let rows = from_json(
        r#"{"version": 1, "rows": [{"collective": "reduce-idempotent", "schedule": "ring"},
            {"collective": "sync", "schedule": "dissemination-2"}]}"#,
    )
    .expect("a table");
    let rules = Rules { own: &rows, ..Rules::default() };
    let node = TeamFacts { scheduled: true, rules, ..TeamFacts::plain(4) };
    assert_eq!(name(node.barrier()), "schedule");
    let CollectiveWay::Schedule(schedule, piece) = node.reduce(reduction(MAXIMUM, 64 << 20)) else {
        panic!("the user wants a ring")
    };
    assert_eq!(format!("{schedule}"), "ring");
    assert!(piece > 0 && piece < (64 << 20) / 8, "the array is cut to the scratch: {piece}");
    assert_eq!(name(node.reduce(reduction(FLOATING_SUM, 8))), "exchange", "no row changes the bits of a sum");
    // A ring puts to the dest of all members, so it runs where that is ready.
    let team = TeamFacts { rules, ..between(4, 1) };
    assert_eq!(name(team.reduce(reduction(MAXIMUM, 1 << 10))), "rendezvous");
    let meeting = |rules| TeamFacts { rules, ..between(4, 1) }.meeting(4).map(|way| format!("{}", way.schedule));
    assert_eq!(meeting(rules).as_deref(), Some("dissemination-2"));
    assert_eq!(meeting(Rules::default()).as_deref(), Some("dissemination-4"));
}

#[test]
fn large_teams_meet_level_by_level_if_there_are_lines() {
    let caches: Vec<u32> = (0..32).map(|member| member / 8).collect();
    let shape = Shape::nested(32, &[&caches], WIDTH);
    let with = |lines| {
        let levels = LevelLines { shape: &shape, synchronising: lines, one_way: lines };
        TeamFacts { levels: Some(levels), ..TeamFacts::plain(32) }
    };
    let ways = |team: TeamFacts<'_>| {
        [8, 1 << 10, 1 << 20]
            .map(|bytes| (name(team.reduce(reduction(MAXIMUM, bytes))), name(team.broadcast(bytes, 0, 0, false))))
    };
    let expected = [("levels", "levels"), ("members", "levels"), ("levels", "levels")];
    assert_eq!(ways(with(24)), expected.map(|(max, broadcast)| (max.into(), broadcast.into())));
    let expected = [("exchange", "exchange"), ("members", "members"), ("members", "members")];
    assert_eq!(ways(with(0)), expected.map(|(max, broadcast)| (max.into(), broadcast.into())));
}

#[test]
fn the_standard_table_fits_into_an_area_up_to_16384_members() {
    for row in STANDARD {
        for size in [2, 8, 15, 16, 1000, 16_383, 16_384].into_iter().filter(|&size| size <= row.max_size) {
            for element in [1, 8, 16] {
                let most = row.max_bytes.min(1 << 40) / element;
                let count = if row.collective == Collective::Shares { 1 } else { most };
                let piece = area_piece(&row.schedule, &Plan::new(size, count), element as usize);
                let elementwise =
                    matches!(row.collective, Collective::Reduce(_) | Collective::Inscan | Collective::Exscan);
                let whole = row.max_bytes != u64::MAX || !elementwise;
                assert!(
                    if whole { piece == Some(count) } else { piece.is_some() },
                    "{row:?} {size} {element} {piece:?}"
                );
            }
        }
    }
}

#[test]
fn what_has_no_room_is_cut_or_refused() {
    let ring = find(Collective::Reduce(OperatorLaw::Exact), "ring").expect("there is a ring");
    assert_eq!(area_piece(&ring, &Plan::new(2, 1 << 20), 8), Some(1 << 19));
    let bruck = find(Collective::Alltoall, "bruck").expect("there is Bruck's exchange");
    let piece = area_piece(&bruck, &Plan::new(1024, 1 << 20), 1);
    assert!(piece.is_some_and(|piece| piece < 1 << 20), "{piece:?}");
    let wide = find(Collective::Sync, "dissemination-64").expect("there is a wide dissemination");
    assert_eq!(area_piece(&wide, &Plan::new(1 << 30, 0), 1), None);
}

#[test]
fn arrays_have_pieces_of_their_length() {
    let piece = |bytes: u64| NodePlan::in_pieces(bytes, 1).piece;
    assert_eq!([1, 16 << 10, 1 << 29].map(piece), [PIECE; 3]);
    assert_eq!(piece((1 << 29) + 1), 2 * PIECE);
    assert!((1_u64 << 40).div_ceil(piece(1 << 40)) <= MOST_PIECES);
}
