//! `SHMEM_CHECK=3`: redzones around each block of the heap, which no PE may write, and blocks that stay unused for a while after
//! they were freed.
//!
//! Redzones and freed blocks hold patterns, which are compared at heap calls, at barriers of the world and at the end. Transfers
//! into them are refused before they begin. All PEs guard or none, because blocks must lie at the same offsets everywhere.

use std::collections::{BTreeMap, VecDeque};

use crate::diagnosis::program_line::BlockPlace;
use oxshmem_base::{Error, size};
use oxshmem_heap::MIN_ALIGN;

/// The least length of the redzone before a block, and the length of the one behind it.
pub(crate) const REDZONE: u64 = 64;
/// Bytes of freed blocks that stay unused, together, with their redzones.
const KEPT: u64 = 1 << 20;
const IN_REDZONE: u8 = 0xfa;
const FREED: u8 = 0xfd;

#[derive(Debug)]
struct GuardedBlock {
    /// Where the redzone before it begins: the block of the allocator.
    base: u64,
    /// Where the program's bytes begin, and how many there are.
    start: u64,
    size: u64,
    allocated: BlockPlace,
    freed: Option<BlockPlace>,
    /// Whether the redzones hold their pattern: not before the block has its memory.
    is_painted: bool,
}

/// The guarded blocks of this PE.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    live: BTreeMap<u64, GuardedBlock>,
    freed: VecDeque<GuardedBlock>,
    /// The bytes of freed blocks, with their redzones.
    kept: u64,
    /// The bytes that the live blocks would take without redzones.
    in_use: u64,
    /// The block that a realloc frees when it has the new one. It does not count as in use.
    replaced: Option<u64>,
}

impl Guard {
    /// A block was allocated. The redzones are painted when its memory is there.
    pub(crate) fn add(&mut self, base: u64, start: u64, size: u64) {
        let allocated = BlockPlace::here();
        let block = GuardedBlock { base, start, size, allocated, freed: None, is_painted: false };
        self.in_use += block.unguarded();
        self.live.insert(start, block);
    }

    /// The bytes that the program has.
    pub(crate) fn in_use(&self) -> u64 {
        let replaced = self.replaced.and_then(|start| self.live.get(&start));
        self.in_use - replaced.map_or(0, GuardedBlock::unguarded)
    }

    /// A realloc begins to replace the block that begins here; `None`: it has.
    pub(crate) fn set_replaced(&mut self, start: Option<u64>) {
        self.replaced = start;
    }

    /// The allocation at `start` is taken back; returns its block of the allocator.
    pub(crate) fn withdraw(&mut self, start: u64) -> Option<u64> {
        self.live.remove(&start).map(|block| {
            self.in_use -= block.unguarded();
            block.base
        })
    }

    /// The size of the block that begins here.
    pub(crate) fn size(&self, start: u64) -> Option<u64> {
        self.live.get(&start).map(|block| block.size)
    }

    /// Where the block around an offset begins.
    pub(crate) fn block_around(&self, offset: u64) -> Option<u64> {
        let (&start, block) = self.live.range(..=offset).next_back()?;
        (offset < start + block.size).then_some(start)
    }

    /// Paints the redzones of a new block.
    pub(crate) fn paint(&mut self, memory: &OwnHeap, start: u64) {
        if let Some(block) = self.live.get_mut(&start) {
            memory.fill(block.base, block.start - block.base, IN_REDZONE);
            memory.fill(block.start + block.size, REDZONE, IN_REDZONE);
            block.is_painted = true;
        }
    }

    /// Frees a block. Returns its block of the allocator and those that are not kept any more, or `None` if there is no such block.
    pub(crate) fn free(&mut self, memory: &OwnHeap, start: u64) -> Option<(u64, Vec<u64>)> {
        let mut block = self.live.remove(&start)?;
        self.in_use -= block.unguarded();
        let base = block.base;
        memory.fill(block.start, block.size, FREED);
        block.freed = Some(BlockPlace::here());
        self.kept += block.extent();
        self.freed.push_back(block);
        let mut given = Vec::new();
        while self.kept > KEPT {
            given.extend(self.give());
        }
        Some((base, given))
    }

