//! The verdict of a profile, in words: the first thing that a reader should know, and the next ones to look at.

use std::collections::BTreeSet;

use oxshmem_profile::cause::{self, LateCause, UNEVEN};
use oxshmem_profile::job::RecordedJob;
use oxshmem_profile::late::{self, BetweenSites, LateComer};
use oxshmem_profile::layout::RoutineKind;
use oxshmem_profile::ledger::CallLedger;
use oxshmem_profile::totals::{self, Total, Totals};
use oxshmem_report::units;

use super::places::{ProgramPlaces, behind_verb};

/// A share of all time below this is no reason for anything, in percent.
const NOTABLE: f64 = 5.0;
/// A routine that takes less of all time, without its waits for other PEs, is not named, in percent.
const MUCH: f64 = 30.0;
/// Routines that take most of the time of a short job, about which its program can do nothing.
const START_AND_END: [&str; 4] = ["shmem_init", "shmem_init_thread", "shmem_finalize", "start_pes"];
/// PEs that a chain of waits names; of a longer one the end is told.
const LONGEST_CHAIN: usize = 4;

/// The verdict; at least one sentence, the most important one first.
pub(crate) fn verdict(job: &RecordedJob, totals: &Totals, places: &mut ProgramPlaces) -> Vec<String> {
    let all = totals.time();
    let share = |time: f64| if all > 0.0 { 100.0 * time / all } else { 0.0 };
    let mut sentences: Vec<(f64, String)> = Vec::new();
    let late = late::late_comer(job).filter(|late| share(late.waited) >= NOTABLE);
    let cause = late.as_ref().and_then(|late| cause::behind(job, totals, late));
    if let Some(late) = &late {
        let kept = match late.stride {
            1 => format!("{} meetings", late.compared),
            stride => format!("the {} meetings kept (one in {stride})", late.compared),
        };
        let count = format!("PE {} came last in {} of {kept}", late.pe, late.late);
        let (waited, percent) = (units::time(late.waited), share(late.waited));
        let kept = format!("kept others waiting {waited} together, {percent:.0} % of all time");
        let text = match &cause {
            Some(cause) => format!("{}; {count} {}, and {kept}", worker(job, cause), because(job, cause, places)),
            None => format!("{count} and {kept}{}", between(job, late, places)),
        };
        // The cause comes first: waits of other PEs follow from it.
        sentences.push((if cause.is_some() { f64::INFINITY } else { late.waited }, text));
    }
    sentences.extend(variables(job, totals).filter(|(time, _)| share(*time) >= NOTABLE));
    sentences.sort_by(|a, b| b.0.total_cmp(&a.0));
    let told = sentences.into_iter().map(|(_, text)| text);
    let mut sentences: Vec<String> = unended(job, places).into_iter().chain(told).collect();
    sentences.extend(uneven(job, totals, cause.as_ref().map(LateCause::pe)));
    let moved: f64 = totals
        .times
        .values()
        .map(|time| time.inside[RoutineKind::Transfer as usize] + time.inside[RoutineKind::Ordering as usize])
        .sum();
    if share(moved) >= NOTABLE {
        sentences.push(format!(
            "transfers take {:.0} % of all time{}",
            share(moved),
            busiest(totals, places).map_or_else(String::new, |place| format!(", most of it{}", behind_verb(&place)))
        ));
    }
    sentences.extend(longest_routine(totals, places));
    let unknown = unknown_waits(totals);
    if sentences.is_empty() {
        let outside = share(all - totals.inside());
        let outside = format!("{outside:.0} % of all time is outside of the library");
        sentences.push(match unknown {
            Some(unknown) => format!("nothing is known to blame: {outside}, and {unknown}"),
            None => format!("nothing to blame: {outside}, and no PE waits long for another"),
        });
    } else {
        sentences.extend(unknown);
    }
    sentences
}

