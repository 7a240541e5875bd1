//! The tests that every provider has to pass. Each is a function over one PE, so that the PEs may be threads of one process
//! ([`threads`]) or processes ([`processes`]); all PEs run the same tests in the same order.
//!
//! Nothing here is decided by time, except that a wait of [`PATIENCE`] means a hang.

mod atomics;
pub mod beside;
mod memory_pe;
mod ordering;
pub mod processes;
mod reach;
mod transfers;

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use oxshmem_base::Error;
use oxshmem_base::chance::Dice;
use oxshmem_base::knobs::Settings;

use crate::{
    AddressBook, Agreed, Amo, Fabric, Issuer, Lane, LaneOptions, Participant, Provider, Region, Remote, SECRET,
    Segment, Width,
};
pub use memory_pe::MemoryPe;

/// How long a wait may last before it is called a hang.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Bytes of the heap before and after it grows, of the statics and of the control region. Miri gets less of everything.
const HEAP: usize = if cfg!(miri) { 32 << 10 } else { 24 << 20 };
const HEAP_BEFORE_GROWTH: usize = HEAP / 2;
const STATICS: usize = if cfg!(miri) { 1 << 10 } else { 1 << 20 };
const CONTROL: usize = if cfg!(miri) { 1 << 10 } else { 8 << 10 };

/// A test of the suite.
pub type Test = (&'static str, fn(&mut SuitePe));

/// All tests, in the order in which they run. The growth of the heap comes first: the others use what has grown.
pub const TESTS: &[Test] = &[
    ("grown_memory_is_reached", reach::grown_memory_is_reached),
    ("puts_arrive_whole", transfers::puts_arrive_whole),
    ("gets_fetch_what_is_there", transfers::gets_fetch_what_is_there),
    ("what_a_caller_awaits_is_there", transfers::what_a_caller_awaits_is_there),
    ("megabytes_arrive_whole", transfers::megabytes_arrive_whole),
    ("the_source_of_a_put_is_free_on_return", transfers::the_source_of_a_put_is_free_on_return),
    ("all_to_all", transfers::all_to_all),
    ("atomics_follow_their_model", atomics::atomics_follow_their_model),
    ("hammered_totals_are_exact", atomics::hammered_totals_are_exact),
    ("compare_and_swap_loses_nothing", atomics::compare_and_swap_loses_nothing),
    ("own_atomics_meet_those_of_peers", atomics::own_atomics_meet_those_of_peers),
    ("processor_and_provider_update_one_word", atomics::processor_and_provider_update_one_word),
    ("a_signal_never_overtakes_its_data", ordering::a_signal_never_overtakes_its_data),
    ("a_signal_needs_no_quiet", ordering::a_signal_needs_no_quiet),
    ("signals_of_a_word_keep_their_order", ordering::signals_of_a_word_keep_their_order),
    ("a_fence_separates_puts", ordering::a_fence_separates_puts),
    ("a_fence_separates_puts_and_atomics", ordering::a_fence_separates_puts_and_atomics),
    ("a_fence_ends_a_stream", ordering::a_fence_ends_a_stream),
    ("lanes_do_not_disturb_each_other", reach::lanes_do_not_disturb_each_other),
    ("a_lane_that_rarely_waits_completes", reach::a_lane_that_rarely_waits_completes),
    ("what_a_lane_lets_go_may_be_reused", reach::what_a_lane_lets_go_may_be_reused),
    ("an_operation_takes_one_lock", reach::an_operation_takes_one_lock),
    ("who_never_waits_is_held_back", reach::who_never_waits_is_held_back),
    ("a_pe_that_computes_is_served", reach::a_pe_that_computes_is_served),
    ("what_is_out_of_range_is_an_error", reach::what_is_out_of_range_is_an_error),
];

/// Runs every test with PEs that are threads: `factory` makes the fabrics of a job of the given number of PEs.
pub fn threads(pes: u32, factory: impl Fn(u32) -> Vec<Box<dyn Fabric>>) {
    threads_of(pes, factory, TESTS);
}

/// [`threads`] with a choice of tests.
pub fn threads_of(pes: u32, factory: impl Fn(u32) -> Vec<Box<dyn Fabric>>, tests: &[Test]) {
    let failed = Arc::new(AtomicBool::new(false));
    let register = |(me, fabric)| SuitePe::register(fabric, me, pes, failed.clone());
    let joining: Vec<_> = (0..pes).zip(factory(pes)).map(register).collect();
    let addresses: Vec<_> = joining.iter().map(|pe| pe.fabric.address()).collect();
    std::thread::scope(|scope| {
        for mut pe in joining {
            let addresses = addresses.clone();
            let body = move || {
                let alarm = Alarm(pe.failed.clone());
                pe.connect(addresses);
                pe.run(tests);
                pe.leave();
                drop(alarm);
            };
            std::thread::Builder::new().spawn_scoped(scope, body).expect("a thread for every PE");
        }
    });
}

/// A factory for [`threads`]: all PEs of a job over this provider.
pub fn over<'p>(
    provider: &'p Provider,
    settings: &'p Settings,
    choice: &'p Agreed<'p>,
) -> impl Fn(u32) -> Vec<Box<dyn Fabric>> + 'p {
    /// Each job has its own secret.
    static JOBS: AtomicU64 = AtomicU64::new(0);
    move |pes| {
        let mut secret = [0; SECRET];
        secret[..8].copy_from_slice(&JOBS.fetch_add(1, Ordering::Relaxed).to_ne_bytes());
        let open = |me| (provider.open)(&Participant::new(me, pes, settings, &secret), choice);
        (0..pes).map(|me| open(me).expect("the provider opens")).collect()
    }
}

