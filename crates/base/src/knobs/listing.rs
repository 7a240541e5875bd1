//! The variables in words.

use super::{IGNORED, active};

/// The listing that `SHMEM_INFO` asks for: every variable, what it does and what it is now.
pub fn listing() -> String {
    let mut text = String::from("Environment variables of oxshmem:\n");
    for knob in active() {
        let now = match knob.current() {
            Some((name, value)) => format!("set: {name}={value}"),
            None => format!("default: {}", knob.default),
        };
        text += &format!("  {:<36} {} [{}; {now}]\n", knob.name, knob.doc, knob.values());
        if !knob.aliases.is_empty() {
            text += &format!("  {:<36} also read as {}\n", "", knob.aliases.join(", "));
        }
    }
    text += "Accepted without effect:\n";
    for knob in IGNORED {
        text += &format!("  {:<36} {}\n", knob.name, knob.doc);
    }
    text
}
