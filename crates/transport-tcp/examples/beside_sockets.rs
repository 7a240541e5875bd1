//! The provider beside a bare TCP connection, in one run between two processes of this host.
//!
//! Every round measures bare and provided in turn, so that what else runs on the machine disturbs both; the best round
//! counts. Run it with `cargo run --release -p oxshmem-transport-tcp --example beside_sockets`.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use oxshmem_base::knobs::Settings;
use oxshmem_transport::suite::{AllAddresses, issue};
use oxshmem_transport::{Agreed, Amo, Fabric, Issuer, Lane, LaneOptions, Participant, Region, Remote, Segment, Width};
use oxshmem_transport_tcp::PROVIDER;

const MIB: usize = 1 << 20;
const ROUNDS: usize = 15;
const TURNS: u64 = 1_000;
/// Streams of 16 MiB in a round.
const STREAMS: u32 = 3;

fn main() {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok());
    let mut pe = port.map_or_else(first_pe, second_pe);
    let names = [
        "raw one-way 8 B",
        "put + wait one-way 8 B",
        "get 8 B",
        "fetch_add 8 B",
        "raw stream, 16 x 1 MiB",
        "put, 16 x 1 MiB",
        "get, 16 x 1 MiB",
        "nbi puts of 8 B",
        "get from a PE that computes",
        "fetch_add on a PE that computes",
    ];
    let mut best = [Duration::MAX; 10];
    for _ in 0..ROUNDS {
        let round = [
            pe.raw_one_way(),
            pe.put_one_way(),
            pe.fetches(|pe| pe.get_word()),
            pe.fetches(|pe| pe.fetch_add()),
            pe.raw_stream(),
            pe.stream(|pe| pe.put_mebibyte()),
            pe.stream(|pe| pe.get_mebibyte()),
            pe.many_puts(),
            pe.beside_computing(|pe| pe.get_word()),
            pe.beside_computing(|pe| pe.fetch_add()),
        ];
        best.iter_mut().zip(round).for_each(|(best, now)| *best = now.min(*best));
    }
    if pe.me == 0 {
        let us = |i: usize| best[i].as_secs_f64() * 1e6;
        for (i, name) in names.iter().enumerate() {
            let ratio = match i {
                1..=3 => format!("{:.2} of raw", us(i) / us(0)),
                5 | 6 => format!("{:.2} of the raw bandwidth", us(4) / us(i)),
                7 => format!("{:.1} million/s", 1.0 / us(7)),
                _ => String::new(),
            };
            println!("{name:<34} {:>9.2} us  {ratio}", us(i));
        }
    }
    pe.meet();
    drop(pe.lane);
    pe.fabric.close();
    if let Some(mut second) = pe.second {
        assert!(second.wait().expect("it ends").success());
    }
}

struct Pe {
    me: u32,
    fabric: Box<dyn Fabric>,
    lane: Box<dyn Lane>,
    words: Vec<AtomicU64>,
    raw: TcpStream,
    meetings: u64,
    turns: u64,
    second: Option<Child>,
}

/// Words of each PE: how often the other one has met, its turn, a word to fetch, the end of computing; then data.
const MET: u64 = 0;
const TURN: u64 = 8;
const WORD: u64 = 16;
const STOP: u64 = 24;
const DATA: u64 = 4096;

impl Pe {
    fn meet(&mut self) {
        self.quiet();
        self.meetings += 1;
        let count = self.meetings;
        self.put_word(MET, count);
        self.quiet();
        while self.word(MET) < count {
            self.fabric.progress();
        }
    }

    fn word(&self, offset: u64) -> u64 {
        self.words[offset as usize / 8].load(Ordering::Acquire)
    }

    fn there(&self, offset: u64) -> Remote {
        Remote { pe: 1 - self.me, region: Region::Heap, offset }
    }

    fn put_word(&mut self, offset: u64, value: u64) {
        let to = self.there(offset);
        // SAFETY: the source is a number of this frame, which `put` copies.
        unsafe { self.issue(|lane| lane.put(to, (&raw const value).cast(), 8)) };
    }

