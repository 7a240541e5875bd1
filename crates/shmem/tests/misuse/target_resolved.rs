//! What a target stands for does not borrow the context, so nobody gets it.
fn keep<T: oxshmem::Target>(target: T) -> oxshmem::World {
    let kept = target.resolve("kept");
    kept.0
}

fn main() {}
