//! Jobs that are bound to the same core notice each other.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Stdio};

use oxshmem::World;
use oxshmem_test_folder::{TestFolder, again, is_again};

/// Starts a job of one PE that is bound to a core and stays until its input ends.
fn job(session: &std::path::Path) -> Child {
    let mut command = again(&[]);
    command.env("SHMEM_BIND", "core").env("XDG_RUNTIME_DIR", session);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the test starts")
}

/// Waits until the job is initialised. What it still prints is read by whoever holds the result.
fn ready(job: &mut Child) -> impl Sized + use<> {
    let mut lines = BufReader::new(job.stdout.take().expect("piped")).lines();
    assert!(lines.by_ref().map_while(Result::ok).any(|line| line.contains("initialised")), "the job ended early");
    lines
}

/// Ends the job and returns what it had to say.
fn said(mut job: Child) -> String {
    drop(job.stdin.take());
    let mut text = String::new();
    job.stderr.take().expect("piped").read_to_string(&mut text).expect("text");
    job.wait().expect("our child");
    text
}

#[test]
fn problem_24_the_second_job_on_a_core_says_so() {
    if is_again() {
        let world = World::init().expect("a job of one PE");
        println!("PE {} is initialised", world.my_pe());
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        return;
    }
    let session = TestFolder::new("session");
    let mut first = job(&session);
    let _first = ready(&mut first);
    let mut second = job(&session);
    let _second = ready(&mut second);
    let text = said(second);
    assert!(text.contains("is bound to the core of processor") && text.contains("--bind none"), "{text}");
    assert_eq!(text.matches("bound to the core").count(), 1, "{text}");
    assert!(!said(first).contains("is bound to"));
    // The lock ended with the job.
    let mut third = job(&session);
    let _third = ready(&mut third);
    assert!(!said(third).contains("is bound to"));
}
