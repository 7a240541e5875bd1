//! A frame of PMI-2: how it is written, and taken apart.

use crate::fields::NamedFields;
use crate::stream::{Malformed, framed};

/// Writes `key=value;` one after the other. A semicolon in a value is written twice.
#[derive(Default)]
pub(super) struct FrameWriter(String);

impl FrameWriter {
    pub(super) fn command(&mut self, command: &str) -> &mut FrameWriter {
        self.put("cmd", command)
    }

    pub(super) fn put(&mut self, key: &str, value: impl ToString) -> &mut FrameWriter {
        self.0 += &format!("{key}={};", value.to_string().replace(';', ";;"));
        self
    }

    pub(super) fn finish(mut self, thread: Option<&str>) -> Vec<u8> {
        if let Some(thread) = thread {
            self.put("thrid", thread);
        }
        framed(&self.0)
    }
}

/// A frame taken apart.
pub(super) struct FrameFields(Vec<(String, String)>);

impl FrameFields {
    pub(super) fn parse(frame: &[u8]) -> Result<FrameFields, Malformed> {
        let text = std::str::from_utf8(frame).map_err(|_| Malformed("a message is not text".into()))?;
        let mut fields = Vec::new();
        let mut rest = text.chars().peekable();
        while rest.peek().is_some() {
            let mut field = String::new();
            while let Some(character) = rest.next() {
                if character == ';' && rest.next_if_eq(&';').is_none() {
                    break;
                }
                field.push(character);
            }
            let (key, value) = field
                .split_once('=')
                .ok_or_else(|| Malformed(format!("`{}` is not key=value", field.escape_debug())))?;
            fields.push((key.into(), value.into()));
        }
        Ok(FrameFields(fields))
    }

    pub(super) fn command(&self) -> Result<&str, Malformed> {
        match self.0.first() {
            Some((key, command)) if key == "cmd" && !command.is_empty() => Ok(command),
            _ => Err(Malformed("a message does not begin with cmd=".into())),
        }
    }

    pub(super) fn optional(&self, name: &str) -> Option<String> {
        self.field(name).map(str::to_string)
    }

    /// A server's own values (the process mapping) may be longer than what it grants to clients.
    pub(super) fn found(&self) -> Option<String> {
        self.field("found").filter(|found| *found == "TRUE").and_then(|_| self.optional("value"))
    }
}

impl NamedFields for FrameFields {
    fn name(&self) -> &str {
        self.field("cmd").unwrap_or_default()
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}
