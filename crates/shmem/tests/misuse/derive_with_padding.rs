//! Padding has no value that could be copied.
#[derive(Clone, Copy, oxshmem::Plain)]
#[repr(C)]
struct Gap {
    small: u8,
    large: u64,
}
fn main() {}
