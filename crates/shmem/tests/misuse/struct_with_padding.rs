//! Padding has no value that could be copied.
oxshmem::plain! {
    struct Gap {
        small: u8,
        large: u64,
    }
}
fn main() {}
