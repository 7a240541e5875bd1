//! A message goes round all PEs and grows on its way; a signal says that it has come.
#![forbid(unsafe_code)]

use oxshmem::{Comparison::AtLeast, Signal, Update, World, symmetric};

symmetric! {
    static ARRIVED: Signal = Signal::new(0);
}

fn main() -> Result<(), oxshmem::Error> {
    const ROUNDS: u64 = 100;
    let world = World::init()?;
    let (me, n) = (world.my_pe(), world.n_pes());
    let message = world.allocate_slice(2, 0_u64)?;
    for round in 1..=ROUNDS {
        let so_far = if me == 0 {
            [round, 0]
        } else {
            ARRIVED.wait_until(AtLeast(round));
            [message[0].load(), message[1].load()]
        };
        message.put_signal(&[so_far[0], so_far[1] + me as u64], &ARRIVED, Update::Add(1), (me + 1) % n);
        if me == 0 {
            ARRIVED.wait_until(AtLeast(round));
            assert_eq!(message.to_vec(), [round, (n * (n - 1) / 2) as u64]);
        }
    }
    if me == 0 {
        println!("{ROUNDS} rounds; the last message is {:?}", message.to_vec());
    }
    Ok(())
}
