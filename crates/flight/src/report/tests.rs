use super::cause::is_same_collective;
use super::*;
use crate::waits::{CallName, NO_THREAD, Named, TeamMeeting};

const WORLD: Named = Named::Triplet { start: 0, stride: 1 };

fn wait(call: &str, subject: Subject) -> WaitEntry {
    WaitEntry {
        call: call.into(),
        address: 0x1000,
        seconds: 3,
        thread: 1,
        looks: 9,
        subject,
        frames: Vec::new(),
        sites: Vec::new(),
        object: None,
    }
}

fn meeting(slot: u64, number: u64, size: u32) -> Subject {
    Subject::Meeting(TeamMeeting { slot, number, size, members: WORLD })
}

fn variable(bytes: u8, signed: bool, value: u64, seen: u64) -> Subject {
    Subject::Variables { count: 1, wanted: Comparand { comparison: 1, bytes, signed, value }, seen }
}

fn waits(pe: u32, call: &str, subject: Subject) -> Witness {
    Witness::new(pe, State::Running, vec![wait(call, subject)])
}

#[test]
fn fault_D1_a_line_says_call_team_variable_and_who_is_missing() {
    let known = [
        waits(0, "shmem_wait_until", variable(4, true, 5, 0xffff_fffe)),
        waits(1, "shmem_barrier_all", meeting(0, 7, 3)),
        waits(2, "shmem_set_lock", Subject::Lock { after: 1 }),
    ];
    let text = lines(&known, 3, "tcp");
    let expected = "  PE 0: in shmem_wait_until at 0x1000, which holds -2 and is to be == 5 (4 bytes), for 3 s\n  \
                    PE 1: in shmem_barrier_all of all PEs, its meeting 7 without PEs 0 and 2, for 3 s\n  \
                    PE 2: in shmem_set_lock of the lock at 0x1000, behind PE 1, for 3 s\n";
    assert_eq!(text, expected);
}

#[test]
fn fault_D1_states_other_than_running_are_told() {
    let known: Vec<Witness> = [State::Running, State::Starting, State::Finalized, State::Gone]
        .into_iter()
        .zip(0..)
        .map(|(state, pe)| Witness::new(pe, state, Vec::new()))
        .collect();
    let text = lines(&known, 4, "tcp");
    for word in ["PE 0: not waiting", "PE 1: not yet through", "PE 2: through shmem_finalize", "PE 3: ended without"] {
        assert!(text.contains(word), "{text}");
    }
}

#[test]
fn fault_D1_many_lines_that_are_alike_are_one() {
    let mut known: Vec<Witness> = (0..40).map(|pe| waits(pe, "shmem_barrier_all", meeting(0, 2, 41))).collect();
    known.push(waits(40, "shmem_wait_until", variable(8, false, 1, 0)));
    let text = lines(&known, 41, "tcp");
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.contains("PEs 0 to 39: in shmem_barrier_all of all PEs, its meeting 2 without PE 40"), "{text}");
}

#[test]
fn a_pe_whose_threads_wait_alike_is_counted_once() {
    let of_two = |pe| {
        let one = |thread| WaitEntry { thread, ..wait("shmem_wait_until", variable(8, false, 1, 0)) };
        Witness::new(pe, State::Running, vec![one(1), one(2)])
    };
    let known: Vec<Witness> = (0..20).map(of_two).collect();
    assert!(lines(&known, 20, "tcp").starts_with("  PEs 0 to 19: in shmem_wait_until"), "{}", lines(&known, 20, "tcp"));
    // Few PEs have a line for each thread.
    assert_eq!(lines(&known[..2], 2, "tcp").lines().count(), 4);
}

