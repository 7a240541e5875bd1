//! The provider beside a bare TCP connection, in one run between two processes of this host.
//!
//! Every round measures bare and provided in turn, so that what else runs on the machine disturbs both; the best round
//! counts. Run it with `cargo run --release -p oxshmem-transport-tcp --example beside_sockets`.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use oxshmem_transport::suite::beside::{MeasuringPe, OWN};
use oxshmem_transport::suite::processes::OtherProcess;
use oxshmem_transport::{Amo, Width};
use oxshmem_transport_tcp::PROVIDER;

const MIB: usize = 1 << 20;
const ROUNDS: usize = 15;
const TURNS: u32 = 1_000;
/// Streams of 16 MiB in a round.
const STREAMS: u32 = 3;

fn main() {
    let is_second = std::env::args().nth(1).is_some();
    let mut other = if is_second { OtherProcess::starter() } else { OtherProcess::start(&["second"]) };
    let pe = MeasuringPe::open(&PROVIDER, "", DATA + 16 * MIB, &mut other);
    let mut pair = Pair { raw: connection(pe.me, &mut other), pe, stops: 0 };
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
            pair.raw_one_way(),
            pair.pe.one_way_provided(TURNS, || {}),
            pair.pe.repeat(TURNS, get_word, || {}),
            pair.pe.repeat(TURNS, fetch_add, || {}),
            pair.raw_stream(),
            pair.pe.repeat(STREAMS, put_mebibytes, || {}),
            pair.pe.repeat(STREAMS, get_mebibytes, || {}),
            pair.pe.repeat(1, many_puts, || {}) / MANY,
            pair.beside_computing(get_word),
            pair.beside_computing(fetch_add),
        ];
        best.iter_mut().zip(round).for_each(|(best, now)| *best = now.min(*best));
    }
    if pair.pe.me == 0 {
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
    pair.pe.close();
    other.end();
}

/// A PE with a bare connection to the other one.
struct Pair {
    pe: MeasuringPe,
    raw: TcpStream,
    /// How often PE 0 has told PE 1 to stop computing, or PE 1 has been told.
    stops: u64,
}

/// Words of each PE: one to fetch, the end of computing; then data.
const WORD: usize = OWN;
const STOP: usize = OWN + 8;
const DATA: usize = 4096;

impl Pair {
    fn raw_one_way(&mut self) -> Duration {
        self.raw.set_nonblocking(true).expect("sockets can do that");
        let mut bytes = [0; 8];
        self.pe.meet(|| {});
        let start = Instant::now();
        for _ in 0..TURNS {
            if self.pe.me == 1 {
                spin(8, |done| self.raw.read(&mut bytes[done..]));
            }
            self.raw.write_all(&[1; 8]).expect("it is sent");
            if self.pe.me == 0 {
                spin(8, |done| self.raw.read(&mut bytes[done..]));
            }
        }
        start.elapsed() / (2 * TURNS)
    }

    fn raw_stream(&mut self) -> Duration {
        self.raw.set_nonblocking(true).expect("sockets can do that");
        let mut buffer = vec![1; 16 * MIB];
        self.pe.meet(|| {});
        let start = Instant::now();
        for _ in 0..STREAMS {
            if self.pe.me == 0 {
                spin(buffer.len(), |done| self.raw.write(&buffer[done..]));
                spin(1, |_| self.raw.read(&mut [0]));
            } else {
                spin(buffer.len(), |done| self.raw.read(&mut buffer[done..]));
                spin(1, |_| self.raw.write(&[1]));
            }
        }
        start.elapsed() / STREAMS
    }

    /// PE 1 looks at nothing but its own memory meanwhile.
    fn beside_computing(&mut self, act: fn(&MeasuringPe)) -> Duration {
        self.pe.meet(|| {});
        self.stops += 1;
        let pe = &self.pe;
        let mut times = Vec::new();
        if pe.me == 0 {
            std::thread::sleep(Duration::from_millis(2));
            for _ in 0..200 {
                let start = Instant::now();
                act(pe);
                times.push(start.elapsed());
            }
            pe.put(STOP, self.stops);
        } else {
            while pe.word(STOP) < self.stops {
                std::hint::spin_loop();
            }
        }
        self.pe.meet(|| {});
        times.sort();
        times.get(times.len() / 2).copied().unwrap_or_default()
    }
}

fn get_word(pe: &MeasuringPe) {
    let mut word = 0u64;
    // SAFETY: `word` lives until `quiet` returns.
    pe.issue(|lane| unsafe { lane.get_nbi((&raw mut word).cast(), pe.there(WORD), 8) });
    pe.quiet();
    std::hint::black_box(word);
}

fn fetch_add(pe: &MeasuringPe) {
    let mut old = 0u64;
    // SAFETY: `old` lives until `quiet` returns.
    pe.issue(|lane| unsafe { lane.amo(pe.there(WORD), Width::Eight, Amo::Add(1), (&raw mut old).cast()) });
    pe.quiet();
}

/// Sixteen at a time: the wire, not the answer, is measured.
fn put_mebibytes(pe: &MeasuringPe) {
    let source = pe.words[DATA / 8..].as_ptr().cast::<u8>();
    for i in 0..16 {
        // SAFETY: the words live as long as this PE.
        pe.issue(|lane| unsafe { lane.put_nbi(pe.there(DATA + i * MIB), source.add(i * MIB), MIB) });
    }
    pe.quiet();
}

fn get_mebibytes(pe: &MeasuringPe) {
    let dest = pe.words[DATA / 8..].as_ptr().cast_mut().cast::<u8>();
    for i in 0..16 {
        // SAFETY: the words live as long as this PE.
        pe.issue(|lane| unsafe { lane.get_nbi(dest.add(i * MIB), pe.there(DATA + i * MIB), MIB) });
    }
    pe.quiet();
}

/// Puts of a word that are under way at once.
const MANY: u32 = 200_000;

fn many_puts(pe: &MeasuringPe) {
    let value = 1u64;
    for i in 0..MANY as usize {
        let to = pe.there(DATA + i % 512 * 8);
        // SAFETY: `value` lives until `quiet` returns.
        pe.issue(|lane| unsafe { lane.put_nbi(to, (&raw const value).cast(), 8) });
    }
    pe.quiet();
}

/// The bare connection: PE 0 tells the other one its port.
fn connection(me: u32, other: &mut OtherProcess) -> TcpStream {
    let raw = if me == 0 {
        let door = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        other.swap(&door.local_addr().expect("an address").port().to_le_bytes());
        door.accept().expect("it connects").0
    } else {
        let port = other.swap(&[]);
        let port = u16::from_le_bytes(port[..].try_into().expect("two bytes"));
        TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("it connects")
    };
    raw.set_nodelay(true).expect("sockets can do that");
    raw
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
