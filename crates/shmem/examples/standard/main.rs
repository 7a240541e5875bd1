//! The calls of the standard's examples in safe Rust. `standard.c` is the same in C: with the feature `c` and the
//! argument `c` this program runs that instead, and prints the same.
#![cfg_attr(not(feature = "c"), forbid(unsafe_code))]

use oxshmem::Comparison::{Above, AtLeast, AtMost, Is, Not};
use oxshmem::{Atomic, Error, Lock, Signal, Update, World, symmetric};

symmetric! {
    static WORD: i64 = 0;
    static COUNTER: Atomic<i64> = Atomic::new(0);
    static COME: Signal = Signal::new(0);
    static LOCK: Lock = Lock::new();
}

fn main() -> Result<(), Error> {
    #[cfg(feature = "c")]
    if std::env::args().nth(1).is_some_and(|language| language == "c") {
        unsafe extern "C" {
            fn standard();
        }
        // SAFETY: it initialises the library, uses it and ends it.
        unsafe { standard() };
        return Ok(());
    }
    let world = World::init()?;
    transfers(&world)?;
    atomics(&world)?;
    waits(&world)?;
    signals(&world)?;
    teams(&world)?;
    collectives(&world)?;
    locks(&world)
}

fn say(what: &str, values: &[i64]) {
    print!("{what}:");
    values.iter().for_each(|value| print!(" {value}"));
    println!();
}

fn right(world: &World) -> usize {
    (world.my_pe() + 1) % world.n_pes()
}

fn transfers(world: &World) -> Result<(), Error> {
    let (me, right) = (world.my_pe() as i64, right(world));
    let (dest, source) = (world.allocate_slice(10, 0)?, world.allocate_slice(10, 0)?);
    WORD.put(10 * me + 1, right);
    world.barrier();
    say("p", &[WORD.load()]);
    say("g", &[WORD.get(right)]);

    source.store_all((0..).map(|i| 100 * me + i));
    let mine = source.to_vec();
    dest.put_slice(&mine, right);
    world.barrier();
    say("put", &dest.to_vec());
    let mut own = source.get_vec(right);
    say("get", &own);

    let clear = || {
        world.barrier();
        dest.fill(-1);
        world.barrier();
    };
    clear();
    dest.put_strided(1, &mine, 2, right);
    world.barrier();
    say("iput", &dest.to_vec());
    let mut strided = [0; 10];
    source.get_strided(3, &mut strided[..7], 2, right);
    say("iget", &strided);

    clear();
    dest.put_blocks(2, 5, &mine[..5], 3, right);
    world.barrier();
    say("ibput", &dest.to_vec());

    world.barrier();
    world.scope(|scope| {
        scope.put(&dest, &mine[..5], right);
        scope.get(&source[5..], &mut own[..5], right);
    });
    world.barrier();
    say("put_nbi", &dest[..5].to_vec());
    say("get_nbi", &own[..5]);
    world.barrier();
    Ok(())
}

fn atomics(world: &World) -> Result<(), Error> {
    let (me, n, right) = (world.my_pe(), world.n_pes(), right(world));
    let (bits, swapped) = (world.allocate(Atomic::new(0_u64))?, world.allocate(Atomic::new(0_i64))?);
    COUNTER.set(5, me);
    world.barrier();
    say("fetch", &[COUNTER.fetch(right)]);
    world.barrier();
    COUNTER.inc(0);
    COUNTER.add(me as i64, 0);
    let before = [COUNTER.fetch_inc(right) >= 5, COUNTER.fetch_add(2, right) >= 6];
    say("fetch_inc and fetch_add", &[before.into_iter().map(i64::from).sum()]);
    world.barrier();
    say("inc and add", &[COUNTER.load()]);

    swapped.store(me as i64);
    world.barrier();
    let taken = swapped.swap(me as i64 + 100, right);
    world.barrier();
    say("swap", &[taken, swapped.load()]);
    world.barrier();
    let first = swapped.compare_swap(((right + n - 1) % n) as i64 + 100, 7, right);
    world.barrier();
    say("compare_swap", &[first, swapped.load()]);

    bits.or(1 << me, 0);
    world.barrier();
    say("or", &[bits.load() as i64]);
    world.barrier();
    bits.xor(3 << me, 0);
    world.barrier();
    say("xor", &[bits.load() as i64]);
    world.barrier();
    bits.and(!(1 << me), 0);
    world.barrier();
    say("and", &[bits.load() as i64]);
    let results = [bits.fetch_or(0, 0), bits.fetch_xor(0, 0), bits.fetch_and(!0, 0)];
    say("fetch_or, fetch_xor, fetch_and", &results.map(|bits| bits as i64));
    let mut later = -1;
    world.scope(|scope| scope.fetch(&swapped, &mut later, right));
    say("fetch_nbi", &[later]);
    world.barrier();
    Ok(())
}