/// The routine that takes the most time without its waits for other PEs, if it takes much. Transfers have a sentence of their own.
fn longest_routine(totals: &Totals, places: &mut ProgramPlaces) -> Option<String> {
    let share = |time: f64| 100.0 * time / totals.time();
    let is_told = |kind: RoutineKind| matches!(kind, RoutineKind::Transfer | RoutineKind::Ordering);
    let own = |total: &Total| total.time - total.waiting;
    let counts = |name: &str, kind| !is_told(kind) && !START_AND_END.contains(&name);
    let routines = totals.routines.iter().filter(|((name, kind), _)| counts(name, *kind));
    let longest = routines.max_by(|a, b| own(a.1).total_cmp(&own(b.1)));
    let ((name, _), total) = longest.filter(|(_, total)| own(total) > 0.0 && share(own(total)) >= MUCH)?;
    let sites = totals.sites.iter().filter(|((routine, _), _)| routine == name);
    let ((_, place), _) = sites.max_by(|a, b| own(a.1).total_cmp(&own(b.1)))?;
    let place = behind_verb(&places.name(place));
    let besides = if total.waiting > 0.0 { " besides waits for other PEs" } else { "" };
    Some(format!("{name} takes {:.0} % of all time{besides}, most of it{place}", share(own(total))))
}

/// Waits that cannot be known because records are missing.
fn unknown_waits(totals: &Totals) -> Option<String> {
    let present = totals.present().len() as u32;
    let absent = totals.pes.checked_sub(present).filter(|absent| *absent > 0)?;
    let pes = totals.pes;
    Some(format!(
        "who waited in collectives for whom is not known where PEs without a record take part ({absent} of {pes})"
    ))
}

/// Between which of its calls the late PE was.
fn between(job: &RecordedJob, late: &LateComer, places: &mut ProgramPlaces) -> String {
    let Some(BetweenSites { ledger, from, to }) = late.between else { return String::new() };
    let ledger = &job.ledgers[ledger];
    let mut name = |site: u32| ledger.sites.get(&site).map(|site| places.name(&totals::place(ledger, site)));
    let Some(to) = name(to) else { return String::new() };
    // Without lines a place is its function.
    let is_function = to.starts_with("in ");
    match from.map(name) {
        None if is_function => format!("; it was before its first one, {to}"),
        None => format!("; it was before its first one, at {to}"),
        Some(Some(from)) if from == to && is_function => {
            format!("; it was between two calls {from} (-g when compiling names lines)")
        }
        Some(Some(from)) if from == to => format!("; it was between two calls at {from}"),
        Some(Some(from)) => format!("; it was between {from} and {to}"),
        Some(None) => String::new(),
    }
}

/// The PE behind the late one.
fn worker(job: &RecordedJob, cause: &LateCause) -> String {
    let (outside, mean) = (units::time(cause.outside), units::time(cause.mean));
    let pe = cause.pe();
    let threads = of_threads(job, pe);
    format!("PE {pe} is the cause: it is outside of the library for {outside}{threads}, the mean of all PEs is {mean}")
}

/// That times of a PE are sums over its threads, which may be longer than the job.
fn of_threads(job: &RecordedJob, pe: u32) -> String {
    match job.ledgers.iter().filter(|ledger| ledger.pe == pe).count() {
        0 | 1 => String::new(),
        threads => format!(" in {threads} threads together, also while they wait for each other"),
    }
}

/// For whom the late PE waited, where, and for whom that one did.
fn because(job: &RecordedJob, cause: &LateCause, places: &mut ProgramPlaces) -> String {
    let place = cause.site.and_then(|at| {
        let ledger = &job.ledgers[at.ledger];
        ledger.sites.get(&at.number).map(|site| places.name(&totals::place(ledger, site)))
    });
    let at = place.as_deref().map_or_else(String::new, behind_verb);
    let followed = &cause.chain[1..];
    let mut links: Vec<String> = followed.iter().take(LONGEST_CHAIN).map(|pe| format!("PE {pe}")).collect();
    if followed.len() > LONGEST_CHAIN {
        links.push(format!("another one, and so on up to PE {}", cause.pe()));
    }
    format!("because it waited{at} for {}", links.join(", which waited for "))
}

