//! Lanes that complete their operations together.

use super::*;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Release;

use oxshmem_base::Error;
use oxshmem_transport::{
    Amo, AmoDomain, AtomicArguments, Busy, Features, GetArguments, PutArguments, Region, Remote, SignalUpdate, Width,
};

/// A lane of an account, on which nothing is ever under way. It is complete locally when `is_free` says so.
struct IdleLane {
    account: Option<usize>,
    keeps_peers_apart: bool,
    is_free: Box<dyn Fn() -> bool + Send + Sync>,
    /// Counts those for completion.
    looks: Arc<AtomicU32>,
    /// Each of them calls it.
    looked: Box<dyn Fn() + Send + Sync>,
    /// Something is under way to this PE for so many looks.
    slow: Option<(u32, Arc<AtomicU32>)>,
}

impl IdleLane {
    fn of(account: Option<usize>) -> Self {
        let (is_free, looked) = (Box::new(|| true), Box::new(|| {}));
        Self { account, keeps_peers_apart: false, is_free, looks: Arc::default(), looked, slow: None }
    }
}

/// The bytes that it copies of a put with a signal.
const COPIED: usize = 64;

// SAFETY: it touches no memory.
unsafe impl Lane for IdleLane {
    unsafe fn put(&self, _put: &PutArguments) -> usize {
        0
    }

    unsafe fn put_nbi(&self, _put: &PutArguments) -> usize {
        0
    }

    unsafe fn get_nbi(&self, _get: &GetArguments) -> usize {
        0
    }

    unsafe fn amo(&self, _atomic: &AtomicArguments) -> Result<(), Busy> {
        Ok(())
    }

    unsafe fn put_signal(&self, _put: &PutArguments, _signal: Remote, _update: SignalUpdate) -> Result<(), Busy> {
        Ok(())
    }

    fn copied_with_signal(&self) -> usize {
        COPIED
    }

    fn fence(&self) -> Result<(), Busy> {
        Ok(())
    }

    fn outstanding(&self) -> u64 {
        self.slow.as_ref().map_or(0, |(_, looks)| looks.load(Relaxed).into())
    }

    fn account(&self) -> Option<usize> {
        self.account
    }

    fn keeps_peers_apart(&self) -> bool {
        self.keeps_peers_apart
    }

    fn has_failed(&self) -> bool {
        false
    }

    fn progress(&self) -> Result<usize, Error> {
        self.looks.fetch_add(1, Relaxed);
        (self.looked)();
        if let Some((_, left)) = &self.slow {
            let _ = left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
        }
        Ok(0)
    }

    fn poll_completion_for(&self, pes: &[u32]) -> Result<bool, Failed> {
        Ok(self.poll_completion()? || self.slow.as_ref().is_none_or(|(slow, _)| !pes.contains(slow)))
    }

    fn poll_awaited_from(&self, pe: u32) -> Result<AwaitedState, Failed> {
        let state = self.poll_awaited()?;
        let is_slow = self.slow.as_ref().is_some_and(|&(slow, _)| pe == slow);
        Ok(if state == AwaitedState::UnderWay && !is_slow { AwaitedState::Complete } else { state })
    }

    fn poll_local_completion(&self) -> Result<bool, Error> {
        Ok((self.is_free)() && self.poll_completion().expect("nothing fails"))
    }

    fn poll_local_completion_to(&self, pe: u32) -> Result<bool, Error> {
        Ok(self.poll_local_completion()? || self.slow.as_ref().is_some_and(|&(slow, _)| pe != slow))
    }
}

fn lane(account: Option<usize>) -> Arc<ContextLane> {
    lane_that(account, || true)
}

fn lane_that(account: Option<usize>, is_free: impl Fn() -> bool + Send + Sync + 'static) -> Arc<ContextLane> {
    joined(IdleLane { is_free: Box::new(is_free), ..IdleLane::of(account) })
}

fn alone(lane: IdleLane) -> Arc<ContextLane> {
    let capabilities = Capabilities { features: Features::empty(), amo: AmoDomain::Processor, inject: 0, signal: None };
    Arc::new(ContextLane::over(Box::new(lane), capabilities, false))
}

fn joined(lane: IdleLane) -> Arc<ContextLane> {
    let lane = alone(lane);
    lane.clone().join(&mut lanes());
    lane
}

/// A test that waits for all lanes holds it: it looks at the lanes of other tests, too.
static WAITS_FOR_ALL: Mutex<()> = Mutex::new(());

fn remove(ours: &[Arc<ContextLane>]) {
    lanes().retain(|lane| !ours.iter().any(|own| Arc::ptr_eq(own, lane)));
}

/// A thread that has waited long for a lane.
fn waits_long(lane: &ContextLane) -> Patience<'_> {
    made_long(Patience::new(lane))
}