/// A test for each way to run the suite, in the test program of a provider.
#[macro_export]
macro_rules! suites {
    ($($name:ident: $run:expr;)*) => {$(
        #[test]
        fn $name() {
            $run
        }
    )*};
}

/// Addresses that are all at hand.
#[derive(Clone)]
pub struct AllAddresses(pub Vec<Vec<u8>>);

impl AddressBook for AllAddresses {
    fn address(&self, pe: u32) -> Result<Vec<u8>, Error> {
        self.0.get(pe as usize).cloned().ok_or_else(|| Error::new(format!("there is no PE {pe}")))
    }
}

/// Tells the other threads that this one panics, so that they do not wait for it.
struct Alarm(Arc<AtomicBool>);

impl Drop for Alarm {
    fn drop(&mut self) {
        self.0.fetch_or(std::thread::panicking(), Ordering::Relaxed);
    }
}

/// One PE in the suite.
pub struct SuitePe {
    /// Its lane, once it knows the others.
    lane: Option<Box<dyn Lane>>,
    fabric: Box<dyn Fabric>,
    me: u32,
    pes: u32,
    memory: [Vec<AtomicU64>; 3],
    meetings: u64,
    /// It has its process to itself.
    alone: bool,
    /// Becomes true when a PE has panicked.
    failed: Arc<AtomicBool>,
    test: &'static str,
}

impl SuitePe {
    /// A PE whose memory is registered and which does not know the others yet.
    fn register(fabric: Box<dyn Fabric>, me: u32, pes: u32, failed: Arc<AtomicBool>) -> Self {
        let memory = [HEAP, STATICS, CONTROL].map(|n| (0..n / 8).map(|_| AtomicU64::new(0)).collect::<Vec<_>>());
        for (region, words) in Region::ALL.into_iter().zip(&memory) {
            let len = if region == Region::Heap { HEAP_BEFORE_GROWTH } else { words.len() * 8 };
            fabric.register(region, Segment { base: base(words), len }).expect("memory can be registered");
        }
        Self { lane: None, fabric, me, pes, memory, meetings: 0, alone: false, failed, test: "" }
    }

