//! Output, input and the PEs' surroundings.

mod launch;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use launch::{oshrun, run, run_script};
use oxshmem_test_folder::TestFolder;

const WHO: &str = "echo pe $PMI_RANK of $PMI_SIZE";

#[test]
fn labels_in_all_styles() {
    assert_eq!(run_script("-l -n 2", WHO).sorted(), ["[0] pe 0 of 2", "[1] pe 1 of 2"]);
    assert_eq!(run_script("--label -n 2", WHO).sorted(), ["[0] pe 0 of 2", "[1] pe 1 of 2"]);
    assert_eq!(run_script("--tag-output -n 2", WHO).sorted(), ["[1,0]<stdout>:pe 0 of 2", "[1,1]<stdout>:pe 1 of 2"]);
    let stderr = run_script("--tag-output -n 1", "echo oops >&2").stderr;
    assert_eq!(stderr, "[1,0]<stderr>:oops\n");
    let timed = run_script("--timestamp-output -n 1", WHO).stdout;
    let (time, text) = timed.split_once(' ').unwrap();
    assert_eq!((time.len(), text), ("14:03:59.123".len(), "pe 0 of 1\n"));
}

#[test]
fn both_streams_stay_apart_and_lines_stay_whole() {
    let script = "for i in 1 2 3 4 5 6 7 8 9; do printf %s begin$PMI_RANK-; echo end$i; echo error$i >&2; done";
    let ended = run_script("-n 4", script).expect(0);
    let mut seen = BTreeMap::new();
    for line in ended.stdout.lines() {
        let (pe, end) = line.strip_prefix("begin").and_then(|rest| rest.split_once("-end")).expect(line);
        let expected = seen.entry(pe.to_string()).or_insert(0);
        *expected += 1;
        assert_eq!(end, expected.to_string(), "each PE's lines keep their order");
    }
    assert_eq!(seen.values().copied().collect::<Vec<i32>>(), [9; 4]);
    assert_eq!(ended.stderr.lines().filter(|line| line.starts_with("error")).count(), 36);
}

/// As Python writes them, whose lines and their ends are two writes.
#[test]
fn lines_whose_ends_come_late_are_not_glued_together() {
    let ended = run_script("-n 4", "printf %s begin$PMI_RANK; sleep 0.4; echo");
    assert_eq!(ended.sorted(), ["begin0", "begin1", "begin2", "begin3"]);
}

#[test]
fn large_output_arrives_complete() {
    let ended = run_script("-n 3", "head -c 3000000 /dev/zero | tr '\\0' x | fold -w 99; echo");
    assert_eq!(ended.stdout.bytes().filter(|&byte| byte == b'x').count(), 9_000_000);
    assert!(ended.stdout.lines().all(|line| line.len() <= 99));
}

/// The output of a job whose stream does not block, as under sshd, where input and output are one socket, after a program has
/// changed its input.
fn through_a_stream_that_does_not_block(arguments: &[&str]) -> String {
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let mut command = oshrun(arguments);
    let mut job = command.stdout(OwnedFd::from(theirs)).spawn().unwrap();
    // It has a copy of the socket, which would keep the stream open.
    drop(command);
    std::thread::sleep(std::time::Duration::from_millis(300));
    let mut text = String::new();
    ours.read_to_string(&mut text).unwrap();
    assert_eq!(job.wait().unwrap().code(), Some(0));
    text
}

#[test]
fn output_to_a_stream_that_does_not_block_arrives_complete() {
    let script = "head -c 3000000 /dev/zero | tr '\\0' x | fold -w 99; echo";
    let text = through_a_stream_that_does_not_block(&["-n", "2", "sh", "-c", script]);
    assert_eq!(text.matches('x').count(), 6_000_000);
}

#[test]
fn an_answer_to_a_stream_that_does_not_block_arrives_complete() {
    let text = through_a_stream_that_does_not_block(&["--dry-run", "-n", "9000", "true"]);
    assert_eq!(text.lines().count(), 9000);
}

#[test]
fn the_launcher_s_sentence_does_not_continue_a_line_of_a_pe() {
    let pe = "if [ $PMI_RANK = 0 ]; then printf \"me 2\"; exit 3; fi; sleep 60";
    let line = format!("\"$0\" -n 2 sh -c '{pe}' 2>&1");
    let output =
        std::process::Command::new("sh").args(["-c", line.as_str(), env!("CARGO_BIN_EXE_oshrun")]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("me 2\noshrun: PE 0 ") && output.status.code() == Some(3), "{text}");
}