fn made_long(mut patience: Patience<'_>) -> Patience<'_> {
    while !patience.over {
        patience.look();
    }
    patience
}

/// A stream of operations on one context would keep the quiet of another one from ending, where both complete together.
#[test]
fn who_waits_long_holds_back_all_lanes_of_the_account() {
    let [one, other, stranger, alone] = [Some(7), Some(7), Some(8), None].map(lane);
    let number = |lane: &Arc<ContextLane>| lane.impatient.load(Relaxed);
    let numbers = || [&one, &other, &stranger, &alone].map(number);
    let first = waits_long(&one);
    assert_eq!(numbers(), [1, 1, 0, 0]);
    // A context that is made meanwhile holds back, too.
    let late = lane(Some(7));
    assert_eq!(number(&late), 1);
    let (second, third) = (waits_long(&late), waits_long(&alone));
    assert_eq!((numbers(), number(&late)), ([2, 2, 0, 1], 2));
    drop([first, second, third]);
    assert_eq!((numbers(), number(&late)), ([0; 4], 0));
    remove(&[one, other, stranger, alone, late]);
}

/// Behind a peer that takes nothing a thread may wait for seconds. The operations of other threads to other peers take no room of its.
#[test]
fn a_thread_that_waits_for_a_peer_holds_back_operations_to_that_peer_alone() {
    let by_peer = |account| joined(IdleLane { keeps_peers_apart: true, ..IdleLane::of(account) });
    let (own, in_common, whole) = (by_peer(None), by_peer(Some(9)), lane(None));
    let turns = |lane: &ContextLane| [Some(1), Some(2), None].map(|pe| lane.has_turn(pe));
    let waits = [&own, &in_common, &whole].map(|lane| made_long(Patience::for_peer(lane, 1)));
    assert_eq!([&own, &in_common, &whole].map(|lane| turns(lane)), [[false, true, true], [false; 3], [false; 3]]);
    // A second thread waits for the same peer, and a third until the lane is empty.
    let second = made_long(Patience::for_peer(&own, 1));
    drop(waits);
    assert_eq!(turns(&own), [false, true, true]);
    let third = waits_long(&own);
    assert_eq!(turns(&own), [false; 3]);
    drop(second);
    assert_eq!(turns(&own), [false; 3]);
    drop(third);
    assert_eq!([&own, &in_common, &whole].map(|lane| turns(lane)), [[true; 3]; 3]);
    remove(&[own, in_common, whole]);
}

/// Threads that issue without pause on two contexts: each lane is free now and then, and never both of them.
#[test]
fn local_completion_of_all_lanes_waits_for_one_after_the_other() {
    let _others_wait = WAITS_FOR_ALL.lock();
    let last = Arc::new(AtomicU32::new(0));
    let looks = [1, 2].map(|number| {
        let last = last.clone();
        // The thread of the lane has issued more while the other lane was looked at.
        move || last.swap(number, Relaxed) == number
    });
    let ours = looks.map(|is_free| lane_that(None, is_free));
    complete_all_locally("test");
    assert_eq!(last.load(Relaxed), 2);
    remove(&ours);
}

/// Another thread may destroy a context while a call waits for the lanes of all contexts.
#[test]
fn a_lane_outlives_its_context_while_a_call_waits_for_it() {
    static PLACE: AtomicPtr<ContextLane> = AtomicPtr::new(core::ptr::null_mut());
    let _others_wait = WAITS_FOR_ALL.lock();
    let used = Arc::new(());
    let its = used.clone();
    let new = lane_that(None, move || {
        forget(&PLACE);
        Arc::strong_count(&its) == 2
    });
    PLACE.store(Arc::into_raw(new).cast_mut(), Release);
    complete_all_locally("test");
    assert_eq!(Arc::strong_count(&used), 2);
    // The next context that is destroyed takes it along.
    PLACE.store(Arc::into_raw(lane(None)).cast_mut(), Release);
    forget(&PLACE);
    assert_eq!(Arc::strong_count(&used), 1);
}

/// A long put of the context may be under way, for which the caller of a short one with a signal need not wait.
#[test]
fn the_source_of_a_put_with_a_signal_is_waited_for_unless_the_lane_has_copied_it() {
    let looks = Arc::new(AtomicU32::new(0));
    let over = |signal| {
        let capabilities = Capabilities { features: Features::empty(), amo: AmoDomain::Processor, inject: 0, signal };
        let counted = looks.clone();
        let is_free = move || {
            counted.fetch_add(1, Relaxed);
            true
        };
        ContextLane::over(Box::new(IdleLane { is_free: Box::new(is_free), ..IdleLane::of(None) }), capabilities, false)
    };
    let (together, apart) = (over(Some(2 * COPIED)), over(None));
    let looked = |lane: &ContextLane, n| {
        let before = looks.load(Relaxed);
        lane.await_source_of_signalled("test", 1, n);
        looks.load(Relaxed) > before
    };
    assert_eq!([0, COPIED, COPIED + 1].map(|n| looked(&together, n)), [false, false, true]);
    // The lane has put the bytes by themselves, and has copied none.
    assert_eq!([0, COPIED].map(|n| looked(&apart, n)), [true, true]);
}

/// A peer that stands still has something under way. Nothing is under way to the others.
#[test]
fn a_wait_for_some_peers_ends_while_something_is_under_way_to_another_one() {
    const MOST: u32 = 100;
    let slow = Arc::new(AtomicU32::new(MOST));
    let lane = joined(IdleLane { slow: Some((2, slow.clone())), keeps_peers_apart: true, ..IdleLane::of(None) });
    assert!(!lane.is_complete());
    lane.complete_for("test", &[1]);
    lane.complete_for("test", &[3, 1]);
    lane.complete_locally("test", Needs::One(1));
    FETCHES.iter().for_each(|fetch| fetch(&lane, 1));
    assert!(slow.load(Relaxed) > MOST / 2, "something was waited for until nothing was under way");
    assert!(!lane.is_settled(), "what is under way to the slow peer counts as complete");
    lane.complete_for("test", &[1, 2]);
    assert_eq!(slow.load(Relaxed), 0);
    remove(&[lane]);
}

/// The calls that wait for what they fetch from a peer.
const FETCHES: [fn(&ContextLane, u32); 3] = [
    |lane, pe| {
        let mut got = 0_u64;
        // SAFETY: the destination has as many bytes, and the lane touches no memory.
        unsafe { lane.get("test", (&raw mut got).cast(), Remote { pe, region: Region::Heap, offset: 0 }, 8) };
    },
    |lane, pe| {
        let (mut old, to) = (0_u64, Remote { pe, region: Region::Heap, offset: 0 });
        // SAFETY: there is room for the old value, and the lane touches no memory.
        unsafe { lane.amo("test", to, Width::Eight, Amo::Fetch, (&raw mut old).cast()) };
    },
    |lane, pe| lane.await_gets("test", pe),
];

/// Each look at the lane of a thread that waits for a peer takes long, until the thread makes others hold back.
#[test]
fn a_thread_that_fetches_from_a_peer_holds_back_operations_to_that_peer_alone() {
    for fetch in FETCHES {
        let own = Arc::new(OnceLock::<Arc<ContextLane>>::new());
        let turns = Arc::new(Mutex::new(None));
        let left = Arc::new(AtomicU32::new(u32::MAX));
        let (lane, seen, under_way) = (own.clone(), turns.clone(), left.clone());
        let looked = move || {
            let Some(lane) = lane.get() else { return };
            if lane.impatient.load(Relaxed) == 0 {
                return std::thread::sleep(Patience::TIME);
            }
            *seen.lock() = Some([Some(1), Some(2), None].map(|pe| lane.has_turn(pe)));
            under_way.store(0, Relaxed);
        };
        let (slow, looked) = (Some((2, left)), Box::new(looked));
        let by_peer = IdleLane { slow, looked, keeps_peers_apart: true, ..IdleLane::of(None) };
        let lane = own.get_or_init(|| alone(by_peer));
        fetch(lane, 2);
        assert_eq!((*turns.lock(), lane.impatient.load(Relaxed)), (Some([true, false, true]), 0));
    }
}

/// Stores do not wait for what the network does on memory of this node, so a fence does; the next one has nothing to wait for.
#[test]
fn a_fence_waits_once_for_operations_on_memory_that_stores_reach() {
    let looks = Arc::new(AtomicU32::new(0));
    let counted = looks.clone();
    let lane = joined(IdleLane { looks: counted, ..IdleLane::of(None) });
    let fenced = |fence: &dyn Fn()| {
        let before = looks.load(Relaxed);
        fence();
        looks.load(Relaxed) > before
    };
    let ways: [&dyn Fn(); 2] = [&|| lane.fence("test"), &|| assert!(lane.try_fence())];
    for fence in ways {
        lane.near.note();
        assert!(!lane.fence_at_once());
        assert_eq!([fenced(fence), fenced(fence)], [true, false]);
        assert!(lane.fence_at_once());
    }
    // Another thread issues one while this one waits for the lane.
    lane.near.note();
    let seen = lane.near.under_way().expect("one is under way");
    lane.near.note();
    lane.near.complete(seen);
    assert!(!lane.fence_at_once() && fenced(&|| lane.fence("test")));
    remove(&[lane]);
}

/// Processors fetch lines in pairs.
#[test]
fn lanes_of_two_contexts_share_no_pair_of_lines() {
    let [one, other] = [None, None].map(lane);
    let pair = |lane: &Arc<ContextLane>, byte: usize| (Arc::as_ptr(lane).addr() + byte) / 128;
    let pairs = |lane: &Arc<ContextLane>| pair(lane, 0)..=pair(lane, size_of::<ContextLane>() - 1);
    assert!([&one, &other].iter().all(|lane| Arc::as_ptr(lane).addr().is_multiple_of(128)));
    assert!(pairs(&one).all(|pair| !pairs(&other).contains(&pair)));
    remove(&[one, other]);
}

#[test]
fn a_lane_of_one_thread_counts_as_one_of_many_does() {
    for counters in [false, true].map(OperationCounters::new) {
        counters.note(Direction::Write);
        counters.note(Direction::Read);
        assert_eq!((counters.sum(), counters.are_settled()), (2, false));
        counters.settle(2);
        assert!(counters.are_settled());
        counters.note(Direction::Read);
        assert!(!counters.are_settled());
    }
}
