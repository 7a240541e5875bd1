//! A condition of one's own could name values that are nowhere.
#[derive(Clone, Copy)]
struct Somewhere;

impl oxshmem::Condition<u64> for Somewhere {}

fn main() {}