#[test]
fn an_unfinished_last_line_is_kept() {
    assert_eq!(run_script("-n 1", "printf abc").stdout, "abc");
    assert_eq!(run_script("-l -n 1", "printf abc").stdout, "[0] abc\n");
    assert_eq!(run_script("-n 2", "[ $PMI_RANK = 0 ] && printf abc || true").stdout, "abc");
}

#[test]
fn bytes_of_a_lone_writer_pass_untouched() {
    let script = "printf '\\000\\377\\n\\r\\tx'";
    let output = oshrun(["-n", "1", "sh", "-c", script]).output().unwrap();
    assert_eq!(output.stdout, b"\0\xff\n\r\tx");
}

#[test]
fn output_can_be_chosen_and_filed() {
    assert_eq!(run_script("-n 6 --only 0-1,4", WHO).sorted(), ["pe 0 of 6", "pe 1 of 6", "pe 4 of 6"]);
    let folder = TestFolder::new("streams");
    let place = folder.join("out");
    let ended = run_script(&format!("-n 2 --output-dir {}", place.display()), "echo out $PMI_RANK; echo err >&2");
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("", ""));
    assert_eq!(std::fs::read_to_string(place.join("pe.1.out")).unwrap(), "out 1\n");
    assert_eq!(std::fs::read_to_string(place.join("pe.0.err")).unwrap(), "err\n");
}

/// The usual limit is 1,024: six files a PE are more with 170.
#[test]
fn the_limit_of_open_files_is_raised_where_output_or_input_of_many_pes_needs_it() {
    let folder = TestFolder::new("streams");
    let place = folder.join("out");
    for options in [&["--output-dir", place.to_str().unwrap()][..], &["--stdin", "all"]] {
        let mut low = Command::new("/bin/sh");
        low.args(["-c", "ulimit -Sn 256 && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_oshrun")]);
        let output = low.args(options).args(["-n", "60", "true"]).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{options:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_reader_that_leaves_ends_the_writers_not_the_launcher() {
    for options in [&["-n", "1"][..], &["-n", "2"], &["-H", "a,b", "--launch-agent", "env ON={host}", "-n", "2"]] {
        let mut job = oshrun(options.iter().chain(&["yes"]));
        let mut child = job.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        // As in a pipe without a launcher, the writers end by SIGPIPE, and nobody is told.
        let ended = child.wait_with_output().unwrap();
        assert_eq!(
            (ended.status.code(), &*String::from_utf8_lossy(&ended.stderr)),
            (Some(128 + 13), ""),
            "{options:?}"
        );
    }
}

#[test]
fn a_full_device_is_named() {
    let child = oshrun(["-n", "2", "yes"]).stdout(launch::full_device()).stderr(Stdio::piped()).spawn().unwrap();
    let said = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    assert!(said.contains("the standard output cannot be written"), "{said}");
    assert!(said.contains("No space left on device"), "{said}");
}

fn fed(options: &[&str], input: &str, script: &str) -> Vec<String> {
    let mut arguments = options.to_vec();
    arguments.extend(["-n", "3", "sh", "-c", script]);
    let mut child = oshrun(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("oshrun starts");
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    let mut lines: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_string).collect();
    lines.sort();
    lines
}

#[test]
fn input_goes_where_it_should() {
    let script = "echo $PMI_RANK $(cat)";
    assert_eq!(fed(&[], "some text\n", script), ["0 some text", "1", "2"]);
    assert_eq!(fed(&["--stdin", "2"], "some text\n", script), ["0", "1", "2 some text"]);
    assert_eq!(fed(&["--stdin", "none"], "some text\n", script), ["0", "1", "2"]);
    assert_eq!(fed(&["--stdin", "all"], "some text\n", script), ["0 some text", "1 some text", "2 some text"]);
}

#[test]
fn an_input_that_cannot_be_read_is_told() {
    for options in [&["--stdin", "all"][..], &["-H", "a", "--launch-agent", "env ON={host}"]] {
        let mut job = oshrun([options, &["-n", "1", "wc", "-c"]].concat());
        let ended = launch::Ended::from(job.stdin(std::fs::File::open("/").unwrap()).output().unwrap()).expect(0);
        assert_eq!(ended.stdout.trim(), "0");
        ended.says(&["note: the input cannot be read (Is a directory (os error 21)), so it ends here for the PEs"]);
    }
}

#[test]
fn a_pe_that_reads_late_keeps_no_other_one_from_reading() {
    let folder = TestFolder::new("streams");
    let script = "[ $PMI_RANK = 1 ] || until [ -e $HERE/read ]; do sleep 0.05; done; wc -c; > $HERE/read";
    for options in [&[][..], &["-H", "a,b", "--launch-agent", "env ON={host}"]] {
        let arguments = [options, &["--stdin", "all", "-n", "3", "sh", "-c", script]].concat();
        let mut command = oshrun(arguments);
        command.env("HERE", &*folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("oshrun starts");
        child.stdin.take().unwrap().write_all(&vec![b'x'; 3_000_000]).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "3000000\n".repeat(3));
        std::fs::remove_file(folder.join("read")).unwrap();
    }
}

#[test]
fn a_pe_that_does_not_read_at_all_is_named() {
    let script = "[ $PMI_RANK = 1 ] && exec head -c 70000000 | wc -c; exec sleep 600";
    let mut command = oshrun(["--stdin", "all", "-n", "2", "--timeout", "60", "sh", "-c", script]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        // It breaks off when the job has ended.
        while input.write_all(&[b'x'; 1 << 16]).is_ok() {}
    });
    let mut said = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stderr.take().unwrap()), &mut said).unwrap();
    assert!(said.contains("note: PE 0 has not read 64 MiB of the input, and the others wait for it"), "{said}");
    launch::send("TERM", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    writer.join().unwrap();
}

