use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Barrier};

use oxshmem_test_folder::TestFolder;
use parking_lot::Mutex;

use super::*;
use crate::Conversation;
use crate::pmi1::{PROCESS_MAPPING, Reply, Request, WireLimits};

/// A server as foreign as PMI-1 allows: short values, and perhaps no process mapping and no version 1.
struct Foreign {
    name: &'static str,
    values: Mutex<BTreeMap<String, String>>,
    barrier: Barrier,
    size: u32,
    only_two: bool,
    /// The longest value it takes. PMI-2 has no way to grant less than all.
    longest: usize,
}

impl Foreign {
    fn new(size: u32, only_two: bool, longest: usize) -> Arc<Foreign> {
        Foreign::named("foreign", size, only_two, longest)
    }

    fn named(name: &'static str, size: u32, only_two: bool, longest: usize) -> Arc<Foreign> {
        let barrier = Barrier::new(size as usize);
        Arc::new(Foreign { name, values: Mutex::default(), barrier, size, only_two, longest })
    }

    fn serve(&self, mut stream: impl Read + Write) {
        let (mut conversation, mut bytes) = (Conversation::default(), [0; 100]);
        while let Ok(length @ 1..) = stream.read(&mut bytes) {
            if self.only_two && bytes.starts_with(b"cmd=init pmi_version=1") {
                stream.write_all(b"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1\n").unwrap();
                continue;
            }
            conversation.feed(&bytes[..length]);
            while let Some(request) = conversation.next_request() {
                let reply = self.reply(request.unwrap());
                stream.write_all(&conversation.encode(&reply)).unwrap();
            }
        }
    }

    fn reply(&self, request: Request) -> Reply {
        match request {
            Request::Init { .. } => Reply::Init { version: 1, subversion: 1, accepted: true },
            Request::Maxes => Reply::Maxes(WireLimits { space: 64, key: 64, value: self.longest }),
            Request::SpaceName => Reply::SpaceName(self.name.into()),
            Request::UniverseSize => Reply::UniverseSize(self.size as i32),
            Request::Put { key, value, .. } => {
                assert!(value.len() < self.longest, "the client keeps to what it was granted");
                assert_eq!(self.values.lock().insert(key, value), None, "no key is put twice");
                Reply::Put(Ok(()))
            }
            Request::Get { key, .. } => Reply::Get(self.values.lock().get(&key).cloned().ok_or("not_found".into())),
            Request::BarrierIn => {
                self.barrier.wait();
                Reply::BarrierOut
            }
            Request::Finalize => Reply::Finalized,
            other => Reply::Unsupported(format!("{other:?}")),
        }
    }
}

fn environment(fd: i32, rank: u32, size: u32) -> impl Fn(&str) -> Option<String> {
    move |name| match name {
        "PMI_FD" => Some(fd.to_string()),
        "PMI_RANK" => Some(rank.to_string()),
        "PMI_SIZE" => Some(size.to_string()),
        _ => None,
    }
}

fn joined(variable: impl Fn(&str) -> Option<String>, pmi: &str) -> Result<Membership, Error> {
    let settings = Settings { pmi: pmi.into(), ..Settings::default() };
    find::manager(&variable, &settings).and_then(Membership::of)
}

/// The steps of every PE in these tests: long values in both directions, and a value that is not there.
fn exchange(job: &Membership, size: u32) {
    let next = (job.rank() + 1) % size;
    job.put(&format!("long.{}", job.rank()), &vec![job.rank() as u8; 1000]).unwrap();
    job.fence().unwrap();
    assert_eq!(job.get(next, &format!("long.{next}")).unwrap(), vec![next as u8; 1000]);
    let missing = job.get(0, "nothing").unwrap_err().to_string();
    assert!(missing.contains("PE 0 has not published nothing") && missing.contains("not"), "{missing}");
    job.done();
}