#[test]
fn fault_D1_the_cause_is_a_circle_a_wait_that_others_wait_for_or_different_calls() {
    let opposite = [waits(0, "shmem_team_sync", meeting(1, 1, 2)), waits(1, "shmem_team_sync", meeting(2, 1, 2))];
    let text = cause(&opposite, Certainty::Proven);
    assert!(text.contains("PE 0 waits in shmem_team_sync for PE 1") && text.contains("is a circle."), "{text}");
    // Threads that do not wait are not seen.
    for (call, remedy) in [
        ("shmem_barrier", "the same one"),
        ("shmem_long_max_to_all", "the same one"),
        ("shmem_broadcastmem", "Let all PEs make"),
    ] {
        let own_arrays = [waits(0, call, meeting(1, 1, 2)), waits(1, call, meeting(2, 1, 2))];
        let text = cause(&own_arrays, Certainty::Proven);
        assert!(text.contains("That is a circle") && text.contains(remedy), "{text}");
    }
    let first = Subject::FirstMember { pe: 0 };
    let before_the_first = [waits(0, "shmem_sync", meeting(1, 1, 2)), waits(1, "shmem_sync", first)];
    let text = cause(&before_the_first, Certainty::Seen);
    assert!(text.contains("That is a circle") && text.contains("the same one"), "{text}");
    let text = picture(&opposite, 2, Certainty::Seen);
    assert!(text.contains("is a circle, unless another thread of one of these PEs"), "{text}");

    let absent = [
        waits(0, "shmem_barrier_all", meeting(0, 4, 2)),
        waits(1, "shmem_signal_wait_until", variable(8, false, 1, 0)),
    ];
    let text = cause(&absent, Certainty::Proven);
    assert!(text.contains("has not come there and waits in shmem_signal_wait_until"), "{text}");
    assert!(text.contains("No PE is left") && !text.contains("circle"), "{text}");

    let different = [waits(0, "shmem_broadcast", meeting(0, 4, 2)), waits(1, "shmem_barrier_all", meeting(0, 4, 2))];
    let text = cause(&different, Certainty::Proven);
    assert!(text.contains("its members make different calls"), "{text}");
}

#[test]
fn a_chain_names_the_call_of_the_thread_that_waits_for_the_next_pe() {
    let of_two = |pe: u32, call: &str, subject: Subject| {
        let older = wait("shmem_wait_until", variable(8, false, 1, 0));
        Witness::new(pe, State::Running, vec![older, WaitEntry { thread: 2, ..wait(call, subject) }])
    };
    let absent = [of_two(0, "shmem_team_sync", meeting(3, 1, 2)), Witness::new(1, State::Running, Vec::new())];
    let text = cause(&absent, Certainty::Seen);
    assert!(text.starts_with("  PE 0 waits in shmem_team_sync for PE 1, which has not come there"), "{text}");
    let locked = [
        of_two(0, "shmem_set_lock", Subject::Lock { after: 1 }),
        of_two(1, "shmem_set_lock", Subject::Lock { after: 0 }),
    ];
    let text = cause(&locked, Certainty::Proven);
    let step =
        "  PE 0 waits in shmem_set_lock for PE 1, which waits in shmem_set_lock; PE 1 waits in shmem_set_lock for PE 0";
    assert!(text.starts_with(step), "{text}");
}

#[test]
fn a_circle_of_locks_is_told_to_take_them_in_one_order() {
    let behind = |pe: u32, after: u32| waits(pe, "shmem_set_lock", Subject::Lock { after });
    let opposite = [behind(0, 1), behind(1, 0)];
    let text = cause(&opposite, Certainty::Proven);
    let (one_order, before) = ("set these locks in the same order", "clear the lock before a call in which others");
    assert!(text.contains("is a circle.") && text.contains(one_order) && !text.contains(before), "{text}");
    // A PE that waits for one of the circle is no part of it.
    let beside = [waits(2, "shmem_barrier_all", meeting(0, 4, 3)), behind(1, 0), behind(0, 1)];
    let text = cause(&beside, Certainty::Proven);
    assert!(!text.contains("PE 2") && text.contains(one_order), "{text}");
    let text = cause(&[behind(0, 1), waits(1, "shmem_barrier_all", meeting(0, 4, 2))], Certainty::Proven);
    assert!(text.contains("is a circle.") && text.contains(before) && !text.contains(one_order), "{text}");
}

