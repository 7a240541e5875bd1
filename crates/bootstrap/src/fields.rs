//! The common form of messages of PMI-1 and PMI-2: a command with named fields.

use std::str::FromStr;

use crate::stream::Malformed;

pub(crate) trait NamedFields {
    /// The command's name, as far as the message has one.
    fn name(&self) -> &str;

    /// A field's text.
    fn field(&self, name: &str) -> Option<&str>;

    /// The text of a field that must be there and be no longer than this.
    fn text(&self, name: &str, longest: usize) -> Result<String, Malformed> {
        let text = self.field(name).ok_or_else(|| self.lacks(name))?;
        if text.len() > longest {
            return Err(Malformed(format!("{name} has {} bytes, {longest} are the most", text.len())));
        }
        Ok(text.into())
    }

    fn number<N: FromStr>(&self, name: &str) -> Result<N, Malformed> {
        self.optional_number(name)?.ok_or_else(|| self.lacks(name))
    }

    fn optional_number<N: FromStr>(&self, name: &str) -> Result<Option<N>, Malformed> {
        self.field(name).map(|text| number_in(name, text)).transpose()
    }

    fn lacks(&self, name: &str) -> Malformed {
        Malformed(format!("cmd={} lacks {name}=", self.name()))
    }
}

pub(crate) fn number_in<N: FromStr>(name: &str, text: &str) -> Result<N, Malformed> {
    text.parse().map_err(|_| Malformed(format!("{name}={} is not a number", text.escape_debug())))
}
