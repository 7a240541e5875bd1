//! Curves over an axis, as SVG that inherits its colours from the page.

use std::fmt::Write;

use crate::page::{Document, escape};
use crate::scale::{Division, Scale};

/// One axis: what it shows, how it is divided, and how a value is written.
pub struct Axis {
    /// Its subject, with the unit.
    pub title: String,
    /// How it is divided.
    pub division: Division,
    /// A label.
    pub write: fn(f64) -> String,
}

/// A point of a curve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// Where it lies on the lower axis.
    pub x: f64,
    /// Where it lies on the other one.
    pub y: f64,
    /// An interval around it.
    pub around: Option<(f64, f64)>,
    /// The tooltip.
    pub note: String,
}

/// How a curve is drawn. Colour, dashes and marks differ, so that paper without colours will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stroke {
    /// Unbroken, with filled marks.
    Whole,
    /// Dashed, with hollow marks: another library, another form of the call.
    Dashed,
    /// Dotted, with small marks: an earlier run.
    Dotted,
    /// Grey, without marks: a limit of the machine.
    Limit,
}

/// A named curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// For the legend.
    pub name: String,
    /// Which colour and mark, from 0.
    pub hue: usize,
    /// How it is drawn.
    pub stroke: Stroke,
    /// From left to right.
    pub marks: Vec<Mark>,
}

/// Curves over two axes.
pub struct Chart {
    /// Its subject, for readers who cannot see it.
    pub title: String,
    /// The lower axis.
    pub x: Axis,
    /// The left axis.
    pub y: Axis,
    /// The curves, in the order of the legend.
    pub curves: Vec<Curve>,
}

/// How many colours there are.
pub const HUES: usize = 6;

pub(crate) const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 50.0;

impl Chart {
    /// The drawing.
    pub fn svg(&self) -> String {
        let marks = || self.curves.iter().flat_map(|curve| &curve.marks);
        let x = Scale::around(self.x.division, marks().map(|mark| mark.x));
        let ends = |mark: &Mark| mark.around.map_or([mark.y, mark.y], |(low, high)| [low, high]);
        let y = Scale::around(self.y.division, marks().flat_map(|mark| [mark.y].into_iter().chain(ends(mark))));
        let frame = Canvas { x, y };
        let mut svg = opened(&self.title, HEIGHT);
        frame.draw(&mut svg, &self.x, &self.y);
        for curve in &self.curves {
            curve.draw(&mut svg, &frame);
        }
        svg + "</svg>"
    }

    /// Adds the drawing to a page, with its title as the caption, and its legend.
    pub fn put_on(&self, page: &mut Document) {
        page.figure(&self.title, &(self.svg() + &legend(&self.curves)));
    }
}

/// The names of curves beside what they look like, as HTML.
pub fn legend(curves: &[Curve]) -> String {
    let mut html = String::from("<ul class=\"legend\">");
    for curve in curves {
        let _ = write!(
            html,
            "<li><svg viewBox=\"0 0 34 14\" width=\"34\" height=\"14\" aria-hidden=\"true\"><path class=\"{}\" d=\"M1 7H33\"/>",
            curve.classes()
        );
        mark(&mut html, curve, 17.0, 7.0);
        let _ = write!(html, "</svg>{}</li>", escape(&curve.name));
    }
    html + "</ul>"
}

