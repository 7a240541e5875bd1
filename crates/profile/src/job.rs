//! The ledgers of a job, put together.

use std::collections::BTreeSet;
use std::path::Path;

use oxshmem_base::Error;

use crate::clocks;
use crate::layout::ENDING;
use crate::ledger::{self, CallLedger};

/// Everything that the PEs of a job have recorded.
#[derive(Clone, Debug)]
pub struct RecordedJob {
    /// How many PEs the job has.
    pub pes: u32,
    /// The ledgers by PE and thread, with the clock of the first host.
    pub ledgers: Vec<CallLedger>,
    /// Sentences about what is not there.
    pub missing: Vec<String>,
}

impl RecordedJob {
    /// Reads every ledger of a folder.
    pub fn read(folder: &Path) -> Result<RecordedJob, Error> {
        let listing = std::fs::read_dir(folder)
            .map_err(|error| Error::new(format!("{} cannot be read", folder.display())).because(error))?;
        let mut paths: Vec<_> = listing.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
        paths.sort();
        let ledgers = paths.iter().map(|path| ledger::read(path)).collect::<Result<Vec<_>, _>>()?;
        if ledgers.is_empty() {
            return Err(Error::new(format!("{} has no record of a PE", folder.display()))
                .because("no PE loaded the shared library with its profile")
                .fix("profile a program that is linked with liboxshmem.so: static programs and the Rust API have no profile"));
        }
        Ok(RecordedJob::of(ledgers))
    }

    /// The job of these ledgers.
    pub fn of(mut ledgers: Vec<CallLedger>) -> RecordedJob {
        ledgers.sort_by_key(|ledger| (ledger.pe, ledger.thread));
        clocks::align(&mut ledgers);
        let pes = ledgers.iter().map(|ledger| ledger.pes).max().unwrap_or(0);
        let present: BTreeSet<u32> = ledgers.iter().map(|ledger| ledger.pe).collect();
        let mut missing = Vec::new();
        let absent: Vec<u32> = (0..pes).filter(|pe| !present.contains(pe)).collect();
        if let Some(first) = absent.first() {
            missing.push(format!(
                "{} of {pes} PEs have left no record, PE {first} first: their programs do not load liboxshmem.so, or their host \
                 was lost",
                absent.len()
            ));
        }
        let open = ledgers.iter().filter(|ledger| ledger.thread == 0 && !ledger.ended).count();
        if open > 0 {
            missing.push(format!("{open} of {pes} PEs did not finalize: their records end with their last call"));
        }
        let uncounted: u64 = ledgers.iter().map(|ledger| ledger.uncounted).sum();
        if uncounted > 0 {
            missing.push(format!("{uncounted} calls from more than 4096 places of a PE are counted nowhere"));
        }
        RecordedJob { pes, ledgers, missing }
    }

    /// From the first record to the last, in nanoseconds.
    pub fn span(&self) -> (u64, u64) {
        let begin = self.ledgers.iter().map(|ledger| ledger.span.0).min().unwrap_or(0);
        let end = self.ledgers.iter().map(|ledger| ledger.span.1).max().unwrap_or(0);
        (begin, end)
    }

    /// World numbers of the first PEs of nodes.
    pub fn nodes(&self) -> BTreeSet<u32> {
        self.ledgers.iter().map(|ledger| ledger.node).collect()
    }
}