fn meet(size: u32, only_two: bool, pmi: &'static str, protocol: &'static str) {
    let server = Foreign::new(size, only_two, if protocol == "PMI-1" { 80 } else { 1024 });
    let clients = (0..size).map(|rank| {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let server = Arc::clone(&server);
        std::thread::spawn(move || server.serve(theirs));
        std::thread::spawn(move || {
            let job = joined(environment(ours.as_raw_fd(), rank, size), pmi).unwrap();
            let everyone = OwnNode { index: 0, count: 1, members: (0..size).collect(), my_index: rank as usize };
            assert_eq!((job.rank(), job.size(), job.node()), (rank, size, &everyone));
            assert_eq!(job.protocol(), protocol);
            assert!(!job.launched_by_us());
            exchange(&job, size);
        })
    });
    clients.collect::<Vec<_>>().into_iter().for_each(|client| client.join().unwrap());
}

#[test]
fn init_under_a_foreign_server_without_a_mapping() {
    meet(3, false, "auto", "PMI-1");
    meet(3, false, "pmi2", "PMI-2");
}

#[test]
fn init_under_a_server_that_speaks_version_2_alone() {
    meet(2, true, "auto", "PMI-2");
    let (ours, theirs) = UnixStream::pair().unwrap();
    std::thread::spawn(move || Foreign::new(1, true, 1024).serve(theirs));
    let error = joined(environment(ours.as_raw_fd(), 0, 2), "pmi1").unwrap_err().to_string();
    assert!(error.contains("does not answer as a PMI server"), "{error}");
}

/// A launcher that is started inside a job of `oshrun` hands on its variables, and keeps other values than `oshrun` does.
#[test]
fn oshrun_is_known_by_the_name_of_its_jobs() {
    for (name, pmi, is_ours) in
        [("oxshmem_17", "pmi1", true), ("oxshmem_17", "pmi2", true), ("kvs_17_0", "pmi1", false)]
    {
        let (ours, theirs) = UnixStream::pair().unwrap();
        std::thread::spawn(move || Foreign::named(name, 1, false, 1024).serve(theirs));
        let job = joined(environment(ours.as_raw_fd(), 0, 1), pmi).unwrap();
        assert_eq!(job.launched_by_us(), is_ours, "{name} by {pmi}");
        // The server answers every command, and takes no notice of this one, so its next answer comes too late.
        job.leaves();
        assert_eq!(job.put("key", b"value").is_err(), is_ours && pmi == "pmi1", "{name} by {pmi}");
    }
}

#[test]
fn init_at_a_port() {
    at_a_port(TcpListener::bind("127.0.0.1:0").unwrap(), |address| address.to_string());
    match TcpListener::bind("[::1]:0") {
        Ok(listener) => {
            at_a_port(listener.try_clone().unwrap(), |address| address.to_string());
            at_a_port(listener, |address| format!("{}:{}", address.ip(), address.port()));
        }
        Err(error) => println!("SKIPPED a port of an IPv6 address: {error}"),
    }
}

/// A PE joins at this port, which `named` writes as a launcher does.
fn at_a_port(listener: TcpListener, named: impl Fn(SocketAddr) -> String) {
    let port = named(listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).unwrap();
        assert_eq!(line, "cmd=initack pmiid=7\n");
        stream.write_all(b"cmd=initack rc=0\ncmd=set size=1\ncmd=set rank=0\ncmd=set debug=0\n").unwrap();
        let server = Foreign::new(1, false, 80);
        // A server's own values may be longer than those of clients.
        server.values.lock().insert(PROCESS_MAPPING.into(), format!("(vector{})", ",(0,1,1)".repeat(1000)));
        server.serve(stream);
    });
    let variable = |name: &str| match name {
        "PMI_PORT" => Some(port.clone()),
        "PMI_ID" => Some("7".into()),
        _ => None,
    };
    let job = joined(variable, "auto").unwrap();
    assert_eq!((job.rank(), job.size(), job.protocol().as_str()), (0, 1, "PMI-1"));
    exchange(&job, 1);
}