/// The calls in which PEs were ended. They are counted, but their time is in no table: their whole length is unknown.
fn unended(job: &RecordedJob, places: &mut ProgramPlaces) -> Option<String> {
    let open = |ledger: &CallLedger| Some((ledger.pe, ledger.sites.get(&ledger.open?)?.clone()));
    let ended = || job.ledgers.iter().filter(|ledger| !ledger.ended && open(ledger).is_some());
    let ledger = ended().next()?;
    let (pe, site) = open(ledger)?;
    // A PE has a ledger for each thread.
    let others = ended().map(|ledger| ledger.pe).filter(|other| *other != pe).collect::<BTreeSet<u32>>().len();
    let also = match others {
        0 => String::new(),
        1 => ", and another PE in a call of its own".into(),
        others => format!(", and {others} other PEs in calls of their own"),
    };
    let place = places.name(&totals::place(ledger, &site));
    let routine = &site.routine;
    Some(format!(
        "PE {pe} was ended in {routine} ({place}){also}: the time of a call that has not ended is in no table"
    ))
}

/// The longest wait of one PE for another one's updates of variables, with the time of all such waits: of many PEs none alone waits
/// for a notable share of all time.
fn variables(job: &RecordedJob, totals: &Totals) -> impl Iterator<Item = (f64, String)> {
    let waits = || totals.times.iter().map(|(pe, time)| (*pe, time.inside[RoutineKind::Waiting as usize]));
    let all: f64 = waits().map(|(_, time)| time).sum();
    let longest = waits().filter(|(_, time)| *time > 0.0).max_by(|a, b| a.1.total_cmp(&b.1));
    longest.into_iter().map(move |(pe, time)| {
        // Not the pairs of the job: those have waits in collectives, too.
        let whom =
            cause::awaited(job, totals, pe).map_or_else(String::new, |reason| format!(", most of all for PE {reason}"));
        (all, format!("PE {pe} waited {} for variables and locks{whom}", units::time(time)))
    })
}

/// Work that is not evenly divided: time outside of the library. `told` is a PE of which it is said already.
fn uneven(job: &RecordedJob, totals: &Totals, told: Option<u32>) -> Option<String> {
    let mean = totals.mean_outside();
    let longest = totals.outside().into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
    let (pe, most) = longest.filter(|(pe, _)| told != Some(*pe))?;
    let notable = 100.0 * mean * f64::from(totals.pes) >= NOTABLE * totals.time();
    (notable && mean > 0.0 && most >= UNEVEN * mean).then(|| {
        format!(
            "the work is not evenly divided: PE {pe} is outside of the library for {}{}, the mean of all PEs is {} ({:.1} times as long)",
            units::time(most),
            of_threads(job, pe),
            units::time(mean),
            most / mean
        )
    })
}

