//! The frames on an agent's pipe: orders down, reports up.
//!
//! A frame is its length (4 bytes, little endian), its content, and a newline: some remote shells pass on whole lines
//! only, and this one ends theirs. The two sides are of one build (see `greeting`), so the content needs no versions.

use std::ffi::OsString;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use oxshmem_flight::Witness;

use crate::plan::JobPlan;
use crate::pmi::PmiStage;

/// The longest content. A process that announces more is no agent of ours.
pub(crate) const LONGEST: usize = 16 << 20;
/// Values of one fence travel in frames of about this size.
pub(crate) const PORTION: usize = 256 << 10;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum AgentOrder {
    /// Start these PEs.
    Start(Box<JobDescription>),
    /// Standard input for PE `pe`; no bytes: its end.
    Input {
        pe: u32,
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// Send a signal to every PE but one.
    Signal { signal: i32, except: Option<u32> },
    /// All PEs are in the fence; these values were put before it. The last portion opens it.
    Fenced { values: Vec<(String, String)>, last: bool },
    /// This many bytes of this host's output have been written, so there is room for as many.
    Written { host: u32, stream: OutputStream, bytes: u32 },
    /// A piece of a record of this host has been kept, so there is room for another one.
    Kept { host: u32 },
    /// This stream has no reader any more.
    Closed { stream: OutputStream },
    /// Answer with what the PEs do, and with this many of the last calls of each.
    Look { question: u32, calls: u32 },
    /// The waits of all PEs in words, for the PEs of this host that have asked; no words: not all wait.
    Told { host: u32, text: String },
    /// Answer when every PE that is ending has been reported.
    Census,
    /// All PEs of the job have ended, and this is its status: clean up and go. Of a failed job nothing may be left.
    Finish { status: i32 },
    /// Still here.
    Beat,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum AgentReport {
    /// These PEs run, with their process numbers.
    Started { pids: Vec<(u32, u32)> },
    /// A sentence for the user.
    Note { text: String },
    /// The display of `--display` for a host, and the PEs that are only shown and not started.
    Map { host: u32, text: String, only: Vec<u32> },
    /// PE `pe` could not be started, so these were not either.
    Unstartable { pe: u32, status: i32, why: String, others: Vec<u32> },
    /// A PE ended: its status, how far it had come in PMI, and why the kernel probably killed it for memory, if it did.
    Ended { pe: u32, status: i32, stage: PmiStage, shortage: Option<String> },
    /// A PE ends the job.
    Aborted { pe: u32, status: i32 },
    /// A PE sent bytes that are no message of PMI.
    Babbled { pe: u32, why: String },
    /// All PEs here and below are in the fence; these values were put before it. The last portion counts.
    Fence { values: Vec<(String, String)>, last: bool },
    /// This many PEs wait in a fence that cannot open, because one of those here has ended.
    Stuck { waiting: u32 },
    /// Whole lines of a PE's output, dressed.
    Output {
        host: u32,
        pe: u32,
        stream: OutputStream,
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// A stream of a PE cannot be written to its file any more.
    Unkept { pe: u32, stream: OutputStream, why: String },
    /// A piece of a file in which a PE was recorded.
    Record {
        host: u32,
        name: String,
        offset: u64,
        #[serde(with = "serde_bytes")]
        bytes: Vec<u8>,
    },
    /// A PE has taken this many bytes of its input; 0: it wants no more.
    Taken { pe: u32, bytes: u32 },
    /// The states of a host's PEs: the answer to a question.
    Seen { host: u32, question: u32, witnesses: Vec<Witness> },
    /// A PE of this host asks for the waits of all.
    Asked { host: u32 },
    /// The answer to a census.
    Counted,
    /// These hosts are lost, and every PE there.
    Lost { hosts: Vec<u32>, why: String },
    /// Nothing of the job is left on this host.
    Done { host: u32 },
    /// Still here.
    Beat,
}

/// How many agents one host looks after itself; beyond that some of them look after others.
pub(crate) const FAN_OUT: usize = 32;

/// The number of the launcher's own host if all PEs are on hosts with agents.
pub(crate) const NO_HOST: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) enum OutputStream {
    Stdout,
    Stderr,
}

impl std::fmt::Display for OutputStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Stdout => "standard output",
            Self::Stderr => "standard error",
        })
    }
}

