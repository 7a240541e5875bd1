//! The PEs as a grid, with sums along rows and columns, and as a cube.
#![forbid(unsafe_code)]

use oxshmem::World;

fn main() -> Result<(), oxshmem::Error> {
    let world = World::init()?;
    let (me, n) = (world.my_pe(), world.n_pes());
    let width = (1..=n).filter(|width| n % width == 0 && width * width <= n).max().unwrap_or(1);

    let grid = world.split_2d(width)?;
    let (x, y) = (grid.x.my_pe(), grid.y.my_pe());
    assert_eq!((x, y), (me % width, me / width));
    let row = (0..width).map(|x| y * width + x).sum::<usize>();
    let column = (0..n / width).map(|y| y * width + x).sum::<usize>();
    assert_eq!((grid.x.sum_of(me), grid.y.sum_of(me)), (row, column));

    // The same row through a context of its team: PE numbers are x coordinates.
    let last = world.allocate(0)?;
    let context = grid.x.context();
    last.put(me, context.pe((x + 1) % width));
    context.quiet();
    world.barrier();
    assert_eq!(last.load(), y * width + (x + width - 1) % width);

    let axes = world.split_grid(&[width, 1, n / width])?;
    assert_eq!([axes[0].my_pe(), axes[1].my_pe(), axes[2].my_pe()], [x, 0, y]);
    if me == 0 {
        println!("a grid of {width} by {}", n / width);
    }
    Ok(())
}
