//! A target could mean one context when a transfer starts and another when it is completed.
#[derive(Clone, Copy)]
struct Elsewhere;

impl oxshmem::Target for Elsewhere {}

fn main() {}
