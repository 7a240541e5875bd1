//! Choices in words, for people.

use alloc::format;
use alloc::string::String;
use core::fmt::Write;

use super::{Miss, Question, Row, STANDARD};
use crate::algorithm::{Collective, OperatorLaw};

/// The choice among the rows of the user and the standard ones, in words.
pub fn explain(own: &[Row], question: &Question) -> String {
    let Question { collective, size, .. } = question;
    let s = if *size == 1 { "" } else { "s" };
    let head = format!("{collective}, {size} PE{s}, {} bytes\n", question.bytes());
    head + &explain_from(&[("own", own), ("standard", STANDARD)], question)
}

/// The choice among tables with their names: the row that answers, and why the rows of this collective before it do not.
pub fn explain_from(tables: &[(&str, &[Row])], question: &Question) -> String {
    let mut text = String::new();
    if question.collective == Collective::Reduce(OperatorLaw::FixedTree) {
        return text + "  no row: operands are folded in the order of the team, whatever the schedule\n";
    }
    let rows = tables.iter().flat_map(|(table, rows)| rows.iter().map(move |row| (*table, row)));
    for (table, row) in rows {
        let reason = match row.misses(question) {
            Some(Miss::Collective) => continue,
            Some(Miss::Size) => format!("no: at most {} PEs", row.max_size),
            Some(Miss::Bytes) => format!("no: at most {} bytes", row.max_bytes),
            Some(Miss::Root) => "no: it writes the root's dest".into(),
            None => "answers".into(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {table} row {:<16} {reason}", format!("{}", row.schedule));
        if reason == "answers" {
            return text;
        }
    }
    text + "  no row answers\n"
}
