//! The ring as its readers see it.

use super::*;

fn ring() -> CallRing {
    CallRing::new()
}

const NOTHING: CallSubject = CallSubject { peer: None, team: None, bytes: 0 };

/// Some more calls.
fn fill(ring: &CallRing, calls: usize) {
    for _ in 0..calls {
        ring.begin("shmem_fence", NOTHING);
    }
}

fn names(ring: &CallRing, most: usize) -> Vec<(u64, usize)> {
    let words = ring.words();
    assert!(words.len() * 8 <= BYTES);
    let calls = decode(&words, &words, most, 0, |_, length| Some("x".repeat(length)));
    calls.last.iter().map(|call| (call.number, call.name.len())).collect()
}

#[test]
fn the_latest_calls_come_first_and_the_oldest_are_forgotten() {
    let ring = ring();
    assert_eq!(names(&ring, 9), []);
    ring.begin("shmem_quiet", NOTHING);
    ring.begin("shmem_barrier_all", NOTHING);
    assert_eq!(names(&ring, 9), [(1, 17), (0, 11)]);
    fill(&ring, 600);
    assert_eq!(names(&ring, 2), [(601, 11), (600, 11)]);
    let all: Vec<u64> = names(&ring, 1000).iter().map(|(number, _)| *number).collect();
    assert_eq!(all, (602 - KEPT as u64..602).rev().collect::<Vec<_>>());
}

#[test]
fn a_call_tells_its_team_its_peer_its_bytes_and_its_end() {
    let ring = ring();
    let subject = CallSubject { peer: None, team: Some((7, 1 << 39)), bytes: 80 };
    // Call 0 reads the clock.
    ring.begin("shmem_fence", NOTHING);
    ring.set_time(1000 << TICK);
    let number = ring.begin("shmem_long_put", subject);
    let told = |ring: &CallRing| decode(&ring.words(), &ring.words(), 1, 5000 << TICK, |_, _| Some("put".into()));
    let calls = told(&ring);
    assert_eq!((calls.made, calls.bytes, calls.last[0].subject), (2, 80, subject));
    assert_eq!((calls.last[0].age, calls.last[0].took), (4000 << TICK, None));
    ring.set_time(3500 << TICK);
    ring.end(number);
    assert_eq!(told(&ring).last[0].took, Some(2500 << TICK));
    let put = CallSubject { peer: Some(3), team: None, bytes: 1 << 37 };
    ring.end(ring.begin("shmem_putmem", put));
    assert_eq!((told(&ring).last[0].subject, told(&ring).last[0].took), (put, Some(0)));
    // The end of a call whose record is another thread's by now changes nothing.
    ring.begin_recording(RingWriters::Many);
    fill(&ring, KEPT);
    ring.end(number);
    assert!(told(&ring).last[0].took.is_none());
}

#[test]
fn a_call_that_is_over_at_once_tells_the_same_without_an_end() {
    let ring = ring();
    // Call 0 begins a batch, behind which calls are noted in the fewest words.
    ring.begin("shmem_fence", NOTHING);
    ring.set_time(1000 << TICK);
    let put = CallSubject { peer: Some(0), team: None, bytes: 8 };
    ring.note("shmem_long_p", put);
    let calls = decode(&ring.words(), &ring.words(), 9, 5000 << TICK, |_, n| Some("x".repeat(n))).last;
    let noted = &calls[0];
    assert_eq!((noted.number, noted.name.len(), noted.subject), (1, 12, put));
    assert_eq!((noted.age, noted.took), (4000 << TICK, Some(0)));
    // A call that takes its place has not ended with it.
    fill(&ring, RECENT - 1);
    ring.begin("shmem_quiet", NOTHING);
    let all = decode(&ring.words(), &ring.words(), KEPT, 5000 << TICK, |_, _| Some(String::new())).last;
    let of = |number: u64| all.iter().find(|call| call.number == number).expect("it is kept");
    assert_eq!((of(1).took, of(1).subject, of(1 + RECENT as u64).took), (Some(0), put, None));
}

#[test]
fn a_call_that_begins_while_it_is_read_is_not_three_days_old() {
    let ring = ring();
    // Call 0 reads the clock.
    ring.begin("shmem_fence", NOTHING);
    ring.set_time(5001 << TICK);
    let number = ring.begin("shmem_quiet", NOTHING);
    // Another thread begins a batch, whose clock lags.
    ring.set_time(5000 << TICK);
    ring.end(number);
    let words = ring.words();
    let calls = decode(&words, &words, 1, 4990 << TICK, |_, _| Some("quiet".into())).last;
    assert_eq!((calls[0].age, calls[0].took), (0, Some(0)));
}

#[test]
fn a_call_of_last_week_is_as_old_as_it_is() {
    let ring = ring();
    // Call 0 reads the clock.
    ring.begin("shmem_fence", NOTHING);
    ring.set_time(1000 << TICK);
    ring.end(ring.begin("shmem_quiet", NOTHING));
    let words = ring.words();
    let age = |now: u64| decode(&words, &words, 1, now, |_, _| Some(String::new())).last[0].age;
    let week: u64 = (7 * 24 * 3600 * 1_000_000_000) >> TICK << TICK;
    assert_eq!((age(1000 << TICK), age((1000 << TICK) + week)), (0, week));
}

