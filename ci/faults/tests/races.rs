//! Programs that are built with ThreadSanitizer.
#![allow(non_snake_case, reason = "tests carry the number of the fault")]

use oxshmem_faults::{Job, compile, not_run};

/// Two PEs on so many nodes. The library is not built with the sanitizer, which therefore sees its system calls and not the
/// locks around them; the option, which the manual names, leaves out calls of such libraries.
fn sanitized(nodes: u32) -> Job {
    Job::new(&format!("-n 2 --nodes {nodes}")).env("TSAN_OPTIONS", "ignore_noninstrumented_modules=1")
}

#[test]
fn fault_L11_thread_sanitizer_reports_races_of_the_program_alone() {
    let (program, output) = compile("sanitized.c", &["-fsanitize=thread"]);
    let why = if output.status.success() {
        let alone = sanitized(1).run(&program, [""; 0]);
        alone.stderr.contains("unexpected memory mapping").then_some(alone.stderr)
    } else {
        Some(String::from_utf8_lossy(&output.stderr).into_owned())
    };
    if let Some(why) = why {
        return not_run(why);
    }
    for (nodes, transport) in [(1, "auto"), (2, "auto"), (2, "ucx")] {
        let sanitized = || sanitized(nodes).env("SHMEM_TRANSPORT", transport);
        let ended = sanitized().run(&program, [""; 0]);
        if transport == "ucx" && ended.stderr.contains("install UCX") {
            return not_run(ended.stderr);
        }
        let ended = ended.expect(0);
        assert!(ended.stdout.contains("done") && !ended.stderr.contains("WARNING"), "{ended}");
        // A race of the program itself is still found.
        let ended = sanitized().run(&program, ["race"]);
        assert!(
            ended.status != Some(0) && ended.stderr.contains("data race") && ended.stderr.contains("contest"),
            "{ended}"
        );
    }
}
