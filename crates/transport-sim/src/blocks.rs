//! The blocks of the symmetric heap, so that the story can name them. They lie at the same offsets on all PEs.

use std::collections::BTreeMap;

use oxshmem_base::size;
use oxshmem_os::program_line::BlockPlace;
use oxshmem_transport::{Region, Remote};

/// The blocks that the program has, by their offsets.
#[derive(Default)]
pub(crate) struct NamedBlocks(BTreeMap<u64, NamedBlock>);

struct NamedBlock {
    bytes: u64,
    /// Looked up when the story names the block.
    allocated: BlockPlace,
}

impl NamedBlocks {
    /// The call that the thread is in has made a block, or has given it another size.
    pub(crate) fn add(&mut self, offset: u64, bytes: u64) {
        self.0.insert(offset, NamedBlock { bytes, allocated: BlockPlace::here() });
    }

    pub(crate) fn remove(&mut self, offset: u64) {
        self.0.remove(&offset);
    }

    /// The `n` bytes at a place in words, if a block holds the first one.
    pub(crate) fn name(&self, at: Remote, n: usize) -> Option<String> {
        if at.region != Region::Heap {
            return None;
        }
        let (start, block) = self.0.range(..=at.offset).next_back()?;
        let first = at.offset - start;
        (first < block.bytes).then(|| {
            let size = size::counted(block.bytes);
            format!("{} of the block of {size} allocated at {}", numbered(first, n), block.allocated)
        })
    }
}

/// Bytes by their numbers in the block, as the race detector has them.
fn numbered(first: u64, n: usize) -> String {
    match n {
        0 | 1 => format!("byte {first}"),
        _ => format!("bytes {first} to {}", first + n as u64 - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_those_of_the_block_that_is_there() {
        let mut blocks = NamedBlocks::default();
        blocks.add(64, 64);
        blocks.add(128, 1);
        let name = |blocks: &NamedBlocks, region, offset, n| blocks.name(Remote { pe: 1, region, offset }, n);
        let of_heap = |blocks: &NamedBlocks, offset, n| name(blocks, Region::Heap, offset, n).unwrap_or_default();
        assert!(of_heap(&blocks, 80, 8).starts_with("bytes 16 to 23 of the block of 64 bytes allocated at "));
        assert!(of_heap(&blocks, 128, 1).starts_with("byte 0 of the block of 1 byte allocated at "));
        // Nobody has these.
        assert_eq!(["", ""], [0, 129].map(|offset| of_heap(&blocks, offset, 8)));
        assert_eq!(name(&blocks, Region::Statics, 80, 8), None);
        blocks.remove(64);
        assert_eq!(of_heap(&blocks, 80, 8), "");
    }
}