#[test]
fn a_call_may_ask_for_more_bytes_than_there_can_be() {
    let ring = ring();
    let all = |bytes| CallSubject { bytes, ..NOTHING };
    ring.end(ring.begin("shmem_long_put", all(8)));
    ring.end(ring.begin("shmem_calloc", all(u64::MAX)));
    ring.note("shmem_long_put", all(u64::MAX));
    assert_eq!(names(&ring, 9).len(), 3);
}

#[test]
fn a_record_that_changes_while_it_is_read_is_left_out() {
    let ring = ring();
    ring.begin("shmem_quiet", NOTHING);
    ring.begin("shmem_fence", NOTHING);
    let first = ring.words();
    fill(&ring, KEPT);
    let again = ring.words();
    assert!(decode(&first, &again, 9, 0, |_, _| Some(String::new())).last.is_empty());
    assert!(decode(&first[..9], &first, 9, 0, |_, _| None).last.is_empty());
    // One that is being written has the number of an older one.
    let mut half = first.clone();
    half[TAIL] = 0;
    assert_eq!(decode(&half, &half, 9, 0, |_, _| Some(String::new())).last.len(), 1);
}

#[test]
fn older_calls_keep_their_ends() {
    let ring = ring();
    let ended = ring.begin("shmem_quiet", CallSubject { peer: Some(2), team: None, bytes: 8 });
    ring.end(ended);
    let open = ring.begin("shmem_barrier_all", NOTHING);
    fill(&ring, 100);
    let calls = decode(&ring.words(), &ring.words(), KEPT, 0, |_, _| Some(String::new())).last;
    let of = |number: u64| calls.iter().find(|call| call.number == number).expect("it is kept");
    assert!(of(ended).took.is_some() && of(open).took.is_none());
    assert_eq!((of(ended).subject.peer, of(ended).subject.bytes), (Some(2), 8));
}

/// A collective fetches from more PEs than there are latest records, or calls that return at once go on in a wait.
#[test]
fn a_call_in_which_many_others_begin_ends_in_its_copy() {
    let ring = ring();
    let around = ring.begin("shmem_collect", CallSubject { peer: None, team: Some((0, 1)), bytes: 8 });
    fill(&ring, RECENT + BATCH as usize);
    let told = |ring: &CallRing| {
        let calls = decode(&ring.words(), &ring.words(), KEPT, 0, |_, _| Some(String::new())).last;
        calls.into_iter().find(|call| call.number == around).expect("it is kept")
    };
    assert_eq!(told(&ring).took, None);
    ring.end(around);
    assert!(told(&ring).took.is_some());
    // Of a call that is kept no longer nothing is left to end.
    fill(&ring, KEPT);
    ring.end(around);
    let calls = decode(&ring.words(), &ring.words(), KEPT, 0, |_, _| Some(String::new())).last;
    assert!(calls.len() == KEPT && calls.iter().all(|call| call.took.is_none()));
}

#[test]
fn nobody_records_in_a_ring_that_is_off() {
    let ring = ring();
    ring.begin_recording(RingWriters::Nobody);
    ring.end(ring.begin("shmem_quiet", NOTHING));
    assert!(ring.words().iter().take(TAIL).all(|word| *word == RingWriters::Nobody as u64 || *word == 0));
    assert_eq!(names(&ring, 9), []);
}

#[test]
fn threads_that_share_a_ring_get_numbers_of_their_own() {
    let ring = ring();
    ring.begin_recording(RingWriters::Many);
    let of = |_| (0..1000).map(|_| ring.begin("shmem_quiet", NOTHING)).collect::<Vec<_>>();
    let all: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|i| scope.spawn(move || of(i))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("it does not panic")).collect()
    });
    let distinct: std::collections::BTreeSet<u64> = all.iter().copied().collect();
    assert_eq!(distinct.len(), 2000);
}

#[test]
fn the_calls_of_all_rings_come_in_the_order_of_their_times() {
    static RINGS: [CallRing; 3] = [const { CallRing::new() }; 3];
    let address = |ring: &CallRing| core::ptr::from_ref(ring).addr() as u64;
    let read = |at: u64| RINGS.iter().find(|&ring| address(ring) == at).map(CallRing::words).ok_or(at);
    let now = oxshmem_os::time::coarse();
    let told = |most: usize| {
        let all = decode_all(address(&RINGS[0]), read, most, now, |_, length| Some("x".repeat(length)));
        let Calls { made, bytes, last } = all.expect("all rings can be read");
        (made, bytes, last.iter().map(|call| call.name.len()).collect::<Vec<_>>())
    };
    for (ring, (name, ticks)) in RINGS.iter().zip([("a", 100), ("bb", 300), ("ccc", 200)]) {
        // Call 0 reads the clock. It counts as no later than the time to which that is set back.
        ring.begin("shmem_fence", NOTHING);
        ring.set_time(now - (ticks << TICK));
        ring.begin(name, CallSubject { bytes: 8, ..NOTHING });
    }
    assert_eq!(told(9), (2, 8, vec![1, 11]));
    RINGS[0].lead_to(&RINGS[1]);
    RINGS[1].lead_to(&RINGS[2]);
    assert_eq!(told(9), (6, 24, vec![1, 11, 3, 11, 2, 11]));
    assert_eq!(told(4), (6, 24, vec![1, 11, 3, 11]));
    // Rings in a circle, which a reader may find in memory that is no ring, come to an end.
    RINGS[2].lead_to(&RINGS[1]);
    assert_eq!(told(1).2, [1]);
    assert_eq!(decode_all(7, read, 9, now, |_, _| None).err(), Some(7));
}
