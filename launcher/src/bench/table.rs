//! The results as text: a table for the terminal, and rows for programs.

use std::fmt::Write;

use oxshmem_report::statistics::PERCENTILES;
use oxshmem_report::units;

use super::campaign::{Campaign, Figure};
use super::patterns::{OVERLAPS, Quantity, overlap, quantity};
use super::surroundings;
use crate::results::cell;
use crate::verdict::counted_as;

/// The words by which [`change`] says that two intervals do not meet.
pub(crate) const DIFFERENCES: [&str; 4] = ["slower", "faster", "more", "less"];

/// The meaning of the columns, below the table.
const LEGEND: &str = "\nTimes are those of one operation (ns, µs, ms, s). `put and flag` and `put with signal` are half of a ping-pong. B/s and /s count in powers of ten \
(1 GB/s is 1,000,000,000 bytes in a second), sizes in powers of two (1K is 1,024 bytes).\nbatch: the number of repetitions that are timed together; one of a \
ping-pong is there and back, one of a bandwidth is a window of transfers. \
99 %, 99.99 %: this share of those that were timed one by one took at most this long, ping-pongs there and back; – : too few samples.\n";

/// The table. Figures of an earlier run stand beside those of this one.
pub(crate) fn text(campaign: &Campaign, against: Option<&Campaign>) -> String {
    let mut text = String::new();
    for subject in &campaign.contenders {
        let _ = writeln!(
            text,
            "{}: {} (OpenSHMEM {}), started by {}",
            subject.name, subject.library, subject.standard, subject.launcher
        );
    }
    let rounds = counted_as(campaign.rounds as usize, "round");
    let _ = writeln!(text, "{}, {rounds}, {}", campaign.shape(), campaign.date);
    if campaign.bound == Some(false) {
        text += "note: PEs are not bound to cores, which makes short operations slower and less even; `-- --bind=core` binds them\n";
    }
    if let Some(unlike) = against.and_then(|against| campaign.unlike(against)) {
        let _ = writeln!(text, "note: {unlike}");
    }
    if against.is_some_and(|against| campaign.figures.iter().all(|figure| against.figure(&figure.of).is_none())) {
        text += "note: the earlier run has none of these operations with these sizes, so nothing is compared\n";
    }
    if let Some((_, others)) = campaign.machine.iter().find(|(name, _)| name == surroundings::OTHERS) {
        let _ = writeln!(text, "{}: {others}", surroundings::OTHERS);
    }
    text.push('\n');
    text += &row(["library", "operation", "bytes", "median", "95 % interval", "batch", "99 %", "99.99 %"]);
    text += if against.is_some() { "  now / earlier run\n" } else { "\n" };
    for figure in &campaign.figures {
        let percentile = |percent| {
            let value = figure.distribution.as_ref().and_then(|samples| samples.percentile(percent));
            value.map_or_else(|| "–".to_owned(), units::time)
        };
        text += &row([
            &figure.of.contender,
            &figure.name(),
            &figure.of.bytes.to_string(),
            &figure.told(campaign.pes),
            figure.interval_told(campaign.pes).as_deref().unwrap_or("–"),
            &figure.batch.to_string(),
            &percentile(99.0),
            &percentile(99.99),
        ]);
        let change = against.and_then(|against| change(figure, campaign.pes, against));
        text += &change.map_or("\n".into(), |change| format!("  {change}\n"));
    }
    for subject in &campaign.contenders {
        for (pattern, what) in OVERLAPS {
            for (bytes, share) in overlap(campaign, &subject.name, pattern) {
                let name = format!("{what}, hidden share");
                let _ = writeln!(text, "{:<12}{name:<34}{bytes:>9}  {:>9.0} %", subject.name, 100.0 * share);
            }
        }
    }
    text += LEGEND;
    for missing in &campaign.missing {
        let _ = writeln!(text, "not measured: {} of {}: {}", missing.group, missing.contender, missing.why);
    }
    text
}

fn row([library, operation, bytes, median, interval, batch, most, all]: [&str; 8]) -> String {
    format!("{library:<12}{operation:<34}{bytes:>9}  {median:>11} {interval:>25} {batch:>9} {most:>10} {all:>10}")
}

