//! A variant with fields has no code.
#[derive(Clone, Copy, oxshmem::Coded)]
#[repr(u8)]
enum Phase {
    Cold,
    Hot(u8),
}
fn main() {}