#[test]
fn input_that_no_pe_reads_is_left_for_the_next_command() {
    let oshrun = env!("CARGO_BIN_EXE_oshrun");
    let script = format!("printf 'a\\nb\\nc\\n' | while read word; do {oshrun} -n 2 true; echo $word; done");
    let output = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a\nb\nc\n");
}

#[test]
fn input_that_never_ends_keeps_nobody() {
    let mut child = oshrun(["--stdin", "all", "-n", "2", "head", "-n", "1"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("oshrun starts");
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"word\n").unwrap();
    launch::until("the job has ended", || child.try_wait().unwrap().is_some());
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"word\nword\n"[..]));
}

#[test]
fn several_programs_are_one_job() {
    let ended = run("-l -n 2 echo a : -n 1 -x WORD=b --wdir / printenv WORD PWD : -n 1 pwd").expect(0);
    let here = format!("[3] {}", std::env::current_dir().unwrap().display());
    let lines = ended.sorted();
    assert_eq!(lines[..3], ["[0] a", "[1] a", "[2] /"], "{lines:?}");
    assert!(lines.contains(&"[2] b") && lines.contains(&here.as_str()), "{lines:?}");
}

#[test]
fn variables_reach_the_pes() {
    let mut command = oshrun(["-n", "1", "-x", "GIVEN=a b=c", "-x", "INHERITED", "-x", "UNSET_ANYWHERE"]);
    command.args(["sh", "-c", "echo $GIVEN,$INHERITED,${UNSET_ANYWHERE-unset}"]).env("INHERITED", "yes");
    let output = command.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a b=c,yes,unset\n");
    let said = String::from_utf8_lossy(&output.stderr);
    let is_noted = said.contains("note: -x UNSET_ANYWHERE: this variable is not set");
    assert!(is_noted && !said.contains("INHERITED"), "{said}");
}

#[test]
fn arguments_pass_without_a_shell() {
    let output = oshrun(["-n", "1", "printf", "%s;", "a|b", "$HOME", "c d", "*", "-np", ""]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a|b;$HOME;c d;*;-np;;");
}

#[test]
fn pinned_pes_have_one_processor_and_others_all() {
    let allowed = |line: &str| run(line).sorted().iter().map(|line| line.to_string()).collect::<Vec<_>>();
    let all = oxshmem_os::cpus::allowed();
    let pinned = allowed("--bind -n 2 grep Cpus_allowed_list: /proc/self/status");
    let mut expected = [0, 1].map(|pe| format!("Cpus_allowed_list:\t{}", all[pe % all.len()]));
    expected.sort();
    assert_eq!(pinned, expected);
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let own = own.lines().find(|line| line.starts_with("Cpus_allowed_list:")).unwrap();
    assert_eq!(allowed("-n 1 grep Cpus_allowed_list: /proc/self/status"), [own]);
}

#[test]
fn a_dry_run_shows_and_starts_nothing() {
    let folder = TestFolder::new("streams");
    let file = folder.join("made");
    let ended = run(&format!("--dry-run --bind -n 2 -x A=1 touch {}", file.display())).expect(0);
    let lines = ended.sorted();
    assert_eq!(lines.len(), 2);
    assert!(
        lines[1].starts_with("PE 1 on processors ") && lines[1].contains("PMI_RANK=1 ") && lines[1].contains("A=1")
    );
    assert!(!file.exists());
}
