//! Records that are written and read at the same time, and what they tell.

use super::*;

fn records() -> Records {
    let word = || Word::new(0);
    Records {
        records: core::array::from_fn(|_| Record {
            since: word(),
            looked: word(),
            looks: word(),
            thread: word(),
            address: word(),
            call: [0; CallName::WORDS].map(Word::new),
            subject: [0; SUBJECT].map(Word::new),
            frames: [0; FRAMES].map(Word::new),
            line: [0; LINE].map(Word::new),
        }),
        changes: word(),
    }
}

const ANYONE: Subject = Subject::Operation { peer: None };

#[test]
fn a_record_that_is_being_written_is_not_read() {
    let records = records();
    records.records[0].since.store(OPENING, Relaxed);
    let index = records.open("shmem_quiet", 0, ANYONE, 0, CallOrigin::default());
    let waits = records.all();
    assert_eq!((index, waits.len(), waits[0].call.as_str()), (Some(1), 1, "shmem_quiet"));
}

/// A reader never sees a record without its call, also not one that is used for the first time.
#[test]
fn what_is_read_has_been_written_as_a_whole() {
    for _ in 0..if cfg!(miri) { 5 } else { 3_000 } {
        let records = &records();
        let entry = std::thread::scope(|scope| {
            let caller = CallOrigin { frames: &[1], line: "step at heat.py:28" };
            scope.spawn(move || records.open("shmem_barrier_all", 1, ANYONE, 0, caller));
            loop {
                if let Some(entry) = records.all().pop() {
                    break entry;
                }
            }
        });
        assert_eq!((entry.call.as_str(), entry.frames.len()), ("shmem_barrier_all", 1));
        assert_eq!(entry.sites, ["step at heat.py:28"]);
    }
}

#[test]
fn waits_are_told_oldest_first_until_they_end() {
    let records = records();
    assert_eq!(records.all(), []);
    let lock = Subject::Lock { after: 7 };
    let second = records.open("shmem_barrier_all", 0x80, ANYONE, 0, CallOrigin::default()).expect("a record");
    let first = records.open("shmem_set_lock", 0x40, lock, 5_000_000_000, CallOrigin::default()).expect("a record");
    let all = records.all();
    let told: Vec<_> = all.iter().map(|wait| (wait.call.as_str(), wait.address, wait.seconds)).collect();
    assert_eq!(told, [("shmem_set_lock", 0x40, 5), ("shmem_barrier_all", 0x80, 0)]);
    assert_eq!((all[0].subject, all[1].subject), (lock, ANYONE));
    records.close(first);
    records.close(second);
    assert_eq!(records.all(), []);
}

#[test]
fn a_subject_comes_back_from_its_words() {
    let wanted = Comparand { comparison: 3, bytes: 4, signed: true, value: 0xffff_fffe };
    let meeting = |members| Subject::Meeting(TeamMeeting { slot: 9, number: 1 << 40, size: 5, members });
    for subject in [
        ANYONE,
        Subject::Operation { peer: Some(3) },
        Subject::Lock { after: 12 },
        Subject::Room { peer: 70_000 },
        Subject::FirstMember { pe: 70_001 },
        Subject::Variables { count: 4, wanted, seen: 77 },
        meeting(Named::Triplet { start: 6, stride: -2 }),
        meeting(Named::Set([1, 2, 3, 1 << 63])),
        meeting(Named::Unknown),
        Subject::Collectives(AwaitedCollectives { call: CallName::default(), ahead: 3, team: None }),
        Subject::Collectives(AwaitedCollectives {
            call: CallName::of("shmemx_barrier_all_nb"),
            ahead: 1 << 33,
            team: Some(TeamMeeting { slot: 9, number: 2, size: 5, members: Named::Set([4, 5, 6, 7]) }),
        }),
    ] {
        assert_eq!(Subject::of_words(subject.to_words()), subject);
    }
}

#[test]
fn fault_D1_changes_grow_with_every_begin_and_end_and_looks_do_not_count() {
    let records = records();
    let index = records.open("shmem_wait_until", 0, ANYONE, 0, CallOrigin::default()).expect("a record");
    let opened = records.changes();
    records.has_looked(index, None);
    assert_eq!((records.changes(), records.all()[0].looks), (opened, 1));
    records.close(index);
    assert_ne!(records.changes(), opened);
    // The next wait in the same record has not looked yet.
    records.open("shmem_wait_until", 0, ANYONE, 0, CallOrigin::default()).expect("a record");
    assert_eq!(records.all()[0].looks, 0);
}

#[test]
fn a_long_name_is_cut_and_leaves_nothing_to_the_next() {
    let records = records();
    let long = "a_call_whose_name_is_longer_than_that_of_any_routine";
    let index = records.open(long, 0, ANYONE, 0, CallOrigin::default()).expect("a record");
    assert_eq!(records.all()[0].call, &long[..47]);
    records.close(index);
    assert_eq!(records.open("shmem_quiet", 0, ANYONE, 0, CallOrigin::default()), Some(index));
    assert_eq!(records.all()[0].call, "shmem_quiet");
}

/// The first 31 bytes of some of these names are the name of another routine.
#[test]
fn no_routine_is_told_under_the_name_of_another_one() {
    for name in [
        "shmem_ctx_longlong_atomic_fetch_add",
        "shmem_ctx_longdouble_put_signal_nbi",
        "shmem_ctx_ulonglong_atomic_compare_swap_nbi",
    ] {
        let records = records();
        records.open(name, 0, ANYONE, 0, CallOrigin::default()).expect("a record");
        assert_eq!((records.all()[0].call.as_str(), CallName::of(name).to_string().as_str()), (name, name));
    }
}

#[test]
fn more_waits_than_records_are_not_written_down() {
    let records = records();
    let open = || records.open("shmem_wait_until", 0, ANYONE, 0, CallOrigin::default());
    let all: Vec<_> = (0..RECORDS).map(|_| open()).collect();
    assert_eq!(all, (0..RECORDS).map(Some).collect::<Vec<_>>());
    assert_eq!(open(), None);
    records.close(5);
    assert_eq!(open(), Some(5));
}

#[test]
fn collectives_that_are_under_way_leave_a_record_to_a_thread() {
    let records = records();
    let begin = || records.open_of(NO_THREAD, "shmemx_sync_nb", 0, ANYONE, 0, CallOrigin::default());
    assert_eq!(std::iter::from_fn(begin).count(), RECORDS - 1);
    assert!(records.has_room());
    assert!(records.open("shmem_req_wait", 0, ANYONE, 0, CallOrigin::default()).is_some());
    assert!(!records.has_room());
}
