//! Worlds that come one after the other in one process: what one of them has used is given back, or serves the next one. This program
//! starts itself as the PEs, because those of a test harness always have a thread that outlives their worlds.

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::mpsc;
use std::{env, fs, thread};

use oxshmem::World;
use oxshmem::test::launch_on;

/// Tells a PE whether it has a thread beside the one with the worlds.
const BESIDE: &str = "OXSHMEM_TEST_BESIDE";

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
    /// Pages of the heap of C's library and of stacks.
    private_kib: u64,
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
        let addresses_kib = kib(status.lines().find_map(|line| line.strip_prefix("VmSize:")).unwrap());
        // The kernel's own sums are inexact by some pages of each processor.
        let (mut shared_kib, mut private_kib, mut ignored) = (0, 0, 0);
        let mut sum = &mut ignored;
        for line in fs::read_to_string("/proc/self/smaps").unwrap().lines() {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            match words[..] {
                ["Rss:", pages, _] => *sum += kib(pages),
                // The line of a mapping begins with its addresses, others with a name.
                [first, ..] if first.ends_with(':') => {}
                [_, _, _, _, _] | [.., "[heap]"] => sum = &mut private_kib,
                [_, _, _, _, _, file, ..] if file.starts_with("/memfd:") => sum = &mut shared_kib,
                _ => sum = &mut ignored,
            }
        }
        Self { descriptors, addresses_kib, shared_kib, private_kib }
    }
}

fn kib(number: &str) -> u64 {
    number.split_ascii_whitespace().next().unwrap().parse().unwrap()
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

/// The descriptors and the memory behind one of the first worlds and behind the last one.
fn worlds_in_a_row(beside: &dyn Fn(usize)) -> [Belongings; 2] {
    let mut first = None;
    for number in 1..=WORLDS {
        live(number as u64, beside);
        if number == FIRST {
            first = Some(Belongings::now());
        }
    }
    [first.unwrap(), Belongings::now()]
}

/// The worlds of a process that has a thread from before the first one until after the last one.
fn worlds_beside_a_thread() -> [Belongings; 2] {
    let (ask, asked) = mpsc::channel::<usize>();
    let (answer, answered) = mpsc::channel();
    let beside = thread::spawn(move || asked.iter().for_each(|pe| answer.send(COUNT.get(pe)).unwrap()));
    let found = worlds_in_a_row(&|pe| {
        ask.send(pe).unwrap();
        assert_eq!(answered.recv(), Ok(COUNT.load()));
    });
    drop(ask);
    beside.join().unwrap();
    found
}

/// The part of a PE.
fn take_part(has_thread: bool) {
    let [first, last] = if has_thread { worlds_beside_a_thread() } else { worlds_in_a_row(&|_| {}) };
    println!("{first:?}\n{last:?}");
    assert_eq!(first.descriptors, last.descriptors);
    // The windows of one PE have some gibibytes.
    assert!(last.addresses_kib < first.addresses_kib + (1 << 20), "addresses");
    // Less than a page in a world.
    let worlds = (WORLDS - FIRST) as u64;
    assert!(last.shared_kib < first.shared_kib + 4 * worlds, "shared memory");
    // The thread may be in a call of each world. One over TCP has more than 40 KiB, and the rest is how the allocator lays them out.
    assert!(has_thread || last.private_kib < first.private_kib + 8 * worlds, "private memory");
}

/// Runs the worlds as PEs over a transport, each of which ends well. `None`: there is no such transport here.
fn run(transport: &str, [nodes, pes]: [usize; 2], beside: &str) -> Option<()> {
    let job = launch_on(nodes, pes, |_| {
        let mut command = Command::new(env::current_exe()?);
        command.env(BESIDE, beside).env("SHMEM_TRANSPORT", transport);
        Ok(command)
    });
    let job = job.unwrap();
    if let Some(pe) = job.iter().find(|pe| pe.err.contains("cannot carry a job")) {
        println!("not run: lives over {transport}: {}", pe.err);
        return None;
    }
    for pe in job {
        assert!(pe.status.success(), "{transport}, {nodes} nodes, {pes} PEs, {beside}: {}{}", pe.out, pe.err);
    }
    Some(())
}

fn main() {
    if let Ok(beside) = env::var(BESIDE) {
        return take_part(beside == "1");
    }
    println!("running 3 tests");
    for (name, beside) in [("worlds that are alone", "0"), ("worlds beside a thread", "1")] {
        println!("{name}");
        for shape in [[1, 1], [1, 2], [2, 2], [2, 4]] {
            run("tcp", shape, beside).expect("TCP is everywhere");
        }
    }
    println!("worlds that are alone, over other networks");
    for transport in ["ofi", "ucx"] {
        let _ = run(transport, [2, 2], "0");
    }
    println!("test result: ok. 3 passed");
}