/// Everything that an agent needs to know about the job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JobDescription {
    /// The user's arguments; the programs among them carry all variables that PEs get.
    pub(crate) plan: JobPlan,
    /// The mark of the job. Each host adds its own number.
    pub(crate) mark: String,
    /// The name of the key-value space.
    pub(crate) space: String,
    /// `PMI_process_mapping`.
    pub(crate) mapping: Option<String>,
    /// Where PEs run.
    pub(crate) folder: OsString,
    /// Where programs are looked up.
    pub(crate) path: Option<OsString>,
    /// The agent's own host, and then those that it is to start agents on.
    pub(crate) host_pes: Vec<HostPes>,
}

impl JobDescription {
    /// Whether all PEs are on the launcher's own machine and need no agents. Nothing else decides that.
    pub(crate) fn is_here(&self) -> bool {
        matches!(&self.host_pes[..], [only] if only.name.is_empty())
    }

    /// How many agents the first of the hosts looks after.
    pub(crate) fn agents_below(&self) -> usize {
        self.host_pes.len().saturating_sub(1).min(FAN_OUT)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostPes {
    /// Its place in the job's list of hosts.
    pub(crate) host: u32,
    /// How the remote shell is told of it. Empty: the launcher's own machine, without an agent.
    pub(crate) name: String,
    /// Ascending.
    pub(crate) pes: Vec<u32>,
}

/// The bytes of a frame.
pub(crate) fn encode(content: &impl Serialize) -> Vec<u8> {
    let empty = vec![0; 4];
    let mut bytes =
        postcard::to_extend(content, empty).expect("memory has room, and our types have no case that fails");
    let length = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes.push(b'\n');
    bytes
}

pub(crate) fn has_room(content: &impl Serialize) -> bool {
    encode(content).len() <= LONGEST
}

/// Cuts a stream of bytes into frames.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    pending: Vec<u8>,
    /// How much of it has been decoded.
    done: usize,
}

impl Frames {
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.pending.drain(..self.done);
        self.done = 0;
        self.pending.extend_from_slice(bytes);
    }

    /// The next complete frame. After an error the stream has no meaning any more.
    pub(crate) fn next<T: DeserializeOwned>(&mut self) -> Option<Result<T, String>> {
        let (length, rest) = self.pending[self.done..].split_first_chunk::<4>()?;
        let length = u32::from_le_bytes(*length) as usize;
        if length > LONGEST {
            return Some(Err(format!("a frame of {length} bytes is announced, {LONGEST} are the most")));
        }
        if rest.len() <= length {
            return None;
        }
        let (content, after) = rest.split_at(length);
        let whole = |rest: &[u8]| rest.is_empty() && after[0] == b'\n';
        let decoded = match postcard::take_from_bytes(content) {
            Ok((content, rest)) if whole(rest) => Ok(content),
            Ok(_) => Err("a frame does not end where it says".into()),
            Err(error) => Err(format!("a frame cannot be read: {error}")),
        };
        self.done += 4 + length + 1;
        Some(decoded)
    }
}

