//! Chains of active messages: a handler calls a handler that calls a third, each on another PE, and `finish` returns behind the last of
//! them. Needs the feature `serde`.
//!
//! `oshrun -n 4 --nodes 2 chains [ROUNDS]`; status 1 if a call came late.

use std::cell::{Cell, RefCell};
use std::process::ExitCode;

use oxshmem::World;

fn main() -> Result<ExitCode, oxshmem::Error> {
    let rounds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(20);
    let world = World::init()?;
    Ok(if late(&world, rounds)? == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How many calls were late, on this PE.
fn late(world: &World, rounds: usize) -> Result<usize, oxshmem::Error> {
    let (me, n) = (world.my_pe(), world.n_pes());
    // The ends of the chains of each round that have come here.
    let ends = RefCell::new(vec![0_usize; rounds]);
    let active = world.active_messages(64)?;
    let next = (me + 1) % n;
    let end = active.register(|_, round: usize| ends.borrow_mut()[round] += 1);
    let relay = active.register_with(move |active, _, round: usize| drop(active.call(end, &round, next)));
    let chain = active.register_with(move |active, _, round: usize| drop(active.call(relay, &round, next)));
    let late = Cell::new(0);
    for round in 0..rounds {
        // From each PE to another one in each round, so that each PE is the end of one chain.
        drop(active.call(chain, &round, (me + round) % n));
        active.finish();
        let came = ends.borrow()[round];
        if came != 1 {
            println!("PE {me}: round {round} is over, and {came} of its calls have come");
            late.set(late.get() + 1);
        }
    }
    world.barrier();
    Ok(late.get())
}
