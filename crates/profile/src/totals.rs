//! The figures of a profile: by routine, by place of the program, by team, by pair of PEs, and over time.

mod series;

use std::collections::{BTreeMap, BTreeSet};

use crate::job::RecordedJob;
use crate::layout::RoutineKind;
use crate::ledger::{CallLedger, Interval, PeerTraffic, SiteRecord, TeamKey};
use crate::meetings::{self, Blame};
use series::series;

/// The calls of all PEs of one routine, or at one place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Total {
    /// Calls.
    pub calls: u64,
    /// Bytes.
    pub bytes: u64,
    /// Nanoseconds of all PEs together.
    pub time: f64,
    /// Nanoseconds of it that PEs waited for each other.
    pub waiting: f64,
    /// The longest call that was timed.
    pub longest: f64,
    /// Nanoseconds by PE.
    by_pe: BTreeMap<u32, f64>,
    /// Nanoseconds that others waited, by the PE for which they did.
    reasons: BTreeMap<u32, f64>,
}

/// The PE that makes the calls of a routine take long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SlowPe {
    /// It spends the most time in them: this many nanoseconds.
    Longest(u32, f64),
    /// The others wait for it there: this many nanoseconds together.
    Awaited(u32, f64),
}

impl Total {
    fn add(&mut self, pe: u32, site: &SiteRecord, waiting: f64, reasons: &BTreeMap<u32, f64>) {
        self.calls += site.calls;
        self.bytes += site.bytes;
        self.time += site.time;
        self.waiting += waiting;
        self.longest = self.longest.max(site.longest);
        *self.by_pe.entry(pe).or_default() += site.time;
        add_by_pe(&mut self.reasons, reasons);
    }

    /// Adds the calls of another place.
    pub fn merge(&mut self, other: &Total) {
        self.calls += other.calls;
        self.bytes += other.bytes;
        self.time += other.time;
        self.waiting += other.waiting;
        self.longest = self.longest.max(other.longest);
        add_by_pe(&mut self.by_pe, &other.by_pe);
        add_by_pe(&mut self.reasons, &other.reasons);
    }

    /// How much longer than the mean of all PEs the slowest one was: 1 if they are alike.
    pub fn imbalance(&self, pes: u32) -> f64 {
        let most = self.by_pe.values().copied().fold(0.0, f64::max);
        if self.time > 0.0 { most * f64::from(pes) / self.time } else { 1.0 }
    }

    /// The PE that makes the calls take long. Where most of the time is waiting, it is not the one that spent the most time in them,
    /// which came first, but the one for which the others waited; nothing if that is not known.
    pub fn slowest(&self) -> Option<SlowPe> {
        let most =
            |times: &BTreeMap<u32, f64>| times.iter().map(|(pe, time)| (*pe, *time)).max_by(|a, b| a.1.total_cmp(&b.1));
        if self.waiting > self.time / 2.0 {
            let unknown = self.waiting - self.reasons.values().sum::<f64>();
            most(&self.reasons).filter(|(_, time)| *time > unknown).map(|(pe, time)| SlowPe::Awaited(pe, time))
        } else {
            most(&self.by_pe).map(|(pe, time)| SlowPe::Longest(pe, time))
        }
    }
}

fn add_by_pe(sums: &mut BTreeMap<u32, f64>, more: &BTreeMap<u32, f64>) {
    for (pe, time) in more {
        *sums.entry(*pe).or_default() += time;
    }
}

/// A place of compiled code, as a file that was loaded and an address in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallAddress {
    /// The path of the executable or the library; empty if it is not known.
    pub file: String,
    /// The address in the file behind the call.
    pub address: u64,
}

/// A place of the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallPlace {
    /// Of compiled code.
    Address(CallAddress),
    /// Of an interpreted program, which has told it: `function at file:line`, or `file:line` outside of functions.
    Line(String),
}

/// One PE's time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PeTime {
    /// From the first record of each of its threads to the last, together: so their calls have room in it.
    pub span: f64,
    /// In the library, by category.
    pub inside: [f64; RoutineKind::ALL.len()],
    /// Waiting for other PEs.
    pub waiting: f64,
    /// The most bytes of the symmetric heap that it has ever used.
    pub heap: u64,
}

