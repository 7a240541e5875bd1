//! PEs agree on the size of a code because the enum names it.
#[derive(Clone, Copy, oxshmem::Coded)]
enum Phase {
    Cold,
    Hot,
}
fn main() {}
