//! One line for each operation, with a mark for each library on a common axis: for figures that have no sizes.

use std::fmt::Write;

use crate::chart::{self, HUES, WIDTH};
use crate::page::escape;
use crate::scale::{Division, Scale};

/// A mark on a line.
pub struct Dot {
    /// Which colour and shape, from 0.
    pub hue: usize,
    /// Where it lies.
    pub value: f64,
    /// An interval around it.
    pub around: Option<(f64, f64)>,
    /// The tooltip.
    pub note: String,
}

/// A line with its name.
pub struct DotLine {
    /// The operation.
    pub name: String,
    /// The marks.
    pub dots: Vec<Dot>,
}

/// The height of a line.
const PITCH: f64 = 26.0;
/// The width of a letter, averaged generously.
const LETTER: f64 = 7.2;
/// The axis begins no further to the right, however long the names are.
const MOST_LEFT: f64 = 240.0;
const RIGHT: f64 = 76.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 46.0;

/// The drawing. The value of the first dot stands behind each line.
pub fn svg(title: &str, axis: &str, lines: &[DotLine], write: fn(f64) -> String) -> String {
    let height = TOP + PITCH * lines.len() as f64 + BOTTOM;
    let (floor, right) = (height - BOTTOM, WIDTH - RIGHT);
    let longest = lines.iter().map(|line| line.name.chars().count()).max().unwrap_or(0);
    let left = (12.0 + LETTER * longest as f64).min(MOST_LEFT);
    let ends =
        |dot: &Dot| dot.around.map_or([dot.value, dot.value], |(low, high)| [low.min(dot.value), high.max(dot.value)]);
    let scale = Scale::around(Division::Decimal, lines.iter().flat_map(|line| line.dots.iter().flat_map(ends)));
    let across = |value: f64| left + scale.place(value) * (right - left);
    let mut svg = chart::opened(title, height);
    // Labels of this narrow axis need the room of two.
    let labels: Vec<f64> = scale.ticks().iter().filter(|(_, labelled)| *labelled).map(|(value, _)| *value).collect();
    let step = labels.len() / 5 + 1;
    for (value, _) in scale.ticks() {
        let labelled = labels.iter().step_by(step).any(|label| label == value);
        let at = across(*value);
        let class = if labelled { "grid" } else { "grid fine" };
        let _ = write!(svg, "<path class=\"{class}\" d=\"M{at:.1} {TOP}V{floor}\"/>");
        if labelled {
            let (below, label) = (floor + 17.0, write(*value).replace(".00 ", " ").replace(".0 ", " "));
            let _ = write!(svg, "<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{}</text>", escape(&label));
        }
    }
    for (number, line) in lines.iter().enumerate() {
        let y = TOP + PITCH * (number as f64 + 0.5);
        let name = escape(&line.name);
        let _ = write!(
            svg,
            "<g data-line=\"{name}\"><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{name}</text>\
             <path class=\"grid\" d=\"M{left} {y}H{right}\"/>",
            left - 8.0,
            y + 4.0
        );
        for dot in &line.dots {
            let (x, hue) = (across(dot.value), dot.hue % HUES);
            if let Some((low, high)) = dot.around {
                let _ = write!(
                    svg,
                    "<path class=\"curve c{hue} around\" d=\"M{:.1} {y}H{:.1}\"/>",
                    across(low),
                    across(high)
                );
            }
            chart::shape(&mut svg, dot.hue, &format!("mark c{hue}"), x, y, 4.2);
            let note = escape(&dot.note);
            let _ =
                write!(svg, "<circle class=\"touch\" cx=\"{x:.1}\" cy=\"{y}\" r=\"8\"><title>{note}</title></circle>");
        }
        if let Some(first) = line.dots.first() {
            let value = escape(&write(first.value));
            let _ = write!(svg, "<text class=\"value\" x=\"{}\" y=\"{:.1}\">{value}</text>", right + 10.0, y + 4.0);
        }
        svg.push_str("</g>");
    }
    let middle = (left + right) / 2.0;
    let _ = write!(
        svg,
        "<path class=\"axis\" d=\"M{left} {floor}H{right}\"/>\
         <text class=\"title\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text></svg>",
        height - 9.0,
        escape(axis)
    );
    svg
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::time;

    #[test]
    fn each_line_has_its_name_its_dots_and_its_value() {
        let dot = |hue, value| Dot { hue, value, around: Some((value / 2.0, value * 2.0)), note: "a note".into() };
        let line = |name: &str, dots| DotLine { name: name.into(), dots };
        let svg = svg(
            "atomics",
            "time",
            &[line("fetch & add", vec![dot(0, 40.0), dot(1, 400.0)]), line("none", vec![])],
            time,
        );
        assert_eq!((svg.matches("data-line=").count(), svg.matches("a note").count()), (2, 2));
        assert!(svg.contains("data-line=\"fetch &amp; add\"") && svg.contains(">40.0 ns</text>"), "{svg}");
    }
}