/// How a figure compares with the one of an earlier run: what its row shows over what the earlier one shows, and whether the
/// intervals tell them apart.
pub(crate) fn change(figure: &Figure, pes: u32, against: &Campaign) -> Option<String> {
    let earlier = against.figure(&figure.of)?;
    let (factor, more, less) = match quantity(&figure.of.pattern) {
        Quantity::Time => (figure.value / earlier.value, "slower", "faster"),
        Quantity::Bandwidth => (figure.bandwidth(pes) / earlier.bandwidth(against.pes), "slower", "faster"),
        Quantity::Memory => (figure.value / earlier.value, "more", "less"),
    };
    // Values are times also where a row shows a bandwidth.
    let verdict = match (figure.interval, earlier.interval) {
        (Some((low, _)), Some((_, high))) if low > high => more,
        (Some((_, high)), Some((low, _))) if high < low => less,
        (Some(_), Some(_)) => "no difference",
        _ => "too few rounds to tell",
    };
    Some(format!("{factor:.2} times, {verdict}"))
}

/// One row for each result, with times in nanoseconds.
pub(crate) fn csv(campaign: &Campaign) -> String {
    let mut text =
        String::from("library,pattern,form,bytes,pes,median,low,high,rounds,batch,unit,bandwidth,rate,samples");
    for percent in PERCENTILES {
        let _ = write!(text, ",p{percent}");
    }
    text.push('\n');
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.3}"));
    for figure in &campaign.figures {
        let of = &figure.of;
        let unit = if of.pattern == "memory per PE" { "bytes" } else { "ns" };
        let moves = of.bytes > 0 && unit == "ns";
        let _ = write!(
            text,
            "{},{},{},{},{},{:.3},{},{},{},{},{unit},{},{},{}",
            cell(&of.contender),
            cell(&of.pattern),
            cell(&of.form),
            of.bytes,
            campaign.pes,
            figure.value,
            number(figure.interval.map(|(low, _)| low)),
            number(figure.interval.map(|(_, high)| high)),
            figure.rounds.len(),
            figure.batch,
            number(moves.then(|| figure.bandwidth(campaign.pes))),
            number(moves.then(|| figure.rate(campaign.pes))),
            figure.distribution.as_ref().map_or(0, |samples| samples.count)
        );
        for percent in PERCENTILES {
            let value = figure.distribution.as_ref().and_then(|samples| samples.percentile(percent));
            let _ = write!(text, ",{}", number(value));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::{empty, sample};
    use super::*;

    #[test]
    fn every_figure_has_its_row_in_both_forms() {
        let campaign = sample();
        let rows = csv(&campaign);
        assert_eq!(rows.lines().count(), campaign.figures.len() + 1);
        let columns = rows.lines().next().map(|head| head.split(',').count());
        assert!(rows.lines().all(|row| Some(row.split(',').count()) == columns), "{rows}");
        let text = text(&campaign, Some(&campaign));
        assert!(campaign.figures.iter().all(|figure| text.contains(&figure.name())), "{text}");
        assert!(
            text.contains("1.00 times, no difference") && text.contains("not measured: teams of Open MPI"),
            "{text}"
        );
        assert_eq!(cell("a,\"b\""), "\"a,\"\"b\"\"\"");
    }

    #[test]
    fn intervals_that_do_not_meet_are_a_difference() {
        let (earlier, mut later) = (sample(), sample());
        for figure in &mut later.figures {
            figure.value *= 4.0;
            figure.interval = figure.interval.map(|(low, high)| (low * 4.0, high * 4.0));
        }
        for (pattern, slow, fast) in [
            ("put", "4.00 times, slower", "0.25 times, faster"),
            // The row shows a bandwidth, which sinks as the time rises.
            ("put bandwidth", "0.25 times, slower", "4.00 times, faster"),
            ("memory per PE", "4.00 times, more", "0.25 times, less"),
        ] {
            let of = |run: &Campaign| run.figures.iter().position(|figure| figure.of.pattern == pattern);
            let place = of(&earlier).expect("the sample has it");
            assert_eq!(change(&later.figures[place], 4, &earlier).as_deref(), Some(slow), "{pattern}");
            assert_eq!(change(&earlier.figures[place], 4, &later).as_deref(), Some(fast), "{pattern}");
        }
        earlier.figures.iter().for_each(|figure| assert!(change(figure, 4, &earlier).is_some()));
    }

    #[test]
    fn a_run_of_another_shape_is_named_above_the_table() {
        let (now, earlier) = (sample(), Campaign { pes: 2, ..sample() });
        assert!(text(&now, Some(&earlier)).contains("note: the earlier run had 2 PEs on 1 node"));
        assert!(!text(&now, Some(&sample())).contains("the earlier run had"));
        assert!(text(&now, None).contains("PEs are not bound"));
        assert!(text(&now, Some(&empty())).contains("so nothing is compared"));
        assert!(!text(&now, Some(&earlier)).contains("so nothing is compared"));
        assert!(!text(&Campaign { bound: Some(true), ..now }, None).contains("not bound"));
    }
}