#[test]
fn the_report_says_in_every_language_that_a_pe_holds_the_lock() {
    for call in ["shmem_set_lock", "SHMEM_SET_LOCK"] {
        let text = cause(&[waits(0, call, Subject::Lock { after: 0 })], Certainty::Proven);
        assert!(text.contains(&format!("PE 0 waits in {call} for itself: it holds this lock already")), "{text}");
    }
}

#[test]
fn a_long_queue_of_a_lock_is_followed_to_its_end_and_told_in_part() {
    let in_line = |pe: u32| waits(pe, "shmem_set_lock", Subject::Lock { after: pe - 1 });
    let mut known: Vec<Witness> = (1..10_000).map(in_line).collect();
    known.push(Witness::new(0, State::Running, Vec::new()));
    let text = cause(&known, Certainty::Seen);
    let start = "  PE 9999 waits in shmem_set_lock for PE 9998, which waits in shmem_set_lock; PE 9998 waits ";
    let end = "; and so on, 9990 more; PE 1 waits in shmem_set_lock for PE 0.\n  PE 0 is missing: not waiting in the library.\n";
    assert!(text.starts_with(start) && text.ends_with(end) && text.matches("; ").count() == 9, "{text}");
}

#[test]
fn fault_D1_syncs_of_all_pes_are_one_call_whatever_their_names() {
    for (one, other) in [("shmem_sync_all", "shmem_team_sync"), ("shmem_barrier_all", "SHMEM_BARRIER_ALL")] {
        let known = [
            waits(0, one, meeting(0, 4, 3)),
            waits(1, other, meeting(0, 4, 3)),
            waits(2, "shmem_wait_until", variable(8, false, 1, 0)),
        ];
        let text = cause(&known, Certainty::Proven);
        assert!(text.contains("for PE 2") && !text.contains("different calls"), "{text}");
    }
}

#[test]
fn fault_D1_a_member_at_a_later_meeting_of_the_team_is_not_missing() {
    let known = [waits(0, "shmem_barrier_all", meeting(0, 4, 2)), waits(1, "shmem_barrier_all", meeting(0, 5, 2))];
    assert!(!lines(&known, 2, "tcp").lines().next().expect("a line").contains("without"));
    let other_team = [waits(0, "shmem_barrier_all", meeting(0, 4, 2)), waits(1, "shmem_team_sync", meeting(3, 5, 2))];
    assert!(lines(&other_team, 2, "tcp").contains("without PE 1"));
}

#[test]
fn fault_D1_long_lists_of_numbers_are_cut() {
    assert_eq!(named(&[4]), "PE 4");
    assert_eq!(named(&[4, 5, 6]), "PEs 4 to 6");
    assert_eq!(named(&[4, 6]), "PEs 4 and 6");
    let odd: Vec<u32> = (0..20).map(|i| 2 * i).collect();
    assert_eq!(named(&odd), "PEs 0, 2, 4, 6, 8, 10, 12, 14 and 12 more");
}

#[test]
fn a_pe_that_does_not_come_is_named_with_what_it_does_instead() {
    let call = CallEntry {
        number: 8,
        name: "shmem_sum_reduce".into(),
        subject: crate::calls::CallSubject { peer: None, team: Some((0, 6)), bytes: 80 },
        age: 5_400_000_000,
        took: Some(10),
    };
    let mut known = vec![
        waits(0, "shmem_barrier_all", meeting(0, 7, 2)),
        Witness { activity: Activity::Computes, calls: vec![call], ..Witness::new(1, State::Running, Vec::new()) },
    ];
    known[0].waits[0].sites = vec!["main at app.c:9".into()];
    let text = picture(&known, 2, Certainty::Seen);
    for words in [
        "without PE 1, for 3 s\n    called from main at app.c:9\n",
        "PE 1: not waiting in the library, but computing; its last recorded call was shmem_sum_reduce of 80 bytes (all PEs, meeting 6), 5 s ago",
        "PE 1 is missing: not waiting in the library, but computing",
    ] {
        assert!(text.contains(words), "{text}");
    }
    let mut inside = known.clone();
    inside[1].calls[0] = CallEntry { name: "shmem_calloc".into(), took: None, ..inside[1].calls[0].clone() };
    let text = picture(&inside, 2, Certainty::Seen);
    assert!(
        text.contains("PE 1: inside shmem_calloc of 80 bytes") && !text.contains("not waiting"),
        "fault_T6: {text}"
    );
    known[1].activity = Activity::Stopped;
    assert!(picture(&known, 2, Certainty::Seen).contains("PE 1 is missing: stopped by a signal or a debugger"));
    known[1].activity = Activity::Ended;
    assert!(
        picture(&known, 3, Certainty::Seen).contains("ended without shmem_finalize")
            && picture(&known, 3, Certainty::Seen).contains("and 1 PE of which nothing is known")
    );
}

