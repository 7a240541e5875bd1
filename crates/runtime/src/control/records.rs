//! What the threads of a PE wait for: the hang report of every PE of the node reads it.

use core::sync::atomic::{AtomicU64 as Word, Ordering::Relaxed};

/// The waits of one PE's threads that have reached the sleeping rung; the hang report reads them.
#[repr(C)]
pub(crate) struct Records([Record; 8]);

#[repr(C)]
struct Record {
    /// Monotonic nanoseconds, never zero, since when; zero: free.
    since: Word,
    /// Address looked at.
    address: Word,
    /// World number of the PE that must act, or `u64::MAX`.
    peer: Word,
    /// Name of the call, zero padded.
    call: [Word; 4],
}

impl Records {
    /// Writes a record; `None` if more threads wait than there are records.
    pub(crate) fn open(&self, call: &str, address: usize, peer: Option<u32>) -> Option<usize> {
        let now = monotonic_nanoseconds();
        let free = |record: &Record| record.since.compare_exchange(0, now, Relaxed, Relaxed).is_ok();
        let index = self.0.iter().position(free)?;
        let record = &self.0[index];
        record.address.store(address as u64, Relaxed);
        record.peer.store(peer.map_or(u64::MAX, u64::from), Relaxed);
        let mut name = [0_u8; 32];
        let n = call.len().min(31);
        name[..n].copy_from_slice(&call.as_bytes()[..n]);
        for (word, bytes) in record.call.iter().zip(name.chunks_exact(8)) {
            word.store(u64::from_ne_bytes(bytes.try_into().expect("chunks of eight")), Relaxed);
        }
        Some(index)
    }

    /// Frees a record.
    pub(crate) fn close(&self, index: Option<usize>) {
        if let Some(index) = index {
            self.0[index].since.store(0, Relaxed);
        }
    }

    /// The oldest wait, in words.
    pub(crate) fn oldest(&self) -> Option<String> {
        let record = self.0.iter().filter(|r| r.since.load(Relaxed) != 0).min_by_key(|r| r.since.load(Relaxed))?;
        let name: Vec<u8> = record
            .call
            .iter()
            .flat_map(|word| word.load(Relaxed).to_ne_bytes())
            .take_while(|byte| *byte != 0)
            .collect();
        let seconds = monotonic_nanoseconds().saturating_sub(record.since.load(Relaxed)) / 1_000_000_000;
        let peer = record.peer.load(Relaxed);
        let whom = if peer == u64::MAX { String::new() } else { format!(" for PE {peer}") };
        let (name, address) = (String::from_utf8_lossy(&name), record.address.load(Relaxed));
        Some(format!("{name} at {address:#x}{whom}, for {seconds} s"))
    }
}

/// Nanoseconds of the clock that all processes of the machine share; never zero.
fn monotonic_nanoseconds() -> u64 {
    oxshmem_os::time::fine().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records() -> Records {
        let word = || Word::new(0);
        Records(core::array::from_fn(|_| Record {
            since: word(),
            address: word(),
            peer: word(),
            call: [0; 4].map(Word::new),
        }))
    }

    #[test]
    fn the_oldest_wait_is_told_with_its_peer() {
        let records = records();
        assert_eq!(records.oldest(), None);
        let first = records.open("shmem_set_lock", 0x40, Some(7));
        let second = records.open("shmem_barrier_all", 0x80, None);
        assert_eq!(records.oldest().as_deref(), Some("shmem_set_lock at 0x40 for PE 7, for 0 s"));
        records.close(first);
        assert_eq!(records.oldest().as_deref(), Some("shmem_barrier_all at 0x80, for 0 s"));
        records.close(second);
        assert_eq!(records.oldest(), None);
    }

    #[test]
    fn a_long_name_is_cut_and_leaves_nothing_to_the_next() {
        let records = records();
        let long = "shmem_ctx_ulonglong_wait_until_some_vector";
        let index = records.open(long, 0, None);
        assert_eq!(records.oldest(), Some(format!("{} at 0x0, for 0 s", &long[..31])));
        records.close(index);
        assert_eq!(records.open("shmem_quiet", 0, None), index);
        assert_eq!(records.oldest().as_deref(), Some("shmem_quiet at 0x0, for 0 s"));
    }

    #[test]
    fn more_waits_than_records_are_not_written_down() {
        let records = records();
        let open = || records.open("shmem_wait_until", 0, None);
        let all: Vec<_> = (0..8).map(|_| open()).collect();
        assert_eq!(all, (0..8).map(Some).collect::<Vec<_>>());
        assert_eq!(open(), None);
        records.close(None);
        assert_eq!(open(), None);
        records.close(all[5]);
        assert_eq!(open(), Some(5));
    }
}
