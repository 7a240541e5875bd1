//! A plain struct has plain fields.
oxshmem::plain! {
    struct Flag {
        on: bool,
    }
}
fn main() {}
