//! The ledgers of a job, put together.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use oxshmem_base::Error;

use crate::clocks;
use crate::layout::{ENDING, UNRECORDED};
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
    /// How many ledgers could not be made.
    pub unrecorded: usize,
}

/// A ledger that could not be made.
struct UnmadeLedger {
    pe: u32,
    why: io::Error,
}

impl RecordedJob {
    /// Reads every ledger of a folder; nothing if no PE has tried to make one.
    pub fn read(folder: &Path) -> Result<Option<RecordedJob>, Error> {
        let listing = std::fs::read_dir(folder)
            .map_err(|error| Error::new(format!("{} cannot be read", folder.display())).because(error))?;
        let mut paths: Vec<_> = listing.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let unmade: Vec<UnmadeLedger> = paths.iter().filter_map(|path| unmade(path)).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
        let ledgers = paths.iter().map(|path| ledger::read(path)).collect::<Result<Vec<_>, _>>()?;
        match (ledgers.is_empty(), unmade.first()) {
            (true, None) => Ok(None),
            (true, Some(first)) => Err(Error::new(format!("no PE could be recorded in {}", folder.display()))
                .because(format!("PE {}: {}", first.pe, first.why))
                .fix("make room there, or name another directory")),
            (false, _) => Ok(Some(RecordedJob::with(ledgers, &unmade))),
        }
    }

    /// The job of these ledgers.
    pub fn of(ledgers: Vec<CallLedger>) -> RecordedJob {
        RecordedJob::with(ledgers, &[])
    }

    fn with(mut ledgers: Vec<CallLedger>, unmade: &[UnmadeLedger]) -> RecordedJob {
        ledgers.sort_by_key(|ledger| (ledger.pe, ledger.thread));
        clocks::align(&mut ledgers);
        let pes = ledgers.iter().map(|ledger| ledger.pes).max().unwrap_or(0);
        let present: BTreeSet<u32> =
            ledgers.iter().map(|ledger| ledger.pe).chain(unmade.iter().map(|one| one.pe)).collect();
        let mut missing = Vec::new();
        if let Some(UnmadeLedger { pe, why }) = unmade.first() {
            missing.push(format!("{} records could not be made, that of PE {pe} first: {why}", unmade.len()));
        }
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
        RecordedJob { pes, ledgers, missing, unrecorded: unmade.len() }
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

/// The ledger that could not be made, by the name of the file that stands for it.
fn unmade(path: &Path) -> Option<UnmadeLedger> {
    let name = path.file_name()?.to_str()?.strip_prefix("pe.")?.strip_suffix(UNRECORDED)?.strip_suffix('.')?;
    let mut numbers = name.split('.').map(|number| number.parse::<u32>().ok());
    let (pe, error) = (numbers.next()??, numbers.nth(1)??);
    Some(UnmadeLedger { pe, why: io::Error::from_raw_os_error(error as i32) })
}