#[test]
fn a_variable_that_others_can_still_change_is_no_deadlock() {
    let known = [
        waits(0, "shmem_wait_until", variable(8, false, 1, 0)),
        Witness { activity: Activity::Sleeps, ..Witness::new(1, State::Running, Vec::new()) },
    ];
    let text = picture(&known, 2, Certainty::Seen);
    assert!(text.contains("PE 1 could still change this variable") && !text.contains("No PE is left"), "{text}");
    // A host has not answered.
    let text = picture(&known, 4, Certainty::Seen);
    assert!(text.contains("PE 1 and 2 PEs of which nothing is known could still change this variable"), "{text}");
    let text = picture(&known[..1], 2, Certainty::Seen);
    assert!(text.contains("  1 PE of which nothing is known could still change this variable.\n"), "{text}");
    // Threads that do not wait are not seen.
    let text = picture(&known[..1], 1, Certainty::Seen);
    assert!(text.contains("No PE is left that could change this variable, unless another thread of one"), "{text}");
    let text = picture(&known[..1], 1, Certainty::Proven);
    assert!(text.contains("No PE is left that could change this variable. Look for"), "{text}");
    // Operations of a PE may be on their way.
    for subject in [Subject::Operation { peer: Some(0) }, Subject::Room { peer: 0 }] {
        let known = [waits(0, "shmem_wait_until", variable(8, false, 1, 0)), waits(1, "shmem_quiet", subject)];
        let text = picture(&known, 2, Certainty::Seen);
        assert!(text.contains("  PE 1 could still change this variable.\n"), "{text}");
    }
}

#[test]
fn histories_list_calls_with_their_numbers() {
    let mut one = waits(0, "shmem_wait_until", variable(8, false, 1, 0));
    let subject = crate::calls::CallSubject { peer: Some(3), team: None, bytes: 8 };
    one.calls = vec![CallEntry { number: 4, name: "shmem_put".into(), subject, age: 1_500_000_000, took: None }];
    one.made = 5;
    let text = histories(&[one]);
    assert!(
        text.contains("PE 0, the last of 5 recorded calls")
            && text.contains("1.500 s ago  #4 shmem_put of 8 bytes with PE 3, not ended"),
        "{text}"
    );
}

/// A collective that has returned at once, and is at this meeting.
fn under_way_at(call: &str, number: u64, size: u32) -> WaitEntry {
    WaitEntry { thread: NO_THREAD, ..wait(call, meeting(0, number, size)) }
}

