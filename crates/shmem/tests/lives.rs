//! Worlds that come one after the other in one process: what one of them has used is given back, or serves the next one.

mod again;

use std::collections::BTreeMap;
use std::fs;
use std::sync::mpsc;
use std::thread;

use again::{again_on, is_pe};
use oxshmem::World;

/// The worlds of a process, and the one from which on it has what it keeps for ever.
const WORLDS: usize = 40;
const FIRST: usize = 5;

oxshmem::symmetric! {
    static COUNT: u64 = 0;
}

/// The descriptors and the memory of this process.
#[derive(Clone, Debug)]
struct Belongings {
    /// How many of which file.
    descriptors: BTreeMap<String, usize>,
    addresses_kib: u64,
    /// Pages of memory files that are mapped.
    shared_kib: u64,
}

impl Belongings {
    fn now() -> Self {
        let mut descriptors = BTreeMap::new();
        let files = fs::read_dir("/proc/self/fd").unwrap().map(|file| file.unwrap().path()).collect::<Vec<_>>();
        // The descriptor of the listing is gone.
        for target in files.iter().filter_map(|file| fs::read_link(file).ok()) {
            let target = target.display().to_string();
            // A socket has another number each time.
            let kind = target.split_once(":[").map_or(&*target, |(kind, _)| kind).to_owned();
            *descriptors.entry(kind).or_default() += 1;
        }
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let addresses = status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap();
        Self { descriptors, addresses_kib: kib(addresses), shared_kib: shared_kib() }
    }
}

fn kib(number: &str) -> u64 {
    number.split_ascii_whitespace().next().unwrap().parse().unwrap()
}

/// The kernel's own sum is inexact by some pages of each processor.
fn shared_kib() -> u64 {
    let (mut total, mut is_shared) = (0, false);
    for line in fs::read_to_string("/proc/self/smaps").unwrap().lines() {
        match line.strip_prefix("Rss:") {
            Some(pages) if is_shared => total += kib(pages),
            // The line of a mapping begins with its addresses, others with a name.
            None if !line.split(' ').next().unwrap().ends_with(':') => is_shared = line.contains("/memfd:"),
            _ => {}
        }
    }
    total
}

/// A world in which every PE uses the heap, static variables, a context, a team and collectives. `beside`: a static variable is also used
/// by a thread that outlives the world.
fn live(number: u64, beside: &dyn Fn(usize)) {
    let world = World::init().unwrap();
    let (me, n) = (world.my_pe(), world.n_pes());
    let right = (me + 1) % n;
    let numbers = world.allocate_slice(100_000, 0).unwrap();
    numbers.put_slice(&[number; 1000], right);
    COUNT.put(number, right);
    let context = world.context();
    numbers[1000].put(number, context.pe(right));
    context.quiet();
    world.barrier();
    assert_eq!((numbers[999].load(), numbers[1000].load(), COUNT.load()), (number, number, number));
    assert_eq!(world.node().sum_of(1), world.node().n_pes());
    assert_eq!(world.sum_of(number), number * n as u64);
    beside(right);
    world.barrier();
}

#[test]
#[ignore = "nothing_grows_from_world_to_world runs it in jobs of its own"]
fn worlds_in_a_row() {
    if !is_pe() {
        return;
    }
    let (ask, asked) = mpsc::channel::<usize>();
    let (answer, answered) = mpsc::channel();
    // It begins before the first world and ends after the last one.
    let beside = thread::spawn(move || asked.iter().for_each(|pe| answer.send(COUNT.get(pe)).unwrap()));
    let mut first = None;
    for number in 1..=WORLDS {
        live(number as u64, &|pe| {
            ask.send(pe).unwrap();
            assert_eq!(answered.recv(), Ok(number as u64));
        });
        if number == FIRST {
            first = Some(Belongings::now());
        }
    }
    let (first, last) = (first.unwrap(), Belongings::now());
    drop(ask);
    beside.join().unwrap();
    println!("{first:?}\n{last:?}");
    assert_eq!(first.descriptors, last.descriptors);
    // The windows of one PE have some gibibytes.
    assert!(last.addresses_kib < first.addresses_kib + (1 << 20), "addresses: {first:?}, {last:?}");
    // Less than a page in a world.
    let most = 4 * (WORLDS - FIRST) as u64;
    assert!(last.shared_kib < first.shared_kib + most, "shared memory: {first:?}, {last:?}");
}

#[test]
fn nothing_grows_from_world_to_world() {
    for (nodes, pes) in [(1, 1), (1, 2), (2, 2), (2, 4)] {
        for pe in again_on(nodes, pes, "worlds_in_a_row", &[]) {
            assert!(pe.status.success(), "{nodes} nodes, {pes} PEs: {}{}", pe.out, pe.err);
        }
    }
}
