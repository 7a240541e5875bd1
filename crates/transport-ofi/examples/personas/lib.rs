//! A libfabric whose providers have the natures of the mock (`src/mock/nature.rs`), between processes: conformance runs over it
//! (`cargo xtask personas`).
//!
//! An operation waits at its endpoint until the dice choose it, among those that no promised order holds back. Then its source is
//! read, and a command goes to the target, whose *card* executes it and answers. The card is a thread; where the provider is software,
//! it is whoever looks at the completions of the target's endpoint. Whoever breaks a rule of its provider ends its process with a
//! sentence.
#![allow(missing_docs, clippy::missing_safety_doc, reason = "functions that libfabric's manual describes")]

#[path = "../../src/mock/entries.rs"]
mod entries;
#[path = "../../src/mock/nature.rs"]
mod nature;

mod calls;
mod card;
mod end;
pub mod exports;
mod objects;
mod socket;

use calls::open_fabric;

/// Ends the process: a rule of the provider was broken.
fn broken(rule: &str) -> ! {
    eprintln!("persona: a rule is broken: {rule}");
    std::process::abort()
}