#[test]
fn fault_N2_a_wait_for_a_request_names_the_collective_and_who_is_missing() {
    let team = TeamMeeting { slot: 0, number: 4, size: 3, members: WORLD };
    let call = CallName::of("shmemx_barrier_all_nb");
    let request = |ahead| Subject::Collectives(AwaitedCollectives { call, ahead, team: Some(team) });
    let mut known = vec![
        waits(0, "shmem_req_wait", request(2)),
        waits(1, "shmem_wait_until", variable(8, false, 1, 0)),
        waits(2, "shmem_wait_until", variable(8, false, 1, 0)),
    ];
    known[0].waits.push(under_way_at("shmemx_sync_nb", 4, 3));
    known[1].waits.push(under_way_at("shmemx_sync_nb", 4, 3));
    let text = lines(&known, 3, "tcp") + &cause(&known, Certainty::Proven);
    for words in [
        "PE 0: in shmem_req_wait for shmemx_barrier_all_nb of all PEs and the 2 collectives before it, for 3 s",
        "PE 0: shmemx_sync_nb of all PEs, its meeting 4 without PE 2, under way for 3 s",
        "PE 0 waits in shmem_req_wait for PE 2, which has not come to shmemx_sync_nb and waits in shmem_wait_until",
        "No PE is left that could change these variables",
    ] {
        assert!(text.contains(words), "{text}");
    }
    // A PE that computes is not waiting, whatever it has begun.
    known[2] = Witness { activity: Activity::Computes, ..Witness::new(2, State::Running, Vec::new()) };
    known[2].waits.push(under_way_at("shmemx_sync_nb", 3, 3));
    let text = picture(&known, 3, Certainty::Seen);
    assert!(text.contains("PE 2: not waiting in the library, but computing"), "{text}");
    assert!(text.contains("PE 2 is missing: not waiting"), "{text}");
}

#[test]
fn fault_N2_a_collective_that_returns_at_once_is_the_same_as_the_one_that_waits() {
    for (one, other, same) in [
        ("shmemx_sum_reduce_nb", "shmem_int_sum_reduce", true),
        ("shmemx_barrier_all_nb", "shmem_team_sync", true),
        ("shmemx_broadcast_nb", "shmem_long_fcollect", false),
        ("shmem_broadcast", "shmem_barrier_all", false),
        ("SHMEM_BARRIER_ALL", "shmem_barrier_all", true),
    ] {
        assert_eq!((is_same_collective(one, other), is_same_collective(other, one)), (same, same), "{one} {other}");
    }
}

#[test]
fn fault_S4_members_that_differ_about_a_team_are_named() {
    let at = |pe, size| waits(pe, "shmem_team_sync", meeting(9, 1, size));
    let text = cause(&[at(0, 3), at(1, 2), at(2, 3)], Certainty::Proven);
    assert!(text.contains("PE 0 is in a team of PEs 0 to 2 and PE 1 in a team of PEs 0 and 1"), "{text}");
    // Teams without a common member may have one slot.
    let apart = Named::Triplet { start: 2, stride: 1 };
    let other = Subject::Meeting(TeamMeeting { slot: 9, number: 1, size: 2, members: apart });
    assert!(!cause(&[at(0, 2), waits(2, "shmem_team_sync", other)], Certainty::Proven).contains("different arguments"));
}

#[test]
fn members_of_teams_in_any_order_are_found_missing() {
    let team = |members, size| TeamMeeting { slot: 5, number: 2, size, members };
    let known: Vec<Witness> = (0..8).map(|pe| waits(pe, "shmem_wait_until", variable(8, false, 1, 0))).collect();
    let even = Named::Set([0b0101_0101, 0, 0, 0]);
    for (meeting, absent) in [
        (team(Named::Triplet { start: 7, stride: -3 }, 3), &[1, 7][..]),
        (team(Named::Triplet { start: 4, stride: 1 }, 1), &[]),
        (team(Named::Triplet { start: 3, stride: 2 }, 2), &[3, 5]),
        (team(even, 4), &[0, 2, 6]),
        (team(Named::Unknown, 4), &[]),
        // No record of this library has one.
        (team(Named::Triplet { start: 3, stride: 0 }, 2), &[]),
    ] {
        assert_eq!(missing(&meeting, 4, &known), absent, "{meeting:?}");
    }
}

/// A search for each member of each PE's meeting took minutes.
#[test]
fn fault_D1_thousands_of_pes_are_told_of_in_a_moment() {
    const PES: u32 = 3000;
    let begun = std::time::Instant::now();
    let mut known = vec![waits(0, "shmem_wait_until", variable(8, false, 1, 0))];
    known.extend((1..PES).map(|pe| waits(pe, "shmem_barrier_all", meeting(0, 2, PES))));
    let text = picture(&known, PES, Certainty::Proven);
    assert!(text.contains("PEs 1 to 2999: in shmem_barrier_all of all PEs, its meeting 2 without PE 0"), "{text}");
    assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
}
