//! Things that hosts send for a job as a whole: the files of its PEs' output, records, and displays of where PEs are.

use oxshmem_base::Error;
use oxshmem_topology::picture;

use super::RunningJob;
use crate::link::frame::{NO_HOST, OutputStream};
use crate::plan::Display;
use crate::profile::gathering;
use crate::say;

impl RunningJob {
    /// A file of `--output-dir` takes no more.
    pub(super) fn unkept(&mut self, pe: u32, stream: OutputStream, why: &str) {
        let (name, folder) = (self.roster.named(pe), self.plan().output_dir.clone().unwrap_or_default());
        let error = Error::new(format!(
            "the {stream} of {name} cannot be written to {}, and its rest is lost",
            folder.display()
        ));
        say(&error.because(why).fix("make room, or name another directory: --output-dir=DIR").to_string());
        self.conclusion.is_output_lost = true;
    }

    /// Keeps a piece of a record from another host.
    pub(super) fn keep(&mut self, name: &str, offset: u64, bytes: &[u8]) {
        let Some(recording) = &self.description.plan.recording else { return };
        let lost = &mut self.conclusion.lost_records;
        if lost.contains(name) {
            return;
        }
        if let Err(error) = gathering::keep(&recording.folder, name, offset, bytes) {
            // A record comes in hundreds of pieces, and where one has no room, those of other PEs have none either.
            if lost.is_empty() {
                let what = format!("the record {name} cannot be kept in {}", recording.folder.display());
                let fix = "make room there, or name another directory: oshrun --profile=DIR, or --trace=DIR/FILE; other \
                           records may be lost, too";
                say(&Error::new(what).because(error).fix(fix).to_string());
            }
            lost.insert(name.into());
            self.conclusion.is_output_lost = true;
        }
    }

    /// Shows the maps of all hosts in their order, once the last one has come.
    pub(super) fn mapped(&mut self, host: u32, text: String, only: &[u32]) {
        only.iter().for_each(|&pe| self.roster.forget(pe));
        self.maps.insert(host, text);
        if self.maps.len() < self.description.host_pes.len() {
            return;
        }
        let maps: Vec<String> = std::mem::take(&mut self.maps).into_values().collect();
        let all = match self.plan().display {
            Some(Display::Picture) => picture::together(&maps),
            _ => maps.concat(),
        };
        self.screen.show(NO_HOST, None, OutputStream::Stdout, all.into_bytes());
    }
}
