//! PEs that are processes: the suite, and what happens when one of them dies. This program starts itself as the other PEs.

mod job;

use std::time::{Duration, Instant};

use job::{SECRET, one_of_two};
use oxshmem_base::knobs::Settings;
use oxshmem_transport::suite::processes;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| words.get(i).and_then(|word| word.parse().ok()).expect("the parent says who we are");
    match words.first().map(String::as_str) {
        Some("suite") => {
            let (me, pes) = (number(1), number(2));
            processes::take_part(job::open(me, pes, &Settings::default(), &SECRET), me, pes);
        }
        Some("victim") => processes::victim(one_of_two(1, &Settings::default(), &SECRET)),
        _ => {
            println!("running 3 tests");
            for pes in [2, 4] {
                processes::suite(&["suite"], pes);
            }
            a_peer_that_dies_is_named();
            println!("test result: ok. 3 passed");
        }
    }
}

/// PE 1 is killed while PE 0 moves data to and from it; the error says which PE it was and where.
fn a_peer_that_dies_is_named() {
    println!("a peer that dies is named");
    let mut pe = one_of_two(0, &Settings { peer_timeout: 20, ..Settings::default() }, &SECRET);
    let mut victim = processes::meet_victim(&mut pe, &["victim"]);
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        victim.kill();
    });
    let start = Instant::now();
    let error = processes::work_with_victim(&mut pe);
    assert!(error.contains("PE 1 at 127.0.0.1:"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(60), "it took {:?}", start.elapsed());
    killer.join().expect("it kills");
}
