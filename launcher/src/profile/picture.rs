//! The timeline as a drawing in a page, which its reader can zoom and move.

use std::collections::BTreeMap;

use oxshmem_profile::layout::RoutineKind;
use serde_json::{Value, json};

use super::event::TraceEvent;

const SCRIPT: &str = include_str!("timeline.js");
/// More calls, or arrows, make a page that browsers open slowly; the longest calls are drawn.
const MOST_CALLS: usize = 200_000;

/// The drawing: HTML with its data and the script; and whether calls are left out.
pub(super) fn drawing(calls: &[TraceEvent], others: &[TraceEvent], end: f64) -> (String, bool) {
    // In strings alone. `</script>` ends a script, and behind `<!--<script>` not even that does.
    let data = data(calls, others, end).to_string().replace('<', "\\u003c");
    let html = format!(
        "<p><button id=\"timeline-in\">zoom in</button> <button id=\"timeline-out\">zoom out</button> \
         <button id=\"timeline-all\">all</button></p>\n<canvas id=\"timeline\" tabindex=\"0\" role=\"img\" \
         aria-label=\"timeline of all PEs\" style=\"display:block;width:100%;touch-action:none\"></canvas>\n\
         <ul class=\"legend\" id=\"timeline-legend\"></ul>\n<p id=\"timeline-told\" aria-live=\"polite\"></p>\n\
         <script type=\"application/json\" id=\"timeline-data\">{data}</script>\n<script>\n{SCRIPT}</script>\n"
    );
    (html, calls.len() > MOST_CALLS)
}

/// Texts that occur often, by number.
#[derive(Default)]
struct Texts {
    numbers: BTreeMap<String, usize>,
    all: Vec<String>,
}

impl Texts {
    fn number(&mut self, text: &str) -> usize {
        *self.numbers.entry(text.to_owned()).or_insert_with(|| {
            self.all.push(text.to_owned());
            self.all.len() - 1
        })
    }
}

/// The rows, the calls in them, and the arrows. `calls`: the longest first; `others`: the timeline's other records.
fn data(calls: &[TraceEvent], others: &[TraceEvent], end: f64) -> Value {
    let titles = others.iter().filter(|event| event.ph == "M" && event.name == "thread_name");
    let titles: BTreeMap<u64, &str> = titles.map(|event| (event.tid, event.args.name.as_str())).collect();
    let (mut names, mut places) = (Texts::default(), Texts::default());
    let mut kinds: Vec<usize> = Vec::new();
    let mut rows: BTreeMap<u64, Vec<(f64, f64, Value)>> = titles.keys().map(|track| (*track, Vec::new())).collect();
    for call in calls.iter().take(MOST_CALLS) {
        let name = names.number(&call.name);
        if name == kinds.len() {
            kinds.push(RoutineKind::ALL.iter().position(|kind| kind.name() == call.cat).unwrap_or(0));
        }
        let place = if call.args.at.is_empty() { -1 } else { places.number(&call.args.at) as i64 };
        let peer = call.args.peer.map_or(-1, i64::from);
        let meeting = call.args.last.map(|last| json!([call.args.team, call.args.number, last, call.args.waited]));
        let drawn = json!([call.ts, call.dur, name, call.args.bytes, peer, place, meeting]);
        rows.entry(call.tid).or_default().push((call.ts, call.dur, drawn));
    }
    // A call stands in front of those that are made inside of it.
    rows.values_mut().for_each(|calls| calls.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1))));
    let place_of: BTreeMap<u64, usize> = rows.keys().enumerate().map(|(number, track)| (*track, number)).collect();
    let ends = |letter: &'static str| {
        others.iter().filter(move |event| event.ph == letter).map(|event| (event.id, (event.tid, event.ts)))
    };
    let targets: BTreeMap<u64, (u64, f64)> = ends("f").collect();
    let arrows = ends("s").filter_map(|(id, (track, begin))| {
        let (target, arrival) = targets.get(&id)?;
        Some(json!([place_of.get(&track)?, begin, place_of.get(target)?, arrival]))
    });
    let arrows: Vec<Value> = arrows.take(MOST_CALLS).collect();
    let rows: Vec<Value> = rows
        .into_iter()
        .map(|(track, calls)| {
            let name = titles.get(&track).map_or_else(|| format!("PE {}", track / 1000), |title| (*title).to_owned());
            json!({"name": name, "calls": calls.into_iter().map(|(.., call)| call).collect::<Vec<_>>()})
        })
        .collect();
    json!({"end": end, "names": names.all, "kinds": kinds, "places": places.all, "rows": rows, "arrows": arrows})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(text: &str) -> TraceEvent {
        serde_json::from_str(text).expect("an event")
    }

    #[test]
    fn a_call_stands_in_front_of_those_inside_of_it() {
        let call = |ts: f64, dur: f64| TraceEvent { ts, dur, ..TraceEvent::default() };
        let data = data(&[call(0.0, 9.0), call(4.0, 3.0), call(5.0, 2.0), call(4.0, 1.0)], &[], 9.0);
        let lengths: Vec<_> = data["rows"][0]["calls"].as_array().unwrap().iter().map(|call| &call[1]).collect();
        assert_eq!(lengths, [9.0, 3.0, 1.0, 2.0]);
    }

    #[test]
    fn rows_calls_meetings_and_arrows_are_in_the_page() {
        let calls = [
            event(
                r#"{"ph":"X","tid":1000,"ts":5,"dur":9,"name":"shmem_long_wait_until","cat":"waiting","args":{"at":"a.c:7"}}"#,
            ),
            event(
                r#"{"ph":"X","tid":0,"ts":2,"dur":3,"name":"shmem_barrier_all","cat":"collective",
                    "args":{"bytes":0,"team":"2 PEs from PE 0","number":4,"last":1,"waited":1.5}}"#,
            ),
            event(
                r#"{"ph":"X","tid":0,"ts":0,"dur":1,"name":"shmem_long_p","cat":"transfer","args":{"bytes":8,"peer":1}}"#,
            ),
        ];
        let others = [
            event(r#"{"ph":"M","tid":0,"name":"thread_name","args":{"name":"PE 0"}}"#),
            event(r#"{"ph":"s","id":0,"tid":0,"ts":0,"name":"update"}"#),
            event(r#"{"ph":"f","id":0,"tid":1000,"ts":14,"name":"update"}"#),
        ];
        let data = data(&calls, &others, 14.0);
        assert_eq!(data["rows"][0]["name"], "PE 0");
        assert_eq!(data["rows"][0]["calls"][0], json!([0.0, 1.0, 2, 8, 1, -1, null]));
        assert_eq!(data["rows"][0]["calls"][1][6], json!(["2 PEs from PE 0", 4, 1, 1.5]));
        assert_eq!(data["arrows"], json!([[0, 0.0, 1, 14.0]]));
        assert_eq!(data["kinds"], json!([4, 5, 1]));
        assert_eq!(data["places"], json!(["a.c:7"]));
        let (html, is_cut) = drawing(&calls, &others, 14.0);
        assert!(!is_cut && html.contains("timeline-data") && !html.contains("http"));
        let titled = [event(r#"{"ph":"M","tid":0,"name":"thread_name","args":{"name":"<!--<script></script>"}}"#)];
        let (html, _) = drawing(&[], &titled, 0.0);
        assert!(html.contains(r"\u003c!--\u003cscript>") && !html.contains("<!--"), "{html}");
    }
}
