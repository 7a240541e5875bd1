//! The story of a run, step by step, in a file: each PE appends its own lines, and turns keep them in order.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

use oxshmem_os::program_line::BlockPlace;
use oxshmem_os::{program, statics};
use oxshmem_transport::Remote;
use parking_lot::Mutex;

use crate::arena::SimArena;
use crate::blocks::NamedBlocks;

/// The file, open for one PE. A story that cannot be written is not written: the run goes on.
pub(crate) struct Story {
    file: Option<File>,
    me: u32,
    /// They are not named where there is no story.
    pub(crate) blocks: Mutex<NamedBlocks>,
}

impl Story {
    pub(crate) fn new(path: PathBuf, me: u32) -> Self {
        let file = OpenOptions::new().create(true).append(true).open(&path);
        if let Err(error) = &file {
            tracing::warn!(path = %path.display(), %error, "the story of a simulated run cannot be written");
        }
        let story = Self { file: file.ok(), me, blocks: Mutex::default() };
        if me == 0 {
            story.write_executable();
        }
        story
    }

    /// The first line, for readers of the story: `statics ADDRESS PATH`, where the static variables begin in which
    /// executable.
    fn write_executable(&self) {
        let (Some(loaded), Some(path)) = (statics::executable(), program::path()) else { return };
        let start = loaded.statics.0 - loaded.bias;
        self.append(&format!("statics {start:#x} {}\n", path.display()));
    }

    /// One line: `STEP PE WHO WHAT`.
    pub(crate) fn write(&self, step: u64, who: &str, what: &str) {
        self.append(&format!("{step} {} {who} {what}\n", self.me));
    }

    fn append(&self, line: &str) {
        if let Some(mut file) = self.file.as_ref()
            && let Err(error) = file.write_all(line.as_bytes())
        {
            tracing::warn!(%error, "a line of the story is lost");
        }
    }

    /// The line of the program that has called the library. That of an interpreter's program is known without its debug
    /// information, whose look-up takes longer than a turn may.
    pub(crate) fn site(&self) -> String {
        BlockPlace::here().to_string()
    }

    /// The target of an operation of `n` bytes, and the line that issues it.
    pub(crate) fn target(&self, to: Remote, n: usize) -> String {
        let Remote { pe, region, offset } = to;
        let object = self.blocks.lock().name(to, n).map_or_else(String::new, |name| format!("{name}, at "));
        format!("to PE {pe} {object}{region:?}+{offset:#x} ({})", self.site())
    }
}

/// Writes how the run went.
pub(crate) fn summarise(path: &Path, strategy: &str, seed: u64, arena: &SimArena) {
    let [steps, digest, overrun] = [&arena.step, &arena.digest, &arena.overrun].map(|word| word.load(Relaxed));
    let text = format!("strategy {strategy}\nseed {seed}\nsteps {steps}\ndigest {digest:016x}\noverrun {overrun}\n");
    if let Err(error) = fs::write(path, text) {
        tracing::warn!(path = %path.display(), %error, "the summary of a simulated run cannot be written");
    }
}
