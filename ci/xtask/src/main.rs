//! Project tasks: generate, build, link, install, test, demo.
#![forbid(unsafe_code)]
fn main() {}
