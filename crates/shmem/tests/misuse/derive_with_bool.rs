//! A plain struct has plain fields: a `bool` is a `Code<bool>` there.
#[derive(Clone, Copy, oxshmem::Plain)]
#[repr(C)]
struct Flag {
    on: bool,
}
fn main() {}
