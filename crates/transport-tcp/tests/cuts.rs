//! The cable: everything goes through a relay that can stop, hang up, and come back or not.

#![allow(non_snake_case, reason = "tests carry the number of the fault")]

mod job;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use job::{address_at, connected, pair, port};
use oxshmem_os::{AddressRange, Pages, SharedMemory};
use oxshmem_transport::suite::MemoryPe;
use oxshmem_transport::{Region, Remote, suites};

const FORWARD: u8 = 0;
/// Takes nothing and passes nothing on: a cable that is pulled.
const STALL: u8 = 1;
/// Ends all connections and takes no new ones for longer than a moment.
const HANG_UP: u8 = 2;

/// Changes a bit of what it passes on after every [`FLIP_EVERY`] bytes.
const FLIP: u8 = 3;
const FLIP_EVERY: usize = 300_000;

/// Passes on [`SLOW_BYTES`] bytes at a time, with pauses of [`SLOW_PAUSE`]: 100 KB a second.
const SLOW: u8 = 4;
const SLOW_BYTES: usize = 2_000;
const SLOW_PAUSE: Duration = Duration::from_millis(20);

/// Changes one byte of each connection, behind the bytes that the side which has made it says before its first frame.
const GARBLE: u8 = 5;
const BEFORE_FRAMES: usize = 144;

#[derive(Clone, Default)]
struct Relay {
    mode: Arc<AtomicU8>,
    connections: Arc<AtomicU64>,
    flips: Arc<AtomicU64>,
}

impl Relay {
    /// A port behind which the other one is.
    fn before(&self, port: u16) -> u16 {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let own = listener.local_addr().expect("an address").port();
        let relay = self.clone();
        std::thread::spawn(move || {
            for from in listener.incoming() {
                let Ok(from) = from else { return };
                if relay.mode.load(Ordering::SeqCst) == HANG_UP {
                    continue;
                }
                let Ok(to) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { continue };
                relay.connections.fetch_add(1, Ordering::SeqCst);
                for (from, to) in [(&from, &to), (&to, &from)] {
                    let (from, to) = (from.try_clone().expect("a copy"), to.try_clone().expect("a copy"));
                    let relay = relay.clone();
                    std::thread::spawn(move || relay.forward(from, to));
                }
            }
        });
        own
    }

    fn forward(&self, mut from: TcpStream, mut to: TcpStream) {
        let (mut buffer, mut passed) = (vec![0; 50_000], 0);
        from.set_read_timeout(Some(Duration::from_millis(5))).expect("sockets can do that");
        loop {
            let mode = self.mode.load(Ordering::SeqCst);
            let most = if mode == SLOW { SLOW_BYTES } else { buffer.len() };
            if mode == SLOW {
                std::thread::sleep(SLOW_PAUSE);
            }
            match mode {
                STALL => std::thread::sleep(Duration::from_millis(5)),
                HANG_UP => break,
                _ => match from.read(&mut buffer[..most]) {
                    Ok(0) => break,
                    Ok(n) => {
                        if mode == FLIP && (passed + n) / FLIP_EVERY > passed / FLIP_EVERY {
                            buffer[n / 2] ^= 1 << (passed % 8);
                            self.flips.fetch_add(1, Ordering::SeqCst);
                        }
                        if mode == GARBLE && (passed..passed + n).contains(&BEFORE_FRAMES) {
                            buffer[BEFORE_FRAMES - passed] ^= 0xFF;
                        }
                        passed += n;
                        if to.write_all(&buffer[..n]).is_err() {
                            break;
                        }
                    }
                    Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
                    Err(_) => break,
                },
            }
        }
        let _ = from.shutdown(Shutdown::Both);
        let _ = to.shutdown(Shutdown::Both);
    }
}

/// A pair whose every connection goes through the relay. PE 0 has worked once.
fn relayed(timeout: u64, encrypt: bool) -> (Relay, [MemoryPe; 2]) {
    let relay = Relay::default();
    let [mut a, mut b] = pair(|settings| {
        settings.peer_timeout = timeout;
        settings.tcp_encrypt = encrypt;
    });
    let addresses = vec![address_at(&a, relay.before(port(&a))), address_at(&b, relay.before(port(&b)))];
    a.connect(addresses.clone());
    b.connect(addresses);
    a.work(1, 1).expect("the relay forwards");
    (relay, [a, b])
}

/// Works while the relay misbehaves for `outage`, several times.
fn survives(mode: u8, outage: Duration, times: u64, encrypt: bool) {
    let (relay, [mut a, b]) = relayed(20, encrypt);
    let mut round = 1;
    for _ in 0..times {
        for _ in 0..3 {
            round += 1;
            a.work(1, round).expect("the relay forwards");
        }
        // The cut comes at any moment, in the middle of something.
        let cutter = {
            let relay = relay.clone();
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(3));
                relay.mode.store(mode, Ordering::SeqCst);
                std::thread::sleep(outage);
                relay.mode.store(FORWARD, Ordering::SeqCst);
            })
        };
        while !cutter.is_finished() {
            round += 1;
            a.work(1, round).expect("the outage is short enough");
        }
    }
    assert_eq!(b.count(), round, "every atomic once");
    let connections = relay.connections.load(Ordering::SeqCst);
    assert!(mode != HANG_UP || connections > times, "only {connections} connections: nothing was cut");
}