/// Values cut into portions that fit frames. There is at least one.
pub(crate) fn portions(values: Vec<(String, String)>) -> Vec<Vec<(String, String)>> {
    let mut portions = vec![Vec::new()];
    let mut size = 0;
    for (key, value) in values {
        if size > PORTION {
            portions.push(Vec::new());
            size = 0;
        }
        size += key.len() + value.len();
        portions.last_mut().expect("never empty").push((key, value));
    }
    portions
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn report() -> impl Strategy<Value = AgentReport> {
        let values = proptest::collection::vec(("[a-z]{1,20}", "[ -~]{0,200}"), 0..20);
        let bytes = proptest::collection::vec(any::<u8>(), 0..3000);
        prop_oneof![
            proptest::collection::vec(any::<(u32, u32)>(), 0..50).prop_map(|pids| AgentReport::Started { pids }),
            (
                any::<u32>(),
                any::<i32>(),
                prop_oneof![Just(PmiStage::Joined), Just(PmiStage::Leaving), Just(PmiStage::Finalized)],
                any::<Option<String>>()
            )
                .prop_map(|(pe, status, stage, shortage)| AgentReport::Ended {
                    pe,
                    status,
                    stage,
                    shortage
                }),
            (any::<u32>(), any::<i32>()).prop_map(|(pe, status)| AgentReport::Aborted { pe, status }),
            (values, any::<bool>()).prop_map(|(values, last)| AgentReport::Fence { values, last }),
            (any::<u32>(), any::<u32>(), bytes).prop_map(|(host, pe, bytes)| AgentReport::Output {
                host,
                pe,
                stream: OutputStream::Stderr,
                bytes
            }),
            (proptest::collection::vec(any::<u32>(), 0..9), ".{0,90}")
                .prop_map(|(hosts, why)| AgentReport::Lost { hosts, why }),
            Just(AgentReport::Beat),
        ]
    }

    proptest! {
        #[test]
        fn reports_survive_the_pipe_in_any_pieces(reports in proptest::collection::vec(report(), 1..8), cut in 1usize..999) {
            let wire: Vec<u8> = reports.iter().flat_map(encode).collect();
            let (mut frames, mut seen) = (Frames::default(), Vec::new());
            for piece in wire.chunks(cut) {
                frames.feed(piece);
                while let Some(report) = frames.next::<AgentReport>() {
                    seen.push(report.unwrap());
                }
            }
            prop_assert_eq!(seen, reports);
        }

        #[test]
        fn garbage_is_refused_and_takes_no_memory(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
            let mut frames = Frames::default();
            frames.feed(&bytes);
            while let Some(Ok(_)) = frames.next::<AgentOrder>() {}
            let mut frames = Frames::default();
            frames.feed(&bytes);
            while let Some(Ok(_)) = frames.next::<AgentReport>() {}
        }

        #[test]
        fn damaged_frames_never_panic(report in report(), at in any::<prop::sample::Index>(), with in any::<u8>()) {
            let mut wire = encode(&report);
            let at = at.index(wire.len());
            wire[at] = with;
            let mut frames = Frames::default();
            frames.feed(&wire);
            let _ = frames.next::<AgentReport>();
        }
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_before_it_comes() {
        let mut frames = Frames::default();
        frames.feed(&(LONGEST as u32 + 1).to_le_bytes());
        assert!(frames.next::<AgentReport>().unwrap().unwrap_err().contains("announced"));
    }

    #[test]
    fn what_has_no_room_is_known_before_it_is_sent() {
        let fed = |content: &String| {
            let mut frames = Frames::default();
            frames.feed(&encode(content));
            frames.next::<String>().is_some_and(|frame| frame.as_ref() == Ok(content))
        };
        let (short, long) = ("x".repeat(LONGEST - 20), "x".repeat(LONGEST));
        assert!(has_room(&short) && fed(&short));
        assert!(!has_room(&long) && !fed(&long));
    }

    #[test]
    fn many_values_become_several_frames() {
        assert_eq!(portions(Vec::new()), [vec![]]);
        let value = |i: usize| (format!("key{i}"), "x".repeat(1000));
        let all: Vec<_> = (0..1000).map(value).collect();
        let portions = portions(all.clone());
        assert!(portions.len() > 1);
        assert!(portions.iter().all(|portion| encode(portion).len() < 2 * PORTION));
        assert_eq!(portions.concat(), all);
    }
}
