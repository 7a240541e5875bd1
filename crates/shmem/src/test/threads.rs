//! Tests whose PEs are threads.

use std::sync::{Arc, OnceLock};
use std::{io, thread};

use oxshmem_base::Error;

use crate::World;
use crate::threads::{self as world, SharedJob, Terms};

/// A world whose PEs are threads of this process, to be described further and [run](Threads::run).
///
/// One PE runs at a time. At every call another may go on, so that what happens depends on the program and the seed
/// alone: a run can be repeated, and a deadlock is an error that says where each PE waits.
///
/// ```
/// let small: oxshmem::test::Threads = oxshmem::test::threads(2).memory(1 << 14);
/// for world in [small, small.seed(1), small.seed(1).delayed()] {
///     world.run(|world| world.barrier());
/// }
/// ```
#[must_use = "nothing happens before `run`"]
#[derive(Clone, Copy, Debug)]
pub struct Threads {
    terms: Terms,
}

/// A world of `pes` threads.
///
/// ```
/// oxshmem::test::threads(4).run(|world| {
///     let number = world.allocate(0).unwrap();
///     number.put(1, (world.my_pe() + 1) % world.n_pes());
///     world.barrier();
///     assert_eq!(number.load(), 1);
/// });
/// ```
///
/// Every PE has copies of its own of the [`symmetric!`](crate::symmetric) variables, with their first values at the
/// beginning of each run. A PE is one thread: threads that it starts are not part of the world, and PEs must not wait
/// for each other by other means than this crate's. What the program does with C is not seen.
///
/// Builds without debug assertions, which `cargo test --release` makes, cannot have such a world: their transfers know
/// of nothing but processes. `[profile.release.package.oxshmem] debug-assertions = true` in `Cargo.toml` makes them.
pub fn threads(pes: usize) -> Threads {
    Threads { terms: Terms { pes, seed: None, delayed: false, bytes: 4 << 20 } }
}

impl Threads {
    /// Chooses at random which PE goes on, in the same way in every run with this seed. Without a seed PEs go on one
    /// after the other.
    ///
    /// ```
    /// let order = |seed| {
    ///     let order = std::sync::Mutex::new(Vec::new());
    ///     oxshmem::test::threads(3).seed(seed).run(|world| {
    ///         for _ in 0..4 {
    ///             world.quiet();
    ///             order.lock().unwrap().push(world.my_pe());
    ///         }
    ///     });
    ///     order.into_inner().unwrap()
    /// };
    /// assert_eq!(order(7), order(7));
    /// assert_ne!(order(7), order(8));
    /// ```
    pub fn seed(mut self, seed: u64) -> Self {
        self.terms.seed = Some(seed);
        self
    }

    /// Lets operations arrive late, in another order than they were issued in, and in parts: whatever fences, quiets
    /// and barriers do not forbid. What needs one and has none then fails with some seed.
    ///
    /// ```should_panic
    /// use oxshmem::{Atomic, Comparison::Is};
    /// for seed in 0..100 {
    ///     oxshmem::test::threads(2).seed(seed).delayed().run(|world| {
    ///         let (data, flag) = (world.allocate(0).unwrap(), world.allocate(Atomic::new(0)).unwrap());
    ///         let other = 1 - world.my_pe();
    ///         data.put(5, other);
    ///         // world.fence() is missing here.
    ///         flag.set(1, other);
    ///         flag.wait_until(Is(1));
    ///         assert_eq!(data.load(), 5);
    ///     });
    /// }
    /// ```
    pub fn delayed(mut self) -> Self {
        self.terms.delayed = true;
        self
    }

    /// How much symmetric memory each PE has; 4 MiB unless said otherwise.
    ///
    /// ```
    /// oxshmem::test::threads(1).memory(1 << 24).run(|world| {
    ///     assert!(world.allocate_slice(1 << 23, 0_u8).is_ok());
    /// });
    /// ```
    pub fn memory(mut self, bytes: usize) -> Self {
        self.terms.bytes = bytes;
        self
    }

    /// Runs `body` on all PEs and returns what each returned. If one fails, this panics, with the seed in its message.
    ///
    /// ```
    /// let sums = oxshmem::test::threads(3).run(|world| world.sum_of(world.my_pe()));
    /// assert_eq!(sums, [3, 3, 3]);
    /// ```
    #[track_caller]
    pub fn run<R: Send>(self, body: impl Fn(&World) -> R + Sync) -> Vec<R> {
        let Terms { pes, seed, .. } = self.terms;
        if !world::POSSIBLE {
            panic!("a world of threads needs a build with debug assertions: see oxshmem::test::threads");
        }
        assert!(pes > 0, "a world has a PE at least");
        let job = SharedJob::new(self.terms).unwrap_or_else(|error| panic!("{error}"));
        let job = Arc::new(job);
        let one = |pe| {
            world::be(&job, pe, || match World::init() {
                Ok(world) => body(&world),
                Err(error) => panic!("{error}"),
            })
        };
        let have_all = OnceLock::new();
        let outcomes: Vec<_> = thread::scope(|scope| {
            let start = |pe| {
                let (one, have_all) = (&one, &have_all);
                let body = move || if *have_all.wait() { one(pe) } else { Err(Box::new("a PE is missing") as _) };
                thread::Builder::new().name(format!("PE {pe}")).spawn_scoped(scope, body)
            };
            let threads: io::Result<Vec<_>> = (0..pes).map(start).collect();
            // Without one of them none begins: they would wait for its turn.
            have_all.get_or_init(|| threads.is_ok());
            let threads = threads.unwrap_or_else(|error| missing(pes, &error));
            threads.into_iter().map(|thread| thread.join().and_then(|outcome| outcome)).collect()
        });
        if let Some(failure) = job.failure() {
            let seed = seed.map(|seed| format!(" (seed {seed})")).unwrap_or_default();
            panic!("{failure}{seed}");
        }
        let result = |outcome: thread::Result<R>| outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        outcomes.into_iter().map(result).collect()
    }

    /// [`run`](Self::run) with each of these seeds.
    ///
    /// ```
    /// oxshmem::test::threads(2).delayed().seeds(0..20, |world| world.barrier());
    /// ```
    #[track_caller]
    pub fn seeds(self, seeds: impl IntoIterator<Item = u64>, body: impl Fn(&World) + Sync) {
        for seed in seeds {
            self.seed(seed).run(&body);
        }
    }
}

#[cold]
#[track_caller]
fn missing(pes: usize, error: &io::Error) -> ! {
    let error = Error::new(format!("a world of {pes} threads cannot begin"))
        .because(format!("the system gives it no further thread: {error}"))
        .fix("ask for fewer PEs, or raise the limits of threads (ulimit -u, a container's pids) and of addresses (ulimit -v)");
    panic!("{error}")
}

#[cfg(all(test, not(miri)))]
mod tests {
    use oxshmem_test_folder::{again, is_again};

    #[test]
    fn a_world_that_lacks_a_thread_does_not_begin() {
        if is_again() {
            return drop(super::threads(64).memory(1 << 12).run(|_| ()));
        }
        let mut program = again(&["sh", "-c", "ulimit -v 2097152 && exec \"$0\" \"$@\""]);
        // 64 stacks of 128 MiB are more than 2 GiB.
        let output = program.env("RUST_MIN_STACK", (128 << 20).to_string()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("a world of 64 threads cannot begin"), "{output:?}");
    }
}
