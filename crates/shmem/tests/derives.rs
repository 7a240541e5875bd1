//! Derived plain data and codes travel between PEs.

#![cfg(feature = "derive")]

use oxshmem::test::{processes, threads};
use oxshmem::{Code, Coded, ErrorKind, Plain, World};

#[derive(Clone, Copy, Debug, PartialEq, Coded)]
#[repr(i16)]
enum Phase {
    Cold = -3,
    Warm,
    Hot = 300,
}

#[derive(Clone, Copy, Debug, PartialEq, Plain)]
#[repr(C)]
struct Cell {
    place: [f64; 2],
    phase: Code<Phase>,
    border: Code<bool>,
    name: u8,
    weight: Metres,
}

#[derive(Clone, Copy, Debug, PartialEq, Plain)]
#[repr(transparent)]
struct Metres(f32);

fn cells_travel(world: &World) {
    let next = (world.my_pe() + 1) % world.n_pes();
    let phases = [Phase::Cold, Phase::Warm, Phase::Hot];
    let cell = |pe: usize| Cell {
        place: [pe as f64, -1.0],
        phase: phases[pe % 3].into(),
        border: Code::new(pe == 0),
        name: pe as u8,
        weight: Metres(0.5),
    };
    let inbox = world.allocate(cell(99)).unwrap();
    inbox.put(cell(world.my_pe()), next);
    world.barrier();
    let from = (world.my_pe() + world.n_pes() - 1) % world.n_pes();
    let found = inbox.load();
    assert_eq!(found, cell(from));
    assert_eq!((found.phase.value().unwrap(), found.border.value().unwrap()), (phases[from % 3], from == 0));
    // Values have codes as well.
    assert_eq!(world.values(Code::new(world.my_pe() == 1))[1].value(), Ok(true));
}

#[test]
fn derived_types_travel() {
    processes(3, cells_travel);
    if std::env::var_os("OXSHMEM_TEST_CALL").is_none() {
        threads(3).delayed().seeds(0..3, cells_travel);
    }
}

#[test]
fn codes_of_no_variant_are_refused() {
    for code in [-4, -1, 0, 299, 301] {
        assert_eq!(Phase::of_code(code), None);
    }
    assert_eq!([-3, -2, 300].map(Phase::of_code), [Some(Phase::Cold), Some(Phase::Warm), Some(Phase::Hot)]);
    let one = World::init().unwrap();
    let phase = one.allocate(Code::new(Phase::Hot)).unwrap();
    // SAFETY: the place is this PE's own and holds an `i16`; the point is a code that has no variant.
    unsafe { phase.as_ptr().cast::<i16>().write(7) };
    let refused = phase.load().value().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidValue);
    assert!(refused.to_string().contains("Phase has the code 7"), "{refused}");
}
