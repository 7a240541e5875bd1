//! The report as one HTML file that needs nothing else.

use std::fmt::Write;

use crate::report::{BenchReport, Finding, GoalVerdict};
use crate::rows::Goal;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1d2433;--paper:#fff;--rule:#d5dae3;--limit:#9aa5b8;--met:#2b7a4b;--missed:#c0392b;\
--scale:#3a6ea5}@media(prefers-color-scheme:dark){:root{--ink:#e4e8ef;--paper:#161b24;--rule:#39424f;--limit:#6d788a;\
--met:#4fb37a;--missed:#e8705f;--scale:#75a7dd}}body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);\
background:var(--paper);max-width:68rem;margin:2rem auto;padding:0 1rem}table{border-collapse:collapse;width:100%}\
td,th{padding:.3rem .6rem;border-bottom:1px solid var(--rule);text-align:left;vertical-align:middle}\
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}svg{display:block}small{opacity:.75}\
.met{color:var(--met)}.missed{color:var(--missed);font-weight:600}.limit{fill:var(--limit)}.bar-met{fill:var(--met)}\
.bar-missed{fill:var(--missed)}.bar-scale{fill:var(--scale)}.aim{stroke:var(--ink);stroke-width:2}";

const WIDTH: f64 = 260.0;

pub(crate) fn page(report: &BenchReport) -> String {
    let machine = &report.machine;
    let mut html = format!(
        "<!DOCTYPE html><html lang=\"en\"><meta charset=\"utf-8\"><title>oxshmem beside its limits</title>\
         <style>{STYLE}</style><h1>oxshmem beside its limits</h1><p>{}.</p>\
         <p>{} processors ({}), load {:.1} when the run began, {} jobs of {} pairs of batches. Method: {}.</p>\
         <p><small>Grey: the limit. Coloured: oxshmem. Stroke: the longest bar that meets the target.</small></p>",
        report.count(),
        machine.processors,
        escape(&machine.processor),
        machine.load,
        report.jobs,
        report.pairs,
        report.method
    );
    for group in report.rows.chunk_by(|a, b| (a.group, a.pes) == (b.group, b.pes)) {
        let _ = write!(
            html,
            "<h2>{}, {} PEs</h2><table><tr><th>operation<th>beside<th><th class=n>ours<th class=n>limit\
             <th class=n>ratio<th class=n>target<th>",
            group[0].group, group[0].pes
        );
        group.iter().for_each(|finding| html.push_str(&table_row(finding)));
        html.push_str("</table>");
    }
    html
}

fn table_row(finding: &Finding) -> String {
    let quiet = |side: Option<crate::samples::Summary>| side.map_or("–".into(), |side| finding.with_unit(side.quiet));
    let class = match finding.verdict {
        GoalVerdict::Met => "met",
        GoalVerdict::NotMet | GoalVerdict::NotMeasured => "missed",
        GoalVerdict::ForScale => "scale",
    };
    format!(
        "<tr><td>{}<td><small>{}</small><td>{}<td class=n>{}<td class=n>{}<td class=n>{}<td class=n>{}\
         <td class={class}>{}",
        escape(finding.operation),
        escape(finding.limit_is),
        bars(finding, class),
        quiet(finding.ours),
        quiet(finding.limit),
        finding.ratio.map_or("–".into(), |ratio| format!("{ratio:.2}")),
        finding.target,
        finding.verdict
    )
}

/// Two bars, ours and the limit, and a stroke where ours should end.
fn bars(finding: &Finding, class: &str) -> String {
    let limit = finding.limit.map_or(0.0, |limit| limit.quiet);
    let ours = finding.ours.map_or(0.0, |ours| ours.quiet);
    let aim = match finding.aim {
        Goal::Times(most) => limit * most,
        Goal::Share(least) => limit / least,
        Goal::More(most) => limit + most,
        Goal::Nanoseconds(most) | Goal::Bytes(most) => most,
        Goal::Scale => 0.0,
    };
    let longest = limit.max(ours).max(aim);
    if longest == 0.0 {
        return String::new();
    }
    let length = |value: f64| value / longest * (WIDTH - 2.0);
    let mut svg = format!(
        "<svg width=\"{WIDTH}\" height=\"22\" role=\"img\" aria-label=\"{}\">\
         <rect class=\"bar-{class}\" y=\"2\" height=\"9\" width=\"{:.1}\"/>\
         <rect class=\"limit\" y=\"13\" height=\"7\" width=\"{:.1}\"/>",
        escape(finding.operation),
        length(ours),
        length(limit)
    );
    if aim > 0.0 {
        let x = length(aim);
        let _ = write!(svg, "<line class=\"aim\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"13\"/>");
    }
    svg + "</svg>"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
