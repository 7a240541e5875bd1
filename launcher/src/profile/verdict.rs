//! The verdict of a profile, in words: the first thing that a reader should know, and the next ones to look at.

use oxshmem_profile::job::RecordedJob;
use oxshmem_profile::layout::RoutineKind;
use oxshmem_profile::ledger::CallLedger;
use oxshmem_profile::meetings;
use oxshmem_profile::totals::{self, Totals};
use oxshmem_report::units;

use super::places::ProgramPlaces;

/// A share of all time below this is no reason for anything, in percent.
const NOTABLE: f64 = 5.0;
/// The longest of the PEs' times over the mean, from which on work counts as unevenly divided.
const UNEVEN: f64 = 1.2;

/// The verdict; at least one sentence, the most important one first.
pub(crate) fn verdict(job: &RecordedJob, totals: &Totals, places: &mut ProgramPlaces) -> Vec<String> {
    let all = totals.time();
    let share = |time: f64| if all > 0.0 { 100.0 * time / all } else { 0.0 };
    let mut sentences: Vec<(f64, String)> = Vec::new();
    if let Some(late) = meetings::late_comer(job).filter(|late| share(late.waited) >= NOTABLE) {
        let between = late.between.map_or_else(String::new, |(number, sites)| {
            let ledger = &job.ledgers[number];
            let name = |site: &u32| ledger.sites.get(site).map(|site| places.name(&totals::place(ledger, site)));
            match sites.each_ref().map(name) {
                // Without lines a place is its function.
                [Some(from), Some(to)] if from == to && from.starts_with("in ") => {
                    format!("; it was between two calls {from} (-g when compiling names lines)")
                }
                [Some(from), Some(to)] if from == to => format!("; it was between two calls at {from}"),
                [Some(from), Some(to)] => format!("; it was between {from} and {to}"),
                _ => String::new(),
            }
        });
        let text = format!(
            "PE {} came last in {} of {} meetings and kept others waiting {} together, {:.0} % of all time{between}",
            late.pe,
            late.late,
            late.compared,
            units::time(late.waited),
            share(late.waited)
        );
        sentences.push((late.waited, text));
    }
    sentences.extend(variables(totals).filter(|(time, _)| share(*time) >= NOTABLE));
    sentences.sort_by(|a, b| b.0.total_cmp(&a.0));
    let told = sentences.into_iter().map(|(_, text)| text);
    let mut sentences: Vec<String> = unended(job, places).into_iter().chain(told).collect();
    sentences.extend(uneven(totals));
    let moved: f64 = totals
        .times
        .values()
        .map(|time| time.inside[RoutineKind::Transfer as usize] + time.inside[RoutineKind::Ordering as usize])
        .sum();
    if share(moved) >= NOTABLE {
        sentences.push(format!(
            "transfers take {:.0} % of all time{}",
            share(moved),
            busiest(totals, places).map_or_else(String::new, |place| format!(", most of it at {place}"))
        ));
    }
    if sentences.is_empty() {
        let outside = share(all - totals.inside());
        sentences.push(format!(
            "nothing to blame: {outside:.0} % of all time is outside of the library, and no PE waits long for another"
        ));
    }
    sentences
}

/// The calls in which PEs were ended. They are counted, but their time is in no table: nobody knows how long they would have taken.
fn unended(job: &RecordedJob, places: &mut ProgramPlaces) -> Option<String> {
    let open = |ledger: &CallLedger| Some((ledger.pe, ledger.sites.get(&ledger.open?)?.clone()));
    let mut ended = job.ledgers.iter().filter(|ledger| !ledger.ended);
    let ledger = ended.find(|ledger| open(ledger).is_some())?;
    let (pe, site) = open(ledger)?;
    let others = ended.filter(|ledger| open(ledger).is_some()).count();
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

/// The longest wait of one PE for another one's updates of variables.
fn variables(totals: &Totals) -> impl Iterator<Item = (f64, String)> {
    let waits = totals.times.iter().map(|(pe, time)| (*pe, time.inside[RoutineKind::Waiting as usize]));
    let longest = waits.filter(|(_, time)| *time > 0.0).max_by(|a, b| a.1.total_cmp(&b.1));
    longest.into_iter().map(|(pe, time)| {
        let reasons = totals.blame.pairs.iter().filter(|((waiter, _), _)| *waiter == pe);
        let reason = reasons.max_by(|a, b| a.1.total_cmp(b.1)).map(|((_, reason), _)| *reason);
        let whom = reason.map_or_else(String::new, |reason| format!(", most of all for PE {reason}"));
        (time, format!("PE {pe} waited {} for variables and locks{whom}", units::time(time)))
    })
}

/// Work that is not evenly divided: time outside of the library.
fn uneven(totals: &Totals) -> Option<String> {
    let outside = totals.times.iter().map(|(pe, time)| (*pe, (time.span - time.inside.iter().sum::<f64>()).max(0.0)));
    let outside: Vec<(u32, f64)> = outside.collect();
    let mean = outside.iter().map(|(_, time)| time).sum::<f64>() / outside.len().max(1) as f64;
    let (pe, most) = outside.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let notable = 100.0 * mean * f64::from(totals.pes) >= NOTABLE * totals.time();
    (notable && mean > 0.0 && most >= UNEVEN * mean).then(|| {
        format!(
            "the work is not evenly divided: PE {pe} is outside of the library for {}, the mean of all PEs is {} ({:.1} times as long)",
            units::time(most),
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