fn waits(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let flags = world.allocate_slice(n, Atomic::new(0_i64))?;
    (0..n).for_each(|pe| flags[me].set(me as i64 + 1, pe));
    flags.wait_until_all(Not(0));
    let (mut open, mut sum) = (flags.wait_set(), 0);
    while let Some(i) = open.wait_any(Above(0)) {
        open.leave_out(i);
        sum += flags[i].load();
    }
    say("wait_until_any", &[sum]);
    let values: Vec<i64> = (1..=n as i64).collect();
    flags.wait_until_all(Is(&values[..]));
    let some = flags.wait_until_some(AtMost(2));
    say("wait_until_some", &[some.len() as i64, some[0] as i64]);
    say("test", &[flags[0].test(Is(1)).into(), flags.test_all(AtLeast(2)).into()]);
    world.barrier();
    Ok(())
}

fn signals(world: &World) -> Result<(), Error> {
    let (me, right) = (world.my_pe() as i64, right(world));
    let data = world.allocate_slice(4, 0)?;
    data.put_signal(&[me, me + 1, me + 2, me + 3], &COME, Update::Add(1), right);
    let seen = COME.wait_until(AtLeast(1));
    say("put_signal", &[seen as i64, data[0].load(), data[3].load()]);
    world.barrier();
    COME.update(Update::Set(40), right);
    world.barrier();
    COME.update(Update::Add(2), right);
    world.barrier();
    say("signal_fetch", &[COME.fetch() as i64]);
    Ok(())
}

fn teams(world: &World) -> Result<(), Error> {
    let n = world.n_pes();
    let from = world.allocate(0)?;
    if let Some(even) = world.split_strided(0, 2, n.div_ceil(2))? {
        let (mine, size) = (even.my_pe(), even.n_pes());
        let last = even.translate(size - 1, world).map_or(-1, |pe| pe as i64);
        say("even", &[mine as i64, size as i64, last]);
        let context = even.context();
        from.put(world.my_pe() as i64, context.pe((mine + 1) % size));
        drop(context);
        even.sync();
        say("context", &[from.load()]);
    }
    let grid = world.split_2d(if n.is_multiple_of(2) { 2 } else { 1 })?;
    let places = [grid.x.my_pe(), grid.x.n_pes(), grid.y.my_pe(), grid.y.n_pes()];
    say("split_2d", &places.map(|place| place as i64));
    Ok(())
}

fn collectives(world: &World) -> Result<(), Error> {
    let (me, n) = (world.my_pe(), world.n_pes());
    let (source, dest) = (world.allocate_slice(2 * n, 0_i64)?, world.allocate_slice(2 * n, 0_i64)?);
    source.store_all((1..).map(|i| 1000 * me as i64 + i));
    world.broadcast(&dest[..2], &source[..2], n - 1);
    say("broadcast", &dest[..2].to_vec());
    world.fcollect(&dest[..n], &source[..1]);
    say("fcollect", &dest[..n].to_vec());
    let all = world.collect(&dest, &source, me % 2 + 1);
    say("collect", &dest[..all].to_vec());
    world.alltoall(&dest[..2 * n], &source);
    say("alltoall", &dest[..2 * n].to_vec());
    world.barrier();
    dest.fill(-1);
    world.barrier();
    world.alltoall_strided(&dest, 2, &source, 1, 1);
    say("alltoalls", &dest[..2 * n - 1].to_vec());

    let (two, mine) = (&dest[..2], &source[..2]);
    world.max(two, mine);
    say("max", &two.to_vec());
    world.min(two, mine);
    say("min", &two.to_vec());
    world.sum(two, mine);
    say("sum", &two.to_vec());
    world.prod(two, mine);
    say("prod", &two.to_vec());
    let bits = 6_u64 << me;
    say("and", &[world.and_of(bits) as i64]);
    say("or", &[world.or_of(bits) as i64]);
    say("xor", &[world.xor_of(bits) as i64]);
    world.sum_inscan(two, mine);
    say("sum_inscan", &two.to_vec());
    world.sum_exscan(two, mine);
    say("sum_exscan", &two.to_vec());
    world.barrier();
    Ok(())
}

fn locks(world: &World) -> Result<(), Error> {
    let count = world.allocate(0)?;
    {
        let _held = LOCK.lock(world);
        count.put(count.get(0) + world.my_pe() as i64, 0);
        world.quiet();
    }
    world.barrier();
    say("lock", &[count.get(0)]);
    world.barrier();
    Ok(())
}
