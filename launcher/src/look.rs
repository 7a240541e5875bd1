//! Looking at the PEs of this host from outside, through `/proc`: they need not help, so that one which is stopped or computes is
//! seen as well. A launcher and its agents may, because they are the ancestors of their PEs.

mod maps;
mod symbols;

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

use oxshmem_flight::index::{self, WindowLayout};
use oxshmem_flight::waits::{self, RECORDS_BYTES, Subject, WaitEntry};
use oxshmem_flight::{Activity, State, Witness, calls};
use oxshmem_os::kernel_text;
use oxshmem_os::signals::Process;

use maps::Maps;
use symbols::Symbols;

/// The number of places of the program that are told of a wait.
const SITES: usize = 3;

/// The states of these PEs, each with the number of the process that the launcher has started for it, and with this
/// many of its last calls.
pub(crate) fn witnesses(pes: &[(u32, u32)], calls: usize) -> Vec<Witness> {
    let mut symbols = Symbols::default();
    pes.iter().map(|&(pe, pid)| witness(pe, pid, calls, &mut symbols)).collect()
}

fn witness(pe: u32, started: u32, calls: usize, symbols: &mut Symbols) -> Witness {
    let family = family(started);
    let found = family.iter().find_map(|&pid| {
        let thread = live_thread(pid);
        Maps::of(thread).filter(Maps::is_pe).map(|maps| (pid, thread, maps))
    });
    let Some((pid, thread, maps)) = found else {
        let activity = activity(started);
        return Witness { activity, process: Some(started), ..Witness::new(pe, State::Starting, Vec::new()) };
    };
    let known =
        Witness { activity: activity(pid), process: Some(pid), ..Witness::new(pe, State::Starting, Vec::new()) };
    match read(known.clone(), thread, &maps, calls, symbols) {
        Ok(witness) => witness,
        // It may have ended meanwhile.
        Err(_) if known.activity == Activity::Ended => known,
        Err(error) => Witness { activity: Activity::Hidden(format!("/proc/{pid}/mem: {error}")), ..known },
    }
}

/// Reads the control window of a PE, by the number of one of its threads.
fn read(mut known: Witness, thread: u32, maps: &Maps, calls: usize, symbols: &mut Symbols) -> std::io::Result<Witness> {
    let memory = File::open(format!("/proc/{thread}/mem"))?;
    let Some((window, layout)) = window(&memory, maps, known.pe)? else { return Ok(known) };
    let mut state = [0; 4];
    memory.read_exact_at(&mut state, window + u64::from(layout.state))?;
    known.state = State::of(u32::from_ne_bytes(state));
    let now = oxshmem_os::time::fine();
    known.waits = waits::decode(&words(&memory, window + u64::from(layout.waits), RECORDS_BYTES)?, Some(now));
    for wait in &mut known.waits {
        refresh(wait, &memory);
        // The frames of an interpreter tell nothing of the program that it runs.
        if wait.sites.is_empty() {
            wait.sites = symbols.sites(&wait.frames, maps, SITES);
        }
        // Other waits have no variable of the program at their address.
        if matches!(wait.subject, Subject::Variables { .. } | Subject::Lock { .. }) {
            wait.object = symbols.object(wait.address, maps);
        }
    }
    let ring = |at: u64| words(&memory, at, calls::BYTES);
    let name = |address: u64, length: usize| {
        let mut name = vec![0; length];
        memory.read_exact_at(&mut name, address).ok()?;
        String::from_utf8(name).ok()
    };
    let made = calls::decode_all(window + u64::from(layout.calls), ring, calls, now, name)?;
    (known.calls, known.made, known.bytes) = (made.last, made.made, made.bytes);
    Ok(known)
}

/// The window of a PE and its layout; `None`: it is not that far.
fn window(memory: &File, maps: &Maps, pe: u32) -> std::io::Result<Option<(u64, WindowLayout)>> {
    let Some((base, length)) = maps.control() else { return Ok(None) };
    let layout = |at: u64| Ok::<_, std::io::Error>(WindowLayout::of_words(&words(memory, at, index::BYTES)?));
    let Some(first) = layout(base)? else {
        let is_other = WindowLayout::is_of_another_version(&words(memory, base, index::BYTES)?);
        let other = || std::io::Error::other("the program has another version of oxshmem than its launcher");
        return if is_other { Err(other()) } else { Ok(None) };
    };
    let apart = 1_u64 << first.shift;
    let count = length.div_ceil(apart);
    let second = if count > 1 { layout(base + apart)? } else { None };
    let likely = likely_window(first.pe, second.map(|second| second.pe), pe);
    for number in std::iter::once(likely).filter(|number| *number < count).chain(0..count) {
        let window = base + number * apart;
        if let Some(layout) = layout(window)?
            && layout.pe == pe
        {
            return Ok(Some((window, layout)));
        }
    }
    Ok(None)
}

