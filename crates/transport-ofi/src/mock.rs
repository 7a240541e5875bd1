//! A libfabric whose providers demand what Slingshot's and other cards' providers demand, refuse what they would refuse, and complete in
//! the worst order that they have promised. The suite of all providers runs over it in one process, without a network; a library with
//! the same files plays it between processes (`crates/transport-ofi/examples/personas`).
//!
//! An operation waits at its endpoint until the dice choose it, among those that no promised order holds back. Then its source is
//! read, and a command goes by the `wire` to the target, whose *card* executes it and answers. Where the provider is
//! software, the card is the thread that looks at the completions of the target's endpoint. A caller that breaks a rule
//! of its provider ends its process with a message.

use std::io::Write;

mod atomic;
mod calls;
mod card;
mod datagram;
mod end;
mod entries;
mod nature;
mod natures;
mod objects;
mod operation;
mod queue;
mod tests;
mod transfer;
mod wire;

/// Ends the process: a rule of the provider was broken. A test's captured output would be lost.
fn broken(rule: &str) -> ! {
    // There is no other place for the message if that fails.
    let _ = writeln!(std::io::stderr(), "the mock: a rule is broken: {rule}");
    std::process::abort()
}
