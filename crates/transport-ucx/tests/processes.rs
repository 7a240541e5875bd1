//! PEs that are processes: the suite over each of UCX's transports, and what happens when one of them dies. This program
//! starts itself as the other PEs. `processes TRANSPORTS PES` runs the suite over others, where the machine has them.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::{Duration, Instant};

use oxshmem_base::Error;
use oxshmem_transport::suite::{AllCards, Joining, TESTS, run};
use oxshmem_transport::{Fabric, Lane, LaneOptions, Region, Remote, Segment};
use oxshmem_transport_ucx::{Options, open};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let number = |i: usize| words.get(i).and_then(|word| word.parse().ok()).expect("a number of PEs");
    match words.first().map(String::as_str) {
        Some("suite") => suite(&words[1], number(2), number(3)),
        Some("victim") => victim(&words[1]),
        Some(tls) if words.len() == 2 => suite_of(tls, number(1)),
        _ => everything(),
    }
}

fn everything() {
    println!("running 4 tests");
    if let Err(error) = fabric("tcp", 0, 1) {
        println!("not run: {error}");
        return println!("test result: ok. 4 passed");
    }
    suite_of("tcp", 2);
    suite_of("tcp", 4);
    a_peer_that_dies_is_named("tcp");
    suite_of("posix,sysv,self", 3);
    println!("test result: ok. 4 passed");
}

fn fabric(tls: &str, me: u32, pes: u32) -> Result<Box<dyn Fabric>, Error> {
    open(Options { me, pes, tls: (tls != "all").then(|| tls.into()) })
}

fn suite_of(tls: &str, pes: u32) {
    println!("the suite over {tls} in {pes} processes");
    let start_one = |me: u32| start(&["suite", tls, &me.to_string(), &pes.to_string()]);
    let mut children: Vec<_> = (0..pes).map(start_one).collect();
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

fn suite(tls: &str, me: u32, pes: u32) {
    let joining = Joining::register(fabric(tls, me, pes).expect("UCX opens"), me, pes);
    println!("{}", hex(&joining.card()));
    let cards = std::io::stdin().lines().map(|line| unhex(&line.expect("text"))).collect();
    let mut pe = joining.join(Box::new(AllCards(cards)), Arc::new(AtomicBool::new(false)));
    run(&mut pe, TESTS);
    pe.leave();
}

/// A PE with some memory.
struct Pe {
    lane: Option<Box<dyn Lane>>,
    fabric: Box<dyn Fabric>,
    _words: Vec<AtomicU64>,
}

impl Pe {
    fn open(tls: &str, me: u32) -> Self {
        let fabric = fabric(tls, me, 2).expect("UCX opens");
        let words: Vec<_> = (0..1 << 18).map(|_| AtomicU64::new(0)).collect();
        let segment = Segment { base: words.as_ptr().cast_mut().cast(), len: words.len() * 8 };
        fabric.register(Region::Heap, segment).expect("it registers");
        Self { lane: None, fabric, _words: words }
    }

    fn connect(&mut self, cards: Vec<Vec<u8>>) {
        self.fabric.connect(Box::new(AllCards(cards))).expect("it connects");
        self.lane = Some(self.fabric.lane(LaneOptions::default()).expect("there are lanes"));
    }

    /// Puts, gets and updates memory of PE 1.
    fn work(&mut self) -> Result<(), Error> {
        let lane = self.lane.as_mut().expect("it is connected");
        let place = Remote { pe: 1, region: Region::Heap, offset: 0 };
        let (source, mut back) = (vec![7u8; 100_000], vec![0u8; 100_000]);
        // SAFETY: the buffers live until the lane has nothing outstanding; after an error nothing of the lost peer is
        // touched any more.
        unsafe {
            lane.put_nbi(place, source.as_ptr(), source.len());
            lane.fence();
            lane.get_nbi(back.as_mut_ptr(), place, back.len());
            lane.amo(
                Remote { offset: 1 << 20, ..place },
                oxshmem_transport::Width::Eight,
                oxshmem_transport::Amo::Add(1),
                std::ptr::null_mut(),
            );
        }
        let start = Instant::now();
        while lane.outstanding() > 0 {
            lane.progress()?;
            assert!(start.elapsed() < Duration::from_secs(100), "it hangs");
            std::thread::yield_now();
        }
        lane.progress()?;
        assert!(back == source, "what came back is damaged");
        Ok(())
    }
}

/// PE 1 is killed while PE 0 moves data to and from it; the error says which PE it was.
fn a_peer_that_dies_is_named(tls: &str) {
    println!("a peer that dies is named");
    let mut pe = Pe::open(tls, 0);
    let mut victim = start(&["victim", tls]);
    let theirs = line(&mut BufReader::new(victim.stdout.take().expect("piped")));
    let cards = vec![pe.fabric.card(), unhex(theirs.trim())];
    let mut to = victim.stdin.take().expect("piped");
    writeln!(to, "{}\n{}", hex(&cards[0]), hex(&cards[1])).expect("it reads");
    pe.connect(cards);
    pe.work().expect("both live");
    victim.kill().expect("it lives");
    assert!(!victim.wait().expect("it ends").success());
    let error = (0..).find_map(|_| pe.work().err()).expect("there is no end of rounds").to_string();
    assert!(error.contains("PE 1 "), "{error}");
    println!("  {error}");
}

fn victim(tls: &str) {
    let mut pe = Pe::open(tls, 1);
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
