//! The page of the races: all of them in a table, then each with the lines of the program.

use std::path::PathBuf;

use oxshmem_report::page::{Document, TableFold, escape};

use super::excerpt::excerpt;
use super::found::{FoundRace, FoundRaces, RaceSide};
use crate::verdict::counted_as;

/// The page; `lead` says where the reports come from, and source files are also looked for in these folders.
pub(super) fn page(races: &FoundRaces, lead: &str, sources: &[PathBuf]) -> String {
    let mut page = Document::new("Data races between PEs", &escape(lead));
    let all = races.all();
    if all.is_empty() {
        page.text("No race was found in the orders that the runs took.");
        return page.finish();
    }
    page.heading("At a glance");
    let has_seeds = all.iter().any(|race| !race.seeds.is_empty());
    let head = ["", "kind", "memory", "one access", "other access", if has_seeds { "seeds" } else { "reports" }];
    let rows = (1..).zip(&all).map(|(number, race)| row(number, race));
    page.table("The same lines count once, whichever PEs they meet on.", &head, 5, rows, TableFold::Open);
    for (number, race) in (1..).zip(&all) {
        one(&mut page, number, race, sources);
    }
    page.heading("How to read this");
    METHOD.iter().for_each(|sentence| page.text(sentence));
    page.finish()
}

/// The meaning of a report.
const METHOD: [&str; 3] = [
    "A report is certain: both accesses were made in one run, and nothing that the standard names orders them, whether or not \
     they did harm in it.",
    "A run shows the races of what it executes, in the order that it took. `oxshmem sim --race` tries other orders.",
    "The two places are the smallest set of lines to look at: an ordering call belongs between them on each path that the \
     program takes from one to the other.",
];

fn row(number: u32, race: &FoundRace) -> Vec<String> {
    let side = |at: usize| race.sides.get(at).map_or("–".into(), |side| format!("{} at {}", side.call, side.place));
    let count = if race.seeds.is_empty() { race.reports } else { race.seeds.len() };
    let memory = race.memory.clone().unwrap_or_else(|| "–".into());
    vec![number.to_string(), kind(&race.kind).into(), memory, side(0), side(1), count.to_string()]
}

/// The kind in words, as the book has it.
fn kind(kind: &str) -> &str {
    match kind {
        "race" => "data race",
        "atomics" => "atomics of different types",
        "letter" => "only by the letter",
        other => other,
    }
}

fn one(page: &mut Document, number: u32, race: &FoundRace, sources: &[PathBuf]) {
    // The text has three lines: what happened, why, and what to do.
    let mut lines = race.text.lines();
    page.heading(&format!("{number}. {}", lines.next().unwrap_or_default()));
    for line in lines {
        let line = line.trim_start();
        let named = line.strip_prefix("because: ").map(|why| ("Why", why));
        let (title, words) =
            named.or_else(|| line.strip_prefix("to fix:").map(|fix| ("To fix", fix))).unwrap_or(("", line));
        page.block(&format!("<p><b>{title}:</b> {}</p>\n", escape(words.trim_start())));
    }
    page.open_figures();
    for side in &race.sides {
        let shown = excerpt(side, sources).unwrap_or_else(|| missing(side));
        page.figure(&format!("{} by {}PE {} at {}", side.call, thread(side), side.pe, side.place), &shown);
    }
    page.close_figures();
    let pairs: Vec<String> =
        race.pairs.iter().map(|pair| pair.iter().map(u64::to_string).collect::<Vec<_>>().join(" and ")).collect();
    page.text(&format!("Seen between PEs {}.", pairs.join("; ")));
    if let Some(first) = race.seeds.first() {
        page.text(&format!("Seen with {}, the first is {first}.", counted_as(race.seeds.len(), "seed")));
    }
}

fn thread(side: &RaceSide) -> String {
    if side.thread.is_empty() { String::new() } else { format!("{} of ", side.thread) }
}

fn missing(side: &RaceSide) -> String {
    let why = if side.place.contains(':') {
        "The file is not here: name its directory with --source."
    } else {
        "Lines are known where the program was compiled with -g."
    };
    format!("<pre class=\"source\">{}</pre>", escape(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"kind":"race","pe":1,"pes":2,"memory":"`data` of PE 1 (bytes 16 to 23)","accesses":[
        {"call":"shmem_long_put","pe":0,"thread":"","place":"a<b.c:11"},{"call":"a load","pe":1,"thread":"thread 2","place":"main+0x3"}],
        "text":"data race on `data`\n  because: nothing orders them\n  to fix:  complete the put"}"#;

    #[test]
    fn each_race_has_its_row_its_reason_its_remedy_and_both_places() {
        let mut races = FoundRaces::default();
        races.add(None, &REPORT.replace('\n', " "));
        let html = page(&races, "From a & b.", &[]);
        for part in [
            "From a &amp; b.",
            "<h2>1. data race on `data`</h2>",
            "<b>Why:</b> nothing orders them",
            "<b>To fix:</b> complete the put",
            "shmem_long_put by PE 0 at a&lt;b.c:11",
            "a load by thread 2 of PE 1 at main+0x3",
            "name its directory with --source",
            "compiled with -g",
            "Seen between PEs 0 and 1.",
        ] {
            assert!(html.contains(part), "{part} is missing: {html}");
        }
        assert!(!html.contains("http") && !html.contains("<script"));
    }

    #[test]
    fn a_page_without_races_says_so() {
        assert!(page(&FoundRaces::default(), "From x.", &[]).contains("No race was found"));
    }
}
