//! Matrices as squares whose colours tell values.

use std::fmt::Write;

use crate::page::escape;

/// A matrix.
pub struct HeatMap<'a> {
    /// Its subject, for readers who cannot see it.
    pub title: String,
    /// The meaning of rows and of columns.
    pub axes: (&'a str, &'a str),
    /// How many rows and columns.
    pub size: u32,
    /// Values that are not 0: row, column, value.
    pub cells: &'a [(u32, u32, f64)],
    /// A value in words.
    pub write: fn(f64) -> String,
    /// The name of a row or column.
    pub name: &'a dyn Fn(u32) -> String,
}

/// How many colours there are.
const LEVELS: u32 = 9;
/// Up to this many rows, each cell is an element of its own with a tooltip.
const MOST_CELLS: u32 = 64;

const LEFT: f64 = 62.0;
const TOP: f64 = 14.0;
const SIDE: f64 = 360.0;
const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 436.0;

impl HeatMap<'_> {
    /// The drawing.
    pub fn svg(&self) -> String {
        let title = escape(&self.title);
        let mut svg =
            format!("<svg class=\"chart heat\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">");
        let _ = write!(svg, "<rect class=\"h0\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{SIDE}\" height=\"{SIDE}\"/>");
        let (least, most) = self.range();
        if self.size <= MOST_CELLS {
            self.draw_cells(&mut svg, least, most);
        } else {
            self.draw_levels(&mut svg, least, most);
        }
        self.draw_axes(&mut svg);
        self.draw_key(&mut svg, least, most);
        svg + "</svg>"
    }

    fn range(&self) -> (f64, f64) {
        let values = self.cells.iter().map(|cell| cell.2);
        let (least, most) =
            values.fold((f64::MAX, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
        if least > most { (1.0, 1.0) } else { (least, most) }
    }

    /// The colour of a value, from 1. Equal factors are equally far apart where values differ by more than ten times; other
    /// values count from 0, so that small differences look small.
    fn level(&self, value: f64, least: f64, most: f64) -> u32 {
        let share = if is_wide(least, most) { (value / least).ln() / (most / least).ln() } else { value / most };
        1 + (share * f64::from(LEVELS - 1)).round() as u32
    }

    fn draw_cells(&self, svg: &mut String, least: f64, most: f64) {
        let step = SIDE / f64::from(self.size.max(1));
        let gap = if self.size <= 32 { 1.0 } else { 0.0 };
        for (row, column, value) in self.cells {
            let level = self.level(*value, least, most);
            let (x, y) = (LEFT + f64::from(*column) * step, TOP + f64::from(*row) * step);
            let note = format!("{} to {}: {}", (self.name)(*row), (self.name)(*column), (self.write)(*value));
            let _ = write!(
                svg,
                "<rect class=\"h{level}\" data-row=\"{row}\" data-column=\"{column}\" data-value=\"{value}\" x=\"{x:.2}\" y=\"{y:.2}\" \
                 width=\"{side:.2}\" height=\"{side:.2}\"><title>{}</title></rect>",
                escape(&note),
                side = step - gap
            );
        }
    }

    /// One path for each colour; neighbours in a row are one piece of it.
    fn draw_levels(&self, svg: &mut String, least: f64, most: f64) {
        let mut paths: Vec<String> = vec![String::new(); LEVELS as usize + 1];
        let mut cells = self.cells.iter().map(|(row, column, value)| (*row, *column, self.level(*value, least, most)));
        let mut piece = cells.next().map(|(row, column, level)| (row, column, level, 1));
        while let Some((row, column, level, length)) = piece {
            let next = cells.next();
            piece = match next {
                Some(same) if same == (row, column + length, level) => Some((row, column, level, length + 1)),
                other => {
                    let _ = write!(paths[level as usize], "M{column} {row}h{length}v1h-{length}z");
                    other.map(|(row, column, level)| (row, column, level, 1))
                }
            };
        }
        let scale = SIDE / f64::from(self.size);
        let _ =
            write!(svg, "<g transform=\"translate({LEFT} {TOP}) scale({scale:.5})\" shape-rendering=\"crispEdges\">");
        for (level, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            let _ = write!(svg, "<path class=\"h{level}\" d=\"{path}\"/>");
        }
        svg.push_str("</g>");
    }

    fn draw_axes(&self, svg: &mut String) {
        let step = SIDE / f64::from(self.size.max(1));
        // The labels that there is room for.
        let every = self.size.div_ceil(8).max(1);
        for index in (0..self.size).step_by(every as usize) {
            let middle = (f64::from(index) + 0.5) * step;
            let label = escape((self.name)(index).trim_start_matches("PEs ").trim_start_matches("PE "));
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                LEFT + middle,
                TOP + SIDE + 16.0,
                LEFT - 6.0,
                TOP + middle + 4.0
            );
        }
        let _ = write!(
            svg,
            "<text class=\"title\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text class=\"title\" transform=\"translate(13 {}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            LEFT + SIDE / 2.0,
            TOP + SIDE + 34.0,
            escape(self.axes.1),
            TOP + SIDE / 2.0,
            escape(self.axes.0)
        );
    }

    fn draw_key(&self, svg: &mut String, least: f64, most: f64) {
        if self.cells.is_empty() {
            return;
        }
        let (width, y) = (16.0, TOP + SIDE + 44.0);
        let begin = LEFT + SIDE / 2.0 - width * f64::from(LEVELS) / 2.0;
        for level in 1..=LEVELS {
            let x = begin + width * f64::from(level - 1);
            let _ = write!(svg, "<rect class=\"h{level}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"10\"/>");
        }
        let _ = write!(
            svg,
            "<text class=\"small\" x=\"{}\" y=\"{base}\" text-anchor=\"end\">{}</text>\
             <text class=\"small\" x=\"{}\" y=\"{base}\">{}</text>",
            begin - 6.0,
            escape(&(self.write)(if is_wide(least, most) { least } else { 0.0 })),
            begin + width * f64::from(LEVELS) + 6.0,
            escape(&(self.write)(most)),
            base = y + 10.0
        );
    }
}

/// Whether values differ so much that factors tell more than differences.
fn is_wide(least: f64, most: f64) -> bool {
    most > 10.0 * least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::size;

    fn map(size: u32, cells: &[(u32, u32, f64)]) -> String {
        let name = |index: u32| format!("PE {index}");
        HeatMap { title: "<b>".into(), axes: ("from", "to"), size, cells, write: self::size, name: &name }.svg()
    }

    #[test]
    fn cells_lie_where_their_numbers_say_and_tell_their_values() {
        let svg = map(4, &[(0, 1, 8.0), (3, 2, 4096.0)]);
        assert!(
            svg.contains("class=\"h1\" data-row=\"0\" data-column=\"1\" data-value=\"8\" x=\"152.00\" y=\"14.00\""),
            "{svg}"
        );
        assert!(svg.contains("class=\"h9\" data-row=\"3\" data-column=\"2\""), "{svg}");
        assert!(svg.contains("PE 3 to PE 2: 4 KiB") && svg.contains("&lt;b&gt;"), "{svg}");
    }

    #[test]
    fn a_large_matrix_joins_neighbours_of_one_colour() {
        let row: Vec<(u32, u32, f64)> = (0..100).map(|column| (5, column, 1.0)).chain([(6, 0, 500.0)]).collect();
        let svg = map(128, &row);
        assert!(svg.contains("M0 5h100v1h-100z") && svg.contains("class=\"h9\" d=\"M0 6h1v1h-1z\""), "{svg}");
        assert!(!svg.contains("data-row"));
    }

    #[test]
    fn values_that_differ_little_look_alike() {
        let svg = map(2, &[(0, 1, 200.0), (1, 0, 203.0)]);
        assert_eq!(svg.matches("class=\"h9\" data-row").count(), 2, "{svg}");
    }

    #[test]
    fn an_empty_matrix_is_a_frame() {
        assert!(map(2, &[]).contains("class=\"h0\""));
    }
}