/// The place of the program that spends the most time in transfers.
fn busiest(totals: &Totals, places: &mut ProgramPlaces) -> Option<String> {
    let moves = |name: &str| {
        let kind = totals.routines.keys().find(|(routine, _)| routine == name).map(|(_, kind)| *kind);
        matches!(kind, Some(RoutineKind::Transfer | RoutineKind::Ordering))
    };
    let sites = totals.sites.iter().filter(|((name, _), _)| moves(name));
    let ((routine, site), _) = sites.max_by(|a, b| a.1.time.total_cmp(&b.1.time))?;
    Some(format!("{} ({routine})", places.name(site)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use oxshmem_profile::ledger::{MeetingRecord, SiteRecord, SymmetricObject, TeamKey, TeamRecord};

    use super::*;

    /// PEs that signal their right neighbours, wait for their left ones, and meet: when each came, and how long it had waited.
    fn told<const N: usize>(pes: [(u64, f64); N]) -> Vec<String> {
        let count = N as u32;
        let site = |routine: &str, line: &str, category, time| SiteRecord {
            routine: routine.into(),
            category,
            line: line.into(),
            calls: 1,
            time,
            timed: 1,
            longest: time,
            ..SiteRecord::default()
        };
        let key = TeamKey { first: 0, stride: 1, size: count, sum: 0, number: Some(0) };
        let ledger = |(pe, (came, waited)): (u32, (u64, f64))| CallLedger {
            pe,
            pes: count,
            stride: 1,
            span: (0, 1000),
            ended: true,
            teams: BTreeMap::from([(0, TeamRecord { key, calls: 1, bytes: 0, time: 0.0 })]),
            meetings: vec![MeetingRecord { team: 0, site: 0, number: 0, span: (came, 1000) }],
            sites: BTreeMap::from([
                (0, site("shmem_barrier_all", "ring.py:18", RoutineKind::Collective, (1000 - came) as f64)),
                (1, site("shmem_long_wait_until", "ring.py:17", RoutineKind::Waiting, waited)),
            ]),
            waits: vec![(SymmetricObject::Heap(8), 1, waited)],
            updates: vec![(SymmetricObject::Heap(8), (pe + 1) % count, 1)],
            ..CallLedger::default()
        };
        let job = RecordedJob::of((0..).zip(pes).map(ledger).collect());
        verdict(&job, &totals::add_up(&job), &mut ProgramPlaces::default())
    }

    #[test]
    fn a_pe_that_came_late_because_it_waited_is_not_blamed() {
        let sentences = told([(105, 0.0), (105, 0.0), (605, 0.0), (620, 510.0)]);
        let start = "PE 2 is the cause: it is outside of the library for 605 ns, the mean of all PEs is 231 ns; \
                     PE 3 came last in 1 of 1 meetings because it waited at ring.py:17 for PE 2, and kept others ";
        assert!(sentences[0].starts_with(start) && sentences[0].ends_with(", 26 % of all time"), "{sentences:?}");
        assert!(!sentences.iter().any(|sentence| sentence.contains("not evenly divided")), "{sentences:?}");
        let sentences = told([(640, 520.0), (105, 0.0), (605, 0.0), (620, 510.0)]);
        let chain = "because it waited at ring.py:17 for PE 3, which waited for PE 2, and kept others waiting ";
        assert!(sentences[0].contains(chain), "{sentences:?}");
    }

    #[test]
    fn waits_of_many_pes_are_told_although_none_alone_takes_a_share() {
        let sentences = told([(990, 900.0); 64]);
        assert!(sentences[0].starts_with("PE 63 waited 900 ns for variables and locks, most"), "{sentences:?}");
        assert!(told([(990, 10.0); 64])[0].starts_with("nothing to blame"));
    }

    #[test]
    fn a_wait_in_a_collective_is_no_wait_for_a_variable() {
        // PE 0 waits 400 ns for the signal of PE 3, and then 490 ns in the barrier for PE 2.
        let sentences = told([(500, 400.0), (105, 0.0), (990, 0.0), (105, 0.0)]);
        let sentence = "PE 0 waited 400 ns for variables and locks, most of all for PE 3";
        assert!(sentences.iter().any(|found| found == sentence), "{sentences:?}");
    }

    #[test]
    fn a_pe_that_works_longer_and_comes_late_is_the_one_to_look_at() {
        let sentences = told([(105, 0.0), (105, 0.0), (605, 0.0), (620, 10.0)]);
        let start = "PE 3 came last in 1 of 1 meetings and kept others";
        assert!(sentences[0].starts_with(start), "{sentences:?}");
        assert!(sentences[0].ends_with("; it was before its first one, at ring.py:18"), "{sentences:?}");
        assert!(sentences.iter().any(|sentence| sentence.contains("not evenly divided: PE 3 is")), "{sentences:?}");
    }

    /// PEs that were in an allocation for so long of 1000 ns; the records of others are lost.
    fn told_of_malloc(pes: u32, recorded: &[f64]) -> Vec<String> {
        told_of("shmem_malloc", pes, recorded)
    }

    fn told_of(routine: &str, pes: u32, recorded: &[f64]) -> Vec<String> {
        let key = TeamKey { first: 0, stride: 1, size: pes, sum: 0, number: Some(0) };
        let ledger = |(pe, &time): (u32, &f64)| CallLedger {
            pe,
            pes,
            stride: 1,
            span: (0, 1000),
            ended: true,
            teams: BTreeMap::from([(0, TeamRecord { key, calls: 1, bytes: 0, time: 0.0 })]),
            meetings: vec![MeetingRecord { team: 0, site: 0, number: 0, span: (10, 10 + time as u64) }],
            sites: BTreeMap::from([(
                0,
                SiteRecord {
                    routine: routine.into(),
                    category: RoutineKind::Collective,
                    line: "grow.py:4".into(),
                    calls: 1,
                    time,
                    timed: 1,
                    longest: time,
                    ..SiteRecord::default()
                },
            )]),
            ..CallLedger::default()
        };
        let job = RecordedJob::of((0..).zip(recorded).map(ledger).collect());
        verdict(&job, &totals::add_up(&job), &mut ProgramPlaces::default())
    }

    #[test]
    fn a_routine_that_takes_much_of_the_time_is_named() {
        assert_eq!(told_of_malloc(2, &[750.0; 2]), ["shmem_malloc takes 75 % of all time, most of it at grow.py:4"]);
        let nothing = "nothing to blame: 80 % of all time is outside of the library, and no PE waits long for another";
        assert_eq!(told_of_malloc(2, &[200.0; 2]), [nothing]);
        let start = told_of("shmem_init", 2, &[750.0; 2]);
        assert!(start.iter().all(|sentence| sentence.starts_with("nothing to blame")), "{start:?}");
        // Waits for others are no time of its own.
        let sentences = told([(400, 0.0), (980, 0.0)]);
        assert!(!sentences.iter().any(|sentence| sentence.contains("barrier_all takes")), "{sentences:?}");
    }

    #[test]
    fn waits_for_pes_without_a_record_are_not_known() {
        let unknown = "who waited in collectives for whom is not known where PEs without a record take part (1 of 3)";
        let nothing = format!("nothing is known to blame: 80 % of all time is outside of the library, and {unknown}");
        assert_eq!(told_of_malloc(3, &[200.0; 2]), [nothing]);
        let sentences = told_of_malloc(3, &[750.0; 2]);
        assert_eq!((sentences.len(), sentences[1].as_str()), (2, unknown));
    }

    #[test]
    fn sums_over_threads_and_meetings_that_are_kept_are_called_so() {
        let key = TeamKey { first: 0, stride: 1, size: 2, sum: 0, number: Some(0) };
        let ledger = |pe: u32, thread: u32, came: u64| CallLedger {
            pe,
            pes: 2,
            thread,
            stride: 4,
            span: (0, 1000),
            ended: true,
            teams: BTreeMap::from([(0, TeamRecord { key, calls: 1, bytes: 0, time: 0.0 })]),
            meetings: (thread == 0)
                .then_some(MeetingRecord { team: 0, site: 0, number: 8, span: (came, 1000) })
                .into_iter()
                .collect(),
            ..CallLedger::default()
        };
        let mut ledgers = vec![ledger(0, 0, 900), ledger(0, 1, 0), ledger(0, 2, 0), ledger(1, 0, 100)];
        for ledger in &mut ledgers {
            let site = SiteRecord { routine: "shmem_sync_all".into(), calls: 1, ..SiteRecord::default() };
            ledger.sites = BTreeMap::from([(0, site)]);
        }
        let job = RecordedJob::of(ledgers);
        let sentences = verdict(&job, &totals::add_up(&job), &mut ProgramPlaces::default());
        assert!(
            sentences[0].starts_with("PE 0 came last in 1 of the 1 meetings kept (one in 4) and kept"),
            "{sentences:?}"
        );
        let threads = "PE 0 is outside of the library for 3.00 µs in 3 threads together, also while they wait for each other, \
                       the mean";
        assert!(sentences.iter().any(|sentence| sentence.contains(threads)), "{sentences:?}");
    }
}
