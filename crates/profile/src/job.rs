//! The ledgers of a job, put together.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

use oxshmem_base::Error;

use crate::clocks;
use crate::layout::{ENDING, SITES, UNRECORDED};
use crate::ledger::{self, CallLedger, SymmetricObject};

/// Everything that the PEs of a job have recorded.
#[derive(Clone, Debug)]
pub struct RecordedJob {
    /// How many PEs the job has.
    pub pes: u32,
    /// The ledgers by PE and thread, with the clock of the first host.
    pub ledgers: Vec<CallLedger>,
    /// Sentences about records that are not there, and about those of another job.
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
        let listing = std::fs::read_dir(folder).map_err(|error| {
            Error::new(format!("{} cannot be read", folder.display()))
                .because(error)
                .fix("record a job with `oshrun --profile`, or name the directory of its --profile=DIR")
        })?;
        let mut paths: Vec<_> = listing.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let unmade: Vec<UnmadeLedger> = paths.iter().filter_map(|path| unmade(path)).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
        let (mut ledgers, mut unfinished) = (Vec::new(), Vec::new());
        for path in &paths {
            match ledger::read(path)? {
                Some(ledger) => ledgers.push(ledger),
                None => unfinished.extend(pe_of(path)),
            }
        }
        match (ledgers.is_empty(), unmade.first()) {
            (true, None) => Ok(None),
            (true, Some(first)) => Err(Error::new("no PE could be recorded")
                .because(format!("PE {}: {}", first.pe, first.why))
                .fix(format!(
                    "make room in {}, or name another directory; PEs on other hosts (-H) keep their records in TMPDIR of \
                     their host until the job ends, and need room there",
                    folder.display()
                ))),
            (false, _) => Ok(Some(RecordedJob::with(ledgers, &unmade, &unfinished))),
        }
    }

    /// The job of these ledgers.
    pub fn of(ledgers: Vec<CallLedger>) -> RecordedJob {
        RecordedJob::with(ledgers, &[], &[])
    }

    /// `unfinished`: the PEs that were ended while they made ledgers.
    fn with(mut ledgers: Vec<CallLedger>, unmade: &[UnmadeLedger], unfinished: &[u32]) -> RecordedJob {
        ledgers.sort_by_key(|ledger| (ledger.pe, ledger.thread));
        clocks::align(&mut ledgers);
        one_heap(&mut ledgers);
        let pes = ledgers.iter().map(|ledger| ledger.pes).max().unwrap_or(0);
        let without = unmade.iter().map(|one| one.pe).chain(unfinished.iter().copied());
        let present: BTreeSet<u32> = ledgers.iter().map(|ledger| ledger.pe).chain(without).collect();
        let mut missing = Vec::new();
        let records = |count: usize| if count == 1 { "1 record".to_owned() } else { format!("{count} records") };
        if let Some(UnmadeLedger { pe, why }) = unmade.first() {
            missing.push(format!("{} could not be made, that of PE {pe} first: {why}", records(unmade.len())));
        }
        if let Some(first) = unfinished.first() {
            missing.push(format!(
                "{} {} empty, that of PE {first} first: the PE was ended while it made the file",
                records(unfinished.len()),
                if unfinished.len() == 1 { "is" } else { "are" }
            ));
        }
        if let Some(other) = ledgers.iter().find(|ledger| ledger.pes != pes) {
            missing.push(format!(
                "records of jobs of {} and of {pes} PEs are mixed: let only one job at a time record into a directory",
                other.pes
            ));
        }
        let absent: Vec<u32> = (0..pes).filter(|pe| !present.contains(pe)).collect();
        if let Some(first) = absent.first() {
            missing.push(format!(
                "{} of {pes} PEs have left no record, PE {first} first: their programs do not load liboxshmem.so, or these PEs \
                 ended before their first record, or their host was lost",
                absent.len()
            ));
        }
        let open = ledgers.iter().filter(|ledger| ledger.thread == 0 && !ledger.ended).count();
        if open > 0 {
            missing.push(format!("{open} of {pes} PEs did not finalize: their records end with their last call"));
        }
        let uncounted: u64 = ledgers.iter().map(|ledger| ledger.uncounted).sum();
        if uncounted > 0 {
            missing
                .push(format!("{uncounted} calls from more than {} places of a PE are counted nowhere", SITES.records));
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

/// Lets distances in the heap count from one block for all threads of a PE: the first one of the threads that have allocated any.
fn one_heap(ledgers: &mut [CallLedger]) {
    let mut bases: BTreeMap<u32, u64> = BTreeMap::new();
    for ledger in ledgers.iter().filter(|ledger| ledger.heap_base != 0) {
        let base = bases.entry(ledger.pe).or_insert(u64::MAX);
        *base = (*base).min(ledger.heap_base);
    }
    for ledger in ledgers {
        let Some(base) = bases.get(&ledger.pe) else { continue };
        let farther = ledger.heap_base.wrapping_sub(*base) as i64;
        let waits = ledger.waits.iter_mut().map(|(object, ..)| object);
        for object in waits.chain(ledger.updates.iter_mut().map(|(object, ..)| object)) {
            if let SymmetricObject::Heap(distance) = object {
                *distance = distance.wrapping_add(farther);
            }
        }
        ledger.heap_base = *base;
    }
}

/// The PE of a ledger, by the file's name.
fn pe_of(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.strip_prefix("pe.")?.split('.').next()?.parse().ok()
}

/// The ledger that could not be made, by the name of the file that stands for it.
fn unmade(path: &Path) -> Option<UnmadeLedger> {
    let name = path.file_name()?.to_str()?.strip_prefix("pe.")?.strip_suffix(UNRECORDED)?.strip_suffix('.')?;
    let mut numbers = name.split('.').map(|number| number.parse::<u32>().ok());
    let (pe, error) = (numbers.next()??, numbers.nth(1)??);
    Some(UnmadeLedger { pe, why: io::Error::from_raw_os_error(error as i32) })
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::TestFolder;

    use super::*;
    use crate::layout::{self, head};

    #[test]
    fn a_pe_that_was_ended_while_it_made_its_ledger_leaves_those_of_the_others() {
        let folder = TestFolder::new("unfinished-ledger");
        let mut words = vec![0_u64; layout::events(3, 0).end()];
        let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_ne_bytes()).collect::<Vec<u8>>();
        // The file of PE 1 has no length yet, and that of PE 2 has one.
        folder.write("pe.1.0.ledger", b"");
        folder.write("pe.2.0.ledger", bytes(&words));
        assert!(RecordedJob::read(&folder).is_ok_and(|job| job.is_none()));
        for (place, value) in [(head::MAGIC, layout::MAGIC), (head::PES, 3), (head::ENDED, 1)] {
            words[place] = value;
        }
        folder.write("pe.0.0.ledger", bytes(&words));
        let job = RecordedJob::read(&folder).expect("records can be read").expect("that of PE 0 is there");
        assert_eq!(job.ledgers.len(), 1);
        assert_eq!(job.missing.len(), 1, "{:?}", job.missing);
        assert!(job.missing[0].starts_with("2 records are empty, that of PE 1 first:"), "{:?}", job.missing);
    }

    #[test]
    fn a_job_without_records_names_both_places_of_records() {
        let folder = TestFolder::new("unmade-ledgers");
        folder.write(format!("pe.0.0.{}.{UNRECORDED}", 28), b"");
        let told = RecordedJob::read(&folder).expect_err("there is no record").to_string();
        for words in ["PE 0: No space left", &format!("make room in {}", folder.display()), "TMPDIR of their host"] {
            assert!(told.contains(words), "{words}: {told}");
        }
    }

    #[test]
    fn threads_of_a_pe_know_a_variable_by_one_name() {
        let ledger = |pe, thread, heap_base| CallLedger { pe, pes: 2, thread, heap_base, ..CallLedger::default() };
        // The variable is at 0x1040 of PE 0 and at 0x9040 of PE 1. Threads have allocated nothing, the first block, and a later one.
        let mut nothing = ledger(0, 1, 0);
        nothing.waits = vec![(SymmetricObject::Heap(0x1040), 1, 9.0), (SymmetricObject::Static(8), 1, 9.0)];
        let mut later = ledger(1, 1, 0x9100);
        later.updates = vec![(SymmetricObject::Heap(-0xc0), 0, 1)];
        let job = RecordedJob::of(vec![ledger(0, 0, 0x1000), nothing, ledger(1, 0, 0x9000), later]);
        assert_eq!(job.ledgers[1].waits[0].0, SymmetricObject::Heap(0x40));
        assert_eq!(job.ledgers[1].waits[1].0, SymmetricObject::Static(8));
        assert_eq!(job.ledgers[3].updates[0].0, SymmetricObject::Heap(0x40));
    }

    #[test]
    fn records_of_two_jobs_are_told() {
        let ledger = |pe, pes| CallLedger { pe, pes, ended: true, ..CallLedger::default() };
        assert_eq!(RecordedJob::of(vec![ledger(0, 2), ledger(1, 2)]).missing, [""; 0]);
        let told = RecordedJob::of(vec![ledger(0, 2), ledger(1, 3), ledger(2, 3)]).missing.concat();
        assert!(told.starts_with("records of jobs of 2 and of 3 PEs are mixed"), "{told}");
    }
}
