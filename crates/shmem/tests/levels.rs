//! Levels of threads that the part of a program in C has asked for.

use oxshmem::World;
use oxshmem_runtime::calls::init;

#[test]
fn a_world_is_refused_where_c_has_promised_one_thread() {
    // SAFETY: the process is the only PE, and no other thread uses the library.
    unsafe { init::init() };
    let error = World::init().expect_err("the level is too low").to_string();
    assert!(error.contains("initialised with SHMEM_THREAD_SINGLE"), "{error}");
    // SAFETY: ends the first initialisation.
    unsafe { init::finalize() };
    let world = World::init().expect("the library is not in use");
    assert_eq!(world.n_pes(), 1);
}
