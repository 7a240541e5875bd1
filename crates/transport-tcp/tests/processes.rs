//! PEs that are processes: the suite, and what happens when one of them dies. This program starts itself as the other PEs.

mod job;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use job::{JOB, Pe, SECRET};
use oxshmem_transport::suite::{AllCards, Joining, TESTS, run};
use oxshmem_transport_tcp::{Options, open};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| words.get(i).and_then(|word| word.parse().ok()).expect("the parent says who we are");
    match words.first().map(String::as_str) {
        Some("suite") => suite(number(1), number(2)),
        Some("victim") => victim(),
        _ => {
            println!("running 3 tests");
            for pes in [2, 4] {
                suite_of(pes);
            }
            a_peer_that_dies_is_named();
            println!("test result: ok. 3 passed");
        }
    }
}

fn suite_of(pes: u32) {
    println!("the suite in {pes} processes");
    let mut children: Vec<_> = (0..pes).map(|me| start(&["suite", &me.to_string(), &pes.to_string()])).collect();
    let mut readers: Vec<_> = children.iter_mut().map(|c| BufReader::new(c.stdout.take().expect("piped"))).collect();
    let cards: String = readers.iter_mut().map(line).collect();
    for child in &mut children {
        child.stdin.take().expect("piped").write_all(cards.as_bytes()).expect("it reads");
    }
    for (me, (mut child, mut out)) in children.into_iter().zip(readers).enumerate() {
        std::io::copy(&mut out, &mut std::io::stdout()).expect("it can be read");
        assert!(child.wait().expect("it ends").success(), "PE {me} failed");
    }
}

fn suite(me: u32, pes: u32) {
    let joining = Joining::register(open(Options::new(me, pes, JOB, SECRET)).expect("TCP opens"), me, pes);
    println!("{}", hex(&joining.card()));
    let cards = std::io::stdin().lines().map(|line| unhex(&line.expect("text"))).collect();
    let mut pe = joining.join(Box::new(AllCards(cards)), Arc::new(AtomicBool::new(false)));
    run(&mut pe, TESTS);
    pe.leave();
}

/// PE 1 is killed while PE 0 moves data to and from it; the error says which PE it was and where.
fn a_peer_that_dies_is_named() {
    println!("a peer that dies is named");
    let mut options = Options::new(0, 2, JOB, SECRET);
    options.give_up = Duration::from_secs(20);
    let mut pe = Pe::open(options);
    let mut victim = start(&["victim"]);
    let theirs = line(&mut BufReader::new(victim.stdout.take().expect("piped")));
    let cards = vec![pe.fabric.card(), unhex(theirs.trim())];
    let mut to = victim.stdin.take().expect("piped");
    writeln!(to, "{}\n{}", hex(&cards[0]), hex(&cards[1])).expect("it reads");
    pe.connect(cards);
    pe.work(1, 1).expect("both live");
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(20));
        victim.kill().expect("it lives");
        victim.wait().expect("it ends")
    });
    let start = Instant::now();
    let error = (2..).find_map(|round| pe.work(1, round).err()).expect("there is no end of rounds").to_string();
    assert!(error.contains("PE 1 at 127.0.0.1:"), "{error}");
    assert!(start.elapsed() < Duration::from_secs(60), "it took {:?}", start.elapsed());
    assert!(!killer.join().expect("it kills").success());
}

fn victim() {
    let mut pe = Pe::open(Options::new(1, 2, JOB, SECRET));
    println!("{}", hex(&pe.fabric.card()));
    pe.connect(std::io::stdin().lines().take(2).map(|line| unhex(&line.expect("text"))).collect());
    // It computes until it is killed, or the parent has gone.
    let _ = std::io::stdin().read_line(&mut String::new());
}

fn start(words: &[&str]) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("a path"));
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts")
}

fn line(from: &mut impl BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).expect("text");
    line
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = |i: usize| u8::from_str_radix(&text[i..i + 2], 16).expect("hexadecimal digits");
    (0..text.len()).step_by(2).map(digits).collect()
}
