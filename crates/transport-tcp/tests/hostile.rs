//! Connections of strangers: whatever they do, the job goes on and its results are right.

mod job;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use job::{SECRET, address_at, connected, one_of_two, pair, port};
use oxshmem_base::chance::Dice;
use oxshmem_base::knobs::Settings;
use oxshmem_os::descriptors;
use oxshmem_transport::suite::MemoryPe;

fn knock(port: u16) -> TcpStream {
    TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the port is open")
}

/// Waits until the PE has sent away `least` strangers.
fn sent_away(pe: &MemoryPe, least: u64) {
    let start = Instant::now();
    loop {
        let line = pe.fabric.describe();
        let count = line.split("; ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok()).unwrap_or(0u64);
        if count >= least {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "only {count} of {least} strangers were sent away: {line}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_flood_of_half_open_connections() {
    // A flood needs as many descriptors here as the strangers have.
    let most = descriptors::raise_limit().expect("a limit may be raised to its maximum");
    assert!(most > 2_000, "this test needs more descriptors than {most}");
    let ([mut a, b], _) = connected();
    let mut flood = Vec::new();
    for i in 0..1_000 {
        let mut stranger = knock(port(&b));
        if i % 2 == 0 {
            // Some begin like a PE and say no more. They may have been sent away already.
            let _ = stranger.write_all(b"oxs1");
        }
        flood.push(stranger);
        if i == 500 {
            // The first connection of the job is made in the middle of it.
            a.work(1, 1).expect("the job goes on");
        }
    }
    for round in 2..5 {
        a.work(1, round).expect("the job goes on");
    }
    assert_eq!(b.count(), 4);
    // All of them are gone in the end, while the strangers still hold on.
    sent_away(&b, 1_000);
    a.work(1, 5).expect("the job goes on");
    drop(flood);
}

#[test]
fn garbage_and_scanners() {
    let ([mut a, b], _) = connected();
    let mut dice = Dice::new(1);
    for round in 1..=50 {
        let mut stranger = knock(port(&b));
        let garbage: Vec<u8> = (0..400).map(|_| dice.next() as u8).collect();
        let _ = match round % 3 {
            0 => stranger.write_all(b"GET / HTTP/1.0\r\n\r\n"),
            1 => stranger.write_all(&garbage),
            _ => Ok(()),
        };
        if round % 3 == 1 {
            let mut answer = Vec::new();
            // It may also be reset: there is something unread.
            let _ = stranger.read_to_end(&mut answer);
            assert!(answer.is_empty(), "a stranger got an answer");
        }
        drop(stranger);
        a.work(1, round).expect("the job goes on");
    }
    sent_away(&b, 50);
    assert_eq!(b.count(), 50);
}

#[test]
fn a_wrong_secret() {
    let ([mut a, b], addresses) = connected();
    // It knows the job and its addresses, and says that it is PE 0.
    let hasty = Settings { peer_timeout: 1, ..Settings::default() };
    let mut secret = SECRET;
    secret[16..].fill(0);
    let mut stranger = one_of_two(0, &hasty, &secret);
    stranger.connect(addresses.clone());
    let error = stranger.work(1, 1).expect_err("it must not get in").to_string();
    assert!(error.contains("PE 1 on host ") && error.contains("127.0.0.1:"), "{error}");
    assert!(error.contains("does not belong to this job"), "{error}");
    sent_away(&b, 1);
    assert_eq!(b.count(), 0);
    // The same secret, another job.
    let mut secret = SECRET;
    secret[..16].fill(7);
    let mut neighbour = one_of_two(0, &hasty, &secret);
    neighbour.connect(addresses);
    neighbour.work(1, 1).expect_err("it must not get in");
    a.work(1, 1).expect("the job goes on");
    assert_eq!(b.count(), 1);
}

#[test]
fn what_was_recorded_proves_nothing_later() {
    let [mut a, mut b] = pair(|_| {});
    // A relay in between records all that PE 0 says to PE 1.
    let tap = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let tapped = tap.local_addr().expect("an address").port();
    let port = port(&b);
    let recorder = std::thread::spawn(move || {
        let (mut from, mut to) = (tap.accept().expect("it connects").0, knock(port));
        let (mut from_back, mut to_back) = (to.try_clone().expect("a copy"), from.try_clone().expect("a copy"));
        std::thread::spawn(move || std::io::copy(&mut from_back, &mut to_back));
        let (mut record, mut buffer) = (Vec::new(), [0; 4096]);
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            record.extend_from_slice(&buffer[..n]);
            to.write_all(&buffer[..n]).expect("it is sent");
        }
        record
    });
    a.connect(vec![a.fabric.address(), address_at(&b, tapped)]);
    b.connect(vec![a.fabric.address(), b.fabric.address()]);
    a.work(1, 1).expect("the tap only listens");
    a.lane = None;
    a.fabric.close();
    let record = recorder.join().expect("the tap ends with the connection");
    assert!(record.len() > 800_000, "the record is whole");
    // PE 1 still lives and hears it all again.
    let mut replay = knock(port);
    let _ = replay.write_all(&record);
    sent_away(&b, 1);
    assert_eq!(b.count(), 1, "a recorded atomic was executed again");
}

#[test]
fn a_port_that_takes_connections_and_never_answers() {
    let mute = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let [mut a, b] = pair(|settings| settings.peer_timeout = 1);
    let port = mute.local_addr().expect("an address").port();
    a.connect(vec![a.fabric.address(), address_at(&b, port)]);
    let error = a.work(1, 1).expect_err("nobody answers").to_string();
    assert!(error.contains("it takes the connection and does not answer"), "{error}");
    assert!(error.contains("see whether that PE is stopped"), "{error}");
}
