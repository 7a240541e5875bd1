//! Heat spreads over a plate that a grid of PEs shares: each PE has a block of the plate with a border of cells that belong to
//! its neighbours, and puts its own edges into their borders.
#![forbid(unsafe_code)]

use oxshmem::{Symmetric, World};

/// Cells of a block in each direction, and of a row with its borders.
const CELLS: usize = 64;
const ROW: usize = CELLS + 2;
const STEPS: usize = 400;

fn main() -> Result<(), oxshmem::Error> {
    let world = World::init()?;
    let (me, n) = (world.my_pe(), world.n_pes());
    let width = (1..=n).filter(|width| n % width == 0 && width * width <= n).max().unwrap_or(1);
    let grid = world.split_2d(width)?; // the rows and columns of the grid are teams
    let (x, y, height) = (grid.x.my_pe(), grid.y.my_pe(), grid.y.n_pes());

    let mut now = world.allocate_slice(ROW * ROW, 0.0_f64)?;
    if x == 0 {
        (0..ROW).for_each(|row| now[row * ROW].store(100.0)); // the west edge of the whole plate is hot
    }
    let mut change = 0.0;
    for _ in 0..STEPS {
        put_edges(&now, me, width, (x, y, height));
        world.barrier(); // all borders have come
        let old = now.to_vec();
        change = world.exclusive(&mut now, |new| step(new, &old));
    }
    let largest = world.max_of(change);
    if me == 0 {
        println!("{STEPS} steps, the last one changed a cell by at most {largest:.6}");
    }
    Ok(())
}

/// Puts the outermost rows and columns of the block into the borders of the neighbours.
fn put_edges(block: &Symmetric<[f64]>, me: usize, width: usize, (x, y, height): (usize, usize, usize)) {
    // Without the borders, which the neighbours write meanwhile.
    let row = |row: usize| block[row * ROW + 1..row * ROW + 1 + CELLS].to_vec();
    if y > 0 {
        block[(CELLS + 1) * ROW + 1..].put_slice(&row(1), me - width);
    }
    if y + 1 < height {
        block[1..].put_slice(&row(CELLS), me + width);
    }
    // The cells of a column have a distance of ROW.
    let column = |column: usize| (1..=CELLS).map(|row| block[row * ROW + column].load()).collect::<Vec<_>>();
    if x > 0 {
        block[ROW + CELLS + 1..].put_strided(ROW, &column(1), 1, me - 1);
    }
    if x + 1 < width {
        block[ROW..].put_strided(ROW, &column(CELLS), 1, me + 1);
    }
}

/// Computes the next state of the block and returns the largest change of a cell.
fn step(new: &mut [f64], old: &[f64]) -> f64 {
    let mut change = 0.0_f64;
    for at in (1..=CELLS).flat_map(|row| (1..=CELLS).map(move |column| row * ROW + column)) {
        new[at] = 0.25 * (old[at - ROW] + old[at + ROW] + old[at - 1] + old[at + 1]);
        change = change.max((new[at] - old[at]).abs());
    }
    change
}
