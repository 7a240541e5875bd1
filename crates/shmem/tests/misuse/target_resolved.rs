//! The context behind a target is not borrowed from it, so no program gets it.
fn keep<T: oxshmem::Target>(target: T) -> oxshmem::World {
    let kept = target.resolve("kept");
    kept.0
}

fn main() {}
