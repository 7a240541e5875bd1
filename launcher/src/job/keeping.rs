//! Files of a job: the output of its PEs, and the records that other hosts send.

use oxshmem_base::Error;

use super::RunningJob;
use crate::link::frame::OutputStream;
use crate::profile::gathering;
use crate::say;

impl RunningJob {
    /// A file of `--output-dir` takes no more.
    pub(super) fn unkept(&mut self, pe: u32, stream: OutputStream, why: &str) {
        let (name, folder) = (self.named(pe), self.plan().output_dir.clone().unwrap_or_default());
        let error = Error::new(format!(
            "the {stream} of {name} cannot be written to {}, and its rest is lost",
            folder.display()
        ));
        say(&error.because(why).fix("make room, or name another directory: --output-dir=DIR").to_string());
        self.is_output_lost = true;
    }

    /// Keeps a piece of a record from another host.
    pub(super) fn keep(&mut self, name: &str, offset: u64, bytes: &[u8]) {
        let Some(recording) = &self.description.plan.recording else { return };
        if let Err(error) = gathering::keep(&recording.folder, name, offset, bytes) {
            self.is_output_lost = true;
            say(&format!("the record {name} cannot be kept in {}: {error}", recording.folder.display()));
        }
    }
}
