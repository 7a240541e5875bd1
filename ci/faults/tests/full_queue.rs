//! A PE that finds every queue to its peer full is in the report, with call, peer and provider.

use std::time::Duration;

use oxshmem_faults::{Job, in_parallel, program};

/// The jobs never end. The report that they are to make comes after two seconds; one that has not come by then never does.
const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn problem_a_full_queue_is_reported_with_call_peer_and_provider() {
    let endless = program("full_queue.c");
    let jobs = [("tcp", "tcp"), ("ofi:tcp", "ofi"), ("ucx:tcp", "ucx")];
    in_parallel(jobs.len(), &jobs, |(transport, provider)| {
        let job = Job::new("-n 2 --nodes 2").env("SHMEM_HANG_SECS", "2").env("SHMEM_TRANSPORT", transport);
        let call = format!("PE 0: in shmem_putmem_nbi for room to send to PE 1 over {provider}, for 2 s");
        let words = ["PE 0 has waited for 2 s", call.as_str()];
        // The peer never goes on, so the job is ended from outside.
        let ended = job.start(&endless, [""; 0]).wait_for_words(&words, LIMIT);
        if !ended.lacks_transport(transport) {
            let ended = ended.says(&words);
            assert_eq!(ended.status, None, "{ended}");
        }
    });
}
