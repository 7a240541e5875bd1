//! A PE for the launcher's tests: joins its job as the library does and then does what its first argument says.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::time::Duration;

use oxshmem_base::knobs::Settings;
use oxshmem_bootstrap::{Membership, Parcel, node};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|what| what == "babble") {
        babble();
    }
    let settings = Settings::from_env().unwrap_or_else(|error| end(&error)).0;
    let job = Membership::join(&settings).unwrap_or_else(|error| end(&error));
    let number = |i: usize| arguments.get(i).and_then(|text| text.parse::<i32>().ok());
    match arguments.first().map(String::as_str).unwrap_or("hello") {
        "hello" => {
            let node = job.node();
            let (rank, size, members) = (job.rank(), job.size(), &node.members);
            println!(
                "PE {rank} of {size}, node {} of {}, members {members:?}, ours {}",
                node.index,
                node.count,
                job.launched_by_us()
            );
        }
        "exchange" => {
            values(&job);
            (0..number(1).unwrap_or(1)).for_each(|epoch| descriptors(&job, epoch as u32));
            println!("PE {} exchanged", job.rank());
        }
        "meet" => {
            (0..2).for_each(|_| job.fence().unwrap_or_else(|error| end(&error)));
            if job.rank() == 0 {
                println!("{} PEs have met", job.size());
            }
        }
        "abort" => {
            if job.rank() == number(2).unwrap_or(0) as u32 {
                job.abort(number(1).unwrap_or(1), "this is the end");
            }
            sleep();
        }
        "fence-or-exit" => {
            if job.rank() == 1 {
                std::process::exit(0);
            }
            job.fence().unwrap_or_else(|error| end(&error));
        }
        "desert" => {
            if job.rank() == 1 {
                std::process::exit(0);
            }
            std::thread::sleep(Duration::from_millis(1500));
        }
        "sleep" => {
            println!("PE {} is pid {}", job.rank(), std::process::id());
            sleep();
        }
        other => end(&format!("what is {other}?")),
    }
    job.done();
}

/// PE 1 says something that is no PMI; the others wait for their end.
fn babble() {
    if std::env::var("PMI_RANK").is_ok_and(|rank| rank == "1") {
        let number = std::env::var("PMI_FD").expect("a launcher").parse().expect("a number");
        let mut socket = File::from(oxshmem_os::sockets::inherited(number).expect("a descriptor"));
        socket.write_all(b"hello\n").expect("a launcher that listens");
    }
    sleep();
}

/// Every PE reads every other PE's value, short and longer than one line of the wire.
fn values(job: &Membership) {
    let value = |pe: u32| vec![pe as u8; 10 + 700 * pe as usize % 5000];
    job.put(&format!("value.{}", job.rank()), &value(job.rank())).unwrap_or_else(|error| end(&error));
    job.fence().unwrap_or_else(|error| end(&error));
    for pe in 0..job.size() {
        let found = job.get(pe, &format!("value.{pe}")).unwrap_or_else(|error| end(&error));
        assert_eq!(found, value(pe));
    }
}

/// Every PE hands in a file with its number in it and reads everybody's, and the leader's common one.
fn descriptors(job: &Membership, epoch: u32) {
    let mine = Parcel { bytes: vec![job.rank() as u8; 3], fds: vec![file(&format!("{epoch}/{}", job.rank()))] };
    let common = |all: &[Parcel]| Ok(Parcel { bytes: vec![all.len() as u8], fds: vec![file("common")] });
    let gathered = node::share(job, epoch, mine, common).unwrap_or_else(|error| end(&error));
    let members = &job.node().members;
    assert_eq!(gathered.common.bytes, [members.len() as u8]);
    assert_eq!(content(&gathered.common.fds[0]), "common");
    assert_eq!(gathered.of.len(), members.len());
    for (parcel, pe) in gathered.of.iter().zip(members) {
        assert_eq!(parcel.bytes, [*pe as u8; 3]);
        assert_eq!(content(&parcel.fds[0]), format!("{epoch}/{pe}"));
    }
}

/// A file without a name.
fn file(content: &str) -> OwnedFd {
    let path = std::env::temp_dir().join(format!("oxshmem-probe-{}", std::process::id()));
    let mut file = File::options().read(true).write(true).create(true).truncate(true).open(&path).expect("a file");
    std::fs::remove_file(&path).expect("our file");
    file.write_all(content.as_bytes()).expect("room on the disk");
    file.into()
}

fn content(fd: &OwnedFd) -> String {
    // All holders share one position, so each reads through a description of its own.
    let mut file = File::open(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(fd))).expect("an open file");
    let mut text = String::new();
    file.rewind().and_then(|()| file.read_to_string(&mut text)).expect("readable");
    text
}

fn sleep() {
    std::thread::sleep(Duration::from_secs(600));
}

fn end(why: &dyn std::fmt::Display) -> ! {
    eprintln!("{why}");
    std::process::exit(99)
}
