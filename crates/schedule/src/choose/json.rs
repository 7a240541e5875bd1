//! Choice tables as JSON text: an object with a version and a list of rows, nothing else.
//!
//! ```json
//! {"version": 1, "rows": [
//!   {"collective": "broadcast", "max_size": 64, "max_bytes": 4096, "schedule": "tree-2"}
//! ]}
//! ```
//!
//! A row without `max_size` or `max_bytes` has no such limit.

use super::{ALL, ANY, Row};
use crate::algorithm::names::{COLLECTIVES, find};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Write;

/// The version of the format.
pub const VERSION: u64 = 1;

/// Writes rows so that [`from_json`] reads the same.
pub fn to_json(rows: &[Row]) -> String {
    let mut text = format!("{{\"version\": {VERSION}, \"rows\": [");
    for (i, row) in rows.iter().enumerate() {
        let _ = write!(text, "{}\n  {{\"collective\": \"{}\"", if i > 0 { "," } else { "" }, row.collective);
        if row.max_size != ANY {
            let _ = write!(text, ", \"max_size\": {}", row.max_size);
        }
        if row.max_bytes != ALL {
            let _ = write!(text, ", \"max_bytes\": {}", row.max_bytes);
        }
        let _ = write!(text, ", \"schedule\": \"{}\"}}", row.schedule);
    }
    text + "\n]}\n"
}

/// Reads rows. The error says where the text goes wrong and what should stand there.
pub fn from_json(text: &str) -> Result<Vec<Row>, String> {
    let mut reader = Reader { text, at: 0 };
    let (mut version, mut rows) = (None, Vec::new());
    reader.object(|reader, key| match key {
        "version" => {
            version = Some(reader.number()?);
            Ok(())
        }
        "rows" => reader.list(|reader| {
            rows.push(row(reader)?);
            Ok(())
        }),
        other => Err(reader.error(&format!("unknown key \"{other}\"; use version and rows"))),
    })?;
    if reader.peek().is_some() {
        return Err(reader.error("text after the table; remove it"));
    }
    match version {
        Some(VERSION) => Ok(rows),
        Some(other) => Err(format!("choice table: version {other}; this library reads version {VERSION}")),
        None => Err(format!("choice table: no version; add \"version\": {VERSION}")),
    }
}

fn row(reader: &mut Reader) -> Result<Row, String> {
    let (mut max_size, mut max_bytes) = (ANY, ALL);
    let (mut collective, mut schedule) = (None, None);
    let start = reader.at;
    reader.object(|reader, key| {
        match key {
            "collective" => collective = Some(reader.string()?.to_string()),
            "schedule" => schedule = Some(reader.string()?.to_string()),
            "max_size" => {
                let size = reader.number()?;
                max_size = u32::try_from(size).map_err(|_| reader.error("max_size is at most 4294967295"))?;
            }
            "max_bytes" => max_bytes = reader.number()?,
            other => {
                let hint = "use collective, max_size, max_bytes and schedule";
                return Err(reader.error(&format!("unknown key \"{other}\"; {hint}")));
            }
        }
        Ok(())
    })?;
    let end = core::mem::replace(&mut reader.at, start);
    let (Some(collective), Some(schedule)) = (collective, schedule) else {
        return Err(reader.error("a row needs collective and schedule"));
    };
    let Some((_, known)) = COLLECTIVES.iter().find(|(name, _)| *name == collective) else {
        let names: Vec<&str> = COLLECTIVES.iter().map(|(name, _)| *name).collect();
        return Err(reader.error(&format!("unknown collective \"{collective}\"; use one of {}", names.join(", "))));
    };
    match find(*known, &schedule) {
        Some(schedule) => {
            reader.at = end;
            Ok(Row { collective: *known, max_size, max_bytes, schedule })
        }
        None => Err(reader.error(&format!("no schedule \"{schedule}\" serves {collective}"))),
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn error(&self, what: &str) -> String {
        let line = self.text[..self.at].lines().count().max(1);
        format!("choice table, line {line}: {what}")
    }

    /// The next character that is no white space.
    fn peek(&mut self) -> Option<char> {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest.chars().next()
    }

    fn accept(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += if found { wanted.len_utf8() } else { 0 };
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), String> {
        if self.accept(wanted) { Ok(()) } else { Err(self.error(&format!("expected '{wanted}'"))) }
    }

    fn string(&mut self) -> Result<&'a str, String> {
        self.expect('"')?;
        let rest = &self.text[self.at..];
        let end = rest.find('"').ok_or_else(|| self.error("a string does not end; add '\"'"))?;
        self.at += end + 1;
        if rest[..end].contains('\\') {
            Err(self.error("names have no escapes; write them plainly"))
        } else {
            Ok(&rest[..end])
        }
    }

    fn number(&mut self) -> Result<u64, String> {
        self.peek();
        let rest = &self.text[self.at..];
        let digits = &rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())];
        let number = digits.parse().map_err(|_| self.error("expected a whole number below 2^64"))?;
        self.at += digits.len();
        Ok(number)
    }

    /// The members of a list or object up to `close`, separated by commas.
    fn members(&mut self, close: char, mut member: impl FnMut(&mut Self) -> Result<(), String>) -> Result<(), String> {
        if self.accept(close) {
            return Ok(());
        }
        loop {
            member(self)?;
            if !self.accept(',') {
                return self.expect(close);
            }
        }
    }

    fn list(&mut self, member: impl FnMut(&mut Self) -> Result<(), String>) -> Result<(), String> {
        self.expect('[')?;
        self.members(']', member)
    }

    fn object(&mut self, mut member: impl FnMut(&mut Self, &str) -> Result<(), String>) -> Result<(), String> {
        self.expect('{')?;
        self.members('}', |reader| {
            let key = reader.string()?;
            reader.expect(':')?;
            member(reader, key)
        })
    }
}