    fn issue(&self, act: impl FnOnce(&Issuer<'_>)) {
        issue(&*self.fabric, &*self.lane, act);
    }

    fn quiet(&mut self) {
        while self.lane.outstanding() > 0 {
            self.lane.progress().expect("nothing fails");
        }
    }

    fn raw_one_way(&mut self) -> Duration {
        self.raw.set_nonblocking(true).expect("sockets can do that");
        let mut bytes = [0; 8];
        self.meet();
        let start = Instant::now();
        for _ in 0..TURNS {
            if self.me == 1 {
                spin(8, |done| self.raw.read(&mut bytes[done..]));
            }
            self.raw.write_all(&[1; 8]).expect("it is sent");
            if self.me == 0 {
                spin(8, |done| self.raw.read(&mut bytes[done..]));
            }
        }
        start.elapsed() / (2 * TURNS as u32)
    }

    fn put_one_way(&mut self) -> Duration {
        self.meet();
        let start = Instant::now();
        for _ in 0..TURNS {
            self.turns += 1;
            let turn = self.turns;
            if self.me == 0 {
                self.put_word(TURN, turn);
            }
            while self.word(TURN) < turn {
                self.fabric.progress();
            }
            if self.me == 1 {
                self.put_word(TURN, turn);
            }
        }
        start.elapsed() / (2 * TURNS as u32)
    }

    /// PE 0 does something many times while PE 1 waits inside the library.
    fn repeat(&mut self, times: u32, act: impl Fn(&mut Self)) -> Duration {
        self.meet();
        let start = Instant::now();
        if self.me == 0 {
            (0..times).for_each(|_| act(self));
        }
        let elapsed = start.elapsed() / times;
        self.meet();
        elapsed
    }

    fn fetches(&mut self, act: impl Fn(&mut Self)) -> Duration {
        self.repeat(TURNS as u32, act)
    }

    fn stream(&mut self, act: impl Fn(&mut Self)) -> Duration {
        self.repeat(STREAMS, act)
    }

    fn get_word(&mut self) {
        let mut word = 0u64;
        // SAFETY: `word` lives until `quiet` returns.
        unsafe { self.issue(|lane| lane.get_nbi((&raw mut word).cast(), self.there(WORD), 8)) };
        self.quiet();
        std::hint::black_box(word);
    }

    fn fetch_add(&mut self) {
        let mut old = 0u64;
        // SAFETY: `old` lives until `quiet` returns.
        unsafe { self.issue(|lane| lane.amo(self.there(WORD), Width::Eight, Amo::Add(1), (&raw mut old).cast())) };
        self.quiet();
    }

    /// Sixteen at a time: the wire, not the answer, is measured.
    fn put_mebibyte(&mut self) {
        let source = self.words[DATA as usize / 8..].as_ptr().cast::<u8>();
        for i in 0..16 {
            // SAFETY: the words live as long as this PE.
            unsafe { self.issue(|lane| lane.put_nbi(self.there(DATA + (i * MIB) as u64), source.add(i * MIB), MIB)) };
        }
        self.quiet();
    }

    fn get_mebibyte(&mut self) {
        let dest = self.words[DATA as usize / 8..].as_ptr().cast_mut().cast::<u8>();
        for i in 0..16 {
            // SAFETY: the words live as long as this PE.
            unsafe { self.issue(|lane| lane.get_nbi(dest.add(i * MIB), self.there(DATA + (i * MIB) as u64), MIB)) };
        }
        self.quiet();
    }

    fn raw_stream(&mut self) -> Duration {
        self.raw.set_nonblocking(true).expect("sockets can do that");
        let mut buffer = vec![1; 16 * MIB];
        self.meet();
        let start = Instant::now();
        for _ in 0..STREAMS {
            if self.me == 0 {
                spin(buffer.len(), |done| self.raw.write(&buffer[done..]));
                spin(1, |_| self.raw.read(&mut [0]));
            } else {
                spin(buffer.len(), |done| self.raw.read(&mut buffer[done..]));
                spin(1, |_| self.raw.write(&[1]));
            }
        }
        start.elapsed() / STREAMS
    }

    fn many_puts(&mut self) -> Duration {
        let count = 200_000u32;
        let elapsed = self.repeat(1, |pe| {
            let value = 1u64;
            for i in 0..u64::from(count) {
                let to = pe.there(DATA + i % 512 * 8);
                // SAFETY: `value` lives until `quiet` returns.
                unsafe { pe.issue(|lane| lane.put_nbi(to, (&raw const value).cast(), 8)) };
            }
            pe.quiet();
        });
        elapsed / count
    }

    /// PE 1 looks at nothing but its own memory meanwhile.
    fn beside_computing(&mut self, act: impl Fn(&mut Self)) -> Duration {
        self.meet();
        let stop = self.meetings;
        let mut times = Vec::new();
        if self.me == 0 {
            std::thread::sleep(Duration::from_millis(2));
            for _ in 0..200 {
                let start = Instant::now();
                act(self);
                times.push(start.elapsed());
            }
            self.put_word(STOP, stop);
        } else {
            while self.word(STOP) < stop {
                std::hint::spin_loop();
            }
        }
        self.meet();
        times.sort();
        times.get(times.len() / 2).copied().unwrap_or_default()
    }
}

/// Starts the other process and joins it.
fn first_pe() -> Pe {
    let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = door.local_addr().expect("an address").port();
    let second = Command::new(std::env::current_exe().expect("a path")).arg(port.to_string()).spawn();
    let second = second.expect("the second process starts");
    Pe { second: Some(second), ..join(0, door.accept().expect("it connects").0) }
}

fn second_pe(port: u16) -> Pe {
    join(1, TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it connects"))
}

/// Moves `n` bytes with a socket that never blocks.
fn spin(n: usize, mut step: impl FnMut(usize) -> io::Result<usize>) {
    let mut done = 0;
    while done < n {
        match step(done) {
            Ok(0) => panic!("the other process has gone"),
            Ok(now) => done += now,
            Err(e) => assert_eq!(e.kind(), io::ErrorKind::WouldBlock),
        }
    }
}

/// Exchanges addresses over the bare connection.
fn join(me: u32, mut raw: TcpStream) -> Pe {
    raw.set_nodelay(true).expect("sockets can do that");
    let settings = Settings::default();
    let fabric = (PROVIDER.open)(&Participant::new(me, 2, &settings, &[1; 48]), &Agreed::default()).expect("TCP opens");
    let words: Vec<_> =
        (0..(DATA as usize + 16 * MIB) / 8).map(|i| AtomicU64::new(if i < 512 { 0 } else { 1 })).collect();
    let segment = Segment { base: words.as_ptr().cast_mut().cast(), len: words.len() * 8 };
    fabric.register(Region::Heap, segment).expect("it registers");
    let address = fabric.address();
    raw.write_all(&[u8::try_from(address.len()).expect("addresses are short")]).expect("it is sent");
    raw.write_all(&address).expect("it is sent");
    let mut length = [0];
    raw.read_exact(&mut length).expect("an address comes");
    let mut address = vec![0; length[0].into()];
    raw.read_exact(&mut address).expect("an address comes");
    fabric.connect(Box::new(AllAddresses(vec![address; 2]))).expect("it connects");
    let lane = fabric.lane(LaneOptions::default()).expect("there are lanes");
    Pe { me, fabric, lane, words, raw, meetings: 0, turns: 0, second: None }
}