    /// All freed blocks that are only kept for checks.
    pub(crate) fn give_all(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.give()).collect()
    }

    fn give(&mut self) -> Option<u64> {
        let oldest = self.freed.pop_front()?;
        self.kept -= oldest.extent();
        Some(oldest.base)
    }

    /// The first write that should not have been.
    pub(crate) fn damage(&self, call: &str, memory: &OwnHeap) -> Option<Error> {
        // A collective that was suspended may go on, and look, while a call that allocates waits for the other PEs.
        let mut painted = self.live.values().chain(&self.freed).filter(|block| block.is_painted);
        painted.find_map(|block| {
            let before = memory.differs(block.base, block.start - block.base, IN_REDZONE);
            let after = memory.differs(block.start + block.size, REDZONE, IN_REDZONE);
            let inside = block.freed.as_ref().and_then(|_| memory.differs(block.start, block.size, FREED));
            let found = before.or(after).or(inside)?;
            Some(
                Error::new(format!("{call}: {}", block.overwritten(found.0, found.1)))
                    .because("the bytes there have changed since the library wrote a pattern into them")
                    .fix("look for stores and gets of this PE, or stores of another one through shmem_ptr, that go there"),
            )
        })
    }

    /// Why an access of `bytes` bytes must not be made; `None` if it stays inside one block.
    pub(crate) fn refuses(&self, offset: u64, bytes: u64) -> Option<String> {
        let start = self.block_around(offset);
        if let Some(block) = start.and_then(|start| self.live.get(&start)) {
            let end = block.start + block.size;
            let over = offset.saturating_add(bytes).saturating_sub(end);
            return (over > 0).then(|| format!("the access ends {} after {}", size::counted(over), block.name()));
        }
        let near = |block: &&GuardedBlock| (block.base..block.start + block.size + REDZONE).contains(&offset);
        let block = self.live.values().find(near).or_else(|| self.freed.iter().find(near));
        Some(match block {
            Some(block) => format!("the access begins {}", block.place(offset)),
            None => format!("no block is allocated at offset {offset} of the heap"),
        })
    }

    /// Whether an offset lies in a block that was freed, and in none that was allocated since.
    pub(crate) fn is_freed(&self, offset: u64) -> bool {
        let inside = |block: &GuardedBlock| (block.start..block.start + block.size).contains(&offset);
        !self.live.values().any(inside) && self.freed.iter().any(inside)
    }

    /// The last block around an offset that was freed, in words.
    pub(crate) fn freed_block(&self, offset: u64) -> Option<String> {
        let inside = |block: &&GuardedBlock| (block.start..block.start + block.size).contains(&offset);
        self.freed.iter().rev().find(inside).map(GuardedBlock::name)
    }

    /// One line for each call site whose blocks were never freed, longest first.
    pub(crate) fn leaks(&self) -> Vec<String> {
        let mut by_site: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for block in self.live.values() {
            let (count, bytes) = by_site.entry(block.allocated.to_string()).or_default();
            (*count, *bytes) = (*count + 1, *bytes + block.size);
        }
        let mut leaks: Vec<_> = by_site.into_iter().collect();
        leaks.sort_by_key(|(_, (_, bytes))| std::cmp::Reverse(*bytes));
        let line = |(site, (count, bytes)): (String, (u64, u64))| match count {
            1 => format!("1 block of {bytes} bytes, allocated at {site}"),
            _ => format!("{count} blocks of {bytes} bytes together, allocated at {site}"),
        };
        leaks.into_iter().map(line).collect()
    }
}

impl GuardedBlock {
    /// How many bytes it takes of the heap, with its redzones: the first one is as long as the alignment.
    fn extent(&self) -> u64 {
        self.start + self.size + REDZONE - self.base
    }

    /// How many bytes it would take of the heap without them.
    fn unguarded(&self) -> u64 {
        self.size.next_multiple_of(MIN_ALIGN)
    }

    /// Where an offset lies, seen from the block.
    fn place(&self, offset: u64) -> String {
        let end = self.start + self.size;
        let distance = match offset {
            _ if offset < self.start => format!("{} before", size::counted(self.start - offset)),
            _ if offset < end => format!("at byte {} of", offset - self.start),
            _ => format!("{} after", size::counted(offset - end)),
        };
        format!("{distance} {}", self.name())
    }