    /// Connects it with the PEs at these addresses.
    fn connect(&mut self, addresses: Vec<Vec<u8>>) {
        self.fabric.connect(Box::new(AllAddresses(addresses))).expect("the fabric connects");
        self.lane = Some(self.fabric.lane(LaneOptions::default()).expect("there are lanes"));
    }

    fn lane(&self) -> &dyn Lane {
        &**self.lane.as_ref().expect("it is connected")
    }

    /// Runs `tests`; the other PEs do the same.
    fn run(&mut self, tests: &[Test]) {
        for (name, test) in tests {
            self.test = name;
            let start = Instant::now();
            self.meet();
            test(self);
            self.meet();
            if self.me == 0 {
                println!("  {name}: {:?} with {} PEs", start.elapsed(), self.pes);
            }
        }
    }

    /// Ends the fabric, when all PEs have come here.
    fn leave(mut self) {
        self.meet();
        drop(self.lane);
        self.fabric.close();
        self.fabric.close();
        assert!(!self.fabric.describe().is_empty());
    }

    /// Waits for all PEs: each tells every other one how often it has been here, by puts into the first words of the
    /// control region.
    fn meet(&mut self) {
        self.quiet();
        self.meetings += 1;
        let count = self.meetings;
        for pe in 0..self.pes {
            let to = Remote { pe, region: Region::Control, offset: u64::from(self.me) * 8 };
            self.put(to, &count.to_ne_bytes());
        }
        self.quiet();
        let pes = self.pes as usize;
        self.wait("all PEs to meet", |pe| {
            pe.words(Region::Control)[..pes].iter().all(|word| word.load(Ordering::Acquire) >= count)
        });
    }

