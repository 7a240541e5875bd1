//! A line of PMI-1, taken apart.

use crate::fields::NamedFields;
use crate::stream::Malformed;

/// A line taken apart into its command and the fields after it.
pub(super) struct PmiLine<'a> {
    pub(super) command: &'a str,
    pub(super) fields: &'a str,
}

impl<'a> PmiLine<'a> {
    pub(super) fn parse(line: &'a [u8]) -> Result<Self, Malformed> {
        let line = std::str::from_utf8(line).map_err(|_| Malformed("a line is not text".into()))?.trim();
        let after = line
            .strip_prefix("cmd=")
            .or_else(|| line.strip_prefix("mcmd="))
            .ok_or_else(|| Malformed(format!("`{}` does not begin with cmd=", line.escape_debug())))?;
        let (command, fields) = after.split_once(' ').unwrap_or((after, ""));
        if command.is_empty() {
            return Err(Malformed("the command has no name".into()));
        }
        Ok(PmiLine { command, fields })
    }

    /// The status and the text in `rc` and `msg`.
    pub(super) fn outcome(&self) -> Result<(), String> {
        match self.field("rc") {
            Some("0") | None => Ok(()),
            Some(code) => Err(self.field("msg").unwrap_or(code).to_string()),
        }
    }
}

impl NamedFields for PmiLine<'_> {
    fn name(&self) -> &str {
        self.command
    }

    /// `value` is always the last field and may contain anything but a newline.
    fn field(&self, name: &str) -> Option<&str> {
        let mut rest = self.fields.trim_start();
        while !rest.is_empty() {
            let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
            let (key, text) = word.split_once('=').unwrap_or((word, ""));
            if key == "value" {
                return (name == "value").then(|| &rest["value=".len().min(rest.len())..]);
            }
            if key == name {
                return Some(text);
            }
            rest = after.trim_start();
        }
        None
    }
}
