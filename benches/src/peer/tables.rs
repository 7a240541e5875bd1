//! The tables of a comparison with another library: times, and what a call costs beside time.

use super::{Columns, PeerCarrier, PeerRound, PeerShape, Rivals, RoundCounts, Rounds};
use crate::samples::median;
use crate::say;

/// Microseconds per call.
pub(super) fn times(rivals: &Rivals, carrier: &PeerCarrier, shape: PeerShape, bare: bool, columns: &Columns) {
    let peer = rivals.peer_name();
    let nodes = if carrier.network.is_some() { format!("{} nodes", shape.nodes) } else { "one node".to_owned() };
    let beside = match rivals.asked.beside {
        0 => String::new(),
        count => format!(", beside {count} processes that compute"),
    };
    let limit = carrier.network.as_ref().filter(|_| bare).map_or(String::new(), |network| {
        format!(
            ", and how often the limit goes into ours: {} of\nthe same sizes and count, to receivers that know what comes",
            network.limit.words
        )
    });
    say(format_args!(
        "\n{} PEs on {nodes} over {}{beside}: median microseconds per call, how often ours goes into that of {peer}, by medians\n\
         and by means (in which a batch that stood still counts){limit}",
        shape.pes(),
        carrier.words()
    ));
    line("", ["active set", "team", peer, "ratio", "(team)", "mean ratio", "(team)", "limit", "to limit"]);
    for row in columns.rows() {
        let rounds = columns.each(row);
        let [set, team, peer, peer_team, limit] = rounds.map(|rounds| median(rounds.iter().map(|round| round.median)));
        let [mean_set, mean_team, mean_peer, mean_peer_team, _] =
            rounds.map(|rounds| mean(rounds.iter().map(|round| round.mean)));
        // A library without teams has its active sets beside ours of both forms.
        let ratios =
            [peer / set, or(peer_team, peer) / team, mean_peer / mean_set, or(mean_peer_team, mean_peer) / mean_team];
        let figures = [set, team, peer].into_iter().chain(ratios).chain([limit, set / limit]);
        line(row, figures.map(cell));
    }
}

/// The first figure, or the second where the first has not been measured.
fn or(figure: f64, otherwise: f64) -> f64 {
    if figure.is_nan() { otherwise } else { figure }
}

/// Context switches and TCP segments per call.
pub(super) fn counts(rivals: &Rivals, columns: &Columns) {
    let peer = rivals.peer_name();
    say("\nContext switches of all PEs per call, and TCP segments per call, acknowledgements among them");
    line("", ["switches: set", "team", peer, "segments: set", "team", peer]);
    for row in columns.rows() {
        let of = |figure: fn(&RoundCounts) -> f64| {
            columns.each(row).map(|rounds| median(rounds.iter().filter_map(|round| round.counts.as_ref().map(figure))))
        };
        let [switches, segments] = [of(|counts| counts.switches), of(|counts| counts.segments)];
        // Behind the first three are the peer's teams, and the limit, which has no counts.
        line(row, switches[..3].iter().chain(&segments[..3]).copied().map(cell));
    }
}

impl Columns {
    /// The operations that both libraries have.
    fn rows(&self) -> Vec<&String> {
        let mut rows: Vec<&String> = self.peers.keys().filter(|row| self.sets.contains_key(*row)).collect();
        rows.sort_by_key(|row| order(row));
        rows
    }

    /// The rounds of an operation: ours on active sets and on teams, the peer's on both, the limit's.
    fn each(&self, row: &str) -> [&[PeerRound]; 5] {
        [&self.sets, &self.teams, &self.peers, &self.peer_teams, &self.limits]
            .map(|rounds: &Rounds| rounds.get(row).map_or(&[][..], Vec::as_slice))
    }
}

/// A figure; what has not been measured is no number.
fn cell(value: f64) -> String {
    if value.is_nan() { "-".to_owned() } else { format!("{value:.2}") }
}

fn line(row: &str, cells: impl IntoIterator<Item = impl std::fmt::Display>) {
    let cells: String = cells.into_iter().map(|cell| format!("{cell:>14}")).collect();
    say(format_args!("{row:<24}{cells}"));
}

/// Sorts operations by name, then by their number.
fn order(row: &str) -> (String, u64) {
    let (name, number) = row.rsplit_once(' ').unwrap_or((row, "0"));
    (name.to_owned(), number.parse().unwrap_or_default())
}

/// Not a number, where a library lacks the form, as [`median`].
fn mean(figures: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = figures.fold((0.0, 0.0), |(count, sum), figure| (count + 1.0, sum + figure));
    sum / count
}

#[cfg(test)]
mod tests {
    use super::{mean, median, order};

    #[test]
    fn rows_stand_by_name_then_by_size() {
        let mut rows = ["max 1024", "barrier", "max 8", "broadcast 8"];
        rows.sort_by_key(|row| order(row));
        assert_eq!(rows, ["barrier", "broadcast 8", "max 8", "max 1024"]);
    }

    #[test]
    fn the_median_does_not_depend_on_the_order_and_the_mean_counts_all() {
        assert_eq!(median([7.0, 1.0, 2.0].into_iter()), 2.0);
        assert_eq!(mean([7.0, 1.0, 2.0, 2.0].into_iter()), 3.0);
        assert!(median(std::iter::empty()).is_nan() && mean(std::iter::empty()).is_nan());
    }
}