#[test]
fn init_with_a_descriptor_that_is_no_server() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    std::thread::spawn(move || {
        let mut line = String::new();
        BufReader::new(&theirs).read_line(&mut line).unwrap();
        (&theirs).write_all(b"HTTP/1.1 400 Bad Request\n").unwrap();
    });
    let error = joined(environment(ours.as_raw_fd(), 0, 2), "auto").unwrap_err().to_string();
    assert!(error.contains("one of 2 tasks") && error.contains("does not answer as a PMI server"), "{error}");
    let singleton = Settings { singleton: true, ..Settings::default() };
    let alone = find::manager(&environment(ours.as_raw_fd(), 0, 2), &singleton).unwrap();
    assert_eq!((alone.rank(), alone.size()), (0, 1), "SHMEM_SINGLETON is obeyed");
}

/// Two processes of a PE ask the launcher by one socket, and each takes answers to the other.
#[test]
fn an_answer_to_another_process_of_the_pe_says_that_there_is_one() {
    let said = |answers: &'static [u8]| {
        let (ours, theirs) = UnixStream::pair().unwrap();
        (&theirs).write_all(answers).unwrap();
        let error = joined(environment(ours.as_raw_fd(), 0, 2), "auto").unwrap_err().to_string();
        // It asks for no other version, which the server would take from the other process, too.
        let mut asked = vec![0; 4096];
        theirs.set_nonblocking(true).unwrap();
        let length = (&theirs).read(&mut asked).unwrap();
        assert!(!String::from_utf8_lossy(&asked[..length]).contains("pmi_version=2"), "{error}");
        error
    };
    const INIT: &str = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";
    for answers in ["cmd=my_kvsname kvsname=oxshmem_1\n".to_string(), INIT.repeat(2)] {
        let error = said(answers.leak().as_bytes());
        assert!(
            error.contains("perhaps another process of this PE") && error.contains("one after the other"),
            "{error}"
        );
    }
}

#[test]
fn init_with_a_descriptor_that_is_no_socket_leaves_the_file_alone() {
    let folder = TestFolder::new("no-socket");
    let path = folder.join("file");
    let file = std::fs::File::create(&path).unwrap();
    let error = joined(environment(file.as_raw_fd(), 0, 2), "auto").unwrap_err().to_string();
    let written = std::fs::read(&path).unwrap();
    assert!(error.contains("not a socket"), "{error}");
    assert_eq!(written, b"");
}

#[test]
fn who_names_a_protocol_gets_it_or_an_error() {
    let nothing = |_: &str| None;
    for pmi in ["pmi1", "pmi2", "pmix"] {
        let error = joined(nothing, pmi).unwrap_err().to_string();
        assert!(error.contains(&format!("SHMEM_PMI={pmi} found no server")) && error.contains("is not set"), "{error}");
    }
}

#[test]
fn a_protocol_that_is_named_is_named_in_the_remedy() {
    // As oshrun starts a task: it speaks PMI-1.
    let variable = |name: &str| match name {
        "PMI_FD" | "PMI_RANK" => Some("0".to_owned()),
        "PMI_SIZE" => Some("2".to_owned()),
        _ => None,
    };
    let error = joined(variable, "pmix").unwrap_err().to_string();
    assert!(
        error.contains("SHMEM_PMI=pmix leaves other protocols out") && error.contains("unset SHMEM_PMI"),
        "{error}"
    );
}

#[test]
fn values_of_one_pe_alone() {
    let job = joined(|_| None, "auto").unwrap();
    job.put("key", b"value").unwrap();
    job.fence().unwrap();
    assert_eq!(job.get(0, "key").unwrap(), b"value");
    assert!(job.get(0, "other").unwrap_err().to_string().contains("PE 0 has not published other"));
}

#[test]
fn output_is_written_before_the_launcher_kills_who_aborts() {
    if oxshmem_test_folder::is_again() {
        print!("the last words");
        Membership::placed(0, &[0]).abort(3, "");
    }
    let ended = oxshmem_test_folder::again(&[]).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.code().is_none() && said.contains("the last words"), "{}: {said}", ended.status);
}
