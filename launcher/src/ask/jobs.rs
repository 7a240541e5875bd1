//! The jobs of this user on this machine, found by the names of their launchers' sockets.
//!
//! Every user sees the names of all sockets and may take any name that is free, one with arbitrary bytes included. So names are
//! read as bytes and only suggest a job: the kernel says which user listens.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::net::UnixStream;

use oxshmem_base::{Error, cut, file};
use oxshmem_flight::sockets;
use oxshmem_os::descriptors;

/// All sockets of this machine, one on a line.
const SOCKETS: &str = "/proc/net/unix";
/// Bytes of a job's command that are shown.
const COMMAND: u64 = 4096;

/// The jobs of this user on this machine, by the process numbers of their launchers.
pub fn jobs() -> Vec<u32> {
    let jobs: BTreeSet<u32> = names().into_iter().map(|(job, _)| job).collect();
    jobs.into_iter().filter(|&job| socket(job).is_ok()).collect()
}

/// A connection to the launcher of a job, which runs as this user.
pub(super) fn socket(job: u32) -> io::Result<UnixStream> {
    let user = descriptors::own_uid();
    let mut failure = io::Error::other("it does not listen");
    for (_, name) in names().into_iter().filter(|(other, _)| *other == job) {
        match connected(&name) {
            Ok((owner, Some(_), stream)) if owner == user => return Ok(stream),
            Ok((owner, None, _)) if owner == user => failure = io::Error::other("it is in another container"),
            Ok((owner, ..)) => failure = io::Error::other(format!("user {owner} has taken its name")),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// The user and the number of the process that listens under this name, and the connection to it.
fn connected(name: &[u8]) -> io::Result<(u32, Option<u32>, UnixStream)> {
    let stream = descriptors::connect_at_once(name)?;
    Ok((descriptors::peer_uid(&stream)?, descriptors::peer_pid(&stream)?, stream))
}

/// The names that launchers of this user would have, with the process numbers in them.
fn names() -> Vec<(u32, Vec<u8>)> {
    let sockets = File::open(SOCKETS).map(BufReader::new);
    named(descriptors::own_uid(), sockets.into_iter().flat_map(|sockets| sockets.split(b'\n').map_while(Result::ok)))
}

fn named(user: u32, lines: impl Iterator<Item = Vec<u8>>) -> Vec<(u32, Vec<u8>)> {
    let abstract_name = |line: &[u8]| {
        let begin = line.windows(2).position(|pair| pair == b" @")?;
        let name = &line[begin + 2..];
        Some((sockets::launcher(user, name)?, name.to_vec()))
    };
    lines.filter_map(|line| abstract_name(&line)).collect()
}

/// The job that is meant: the named one, or the only one.
pub fn meant(job: Option<u32>) -> Result<u32, Error> {
    let all = jobs();
    match (job, &all[..]) {
        (Some(job), _) if all.contains(&job) => Ok(job),
        (None, [only]) => Ok(*only),
        (_, []) => Err(Error::new("no job of yours runs on this machine")
            .because("a job is seen on the host on which its oshrun runs, by the user who has started it")
            .fix("run the command on that host, as that user; a job under another launcher prints who waits for whom with SHMEM_HANG_SECS=10")),
        (Some(job), _) => Err(Error::new(format!("{job} is no running job of yours")).fix(choices(&all))),
        (None, _) => Err(Error::new(format!("{} jobs of yours run here", all.len())).fix(choices(&all))),
    }
}

fn choices(all: &[u32]) -> String {
    let one = |job: &u32| {
        let command = File::open(format!("/proc/{job}/cmdline")).map(|words| io::Read::take(words, COMMAND));
        let words = command.and_then(|words| file::bounded(words, COMMAND)).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).trim_end_matches('\0').replace('\0', " ");
        format!("\n           {job}  {}", cut(&words))
    };
    format!("name one of these:{}", all.iter().map(one).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::named;

    #[test]
    fn fault_T1_names_of_strangers_hide_no_job() {
        let lines = [
            &b"Num       RefCount Protocol Flags    Type St Inode Path"[..],
            b"ffff0: 00000002 00000000 00010000 0001 01 21 @\xff\xfe",
            b"ffff0: 00000002 00000000 00010000 0001 01 22 /run/@oxshmem/7/8",
            b"ffff0: 00000002 00000000 00010000 0001 01 23 @oxshmem/7/41",
            b"ffff0: 00000002 00000000 00010000 0001 01 24 @oxshmem/7/42.9f",
            b"ffff0: 00000002 00000000 00010000 0001 01 25 @oxshmem/70/43",
            b"ffff0: 00000003 00000000 00000000 0001 03 26",
        ];
        let found = named(7, lines.into_iter().map(<[u8]>::to_vec));
        assert_eq!(found, [(41, b"oxshmem/7/41".to_vec()), (42, b"oxshmem/7/42.9f".to_vec())]);
    }
}
