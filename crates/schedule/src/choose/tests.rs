//! The table answers every question with a schedule that serves it.

use super::*;
use crate::algorithm::names::{COLLECTIVES, find};
use crate::step::{Algorithm, Caller, Plan, Step};
use std::format;

fn question(collective: Collective, size: u32, count: u64) -> Question {
    Question { collective, size, count, element: 8, root_apart: false }
}

#[test]
fn every_question_has_an_answer_that_serves_it() {
    let has_rows = |collective: &Collective| *collective != Collective::Reduce(OperatorLaw::FixedTree);
    for (_, collective) in COLLECTIVES.into_iter().filter(|(_, collective)| has_rows(collective)) {
        for size in [1, 2, 8, 9, 15, 16, 64, 65, 1 << 20, u32::MAX] {
            for count in [0, 1, 7, 256, 257, 8192, 8193, 1 << 40, u64::MAX] {
                for root_apart in [false, true] {
                    let question = Question { root_apart, ..question(collective, size, count) };
                    let schedule = choose(&[], &question);
                    assert!(schedule.serves(collective), "{question:?}: {schedule:?}");
                    assert!(!root_apart || !matches!(schedule, Schedule::ScatterGather(_)));
                }
            }
        }
    }
}

#[test]
fn no_row_answers_for_a_floating_sum_and_the_explanation_says_so() {
    let question = question(Collective::Reduce(OperatorLaw::FixedTree), 16, 100);
    assert!([STANDARD, SERVED, CROWDED].iter().all(|rows| choose_from(rows, &question).is_none()));
    assert!(explain(&[], &question).contains("folded in the order of the team"));
}

#[test]
fn own_rows_come_first_and_limits_are_inclusive() {
    let own = from_json(
        r#" { "rows": [ {"collective":"sync","max_size":4,"schedule":"central"},
            {"schedule": "chain-100", "collective": "broadcast", "max_bytes": 800} ], "version": 1 } "#,
    )
    .unwrap();
    let sync = |size| format!("{}", choose(&own, &question(Collective::Sync, size, 0)));
    assert_eq!((sync(4).as_str(), sync(5).as_str()), ("central", "dissemination-4"));
    let broadcast = |count| format!("{}", choose(&own, &question(Collective::Broadcast, 16, count)));
    // 100 bytes are 12 elements of 8.
    assert_eq!((broadcast(100).as_str(), broadcast(101).as_str()), ("chain-12", "tree-4"));
}

#[test]
fn the_standard_table_survives_json() {
    assert_eq!(from_json(&to_json(STANDARD)).unwrap(), STANDARD);
    assert_eq!(from_json("{\"version\": 1, \"rows\": []}").unwrap(), []);
}

#[test]
fn rows_of_networks_that_processors_serve_are_schedules_that_serve_and_leave_long_ones_to_the_standard() {
    for row in SERVED {
        assert!(row.schedule.serves(row.collective), "{row:?}");
        let long = question(row.collective, 5, row.max_bytes / 8 + (64 << 10));
        assert_eq!(choose_from(SERVED, &long), None);
    }
}

/// Messages that all members send in one call.
fn messages(schedule: Schedule, plan: &Plan) -> usize {
    let of = |rank| {
        let steps = (0..).map(move |pc| schedule.step(plan, &Caller::new(rank), pc));
        steps.take_while(|step| *step != Step::Done).filter(|step| matches!(step, Step::Put { .. })).count()
    };
    (0..plan.size).map(of).sum()
}

#[test]
fn nodes_that_share_processors_send_as_few_messages_as_any_other_row() {
    for row in CROWDED {
        assert!(row.schedule.serves(row.collective), "{row:?}");
        for size in 2..=row.max_size.min(64) {
            let question = question(row.collective, size, 4);
            let crowded = choose_from(CROWDED, &question).expect("the row answers, or one before it");
            let others = [choose_from(SERVED, &question), Some(choose(&[], &question))];
            let plan = Plan::new(size, 4);
            for other in others.into_iter().flatten() {
                let (ours, theirs) = (messages(crowded, &plan), messages(other, &plan));
                assert!(ours <= theirs, "{question:?}: {crowded:?} sends {ours}, {other:?} {theirs}");
            }
        }
    }
}

#[test]
fn names_find_what_they_name() {
    for row in STANDARD {
        assert_eq!(find(row.collective, &format!("{}", row.schedule)), Some(row.schedule));
    }
    for wrong in ["", "tree", "tree-0", "tree-5", "dissemination-1", "ring-2", "chain-0", "swing-2", "nothing"] {
        for (_, collective) in COLLECTIVES {
            assert_eq!(find(collective, wrong), None, "{wrong}");
        }
    }
    assert_eq!(find(Collective::Reduce(OperatorLaw::FixedTree), "census"), None);
    assert_eq!(find(Collective::Sync, "ring"), None);
}

#[test]
fn wrong_tables_are_refused_with_place_and_remedy() {
    for (text, wanted) in [
        ("", "line 1: expected '{'"),
        ("{}", "no version"),
        ("{\"version\": 2, \"rows\": []}", "version 2"),
        ("{\"version\": 1,\n \"row\": []}", "line 2: unknown key \"row\""),
        ("{\"version\": 1, \"rows\": [{\"collective\": \"sync\"}]}", "needs collective and schedule"),
        ("{\"version\": 1, \"rows\": [{\"collective\": \"snyc\", \"schedule\": \"ring\"}]}", "unknown collective"),
        ("{\"version\": 1, \"rows\": [{\"collective\": \"sync\", \"schedule\": \"ring\"}]}", "serves sync"),
        ("{\"version\": 1, \"rows\": [{\"max_size\": 4294967296}]}", "max_size"),
        ("{\"version\": 1, \"rows\": [{\"max_bytes\": -1}]}", "whole number"),
        ("{\"version\": 1, \"rows\": [}", "expected '{'"),
        ("{\"version\": 1} 2", "text after the table"),
        ("{\"version", "does not end"),
    ] {
        let error = from_json(text).unwrap_err();
        assert!(error.contains(wanted), "{text}: {error}");
    }
}

#[test]
fn the_explanation_names_the_row_and_the_reasons() {
    let text = explain(&[], &Question { root_apart: true, ..question(Collective::Broadcast, 16, 1 << 20) });
    for wanted in ["at most 65536 bytes", "at most 8 PEs", "writes the root's dest", "tree-2           answers"] {
        assert!(text.contains(wanted), "{wanted} in {text}");
    }
}

#[test]
fn the_variables_list_the_schedules_of_their_family() {
    use crate::algorithm::names::{FAMILIES, serving};
    for (family, collectives) in FAMILIES {
        let name = format!("SHMEM_{family}_ALGORITHM");
        let knob = oxshmem_base::knobs::all().find(|knob| knob.name == name).expect("it is a variable");
        let oxshmem_base::knobs::Value::Schedule(listed) = knob.value else { panic!("{name} names a schedule") };
        let there: std::vec::Vec<&str> = ["auto", "node"].into_iter().chain(serving(collectives)).collect();
        assert_eq!(listed, there, "{name}");
    }
}
