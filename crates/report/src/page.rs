//! A page of HTML that needs nothing but itself, is good in print, and follows the reader's choice of light or dark.

use std::fmt::Write;

/// Text that may stand in HTML, in attributes too.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A page whose parts are added from top to bottom. Figures and tables are numbered.
pub struct Document {
    html: String,
    figures: u32,
    tables: u32,
}

/// Whether the rows of a table are hidden behind its caption until a reader opens it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFold {
    /// They are shown.
    Open,
    /// They are hidden.
    Folded,
    /// They are hidden if there are many.
    IfLong,
}

/// The most rows that [`TableFold::IfLong`] shows.
const MOST_OPEN_ROWS: usize = 32;

impl Document {
    /// A page with this title; `lead` is HTML.
    pub fn new(title: &str, lead: &str) -> Self {
        let title = escape(title);
        let html = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>{title}</title>\n\
             <link rel=\"icon\" href=\"data:,\">\n<style>{}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n\
             <p class=\"lead\">{lead}</p>\n",
            include_str!("page.css")
        );
        Self { html, figures: 0, tables: 0 }
    }

    /// A heading.
    pub fn heading(&mut self, text: &str) {
        let _ = writeln!(self.html, "<h2>{}</h2>", escape(text));
    }

    /// A paragraph of text.
    pub fn text(&mut self, text: &str) {
        let _ = writeln!(self.html, "<p>{}</p>", escape(text));
    }

    /// HTML as it is.
    pub fn block(&mut self, html: &str) {
        self.html.push_str(html);
    }

    /// Opens a row of figures, which stand beside each other where there is room.
    pub fn open_figures(&mut self) {
        self.html.push_str("<div class=\"figures\">\n");
    }

    /// Closes it.
    pub fn close_figures(&mut self) {
        self.html.push_str("</div>\n");
    }

    /// A drawing with its caption; `body` is SVG and HTML.
    pub fn figure(&mut self, caption: &str, body: &str) {
        self.figures += 1;
        let _ = writeln!(
            self.html,
            "<figure>{body}<figcaption><b>Figure {}.</b> {}</figcaption></figure>",
            self.figures,
            escape(caption)
        );
    }

    /// A table: numbers stand to the right, from the column `numbers` on.
    pub fn table<R: IntoIterator<Item = String>>(
        &mut self,
        caption: &str,
        head: &[&str],
        numbers: usize,
        rows: impl IntoIterator<Item = R>,
        fold: TableFold,
    ) {
        let rows: Vec<R> = rows.into_iter().collect();
        let folded = fold == TableFold::Folded || fold == TableFold::IfLong && rows.len() > MOST_OPEN_ROWS;
        self.tables += 1;
        let class = |column: usize| if column >= numbers { " class=\"n\"" } else { "" };
        let caption = format!("<b>Table {}.</b> {}", self.tables, escape(caption));
        let _ = if folded {
            write!(self.html, "<details><summary>{caption}</summary><div class=\"wide\"><table>")
        } else {
            write!(self.html, "<div class=\"wide\"><table><caption>{caption}</caption>")
        };
        self.html.push_str("<thead><tr>");
        for (column, title) in head.iter().enumerate() {
            let _ = write!(self.html, "<th{}>{}</th>", class(column), escape(title));
        }
        self.html.push_str("</tr></thead><tbody>\n");
        for row in rows {
            self.html.push_str("<tr>");
            for (column, cell) in row.into_iter().enumerate() {
                let _ = write!(self.html, "<td{}>{}</td>", class(column), escape(&cell));
            }
            self.html.push_str("</tr>\n");
        }
        self.html.push_str("</tbody></table></div>");
        self.html.push_str(if folded { "</details>\n" } else { "\n" });
    }

    /// The whole page.
    pub fn finish(self) -> String {
        self.html + "</main>\n</body>\n</html>\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_and_tables_are_numbered_and_tags_are_closed() {
        let mut page = Document::new("a & b", "lead");
        page.heading("h");
        page.open_figures();
        page.figure("one", "<svg></svg>");
        page.figure("two", "<svg></svg>");
        page.close_figures();
        page.table("numbers", &["name", "value"], 1, [["<x>".into(), "1".into()]], TableFold::Folded);
        let html = page.finish();
        assert!(html.contains("Figure 2.") && html.contains("Table 1.") && html.contains("&lt;x&gt;"), "{html}");
        assert!(html.contains("<td class=\"n\">1</td>"), "{html}");
        for tag in ["main", "body", "html", "div", "figure", "details", "table", "tr", "td"] {
            let open = html.matches(&format!("<{tag}>")).count() + html.matches(&format!("<{tag} ")).count();
            assert_eq!(open, html.matches(&format!("</{tag}>")).count(), "{tag}");
        }
    }

    #[test]
    fn a_page_fetches_nothing() {
        let html = Document::new("t", "l").finish();
        assert!(
            !html.contains("http") && !html.contains("<script") && !html.contains("@import") && !html.contains("url(")
        );
    }
}
