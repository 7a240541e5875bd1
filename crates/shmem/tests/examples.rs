//! Every example, at some numbers of PEs: each checks its own result, and PE 0 says what it was.

use std::path::PathBuf;
use std::process::Command;

use oxshmem::test::launch;

/// Cargo builds the examples beside the tests.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    test.parent().and_then(|deps| deps.parent()).expect("target/…/deps").join("examples").join(name)
}

/// Numbers of PEs. With the race detector 8 PEs in a debug build take many seconds, and find nothing that 5 do not.
const SIZES: &[usize] = if cfg!(feature = "race") { &[2, 5] } else { &[1, 2, 5, 8] };

/// Runs the example and compares what its PEs print, in the order of PEs.
fn run(name: &str, expected: impl Fn(usize) -> String) {
    run_at(name, SIZES.iter().copied(), expected);
}

/// The same with these numbers of PEs.
fn run_at(name: &str, sizes: impl IntoIterator<Item = usize>, expected: impl Fn(usize) -> String) {
    for pes in sizes {
        let job = launch(pes, |_| Ok(Command::new(example(name))))
            .expect("cargo test builds the examples, unless it is told otherwise");
        for (pe, ended) in job.iter().enumerate() {
            assert!(ended.status.success(), "{name}: PE {pe} of {pes}: {}\n{}", ended.status, ended.err);
        }
        let said: String = job.iter().map(|pe| pe.out.as_str()).collect();
        assert_eq!(said, expected(pes), "{name} on {pes} PEs");
    }
}

/// The largest width of a grid that is not wider than high.
fn width(pes: usize) -> usize {
    (1..=pes).rfind(|width| pes.is_multiple_of(*width) && width * width <= pes).expect("1 divides everything")
}

#[test]
fn hello() {
    run("hello", |pes| (0..pes).map(|pe| format!("Hello from PE {pe} of {pes}\n")).collect());
}

#[test]
fn ring() {
    run("ring", |pes| format!("100 rounds; the last message is [100, {}]\n", pes * (pes - 1) / 2));
}

#[test]
fn max() {
    run("max", |pes| format!("max of place 999: {}\n", 999 + pes - 1));
}

#[test]
fn split_2d() {
    run("split_2d", |pes| format!("a grid of {} by {}\n", width(pes), pes / width(pes)));
}

#[test]
fn sort() {
    run("sort", |pes| format!("sorted {} keys\n", 20_000 * pes));
}

#[test]
fn histogram() {
    run("histogram", |pes| format!("counted {} samples in {} bins\n", 50_000 * pes, 64 * pes));
}

#[test]
fn stencil() {
    run("stencil", |pes| format!("50 steps on a plate of {} by {}\n", 16 * width(pes), 16 * pes / width(pes)));
}

#[test]
fn rod() {
    run_at("rod", [1, 3, 8], |pes| {
        format!("500 steps, the last one changed a cell by at most {:.6}\n", last_change(100 * pes, 1, 500))
    });
}

#[test]
fn heat() {
    let plate = |pes: usize| (64 * width(pes), 64 * (pes / width(pes)));
    run_at("heat", [1, 2, 6], |pes| {
        let (columns, rows) = plate(pes);
        format!("400 steps, the last one changed a cell by at most {:.6}\n", last_change(columns, rows, 400))
    });
}

/// The largest change of a cell in the last step, computed on the whole plate by one process. A plate of one row is a rod, whose
/// cells have two neighbours.
fn last_change(columns: usize, rows: usize, steps: usize) -> f64 {
    let row = columns + 2;
    let mut now = vec![0.0_f64; row * (rows + 2)];
    (0..rows + 2).for_each(|y| now[y * row] = 100.0);
    let mut change = 0.0;
    for _ in 0..steps {
        let old = now.clone();
        change = 0.0;
        for at in (1..=rows).flat_map(|y| (1..=columns).map(move |x| y * row + x)) {
            now[at] = match rows {
                1 => 0.5 * (old[at - 1] + old[at + 1]),
                _ => 0.25 * (old[at - row] + old[at + row] + old[at - 1] + old[at + 1]),
            };
            change = f64::max(change, (now[at] - old[at]).abs());
        }
    }
    change
}

#[test]
fn hash_map() {
    run("hash_map", |pes| format!("{} keys counted {} times\n", 2000 * pes, pes + 1));
}

#[test]
#[cfg(feature = "c")]
fn languages_share_one_process() {
    run("with_c", |pes| format!("C says that {pes} PEs have the mean {}\n", (pes - 1) as f64 / 2.0));
}

/// The output of one job, by PE.
#[cfg(feature = "c")]
fn outputs(name: &str, language: &str, pes: usize) -> Vec<String> {
    let command = |_| {
        let mut command = Command::new(example(name));
        command.arg(language);
        Ok(command)
    };
    let job = launch(pes, command).expect("cargo test builds the examples, unless it is told otherwise");
    job.iter().for_each(|pe| assert!(pe.status.success(), "{name} {language} on {pes} PEs: {}\n{}", pe.status, pe.err));
    job.into_iter().map(|pe| pe.out).collect()
}

#[test]
#[cfg(feature = "c")]
fn languages_show_the_same() {
    for pes in 1..=8 {
        let (c, rust) = (outputs("standard", "c", pes), outputs("standard", "rust", pes));
        assert_eq!(c, rust, "on {pes} PEs");
        assert!(c.iter().all(|said| said.lines().count() >= 35), "{c:?}");
    }
}
