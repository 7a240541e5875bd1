//! A job in pods, started without a remote shell: by processes in namespaces with addresses, names, mounts and processes of
//! their own (`ci/rigs/pods`). What Kubernetes does with pods is done here by hand: they come late, have names still later,
//! are reached by translated addresses, are ended and started anew.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use oxshmem_faults::{Job, JobEnd, Running, TestFolder, not_run, prefix, program, top, until};

/// A step that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(100);
/// The rig's status where it is not permitted; its output says why.
const NOT_PERMITTED: i32 = 77;
const PODS: u32 = 3;
const HOSTS: &str = "ring-[0-2].ring";
const KEY: &str = "a key of the tests, long enough";

fn rig() -> PathBuf {
    top().join("ci/rigs/pods")
}

/// A folder with the key, gone at the end of the test; inside of the rig only.
struct Place(TestFolder);

impl Place {
    /// `None`: this is not the rig. Then the test called `name` has run there, as a process of its own.
    fn inside(name: &str) -> Option<Place> {
        if std::env::var_os("PODS").is_none() {
            let myself = std::env::current_exe().expect("the test itself");
            let mut run = Command::new(rig());
            run.arg("run").arg(PODS.to_string()).arg(myself).args([name, "--exact", "--nocapture", "--test-threads=1"]);
            let output = run.stdin(Stdio::null()).output().expect("the rig's script");
            let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
            match output.status.code() {
                Some(NOT_PERMITTED) => println!("not run: {name}: {}", said[1].trim()),
                status => assert_eq!(status, Some(0), "{}{}", said[0], said[1]),
            }
            said[0].lines().filter(|line| line.starts_with("not run:")).for_each(|line| println!("{line}"));
            return None;
        }
        let folder = TestFolder::new(name);
        folder.write("key", KEY);
        folder.write("other", "another key, and as long as that");
        Some(Place(folder))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The words of the one command of all pods.
    fn meet(&self) -> Vec<String> {
        let key = self.file("key").display().to_string();
        words(&["--meet", "--key-file", &key, "-H", HOSTS, "-N", "2", "--wait-timeout", "60"])
    }
}

fn words(all: &[&str]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

fn told(arguments: &[&str]) -> bool {
    Command::new(rig()).args(arguments).status().expect("the rig's script").success()
}

/// Starts `oshrun` as the first process of a pod, behind these words.
fn pod_behind(before: &[&str], pod: u32, options: &[String], program: &Path, arguments: &[&str]) -> Running {
    let mut start = Command::new(rig());
    start
        .args(["start", &pod.to_string()])
        .args(before)
        .arg(prefix().canonicalize().expect("it is there").join("bin/oshrun"));
    start.args(options);
    Job::by(start).start(program, arguments)
}

fn pod(pod: u32, options: &[String], program: &Path, arguments: &[&str]) -> Running {
    pod_behind(&[], pod, options, program, arguments)
}

/// All pods said where their PEs were.
fn all_met(launcher: &JobEnd) {
    let mut lines: Vec<&str> = launcher.stdout.lines().collect();
    lines.sort_unstable();
    let expected: Vec<String> = (0..6).map(|pe| format!("PE {pe} of 6 on ring-{}", pe / 2)).collect();
    assert_eq!(lines, expected, "{launcher}");
}

#[test]
fn pods_1_late_pods_with_late_names_meet_without_any_right() {
    let Some(place) = Place::inside("pods_1_late_pods_with_late_names_meet_without_any_right") else { return };
    let ring = program("pods.c").canonicalize().unwrap();
    if !told(&["translates"]) {
        not_run("pods by translated addresses: there is no nft");
    }
    // As a container should run: another user, nothing to write to, no capability. Only root can become another user.
    let bare = "mount -o remount,bind,ro / && exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs \
                --bounding-set=-all \"$@\"";
    let is_root = std::fs::read_to_string("/proc/self/uid_map").expect("a Linux system").contains("4294967295");
    let before: &[&str] = if is_root { &["sh", "-c", bare, "sh"] } else { &[] };
    if !is_root {
        not_run("pods of another user: this is not root");
    }
    let start = |number| pod_behind(before, number, &place.meet(), &ring, &["end"]);
    let launcher = start(0);
    // The launcher looks for names that do not exist yet, then for a pod that is not there yet.
    std::thread::sleep(Duration::from_millis(300));
    (1..PODS).for_each(|number| assert!(told(&["name", &number.to_string()])));
    std::thread::sleep(Duration::from_millis(300));
    let others: Vec<Running> = (1..PODS).map(start).collect();
    all_met(&launcher.wait(LIMIT).expect(0));
    for other in others {
        let other = other.wait(LIMIT).expect(0).says(&["waits on port 7170", "a job is started from 198.51.100.10"]);
        assert_eq!(other.stdout, "", "the launcher's pod shows all output: {other}");
    }
}

#[test]
fn pods_2_every_pod_ends_with_the_status_of_the_job_and_a_lost_pod_is_noticed() {
    let name = "pods_2_every_pod_ends_with_the_status_of_the_job_and_a_lost_pod_is_noticed";
    let Some(place) = Place::inside(name) else { return };
    (1..PODS).for_each(|number| assert!(told(&["name", &number.to_string(), "direct"])));
    let ring = program("pods.c").canonicalize().unwrap();
    // Where a socket of IPv6 takes no connection over IPv4, unless it is told to. The pods have addresses of IPv4.
    let alone = "{ echo 1 >/proc/sys/net/ipv6/bindv6only; } 2>/dev/null; exec \"$@\"";
    let before = ["sh", "-c", alone, "sh"];
    let start = |wish: &[&str]| -> Vec<Running> {
        (0..PODS).map(|number| pod_behind(&before, number, &place.meet(), &ring, wish)).collect()
    };
    for running in start(&["fail"]) {
        running.wait(LIMIT).expect(5);
    }
    // A pod is killed with all its processes: the job is over, and no pod is left waiting.
    let mark = place.file("running");
    let mut job = start(&["stay", mark.to_str().unwrap()]);
    until("the job runs", LIMIT, || mark.exists());
    drop(job.pop());
    let mut ended = job.into_iter().map(|running| running.wait(LIMIT).expect(1));
    ended.next().unwrap().says(&["host ring-2.ring: ", "ended or started anew", "its PEs with it"]);
    ended.next().unwrap();
    // The launcher's own pod is killed: the others notice it, and can be used for the next job.
    std::fs::remove_file(&mark).unwrap();
    let mut job = start(&["stay", mark.to_str().unwrap()]);
    until("the job runs again", LIMIT, || mark.exists());
    drop(job.remove(0));
    for running in job {
        running.wait(LIMIT).expect(1).says(&["the launcher is lost"]);
    }
    let mut again = start(&["end"]).into_iter().map(|running| running.wait(LIMIT).expect(0));
    all_met(&again.next().unwrap());
    assert_eq!(again.count(), 2);
}

#[test]
fn pods_3_strangers_are_refused_and_a_second_launcher_is_told() {
    let Some(place) = Place::inside("pods_3_strangers_are_refused_and_a_second_launcher_is_told") else { return };
    assert!(told(&["name", "1", "direct"]));
    let ring = program("pods.c").canonicalize().unwrap();
    let key = |name: &str| place.file(name).display().to_string();
    let waits = || {
        let mut start = Command::new(rig());
        start.args(["start", "1"]).arg(prefix().canonicalize().unwrap().join("bin/oshrun")).arg("--wait-for-launch");
        Job::by(start).start(Path::new("--key-file"), [&*key("key"), "--wait-timeout", "60"])
    };
    let launch = |secret: &str, timeout: &str, wish: &[&str]| {
        let secret = key(secret);
        let options =
            ["--hosts-wait", "--key-file", &secret, "-H", "ring-1.ring", "-n", "2", "--wait-timeout", timeout];
        pod(0, &words(&options), &ring, wish)
    };
    let waiter = waits();
    launch("other", "60", &["end"]).wait(LIMIT).expect(1).says(&[
        "host ring-1.ring: ",
        "refuses the key of this job",
        "Secret",
    ]);
    // The one who was refused has done no harm.
    let mark = place.file("running");
    let job = launch("key", "60", &["stay", mark.to_str().unwrap()]);
    until("the job runs", LIMIT, || mark.exists());
    launch("key", "10", &["end"])
        .wait(LIMIT)
        .expect(1)
        .says(&["no agent has answered within 10s", "is in another job"]);
    drop(job);
    waiter.wait(LIMIT).expect(1).says(&["198.51.100.10 has another key and is refused", "the launcher is lost"]);
    // Nobody comes; and nobody is there.
    let key_file = key("key");
    let alone = words(&["--wait-for-launch", "--key-file", &key_file]);
    let nobody = pod(1, &alone, Path::new("--wait-timeout"), &["0.2"]).wait(LIMIT).expect(1);
    nobody.says(&["no job has been started here within 200ms"]);
    launch("key", "10", &["end"]).wait(LIMIT).expect(1).says(&["no agent has answered within 10s", "refused"]);
    place.0.write("short", "0123\n");
    launch("short", "1", &["end"]).wait(LIMIT).expect(2).says(&["it has 4 bytes, and 16 are the least"]);
}
