//! An enum has invalid values: it travels as its code.
#[derive(Clone, Copy, oxshmem::Plain)]
#[repr(u8)]
enum Phase {
    Cold,
    Hot,
}
fn main() {}