/// The head of a drawing.
pub(crate) fn opened(title: &str, height: f64) -> String {
    let title = escape(title);
    format!("<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">")
}

/// Where values lie in the drawing.
struct Canvas {
    x: Scale,
    y: Scale,
}

impl Canvas {
    fn across(&self, value: f64) -> f64 {
        LEFT + self.x.place(value) * (WIDTH - LEFT - RIGHT)
    }

    fn up(&self, value: f64) -> f64 {
        HEIGHT - BOTTOM - self.y.place(value) * (HEIGHT - TOP - BOTTOM)
    }

    fn draw(&self, svg: &mut String, x: &Axis, y: &Axis) {
        let (floor, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
        for (value, labelled) in self.x.ticks() {
            let at = self.across(*value);
            let _ = write!(svg, "<path class=\"{}\" d=\"M{at:.1} {TOP}V{floor}\"/>", grid(*labelled));
            if *labelled {
                let (below, label) = (floor + 17.0, escape(&(x.write)(*value)));
                let _ = write!(svg, "<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">{label}</text>");
            }
        }
        for (value, labelled) in self.y.ticks() {
            let at = self.up(*value);
            let _ = write!(svg, "<path class=\"{}\" d=\"M{LEFT} {at:.1}H{right}\"/>", grid(*labelled));
            if *labelled {
                let (before, base, label) = (LEFT - 6.0, at + 4.0, escape(&(y.write)(*value)));
                let _ = write!(svg, "<text x=\"{before}\" y=\"{base:.1}\" text-anchor=\"end\">{label}</text>");
            }
        }
        let (middle, height) = ((LEFT + right) / 2.0, (TOP + floor) / 2.0);
        let _ = write!(
            svg,
            "<path class=\"axis\" d=\"M{LEFT} {TOP}V{floor}H{right}\"/>\
             <text class=\"title\" x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text class=\"title\" transform=\"translate(13 {height}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            HEIGHT - 10.0,
            escape(&x.title),
            escape(&y.title)
        );
    }
}

fn grid(labelled: bool) -> &'static str {
    if labelled { "grid" } else { "grid fine" }
}

impl Curve {
    fn classes(&self) -> String {
        let stroke = match self.stroke {
            Stroke::Whole => "",
            Stroke::Dashed => " dashed",
            Stroke::Dotted => " dotted",
            Stroke::Limit => return "curve limit".into(),
        };
        format!("curve c{}{stroke}", self.hue % HUES)
    }

    fn draw(&self, svg: &mut String, frame: &Canvas) {
        let mut path = String::new();
        for (number, mark) in self.marks.iter().enumerate() {
            let command = if number == 0 { 'M' } else { 'L' };
            let _ = write!(path, "{command}{:.1} {:.1}", frame.across(mark.x), frame.up(mark.y));
        }
        let (classes, name) = (self.classes(), escape(&self.name));
        let _ = write!(svg, "<g data-curve=\"{name}\"><path class=\"{classes}\" d=\"{path}\"/>");
        for point in &self.marks {
            let (x, y) = (frame.across(point.x), frame.up(point.y));
            if let Some((low, high)) = point.around {
                let _ = write!(
                    svg,
                    "<path class=\"{classes} around\" d=\"M{x:.1} {:.1}V{:.1}\"/>",
                    frame.up(low),
                    frame.up(high)
                );
            }
            mark(svg, self, x, y);
            if !point.note.is_empty() {
                let note = escape(&point.note);
                let _ = write!(
                    svg,
                    "<circle class=\"touch\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"7\"><title>{note}</title></circle>"
                );
            }
        }
        svg.push_str("</g>");
    }
}

/// The mark of a curve, whose shape goes with its colour.
fn mark(svg: &mut String, curve: &Curve, x: f64, y: f64) {
    let size = match curve.stroke {
        Stroke::Whole | Stroke::Dashed => 3.6,
        Stroke::Dotted => 2.2,
        // A limit without a line would not be seen.
        Stroke::Limit if curve.marks.len() == 1 => 3.0,
        Stroke::Limit => return,
    };
    if curve.stroke == Stroke::Limit {
        return shape(svg, 3, "mark limit", x, y, size);
    }
    let hollow = if curve.stroke == Stroke::Whole { "" } else { " hollow" };
    shape(svg, curve.hue, &format!("mark c{}{hollow}", curve.hue % HUES), x, y, size);
}

/// A disc, a square, a triangle, a diamond, a triangle that stands on its point or a narrow bar.
pub(crate) fn shape(svg: &mut String, hue: usize, classes: &str, x: f64, y: f64, size: f64) {
    let corners: &[(f64, f64)] = match hue % HUES {
        0 => {
            let _ = write!(svg, "<circle class=\"{classes}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{size}\"/>");
            return;
        }
        1 => &[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)],
        2 => &[(0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)],
        3 => &[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)],
        4 => &[(0.0, 1.2), (1.1, -0.9), (-1.1, -0.9)],
        _ => &[(-0.5, -1.2), (0.5, -1.2), (0.5, 1.2), (-0.5, 1.2)],
    };
    let points: Vec<String> =
        corners.iter().map(|(dx, dy)| format!("{:.1},{:.1}", x + dx * size, y + dy * size)).collect();
    let _ = write!(svg, "<polygon class=\"{classes}\" points=\"{}\"/>", points.join(" "));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::{short_size, time};

    fn chart(curves: Vec<Curve>) -> Chart {
        let axis = |title: &str, division, write| Axis { title: title.into(), division, write };
        let (x, y) =
            (axis("bytes", Division::Binary, short_size as fn(f64) -> String), axis("time", Division::Decimal, time));
        Chart { title: "put <8 B>".into(), x, y, curves }
    }

    fn curve(name: &str, points: &[(f64, f64)]) -> Curve {
        let mark = |&(x, y): &(f64, f64)| Mark { x, y, around: Some((y * 0.9, y * 1.2)), note: format!("{x} & {y}") };
        Curve { name: name.into(), hue: 1, stroke: Stroke::Whole, marks: points.iter().map(mark).collect() }
    }

    /// The coordinates of a path.
    fn coordinates(path: &str) -> Vec<(f64, f64)> {
        let number = |text: &str| text.parse::<f64>().expect("a path has numbers");
        let point = |text: &str| text.split_once(' ').map(|(x, y)| (number(x), number(y)));
        path.split(['M', 'L']).filter(|text| !text.is_empty()).map(|text| point(text).expect("pairs")).collect()
    }

    #[test]
    fn a_curve_has_its_points_where_the_axes_say() {
        let svg = chart(vec![curve("put", &[(8.0, 10.0), (64.0, 100.0), (512.0, 1000.0)])]).svg();
        let path = svg.split("data-curve=\"put\"><path class=\"curve c1\" d=\"").nth(1).expect("the curve is there");
        let points = coordinates(path.split('"').next().expect("the path ends"));
        assert_eq!(points.len(), 3);
        // Equal factors on both axes: a straight line, upwards, inside the frame.
        let ((x0, y0), (x1, y1), (x2, y2)) = (points[0], points[1], points[2]);
        assert!((x1 - x0 - (x2 - x1)).abs() < 0.2 && (y1 - y0 - (y2 - y1)).abs() < 0.2, "{points:?}");
        assert!(x0 >= LEFT && x2 <= WIDTH - RIGHT + 0.1 && y0 <= HEIGHT - BOTTOM && y2 >= TOP && y2 < y0, "{points:?}");
    }

    #[test]
    fn what_users_named_is_escaped_and_points_have_notes() {
        let chart = chart(vec![curve("a < b", &[(8.0, 10.0)])]);
        let svg = chart.svg();
        assert!(svg.contains("aria-label=\"put &lt;8 B&gt;\"") && svg.contains("<title>8 &amp; 10</title>"), "{svg}");
        let legend = legend(&chart.curves);
        assert!(legend.contains("a &lt; b"), "{legend}");
        assert_eq!(svg.matches('<').count(), svg.matches('>').count());
    }

    #[test]
    fn a_chart_without_curves_is_a_frame() {
        let svg = chart(Vec::new()).svg();
        assert!(svg.contains("class=\"axis\"") && !svg.contains("data-curve"), "{svg}");
    }
}