/// The number of the window that PE `pe` has where all PEs of the node are as far apart as the first two. A look at each window would
/// take a look for each pair of PEs, and the kernel gives a process two pages of page tables for each window that is looked at in it.
fn likely_window(first: u32, second: Option<u32>, pe: u32) -> u64 {
    let apart = second.map_or(1, |second| second.wrapping_sub(first)).max(1);
    u64::from(pe.wrapping_sub(first) / apart)
}

/// The present value of a wait's variable.
fn refresh(wait: &mut WaitEntry, memory: &File) {
    if let Subject::Variables { wanted, seen, .. } = &mut wait.subject {
        let mut value = [0; 8];
        let bytes = usize::from(wanted.bytes).min(8);
        if bytes > 0 && memory.read_exact_at(&mut value[..bytes], wait.address).is_ok() {
            *seen = u64::from_le_bytes(value);
        }
    }
}

fn words(memory: &File, at: u64, bytes: usize) -> std::io::Result<Vec<u64>> {
    let mut raw = vec![0; bytes];
    memory.read_exact_at(&mut raw, at)?;
    Ok(raw.chunks_exact(8).map(|word| u64::from_ne_bytes(word.try_into().expect("chunks of eight"))).collect())
}

/// A process and its descendants.
fn family(pid: u32) -> Vec<u32> {
    let mut family = vec![pid];
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        let threads = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
        for thread in threads {
            let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            family.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
        next += 1;
    }
    family
}

/// The threads of a process that have not ended, and their states as the kernel lists them. Its first thread may end before others.
fn threads(pid: u32) -> Vec<(u32, char)> {
    let letter = |path: std::path::PathBuf| {
        let stat = kernel_text::read(path.join("stat")).ok()?;
        stat.rsplit_once(')')?.1.trim_start().chars().next()
    };
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let thread = |entry: fs::DirEntry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, letter(entry.path())?));
    threads.filter_map(thread).filter(|(_, letter)| !matches!(letter, 'Z' | 'X')).collect()
}

/// A thread of a process by which its memory can be reached: that of a thread that has ended cannot.
fn live_thread(pid: u32) -> u32 {
    threads(pid).first().map_or(pid, |&(thread, _)| thread)
}

/// The state of a process: it computes if any of its threads uses a processor.
fn activity(pid: u32) -> Activity {
    let letters: Vec<char> = threads(pid).into_iter().map(|(_, letter)| letter).collect();
    match &letters[..] {
        [] => Activity::Ended,
        _ if letters.iter().any(|letter| matches!(letter, 'T' | 't')) => Activity::Stopped,
        _ if letters.contains(&'R') => Activity::Computes,
        _ => Activity::Sleeps,
    }
}

/// Sends a signal to those of a process and its descendants that handle it.
pub(crate) fn signal_handlers(started: u32, signal: i32) {
    let handles = |pid: &u32| {
        let status = kernel_text::read(format!("/proc/{pid}/status")).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
    };
    for pid in family(started).into_iter().filter(handles) {
        // One that has ended needs no signal.
        let _ = Process::hold(pid).and_then(|process| process.signal(signal));
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use oxshmem_test_folder::TestFolder;

    use super::*;
    use crate::pe::is_dying;
    use crate::program::resolve;

    #[test]
    fn the_window_of_a_pe_is_found_by_its_number_where_pes_are_placed_in_blocks_or_in_turn() {
        let likely = [(0, Some(1), 1023), (512, Some(513), 512), (3, Some(7), 43), (9, None, 9), (9, Some(9), 12)];
        assert_eq!(likely.map(|(first, second, pe)| likely_window(first, second, pe)), [1023, 0, 10, 0, 3]);
    }

    #[test]
    fn a_process_that_is_no_pe_is_told_by_what_the_system_knows() {
        let own = std::process::id();
        let witness = &witnesses(&[(3, own)], 4)[0];
        assert_eq!((witness.pe, witness.state), (3, State::Starting));
        assert!(matches!(witness.activity, Activity::Computes | Activity::Sleeps));
        assert!(family(own).contains(&own));
        // No process has this number.
        assert_eq!(witnesses(&[(0, u32::MAX / 2)], 4)[0].activity, Activity::Ended);
    }

    #[test]
    fn a_process_whose_name_is_no_text_is_seen_until_it_ends() {
        let folder = TestFolder::new("look");
        let program = folder.join(OsStr::from_bytes(b"gr\xc3"));
        std::os::unix::fs::symlink(resolve("sleep".as_ref(), None, None).unwrap(), &program).unwrap();
        let mut child = Command::new(&program).arg0("sleep").arg("20").spawn().unwrap();
        assert_ne!(activity(child.id()), Activity::Ended);
        // A child closes its descriptors, and so ends the spawn, before the kernel maps the executable.
        let is_mapped = || Maps::of(child.id()).is_some_and(|maps| maps.executable().is_some());
        while !is_mapped() {
            assert_ne!(activity(child.id()), Activity::Ended, "without an executable among its maps");
        }
        child.kill().unwrap();
        while activity(child.id()) != Activity::Ended {}
        assert!(is_dying(child.id()));
        child.wait().unwrap();
    }
}
