//! A PE that finds every queue to its peer full is in the report, with call, peer and provider.

use std::time::{Duration, Instant};

use oxshmem_faults::{Job, program};

/// The jobs never end. The report that they are to make comes after two seconds.
const LIMIT: Duration = Duration::from_secs(15);

#[test]
fn problem_a_full_queue_is_reported_with_call_peer_and_provider() {
    let (endless, begin) = (program("full_queue.c"), Instant::now());
    let jobs = [("tcp", "tcp"), ("ofi:tcp", "ofi"), ("ucx:tcp", "ucx")].map(|(transport, provider)| {
        let job = Job::new("-n 2 --nodes 2").env("SHMEM_HANG_SECS", "2").env("SHMEM_TRANSPORT", transport);
        (transport, provider, job.start(&endless, [""; 0]))
    });
    for (transport, provider, job) in jobs {
        // The peer never goes on, so the job is ended from outside.
        let ended = job.wait(LIMIT.saturating_sub(begin.elapsed()));
        if ended.stderr.contains(&format!("SHMEM_TRANSPORT={transport}")) {
            println!("not run: {transport}: {}", ended.stderr.lines().next().unwrap_or_default());
            continue;
        }
        let words = format!("PE 0: in shmem_putmem_nbi for room to send to PE 1 over {provider}, for 2 s");
        let ended = ended.says(&["PE 0 has waited for 2 s", &words]);
        assert_eq!(ended.status, None, "{ended}");
    }
}