    /// Issues on this PE's lane, and waits as a PE does where that is busy.
    fn issue<R>(&self, act: impl FnOnce(&Issuer<'_>) -> R) -> R {
        issue(&*self.fabric, self.lane(), act)
    }

    fn put(&self, to: Remote, source: &[u8]) {
        put(&*self.fabric, self.lane(), to, source);
    }

    /// Gets bytes, and waits for them.
    fn get(&mut self, from: Remote, n: usize) -> Vec<u8> {
        let mut copy = vec![0; n];
        // SAFETY: the copy lives until `quiet` returns.
        unsafe { self.issue(|lane| lane.get_nbi(copy.as_mut_ptr(), from, n)) };
        self.quiet();
        copy
    }

    /// An atomic whose old value nobody wants.
    fn update(&self, to: Remote, width: Width, amo: Amo) {
        // SAFETY: null asks for no old value.
        unsafe { self.issue(|lane| lane.amo(to, width, amo, ptr::null_mut())) };
    }

    /// Waits until this PE's operations are complete, as a quiet of the runtime does.
    fn quiet(&mut self) {
        let start = Instant::now();
        while self.lane().outstanding() > 0 {
            if self.lane().poll_completion().is_err() {
                self.lane().progress().unwrap_or_else(|error| panic!("PE {} in {}: {error}", self.me, self.test));
            }
            self.breathe(start, "its operations to complete");
        }
    }

    /// Waits as a PE does: it moves everything on.
    fn wait(&mut self, what: &str, until: impl Fn(&Self) -> bool) {
        self.wait_beside_operations(what, |pe| {
            pe.lane().progress().unwrap_or_else(|error| panic!("PE {} in {}: {error}", pe.me, pe.test));
            until(pe)
        });
    }

    /// Waits as a PE does that has other things under way: nothing completes what its lane has issued.
    fn wait_beside_operations(&mut self, what: &str, until: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !until(self) {
            self.fabric.progress();
            self.breathe(start, what);
        }
    }

    fn breathe(&self, start: Instant, what: &str) {
        let Self { me, test, .. } = self;
        assert!(!self.failed.load(Ordering::Relaxed), "PE {me} gives up waiting in {test}: another PE has failed");
        let waited = start.elapsed();
        assert!(waited < PATIENCE, "PE {me} hangs in {test}: it waits for {what}");
        rest(waited);
    }

    fn words(&self, region: Region) -> &[AtomicU64] {
        &self.memory[region as usize]
    }

    /// A word of this PE's heap.
    fn word(&self, offset: u64) -> &AtomicU64 {
        &self.words(Region::Heap)[offset as usize / 8]
    }

    /// Begins a test with these words of every heap at 0.
    fn clear(&mut self, words: &[u64]) {
        words.iter().for_each(|&offset| self.word(offset).store(0, Ordering::Release));
        self.meet();
    }

    /// A copy of bytes of this PE's memory.
    fn bytes(&self, region: Region, offset: u64, n: usize) -> Vec<u8> {
        let offset = offset as usize;
        assert!(offset + n <= self.words(region).len() * 8);
        let mut copy = vec![0; n];
        // SAFETY: inside the region, as just checked; the tests read what no PE writes at that time.
        unsafe { ptr::copy_nonoverlapping(base(self.words(region)).add(offset), copy.as_mut_ptr(), n) };
        copy
    }

    /// The next PE in the ring.
    fn next(&self) -> u32 {
        (self.me + 1) % self.pes
    }

    /// The PE before this one in the ring.
    fn previous(&self) -> u32 {
        (self.me + self.pes - 1) % self.pes
    }
}

/// Lets others run. A PE that has waited for long sleeps: its peers, who have work, share the processors with it.
fn rest(waited: Duration) {
    if waited < Duration::from_millis(1) {
        std::thread::yield_now()
    } else {
        std::thread::sleep(Duration::from_micros(50))
    }
}

/// Where `words` begin, for PEs that write there.
fn base(words: &[AtomicU64]) -> *mut u8 {
    words.as_ptr().cast_mut().cast()
}

/// Issues on a lane, and moves everything on where that is busy.
pub fn issue<R>(fabric: &dyn Fabric, lane: &dyn Lane, act: impl FnOnce(&Issuer<'_>) -> R) -> R {
    let wait = |attempt: &mut dyn FnMut() -> bool| {
        let start = Instant::now();
        while !attempt() {
            fabric.progress();
            let waited = start.elapsed();
            assert!(waited < PATIENCE, "a lane is busy for ever");
            rest(waited);
        }
    };
    act(&Issuer::new(lane, fabric.capabilities(), &wait))
}

/// A put whose source is free when this returns.
fn put(fabric: &dyn Fabric, lane: &dyn Lane, to: Remote, source: &[u8]) {
    // SAFETY: the source is borrowed for the call, which is as long as a put needs it.
    issue(fabric, lane, |lane| unsafe { lane.put(to, source.as_ptr(), source.len()) });
}

/// Waits until nothing is outstanding on a lane of the test's own.
fn drain(lane: &dyn Lane) {
    let start = Instant::now();
    while lane.outstanding() > 0 {
        lane.progress().expect("no operation fails");
        assert!(start.elapsed() < PATIENCE, "a lane hangs");
        std::thread::yield_now();
    }
}

/// A place in a PE's heap.
fn heap(pe: u32, offset: u64) -> Remote {
    Remote { pe, region: Region::Heap, offset }
}

/// Bytes that tell who wrote them and when.
fn pattern(seed: u64, n: usize) -> Vec<u8> {
    let mut dice = Dice::new(seed);
    let mut bytes = vec![0; n];
    bytes.chunks_mut(8).for_each(|word| word.copy_from_slice(&dice.next().to_le_bytes()[..word.len()]));
    bytes
}

/// Fewer rounds where each one is slow.
fn rounds(many: usize) -> usize {
    if cfg!(miri) { many.div_ceil(100) } else { many }
}

/// Rounds of which any may meet what is looked for: a third of them, because the suite runs some sixty times in every run of the
/// checks; all with `CHECK_LONG=1`.
fn tries(many: usize) -> usize {
    rounds(if is_long() || cfg!(miri) { many } else { many / 3 })
}

fn is_long() -> bool {
    std::env::var_os("CHECK_LONG").is_some()
}
