use std::cell::Cell;

use oxshmem_schedule::way::{CollectiveWay, LeaseState, NodeShares, NodeSpan, Reach, StridedElements, TeamFacts};

use super::{Asked, ChosenWays, PLACES};

const NO_LEASE: [LeaseState; 2] = [LeaseState::Wanted; 2];

#[test]
fn a_kept_answer_is_the_answer_to_the_same_question_alone() {
    let ways = ChosenWays::default();
    let team = TeamFacts::plain(4);
    // More questions than places, so that many find another question's answer.
    for round in 0..2 {
        for bytes in 1..=4 * PLACES {
            for asked in [
                Asked::Fcollect { bytes },
                Asked::Alltoall {
                    bytes,
                    strided: (round == 0).then_some(StridedElements { bytes: 8, are_apart: true }),
                },
                Asked::Broadcast { bytes, root: round, root_node: 0, apart: false },
            ] {
                assert_eq!(ways.find(asked, NO_LEASE, || asked.of(&team)), asked.of(&team), "{asked:?}");
            }
        }
    }
}

#[test]
fn what_a_team_has_leased_is_a_part_of_the_question() {
    let ways = ChosenWays::default();
    let chosen = Cell::new(0);
    let ask = |leases| {
        ways.find(Asked::Fcollect { bytes: 8 }, leases, || {
            chosen.set(chosen.get() + 1);
            Asked::Fcollect { bytes: 8 }.of(&TeamFacts::plain(2))
        });
        chosen.get()
    };
    assert_eq!([ask(NO_LEASE), ask(NO_LEASE)], [1, 1]);
    let leased = [LeaseState::Held, LeaseState::Wanted];
    assert_eq!([ask(leased), ask(leased), ask(NO_LEASE)], [2, 2, 2]);
}

#[test]
fn powers_of_two_and_roots_in_turn_have_places_of_their_own() {
    let places = |asked: Vec<Asked>| {
        let mut places: Vec<usize> = asked.into_iter().map(|asked| asked.place(NO_LEASE)).collect();
        places.sort_unstable();
        places.dedup();
        places.len()
    };
    let broadcast = |bytes, root| Asked::Broadcast { bytes, root, root_node: 0, apart: false };
    assert!(places((0..16).map(|root| broadcast(8, root)).collect()) >= 12);
    assert!(places((3..20).map(|shift| broadcast(1 << shift, 0)).collect()) >= 12);
}

#[test]
fn leaders_gather_where_they_reach_each_other_and_meet_as_they_have_chosen_first() {
    let ring = LeaseState::Wanted;
    let span = NodeSpan { nodes: 3, fewest: 1, most: 1, in_order: true, buffers: LeaseState::Held, ring };
    let team = TeamFacts { span: Some(span), ..TeamFacts::plain(3) };
    let (ways, shares) = (ChosenWays::default(), NodeShares::of([4096; 3].into_iter()));
    // Both questions have one place.
    for (reach, is_possible) in [(Reach::Results, true), (Reach::Nothing, false)] {
        let asked = Asked::Gather { shares, reach };
        let way = ways.find(asked, [span.buffers, ring], || asked.of(&team));
        let chosen = team.gathering(shares, reach, true);
        assert_eq!(
            (way, chosen.is_some()),
            (chosen.map_or(CollectiveWay::Members, CollectiveWay::Gathered), is_possible)
        );
    }
    let meeting = team.meeting(3).expect("three leaders have room");
    assert_eq!(ways.meeting(|| meeting), meeting);
    assert_eq!(ways.meeting(|| unreachable!("it is kept")), meeting);
}
