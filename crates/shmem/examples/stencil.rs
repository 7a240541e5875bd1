//! Heat spreads over a plate: each PE has a block of it, and puts its edges into its neighbours' margins.
#![forbid(unsafe_code)]

use oxshmem::{Symmetric, World};

/// A block's rows and columns, and with its margins.
const BLOCK: usize = 16;
const ROW: usize = BLOCK + 2;
const STEPS: usize = 50;

fn main() -> Result<(), oxshmem::Error> {
    let world = World::init()?;
    let (me, n) = (world.my_pe(), world.n_pes());
    let width = (1..=n).filter(|width| n % width == 0 && width * width <= n).max().unwrap_or(1);
    let grid = world.split_2d(width)?;
    let (x, y, height) = (grid.x.my_pe(), grid.y.my_pe(), n / width);

    let mut now = world.allocate_slice(ROW * ROW, 0.0_f64)?;
    let mut next = world.allocate_slice(ROW * ROW, 0.0_f64)?;
    for (row, column) in inside() {
        now[row * ROW + column].store(start(y * BLOCK + row, x * BLOCK + column));
    }
    for _ in 0..STEPS {
        send_edges(&now, me, width, (x, y, height));
        world.barrier();
        let old = now.to_vec();
        world.exclusive(&mut next, |new| {
            for (row, column) in inside() {
                new[row * ROW + column] = mean(&old, ROW, row, column);
            }
        });
        core::mem::swap(&mut now, &mut next);
    }

    let plate = alone(width * BLOCK, height * BLOCK);
    for (row, column) in inside() {
        let expected = plate[(y * BLOCK + row) * (width * BLOCK + 2) + x * BLOCK + column];
        assert_eq!(now[row * ROW + column].load(), expected, "row {row}, column {column} of PE {me}");
    }
    if me == 0 {
        println!("{STEPS} steps on a plate of {} by {}", width * BLOCK, height * BLOCK);
    }
    Ok(())
}

/// Puts the outermost rows and columns of the block into the margins of the PEs there.
fn send_edges(block: &Symmetric<[f64]>, me: usize, width: usize, (x, y, height): (usize, usize, usize)) {
    // Without the margins, which the PEs there write meanwhile.
    let row = |row: usize| block[row * ROW + 1..row * ROW + 1 + BLOCK].to_vec();
    if y > 0 {
        block[(BLOCK + 1) * ROW + 1..].put_slice(&row(1), me - width);
    }
    if y + 1 < height {
        block[1..].put_slice(&row(BLOCK), me + width);
    }
    // The cells of a column have a distance of ROW.
    let column = |column: usize| (1..=BLOCK).map(|row| block[row * ROW + column].load()).collect::<Vec<_>>();
    if x > 0 {
        block[ROW + BLOCK + 1..].put_strided(ROW, &column(1), 1, me - 1);
    }
    if x + 1 < width {
        block[ROW..].put_strided(ROW, &column(BLOCK), 1, me + 1);
    }
}

fn inside() -> impl Iterator<Item = (usize, usize)> {
    (1..=BLOCK).flat_map(|row| (1..=BLOCK).map(move |column| (row, column)))
}

fn start(row: usize, column: usize) -> f64 {
    ((row * 31 + column * 17) % 97) as f64
}

fn mean(old: &[f64], width: usize, row: usize, column: usize) -> f64 {
    let at = row * width + column;
    (old[at - width] + old[at - 1] + old[at + 1] + old[at + width]) / 4.0
}

/// The whole plate, with a margin of zeros, computed by one PE.
fn alone(columns: usize, rows: usize) -> Vec<f64> {
    let width = columns + 2;
    let mut plate = vec![0.0; width * (rows + 2)];
    let inside = || (1..=rows).flat_map(|row| (1..=columns).map(move |column| (row, column)));
    inside().for_each(|(row, column)| plate[row * width + column] = start(row, column));
    for _ in 0..STEPS {
        let old = plate.clone();
        inside().for_each(|(row, column)| plate[row * width + column] = mean(&old, width, row, column));
    }
    plate
}