    /// A sentence about bytes at an offset that have been overwritten.
    fn overwritten(&self, offset: u64, bytes: u64) -> String {
        let end = self.start + self.size;
        let was = if bytes == 1 { "was" } else { "were" };
        // A write that leaves the redzone may go any distance.
        let at_least = if offset + bytes == end + REDZONE { "at least " } else { "" };
        let place = match offset {
            _ if offset < self.start && offset + bytes == self.start => "directly before".to_owned(),
            _ if offset < self.start => format!("{} before", size::counted(self.start - offset)),
            _ if offset < end => format!("at byte {} of", offset - self.start),
            _ if offset == end => "directly behind".to_owned(),
            _ => format!("{} behind", size::counted(offset - end)),
        };
        // Two numbers of bytes are kept apart.
        let comma = if place.starts_with(|first: char| first.is_ascii_digit()) { "," } else { "" };
        format!("{at_least}{}{comma} {place} {}{comma} {was} overwritten", size::counted(bytes), self.name())
    }

    fn name(&self) -> String {
        let freed = self.freed.as_ref().map_or_else(String::new, |site| format!(", freed at {site}"));
        format!("the block of {} (allocated at {}{freed})", size::counted(self.size), self.allocated)
    }
}

pub(crate) struct OwnHeap {
    base: *mut u8,
    len: u64,
}

impl OwnHeap {
    /// # Safety
    /// `len` bytes at `base` are mapped for reading and writing while the value lives.
    pub(crate) unsafe fn new(base: usize, len: usize) -> OwnHeap {
        OwnHeap { base: base as *mut u8, len: len as u64 }
    }

    fn fill(&self, offset: u64, bytes: u64, pattern: u8) {
        if offset.saturating_add(bytes) <= self.len {
            // SAFETY: the bytes lie inside the memory that `new` was promised. They belong to the library: no block of the
            // program holds them.
            unsafe { self.base.add(offset as usize).write_bytes(pattern, bytes as usize) }
        }
    }

