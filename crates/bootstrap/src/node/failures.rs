//! Why the PEs of a node could not meet, in words.

use std::io;
use std::time::Duration;

use oxshmem_base::Error;

use crate::Membership;

/// Open files that suffice for the leader of so many PEs. It has a stream to each and two files of each at a time; the rest is the
/// program's and the library's own.
pub(super) fn enough_files(members: usize) -> usize {
    3 * members + 60
}

/// The remedy where a PE has read what no PE of this version writes.
pub(super) const SAME_VERSION: &str = "start all PEs of a job with the same version of oxshmem";

pub(super) fn failed(job: &Membership, error: &io::Error) -> Error {
    // The PEs have met, and the leader cannot give them what they came for; or they cannot meet, for a reason that has its words.
    if let Some(refusal) = refusal(error) {
        return refusal.clone();
    }
    let failed = not_met(job);
    let enough = enough_files(job.node().members.len());
    let enough = format!("the limit of open files (ulimit -n): {enough} are enough here");
    let is_limit = matches!(error.raw_os_error(), Some(EMFILE | ENFILE)) || error.kind() == io::ErrorKind::InvalidData;
    match error.kind() {
        _ if is_limit => failed.because(error).fix(format!("raise {enough}")),
        // The kernel says it in three ways: after all was read, before that, and to who still writes.
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => failed
            .because(format!("PE {}, which brings them together, has hung up", job.node().members[0]))
            .fix(format!("look at its message; if it has none, raise {enough}")),
        io::ErrorKind::ConnectionRefused => {
            let leader = job.node().members[0];
            let network = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
            let network = network.display();
            failed
                .because(format!(
                    "PE {leader}, which brings them together, does not listen in the network of PE {} ({network})",
                    job.rank()
                ))
                .fix(
                    "look at its message; if it has none, the two are in containers with networks of their own: let all on a host have \
                     one network (docker run --network=host)",
                )
        }
        _ => failed.because(error),
    }
}

fn not_met(job: &Membership) -> Error {
    Error::new(format!("PE {} could not meet the other PEs of its node", job.rank()))
}

/// Why a PE of the user `own` does not meet a leader of another user.
pub(super) fn of_another_user(job: &Membership, leader: u32, own: u32) -> io::Error {
    io::Error::other(
        not_met(job)
            .because(format!(
                "it runs as user {own}, and PE {}, which brings them together, as user {leader}",
                job.node().members[0]
            ))
            .fix("start all PEs of a job as one user, and those in containers of one host with the same mapping of users"),
    )
}

/// The words of an error that has its own. Those of the leader all PEs of the node show alike.
fn refusal(error: &io::Error) -> Option<&Error> {
    error.get_ref()?.downcast_ref()
}

/// No descriptor is left to the process, or to the system (`errno.h`, the same on every Linux).
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

pub(super) fn late(patience: Duration, absent: &[u32]) -> Error {
    Error::new(format!("the PEs of this node did not meet: missing {}", named(absent)))
        .because(format!("they did not come within {patience:?}"))
        .fix("look for what keeps them: a debugger, a stopped process, a PE that is not an OpenSHMEM program")
}

/// How long a PE whose neighbour has gone says nothing, so that the neighbour can say why: it closes its stream before its error is written.
const FOR_ITS_WORDS: Duration = Duration::from_secs(1);

/// Returns after the time that the other PE may take for its own words. The first PE that says something ends the job.
pub(super) fn lost(job: &Membership, pe: u32, error: &io::Error) -> Error {
    std::thread::sleep(FOR_ITS_WORDS);
    Error::new(format!("PE {} lost PE {pe} while they exchanged descriptors", job.rank())).because(error)
}

/// `PE 3`, or the first few of many.
fn named(pes: &[u32]) -> String {
    let shown: Vec<String> = pes.iter().take(8).map(u32::to_string).collect();
    let more = pes.len().saturating_sub(shown.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("PE {}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::{Invitation, Parcel, visit};
    use super::*;

    #[test]
    fn who_finds_nobody_in_its_network_learns_of_containers() {
        let job = Membership::placed(3, &[0, 1, 1, 1]);
        // As the name of a leader in another network.
        let unknown = Invitation { name: [0x5a; 16], token: [0; 16] };
        let error = visit(&job, &unknown, &Parcel::default()).expect_err("nobody listens");
        let text = failed(&job, &error).to_string();
        for part in ["PE 1, which brings them", "the network of PE 3 (net:[", "--network=host"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn a_leader_that_has_hung_up_is_named_however_the_kernel_says_it() {
        let job = Membership::placed(2, &[0, 1, 1]);
        for kind in [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset, io::ErrorKind::BrokenPipe] {
            let text = failed(&job, &kind.into()).to_string();
            assert!(text.contains("PE 1, which brings them together, has hung up"), "{text}");
            assert!(text.contains("look at its message"), "{text}");
        }
    }

    #[test]
    fn the_missing_are_named_but_not_all_of_a_thousand() {
        assert!(late(Duration::ZERO, &[3]).to_string().contains("missing PE 3\n"));
        assert!(late(Duration::ZERO, &(0..1000).collect::<Vec<_>>()).to_string().contains("and 992 more"));
    }
}