suites! {
    a_cable_that_is_pulled_for_two_seconds: survives(STALL, Duration::from_secs(2), 1, false);
    connections_that_break_are_replaced: survives(HANG_UP, Duration::from_millis(300), 5, false);
    connections_that_break_under_seal: survives(HANG_UP, Duration::from_millis(300), 3, true);
}

/// `work` compares everything that comes back.
#[test]
fn fault_L3_a_flipped_bit_of_a_sealed_frame_is_a_new_connection_and_never_data() {
    let (relay, [mut a, b]) = relayed(20, true);
    relay.mode.store(FLIP, Ordering::SeqCst);
    for round in 2..=12 {
        a.work(1, round).expect("a new connection carries what the flipped bit has cost");
    }
    assert_eq!(b.count(), 12, "every atomic once");
    let (flips, connections) = (relay.flips.load(Ordering::SeqCst), relay.connections.load(Ordering::SeqCst));
    println!("{flips} bits were flipped, {connections} connections made");
    assert!(flips >= 5 && connections > flips / 2, "{flips} flips, {connections} connections");
}

/// One frame takes longer than a peer may be silent before its connection is replaced, which is a third of the patience.
#[test]
fn a_slow_cable_leads_to_no_silent_peer() {
    let (relay, [mut a, b]) = relayed(6, false);
    relay.mode.store(SLOW, Ordering::SeqCst);
    let source = vec![7_u64; 50_000];
    let to = Remote { pe: 1, region: Region::Heap, offset: 8 };
    // SAFETY: the source lives until `quiet` returns.
    unsafe { a.issue(|lane| lane.put_nbi(to, source.as_ptr().cast(), source.len() * 8)) };
    a.quiet().expect("what comes slowly comes");
    assert!(b.words[1..=source.len()].iter().all(|word| word.load(Ordering::Acquire) == 7));
    let connections = relay.connections.load(Ordering::SeqCst);
    assert_eq!(connections, 1, "a peer that receives was taken for a silent one");
}

/// Versions of the library that do not understand each other do that, and a program that has written into memory of the library. The PEs made
/// new connections without end.
#[test]
fn a_peer_that_sends_garbage_over_each_connection_is_lost() {
    let (relay, [a, b]) = relayed(20, false);
    relay.mode.store(HANG_UP, Ordering::SeqCst);
    // All that the relay passes on later is of new connections.
    std::thread::sleep(Duration::from_millis(100));
    let value = 7_u64;
    let to = Remote { pe: 1, region: Region::Heap, offset: 8 };
    // SAFETY: the source is copied.
    unsafe { a.issue(|lane| lane.put(to, (&raw const value).cast(), 8)) };
    relay.mode.store(GARBLE, Ordering::SeqCst);
    let start = Instant::now();
    let error = loop {
        // The one that gives the other up takes none of its connections any more.
        if let Some(error) = [&a, &b].into_iter().find_map(|pe| pe.fabric.lost()) {
            break error.to_string();
        }
        assert!(start.elapsed() < Duration::from_secs(60), "they make connections without end");
        std::thread::sleep(Duration::from_millis(10));
    };
    assert!(error.contains("sends by TCP cannot be read") && error.contains("the peer sent garbage"), "{error}");
    assert!(relay.connections.load(Ordering::SeqCst) > 8);
}

#[test]
fn a_cable_that_stays_pulled() {
    let (relay, [mut a, _b]) = relayed(3, false);
    relay.mode.store(STALL, Ordering::SeqCst);
    let start = Instant::now();
    let error = a.work(1, 2).expect_err("nobody answers any more").to_string();
    assert!(start.elapsed() < Duration::from_secs(30), "it hung");
    assert!(error.contains("PE 1 at 127.0.0.1:") && error.contains("nothing has been heard"), "{error}");
    // The lane keeps its error, nothing is left outstanding, a new lane is told the same.
    assert_eq!(a.lane().outstanding(), 0);
    assert!(a.lane().progress().is_err());
    a.lane = Some(a.fabric.lane(Default::default()).expect("there are lanes"));
    a.work(1, 3).expect_err("PE 1 is still lost");
}

/// Every new connection would break at the same byte.
#[test]
fn memory_that_is_not_there_ends_the_lane_and_is_no_cut() {
    const WHOLE: usize = 1 << 20;
    const THERE: usize = WHOLE - (128 << 10);
    let memory = SharedMemory::create(c"half", WHOLE as u64, Pages::Small).expect("memory");
    let mut array = AddressRange::reserve(WHOLE, 1).expect("addresses");
    array.map(0, &memory, 0, THERE).expect("a mapping");
    let place = Remote { pe: 1, region: Region::Heap, offset: 8 };
    for is_put in [true, false] {
        let ([mut a, _b], _) = connected();
        a.work(1, 1).expect("both live");
        // SAFETY: the first bytes are there. The kernel alone reads and writes the others, and refuses.
        unsafe {
            a.issue(|lane| {
                if is_put { lane.put_nbi(place, array.base(), WHOLE) } else { lane.get_nbi(array.base(), place, WHOLE) }
            });
        }
        let error = a.quiet().expect_err("there is no such memory").to_string();
        assert!(error.contains("PE 1 uses memory that is not there") && error.contains("os error 14"), "{error}");
        assert_eq!(a.lane().outstanding(), 0);
    }
}