    /// The first byte that is not the pattern, and how many bytes were written from there on.
    fn differs(&self, offset: u64, bytes: u64, pattern: u8) -> Option<(u64, u64)> {
        if offset.saturating_add(bytes) > self.len {
            return None;
        }
        // SAFETY: the bytes lie inside the memory that `new` was promised. A program that writes there at the same time is wrong,
        // and a volatile load takes whatever it finds.
        let at = |offset: u64| unsafe { self.base.add(offset as usize).read_volatile() };
        // SAFETY: eight of those bytes, which need no alignment as an array.
        let word = |offset: u64| unsafe { self.base.add(offset as usize).cast::<[u8; 8]>().read_volatile() };
        let end = offset + bytes;
        let whole =
            (offset..end).step_by(8).take_while(|&at_offset| at_offset + 8 <= end && word(at_offset) == [pattern; 8]);
        let offset = offset + 8 * whole.count() as u64;
        let first = (offset..end).find(|&at_offset| at(at_offset) != pattern)?;
        let mut behind = first + 1;
        // Bytes of what was written may be the pattern by chance: only eight of them are the end.
        while let Some(next) = (behind..end).take(8).find(|&at_offset| at(at_offset) != pattern) {
            behind = next + 1;
        }
        Some((first, behind - first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A heap of 4096 bytes with a block of 100 bytes at 64.
    fn guarded(heap: &mut [u8]) -> (Guard, OwnHeap) {
        // SAFETY: the slice outlives the memory, which only the test uses.
        let memory = unsafe { OwnHeap::new(heap.as_mut_ptr() as usize, heap.len()) };
        let mut guard = Guard::default();
        guard.add(0, 64, 100);
        guard.paint(&memory, 64);
        (guard, memory)
    }

    #[test]
    fn a_block_that_is_being_replaced_is_not_in_use() {
        let mut guard = Guard::default();
        [(0, 64, 100), (400, 464, 200)].into_iter().for_each(|(base, start, size)| guard.add(base, start, size));
        let all = guard.in_use();
        guard.set_replaced(Some(464));
        assert!(guard.in_use() <= all - 200, "{} of {all}", guard.in_use());
        guard.set_replaced(None);
        assert_eq!(guard.in_use(), all);
    }

    #[test]
    fn writes_around_a_block_and_after_its_end_are_found() {
        let mut heap = vec![0; 4096];
        let base = heap.as_mut_ptr();
        let (mut guard, memory) = guarded(&mut heap);
        let write = |at: usize| memory.fill(at as u64, 1, 7);
        assert!(!base.is_null() && guard.damage("free", &memory).is_none());
        write(64 + 103);
        let error = guard.damage("free", &memory).expect("a byte has changed").to_string();
        let words = ["free: 1 byte, 3 bytes behind the block of 100 bytes (allocated at", ", was overwritten"];
        assert!(words.iter().all(|words| error.contains(words)), "{error}");
        guard.paint(&memory, 64);
        write(60);
        assert!(
            guard.damage("free", &memory).expect("a byte has changed").to_string().contains("4 bytes before the block")
        );
        guard.paint(&memory, 64);
        memory.fill(164, 28, 7);
        memory.fill(170, 1, IN_REDZONE);
        let error = guard.damage("free", &memory).expect("bytes have changed").to_string();
        assert!(error.contains("free: 28 bytes directly behind the block of 100 bytes (allocated at"), "{error}");
        memory.fill(164, REDZONE, 7);
        let error = guard.damage("free", &memory).expect("bytes have changed").to_string();
        assert!(error.contains("free: at least 64 bytes directly behind the block of 100 bytes"), "{error}");
        guard.paint(&memory, 64);
        assert_eq!(guard.free(&memory, 64), Some((0, vec![])));
        assert_eq!(guard.free(&memory, 64), None);
        assert!(guard.damage("free", &memory).is_none());
        write(70);
        let error = guard.damage("free", &memory).expect("a byte has changed").to_string();
        assert!(error.contains("at byte 6 of the block of 100 bytes") && error.contains("freed at"), "{error}");
        assert_eq!(guard.give_all(), [0]);
    }

    #[test]
    fn accesses_outside_of_blocks_are_refused_and_leaks_are_listed() {
        let mut heap = vec![0; 4096];
        let (mut guard, memory) = guarded(&mut heap);
        assert_eq!(guard.refuses(64, 100), None);
        assert!(guard.refuses(64, 112).expect("it is too long").contains("ends 12 bytes after the block of 100 bytes"));
        assert!(guard.refuses(170, 8).expect("it is in a redzone").contains("6 bytes after"));
        assert!(guard.refuses(3000, 8).expect("there is nothing").contains("no block"));
        assert_eq!(guard.leaks().len(), 1);
        assert!(guard.leaks()[0].starts_with("1 block of 100 bytes"));
        guard.free(&memory, 64);
        assert!(guard.is_freed(64) && !guard.is_freed(1 << 20));
        assert!(guard.refuses(64, 8).expect("it was freed").contains("freed at") && guard.leaks().is_empty());
    }

    #[test]
    fn a_block_that_has_no_memory_yet_is_not_looked_at() {
        let mut heap = vec![0; 4096];
        let (mut guard, memory) = guarded(&mut heap);
        guard.add(1024, 1088, 10);
        assert!(guard.damage("barrier", &memory).is_none());
        guard.paint(&memory, 1088);
        assert!(guard.damage("barrier", &memory).is_none());
        memory.fill(1080, 1, 7);
        assert!(guard.damage("barrier", &memory).is_some());
    }

    #[test]
    fn freed_blocks_are_kept_up_to_a_limit() {
        let mut guard = Guard::default();
        // SAFETY: there are no bytes, so nothing is touched.
        let memory = unsafe { OwnHeap::new(64, 0) };
        for block in 0..20 {
            guard.add(block << 20, (block << 20) + REDZONE, 1 << 16);
        }
        let given: usize =
            (0..20).map(|block| guard.free(&memory, (block << 20) + REDZONE).expect("it is there").1.len()).sum();
        assert_eq!(given, 5);
        // The redzone before an aligned block may be far longer than the block.
        assert_eq!(guard.give_all().len(), 15);
        guard.add(0, KEPT, 8);
        assert_eq!(guard.free(&memory, KEPT), Some((0, vec![0])));
    }
}
