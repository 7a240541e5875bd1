//! Tasks that wait for a PE which ends without a word: the job ends with a message, as it does in calls that wait.

mod again;

use again::own_job;
use oxshmem::Comparison::Is;
use oxshmem::{Signal, Symmetric, World};

/// PE 1 ends before it has done what PE 0 awaits.
fn ends_with(words: &str, awaits: impl AsyncFnOnce(&World, &Symmetric<Signal>)) {
    let Some(job) = own_job(2, &[]) else {
        let world = World::init().unwrap();
        let signal = world.allocate(Signal::new(0)).unwrap();
        if world.my_pe() == 1 {
            std::process::exit(0);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        return runtime.block_on(awaits(&world, &signal));
    };
    assert!(!job[0].status.success() && job[0].err.contains(words), "expected `{words}` in {:?}", job[0]);
}

#[test]
fn a_task_that_awaits_a_variable_notices_that_no_pe_is_left_to_change_it() {
    ends_with("Symmetric::until: PE 1 has ended without shmem_finalize", async |_, signal| {
        signal.until(Is(1)).await;
    });
}

#[test]
fn a_task_that_awaits_a_collective_notices_that_a_member_is_gone() {
    ends_with("shmem_req_wait: PE 1 has ended without shmem_finalize", async |world, _| {
        world.start_sync().await;
    });
}