/// The calls of one team.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TeamTotal {
    /// Calls.
    pub calls: u64,
    /// Bytes.
    pub bytes: u64,
    /// Nanoseconds.
    pub time: f64,
}

/// The figures of a job.
#[derive(Clone, Debug)]
pub struct Totals {
    /// How many PEs the job has.
    pub pes: u32,
    /// By routine, with its category.
    pub routines: BTreeMap<(String, RoutineKind), Total>,
    /// By routine and place.
    pub sites: BTreeMap<(String, CallPlace), Total>,
    /// By team: of all members together.
    pub teams: BTreeMap<TeamKey, TeamTotal>,
    /// By the PE that calls and the PE that it names: puts, gets, atomics.
    pub pairs: BTreeMap<(u32, u32), [PeerTraffic; 3]>,
    /// The waits of PEs for each other.
    pub blame: Blame,
    /// By PE.
    pub times: BTreeMap<u32, PeTime>,
    /// Puts and gets by the number of binary digits of their bytes.
    pub sizes: [Vec<u64>; 2],
    /// The length of an interval in nanoseconds, and the sums of all PEs.
    pub series: (f64, Vec<Interval>),
}

/// Adds up what PEs have recorded.
pub fn add_up(job: &RecordedJob) -> Totals {
    let mut totals = Totals {
        pes: job.pes,
        routines: BTreeMap::new(),
        sites: BTreeMap::new(),
        teams: BTreeMap::new(),
        pairs: BTreeMap::new(),
        blame: meetings::blame(job),
        times: BTreeMap::new(),
        sizes: [vec![0; 65], vec![0; 65]],
        series: series(&job.ledgers),
    };
    for ledger in &job.ledgers {
        totals.add_sites(ledger);
        if let Some(time) = totals.times.get_mut(&ledger.pe) {
            time.span += (ledger.span.1 - ledger.span.0) as f64;
            time.heap = time.heap.max(ledger.heap);
        }
        totals.add_teams(ledger);
        for (peer, traffic) in &ledger.peers {
            let pair = totals.pairs.entry((ledger.pe, *peer)).or_default();
            pair.iter_mut().zip(traffic).for_each(|(sum, more)| sum.add(more));
        }
        for (sum, more) in totals.sizes.iter_mut().zip(&ledger.sizes) {
            sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
    }
    totals
}

impl PeerTraffic {
    fn add(&mut self, more: &PeerTraffic) {
        self.calls += more.calls;
        self.bytes += more.bytes;
        self.timed += more.timed;
        self.time += more.time;
    }
}

impl Totals {
    fn add_sites(&mut self, ledger: &CallLedger) {
        for (number, site) in &ledger.sites {
            let waiting = match site.category {
                RoutineKind::Waiting => site.time,
                _ => {
                    let found = self.blame.sites.get(&(ledger.pe, ledger.thread, *number)).copied().unwrap_or(0.0);
                    found.min(site.time)
                }
            };
            let name = site.routine.clone();
            let none = BTreeMap::new();
            let reasons = self.blame.reasons.get(&(ledger.pe, ledger.thread, *number)).unwrap_or(&none);
            let routine = self.routines.entry((name.clone(), site.category)).or_default();
            routine.add(ledger.pe, site, waiting, reasons);
            self.sites.entry((name, place(ledger, site))).or_default().add(ledger.pe, site, waiting, reasons);
            let time = self.times.entry(ledger.pe).or_default();
            time.inside[site.category as usize] += site.time;
            time.waiting += waiting;
        }
    }

    fn add_teams(&mut self, ledger: &CallLedger) {
        for team in ledger.teams.values() {
            let sum = self.teams.entry(team.key).or_default();
            sum.calls += team.calls;
            sum.bytes += team.bytes;
            sum.time += team.time;
        }
    }

    /// Nanoseconds from the first record to the last, of all PEs and threads together.
    pub fn time(&self) -> f64 {
        self.times.values().map(|time| time.span).sum()
    }

    /// The PE that has used the most of its symmetric heap, and how many bytes; nothing if none has used any.
    pub fn heap(&self) -> Option<(u32, u64)> {
        let used = self.times.iter().map(|(pe, time)| (*pe, time.heap)).filter(|(_, heap)| *heap > 0);
        used.max_by_key(|(pe, heap)| (*heap, std::cmp::Reverse(*pe)))
    }

    /// Nanoseconds in the library, of all PEs together.
    pub fn inside(&self) -> f64 {
        // Times of short calls are estimated from samples, so their sum may exceed the span.
        self.times.values().map(|time| time.inside.iter().sum::<f64>().min(time.span)).sum()
    }

    /// Nanoseconds outside of the library, by PE.
    pub fn outside(&self) -> BTreeMap<u32, f64> {
        self.times.iter().map(|(pe, time)| (*pe, (time.span - time.inside.iter().sum::<f64>()).max(0.0))).collect()
    }

    /// The mean of all PEs' times outside of the library.
    pub fn mean_outside(&self) -> f64 {
        self.outside().values().sum::<f64>() / self.times.len().max(1) as f64
    }

    /// A matrix of the pairs, folded to at most `most` rows: PEs of a row are neighbours.
    pub fn matrix(&self, most: u32, value: impl Fn(&[PeerTraffic; 3]) -> f64) -> PairMatrix {
        let cells = self.pairs.iter().map(|(pair, traffic)| (*pair, value(traffic)));
        PairMatrix::fold(self.pes, most, cells)
    }

    /// The matrix of waits: rows wait for columns.
    pub fn waits(&self, most: u32) -> PairMatrix {
        PairMatrix::fold(self.pes, most, self.blame.pairs.iter().map(|(pair, time)| (*pair, *time)))
    }

    /// World numbers that occur.
    pub fn present(&self) -> BTreeSet<u32> {
        self.times.keys().copied().collect()
    }
}

/// Values of pairs of PEs.
#[derive(Clone, Debug, PartialEq)]
pub struct PairMatrix {
    /// How many rows and columns.
    pub size: u32,
    /// How many PEs a row stands for.
    pub fold: u32,
    /// Values that are not 0: row, column, value.
    pub cells: Vec<(u32, u32, f64)>,
}

impl PairMatrix {
    fn fold(pes: u32, most: u32, cells: impl Iterator<Item = ((u32, u32), f64)>) -> PairMatrix {
        let fold = pes.div_ceil(most).max(1);
        let mut sums: BTreeMap<(u32, u32), f64> = BTreeMap::new();
        for ((row, column), value) in cells.filter(|(_, value)| *value > 0.0) {
            *sums.entry((row / fold, column / fold)).or_default() += value;
        }
        let cells = sums.into_iter().map(|((row, column), value)| (row, column, value)).collect();
        PairMatrix { size: pes.div_ceil(fold), fold, cells }
    }

    /// Divides by another matrix of the same pairs: a mean.
    pub fn per(mut self, other: &PairMatrix) -> PairMatrix {
        let others: BTreeMap<(u32, u32), f64> = other.cells.iter().map(|cell| ((cell.0, cell.1), cell.2)).collect();
        self.cells.retain_mut(|(row, column, value)| {
            let by = others.get(&(*row, *column)).copied().unwrap_or(0.0);
            *value /= by;
            by > 0.0
        });
        self
    }

    /// The PEs of a row or a column, in words.
    pub fn named(&self, index: u32, pes: u32) -> String {
        let (first, last) = (index * self.fold, ((index + 1) * self.fold).min(pes) - 1);
        if first == last { format!("PE {first}") } else { format!("PEs {first}-{last}") }
    }
}

/// The place of a call.
pub fn place(ledger: &CallLedger, site: &SiteRecord) -> CallPlace {
    match site.line.as_str() {
        "" => CallPlace::Address(address(ledger, site.caller)),
        line => CallPlace::Line(line.into()),
    }
}

/// The file and the address in it to which a call returns.
fn address(ledger: &CallLedger, caller: u64) -> CallAddress {
    let module = ledger.modules.iter().find(|(begin, end, ..)| (*begin..*end).contains(&caller));
    match module {
        Some((_, _, bias, path)) => CallAddress { file: path.clone(), address: caller - bias },
        None => CallAddress { file: String::new(), address: caller },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{MeetingRecord, SymmetricObject, TeamRecord};

    #[test]
    fn a_matrix_folds_neighbours_and_keeps_sums() {
        let cells = [((0, 1), 1.0), ((1, 0), 2.0), ((5, 4), 4.0), ((3, 3), 0.0)];
        let plain = PairMatrix::fold(6, 6, cells.into_iter());
        assert_eq!((plain.size, plain.fold, plain.cells.len()), (6, 1, 3));
        let folded = PairMatrix::fold(6, 3, cells.into_iter());
        assert_eq!(folded, PairMatrix { size: 3, fold: 2, cells: vec![(0, 0, 3.0), (2, 2, 4.0)] });
        assert_eq!((folded.named(2, 6), plain.named(2, 6)), ("PEs 4-5".into(), "PE 2".into()));
        let seven = PairMatrix::fold(7, 3, cells.into_iter());
        assert_eq!((seven.size, seven.fold, seven.named(2, 7)), (3, 3, "PE 6".into()));
    }

    #[test]
    fn a_mean_divides_cell_by_cell() {
        let sums = PairMatrix::fold(2, 2, [((0, 1), 6.0), ((1, 0), 8.0)].into_iter());
        let counts = PairMatrix::fold(2, 2, [((0, 1), 3.0)].into_iter());
        assert_eq!(sums.per(&counts).cells, [(0, 1, 2.0)]);
    }

    #[test]
    fn threads_of_a_pe_take_no_more_than_all_of_its_time() {
        let ledger = |thread: u32| CallLedger {
            pes: 1,
            thread,
            span: (0, 1000),
            sites: BTreeMap::from([(0, SiteRecord::timed_once("shmem_putmem", RoutineKind::Transfer, 900.0))]),
            ..CallLedger::default()
        };
        let totals = add_up(&RecordedJob::of(vec![ledger(0), ledger(1)]));
        assert_eq!((totals.time(), totals.inside(), totals.outside()[&0]), (2000.0, 1800.0, 200.0));
    }

    #[test]
    #[allow(non_snake_case, reason = "tests carry the number of the fault")]
    fn fault_T8_the_slow_pe_of_a_wait_is_the_one_that_came_late() {
        let site = SiteRecord::timed_once;
        let team = TeamRecord {
            key: TeamKey { first: 0, stride: 1, size: 3, sum: 0, number: Some(0) },
            calls: 1,
            bytes: 0,
            time: 0.0,
        };
        let ledger = |pe: u32, came: u64, wait: f64| CallLedger {
            pe,
            pes: 3,
            stride: 1,
            span: (0, 1000),
            teams: BTreeMap::from([(0, team.clone())]),
            meetings: vec![MeetingRecord { team: 0, site: 0, number: 0, span: (came, 500) }],
            sites: BTreeMap::from([
                (0, site("shmem_barrier_all", RoutineKind::Collective, (500 - came) as f64)),
                (1, site("shmem_long_wait_until", RoutineKind::Waiting, wait)),
                (2, site("shmem_putmem", RoutineKind::Transfer, came as f64)),
            ]),
            waits: vec![(SymmetricObject::Heap(8), 1, wait)],
            updates: vec![(SymmetricObject::Heap(8), 0, u64::from(pe == 1))],
            ..CallLedger::default()
        };
        let job = RecordedJob::of(vec![ledger(0, 10, 300.0), ledger(1, 20, 0.0), ledger(2, 490, 0.0)]);
        let totals = add_up(&job);
        let slow = |name: &str, kind| totals.routines[&(name.to_owned(), kind)].slowest();
        assert_eq!(slow("shmem_barrier_all", RoutineKind::Collective), Some(SlowPe::Awaited(2, 950.0)));
        assert_eq!(slow("shmem_long_wait_until", RoutineKind::Waiting), Some(SlowPe::Awaited(1, 300.0)));
        assert_eq!(slow("shmem_putmem", RoutineKind::Transfer), Some(SlowPe::Longest(2, 490.0)));
        // Of a larger part of the waits nobody knows for whom they were.
        let barriers = &totals.routines[&("shmem_barrier_all".into(), RoutineKind::Collective)];
        assert_eq!(Total { waiting: 2000.0, ..barriers.clone() }.slowest(), None);
    }
}
