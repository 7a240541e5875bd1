//! Records of a PE that calls the library inside of a call: a handler of signals does so while the PE waits.

#![allow(non_snake_case, reason = "tests carry a number")]

use std::path::Path;
use std::process::Command;

use oxshmem_faults::{Job, TestFolder, has_program, line_of, program, text_of};
use serde_json::Value;

const PROGRAM: &str = "call_in_wait.c";

/// PE 0 is in a wait that only its handler ends, which would be a deadlock of its two PEs otherwise.
fn job(option: &str, path: &Path) -> Job {
    Job::new(&format!("-n 2 {option}={}", path.display())).env("SHMEM_DEADLOCK", "off")
}

#[test]
fn profile_14_a_wait_is_under_way_behind_the_calls_that_a_handler_has_made_in_it() {
    let folder = TestFolder::new("profile-14");
    let ended = job("--profile", &folder).run(&program(PROGRAM), ["die"]).expect(137);
    let line = line_of(PROGRAM, "shmem_long_wait_until(&flag");
    ended.says(&[&format!("verdict: PE 0 was ended in shmem_long_wait_until ({PROGRAM}:{line}): the time of a call")]);
}

#[test]
fn trace_6_calls_that_a_handler_makes_in_a_wait_lie_inside_of_it_and_move_no_later_call() {
    let folder = TestFolder::new("trace-6");
    let file = folder.join("trace.json");
    let ended = job("--trace", &file).run(&program(PROGRAM), [""; 0]).expect(0);
    let trace: Value = serde_json::from_slice(&std::fs::read(&file).expect("it is written")).expect("JSON");
    // Of a PE the calls of a routine: begin and end in nanoseconds.
    let calls = |pe: u64, routine: &str| -> Vec<(i64, i64)> {
        let events = trace["traceEvents"].as_array().expect("a list of events").iter();
        let calls = events.filter(|event| event["ph"] == "X" && event["tid"] == 1000 * pe && event["name"] == routine);
        let number = |call: &Value, field: &str| (call[field].as_f64().expect("a number") * 1e3).round() as i64;
        calls.map(|call| (number(call, "ts"), number(call, "ts") + number(call, "dur"))).collect()
    };
    let [wait] = calls(0, "shmem_long_wait_until")[..] else { panic!("PE 0 waits once: {ended}") };
    let puts = calls(0, "shmem_long_p");
    let inside = puts.iter().filter(|put| wait.0 <= put.0 && put.1 <= wait.1).count();
    let behind = puts.iter().filter(|put| wait.1 <= put.0).count();
    assert_eq!((inside, behind, puts.len()), (5, 5, 10), "{wait:?}: {puts:?}");
    // Both PEs are in a barrier at the same time, whatever the last one of them did before.
    let [here, there] = [0, 1].map(|pe| *calls(pe, "shmem_barrier_all").last().expect("a barrier"));
    assert!(here.0 <= there.1 && there.0 <= here.1, "{here:?}, {there:?}");
    let archive = folder.join("archive");
    Job::of("oxshmem").run(Path::new("trace"), [&file, Path::new("--otf2"), &archive]).expect(0);
    if has_program("otf2-print") {
        let read = Command::new("otf2-print").arg(archive.join("traces.otf2")).output().expect("it starts");
        let said = text_of(&read);
        assert!(read.status.success(), "{said}");
        // The deepest that regions of the first location lie in each other.
        let (mut depth, mut deepest) = (0, 0);
        for line in said.lines() {
            depth += match line.split_whitespace().collect::<Vec<_>>()[..] {
                ["ENTER", "0", ..] => 1,
                ["LEAVE", "0", ..] => -1,
                _ => 0,
            };
            deepest = deepest.max(depth);
        }
        assert_eq!((depth, deepest), (0, 2), "{said}");
    }
}
