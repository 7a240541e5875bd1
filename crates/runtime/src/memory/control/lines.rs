//! The lines of one member by which a team meets level by level: what `oxshmem_schedule::node` calls lines.

use core::sync::atomic::Ordering::Relaxed;

use oxshmem_schedule::step::Traffic;
use oxshmem_schedule::way::size_limits::{LEVEL_LINES, ONE_WAY_LINES};

use super::Line;

/// Lines of a synchronising call.
pub(crate) const SYNCHRONISING: u32 = if cfg!(loom) { IN_MODELS } else { LEVEL_LINES };
/// Lines of a one-way call.
pub(crate) const ONE_WAY: u32 = if cfg!(loom) { IN_MODELS } else { ONE_WAY_LINES };
/// The number that a model's team needs, whose threads have small stacks.
const IN_MODELS: u32 = 3;

/// Each line has one writer, the owner. Its number grows for ever, across teams too; a number is stored with release after
/// the payload, and read with acquire. When a line may be written again is the promise of the protocols, which their prover
/// checks.
#[repr(C)]
pub(crate) struct TeamLines {
    /// Those of synchronising calls, by parity.
    meeting: [[Line; SYNCHRONISING as usize]; 2],
    one_way: [Line; ONE_WAY as usize],
}

// SAFETY: a payload is reached under the protocols of `oxshmem_schedule::node` only, whose prover shows that no member writes
// it while another one looks at it.
unsafe impl Sync for TeamLines {}

impl TeamLines {
    /// Unused.
    #[cfg(loom)]
    pub(crate) fn new() -> Self {
        use crate::sync::{AtomicU64, Cell};
        fn line<T>(_: T) -> Line {
            Line { sequence: AtomicU64::new(0), payload: Cell::new([0; super::PAYLOAD_WORDS]) }
        }
        Self {
            meeting: [(); 2].map(|()| [(); SYNCHRONISING as usize].map(line)),
            one_way: [(); ONE_WAY as usize].map(line),
        }
    }

    #[inline(always)]
    pub(crate) fn line(&self, traffic: Traffic, parity: usize, line: u32) -> &Line {
        match traffic {
            Traffic::Synchronising => &self.meeting[parity][line as usize],
            Traffic::OneWay { .. } => &self.one_way[line as usize],
        }
    }

    /// As they were in the beginning. No other PE looks at them.
    pub(crate) fn clear(&self) {
        self.meeting.iter().flatten().chain(&self.one_way).for_each(|line| line.sequence.store(0, Relaxed));
    }
}
