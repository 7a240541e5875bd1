//! A type of one's own with reductions could claim lanes and a size that it does not have (fault W7).
#[derive(Clone, Copy)]
struct Mine(u8);

impl oxshmem::Operand<oxshmem::Sum> for Mine {
    type Lane = u64;

    fn combine(self, _other: Self) -> Self {
        self
    }
}

fn main() {}
