//! The arguments by which memory is written again, or is not waited for, and what shows each: planted faults, models, tests.

use std::collections::BTreeSet;

use crate::{Outcome, top};

/// An argument that stands in a comment of the source.
pub(super) struct ReuseArgument {
    what: &'static str,
    /// Below `crates`.
    source: &'static str,
    faults: &'static [&'static str],
    /// Models and tests, below `crates`, where no fault can be planted, or beside those that are.
    models: &'static [&'static str],
}

const fn argument(
    what: &'static str,
    source: &'static str,
    faults: &'static [&'static str],
    models: &'static [&'static str],
) -> ReuseArgument {
    ReuseArgument { what, source, faults, models }
}

const NODE_EAGER: &str = "runtime/src/collectives/node_eager.rs";
const CHANNEL: &str = "runtime/src/collectives/between_nodes/channel.rs";
const MODEL: &str = "runtime/src/collectives/between_nodes/channel/model.rs";
const WIRE: &str = "runtime/src/collectives/between_nodes/leader_wire.rs";
const RING: &str = "runtime/src/collectives/between_nodes/broadcast_ring.rs";

/// All of them.
pub(super) const ARGUMENTS: &[ReuseArgument] = &[
    argument(
        "memory of a run is free two runs later: mailboxes, counters, scratch, copies of operands",
        CHANNEL,
        &["mailbox-parity", "scratch-parity", "copy-parity"],
        &[MODEL, "schedule/src/prove.rs"],
    ),
    argument(
        "memory of an exchange is free two exchanges later: lines, gather and outgoing buffers",
        CHANNEL,
        &["line-parity", "gather-parity", "part-parity"],
        &[MODEL, "schedule/src/prove.rs", "runtime/src/loom_models/slot.rs"],
    ),
    argument(
        "eager buffers of a node are free two exchanges later",
        NODE_EAGER,
        &["eager-parity"],
        &["runtime/src/loom_models/eager.rs"],
    ),
    argument(
        "a root writes an entry again when all members have taken its broadcast",
        NODE_EAGER,
        &["entry-not-taken"],
        &["runtime/src/loom_models/eager.rs"],
    ),
    argument(
        "a place of an active set is free when nobody is inside and all broadcasts are taken",
        "runtime/src/collectives/active_set/place.rs",
        &["place-with-a-posted-broadcast"],
        &["runtime/src/loom_models/active_set.rs"],
    ),
    argument("mailboxes are cleared every 2^29 runs", CHANNEL, &["mailboxes-never-cleared"], &[]),
    argument("all words of a message name the run", WIRE, &["message-by-its-head"], &[MODEL]),
    argument("an operand that changes is put from a copy", WIRE, &["operand-not-kept", "operand-unfenced"], &[MODEL]),
    argument("words that are set more than once keep their order", WIRE, &["signals-of-a-word-unordered"], &[]),
    argument(
        "blocks of broadcasts are acknowledged by the PE that has sent them on",
        RING,
        &[
            "block-without-acknowledgement",
            "acknowledged-before-children",
            "stamp-before-payload",
            "block-of-another-tree",
            "barrier-of-a-part",
        ],
        &["runtime/src/collectives/between_nodes/broadcast_ring/model.rs"],
    ),
    argument(
        "arrays that the network reads are taken back when it has read them",
        "runtime/src/collectives/between_nodes/in_flight.rs",
        &["local-completion-skipped"],
        &[],
    ),
    argument(
        "sources of the program's puts are given back when the network has read them",
        "runtime/src/calls/extension.rs",
        &["sources-given-back-at-once"],
        &[],
    ),
    argument(
        "blocks that are fetched are there before they are used",
        "runtime/src/collectives/between_nodes/bytes.rs",
        &["fetched-too-early"],
        &[],
    ),
    argument(
        "buffers and slots are given back when a team ends while messages may be under way",
        CHANNEL,
        &["stamps-of-a-dead-team", "lease-of-an-old-number"],
        &["schedule/src/lease.rs"],
    ),
    argument(
        "places of active sets change hands when no seat is marked",
        "runtime/src/collectives/active_set/place.rs",
        &[],
        &["runtime/src/loom_models/active_set.rs"],
    ),
    argument(
        "slots of meetings between nodes change hands when all members have left",
        "runtime/src/collectives/active_set/temporary_meeting.rs",
        &[],
        &["runtime/src/collectives/active_set/temporary_meeting/model.rs"],
    ),
    argument(
        "frames of a TCP session are kept until the peer has executed them",
        "transport-tcp/src/proto/session.rs",
        &["acknowledged-unexecuted", "sent-twice-after-a-break", "not-sent-again-after-a-break"],
        &[],
    ),
    argument(
        "messages that expect no answer are acknowledged by the answer to a later question",
        "transport/src/software/requester.rs",
        &["acknowledged-by-an-earlier-question"],
        &[],
    ),
    argument(
        "messages that travel together go before what comes behind them",
        "transport/src/software/service.rs",
        &["message-before-its-batch"],
        &[],
    ),
    argument("nothing overtakes a put by rendezvous", "transport-ucx/src/service.rs", &["long-put-overtaken"], &[]),
    argument(
        "memory that has grown has a key for each piece",
        "transport/src/pieces.rs",
        &["key-of-another-piece"],
        &[],
    ),
    argument("a signal comes behind its data", "transport/src/issuer.rs", &["signal-before-its-data"], &[]),
    argument(
        "fences, barriers and locks complete what went before",
        "runtime/src/calls/order.rs",
        &["fence-forgotten", "barrier-without-quiet", "lock-without-quiet"],
        &[],
    ),
    argument(
        "a PE that finalizes waits for those that still reach its memory",
        "runtime/src/calls/init/lifetime.rs",
        &["leaves-without-meeting"],
        &[],
    ),
    argument(
        "nonblocking collectives that stop half way go on in their order",
        "runtime/src/calls/request.rs",
        &["request-over-too-early", "blocking-before-its-turn"],
        &[],
    ),
    argument(
        "memory is freed when no transfer to it is under way",
        "runtime/src/calls/memory/agreement.rs",
        &["heap-call-without-quiet"],
        &[],
    ),
];

/// Prints them. An error if one is shown by nothing, if a file has gone, or if a planted fault belongs to none.
pub(super) fn show(planted: &BTreeSet<&str>) -> Outcome {
    let crates = top().join("crates");
    let mut used = BTreeSet::new();
    for ReuseArgument { what, source, faults, models } in ARGUMENTS {
        let shown: Vec<&str> = faults.iter().chain(*models).copied().collect();
        println!("{what} ({source}): {}", shown.join(", "));
        if shown.is_empty() {
            return Err(format!("nothing shows that {what}"));
        }
        if let Some(gone) = [*source].iter().chain(*models).find(|file| !crates.join(file).exists()) {
            return Err(format!("crates/{gone}, which stands beside \"{what}\", does not exist"));
        }
        used.extend(faults.iter().copied());
    }
    if *planted == used {
        Ok(())
    } else {
        Err(format!("these planted faults belong to no argument, or are not planted: {:?}", planted ^ &used))
    }
}
