//! The look at the padding is the crate's own, whatever else is called `assert`.
macro_rules! assert {
    ($($any:tt)*) => {};
}
#[derive(Clone, Copy, oxshmem::Plain)]
#[repr(C)]
struct Gap {
    small: u8,
    large: u64,
}
fn main() {
    assert!();
}
