//! The arguments by which memory is written again, or is not waited for, and what shows each: planted faults, models, tests.

/// An argument that stands in a comment of the source.
pub(super) struct ReuseArgument {
    pub(super) what: &'static str,
    /// Below `crates`.
    pub(super) source: &'static str,
    /// Models and tests, below `crates`, where no fault can be planted, or beside those that are.
    pub(super) models: &'static [&'static str],
    pub(super) faults: &'static [PlantedFault],
}

pub(super) struct PlantedFault {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) found_by: FoundBy,
}

pub(super) enum FoundBy {
    /// Jobs of a program over the simulated network.
    Sim(&'static SimulatedJobs),
    /// The test of this name, beside the code of one of the packages whose tests find faults.
    Test(&'static str),
}

pub(super) struct SimulatedJobs {
    pub(super) program: &'static str,
    pub(super) arguments: &'static [&'static str],
    pub(super) pes: &'static str,
    pub(super) nodes: &'static str,
    /// Seconds after which a job hangs.
    pub(super) limit: &'static str,
    /// Variables that make it take the way with the fault.
    pub(super) variables: &'static [(&'static str, &'static str)],
}

/// The usual limit. A fault that shows itself only by a hang has a shorter one.
pub(super) const LIMIT: &str = "30";

const fn jobs(
    program: &'static str,
    arguments: &'static [&'static str],
    pes: &'static str,
    nodes: &'static str,
) -> SimulatedJobs {
    SimulatedJobs { program, arguments, pes, nodes, limit: LIMIT, variables: &[] }
}

/// Teams that get the memory of teams before them, with two PEs on each of two nodes.
const TEAMS: &SimulatedJobs = &jobs("teams_that_follow", &["30"], "4", "2");
/// Broadcasts without pause, from a root that stays, and from one that follows another.
const STAYS: &SimulatedJobs = &jobs("broadcasts", &["stay", "1"], "4", "4");
const CHANGES: &SimulatedJobs = &jobs("broadcasts", &["change", "1"], "4", "4");
/// The same with several PEs on each node, which may be behind their leaders.
const STAYS_ON_TWO: &SimulatedJobs = &jobs("broadcasts", &["stay", "1"], "4", "2");
/// Groups of broadcasts by one active set, between which all PEs meet.
const GROUPS: &SimulatedJobs = &SimulatedJobs { limit: "8", ..jobs("broadcasts", &["groups", "1"], "4", "4") };
/// Collectives that go in pieces.
const LONG: &SimulatedJobs = &jobs("collectives_in_a_row", &["1", "long"], "4", "4");
const IN_A_ROW: &SimulatedJobs = &jobs("collectives_in_a_row", &[], "4", "4");
/// With Bruck's exchange, whose operands in scratch change from round to round.
const IN_A_ROW_BY_BRUCK: &SimulatedJobs = &SimulatedJobs {
    variables: &[("SHMEM_ALLTOALL_ALGORITHM", "bruck")],
    ..jobs("collectives_in_a_row", &[], "4", "4")
};
const IN_A_ROW_ON_TWO: &SimulatedJobs = &jobs("collectives_in_a_row", &[], "4", "2");
const REQUESTS: &SimulatedJobs = &jobs("requests", &["many", "61", "forwards"], "4", "4");
/// Small programs that are right.
const LOCK: &SimulatedJobs = &jobs("luck/right_lock_protects", &[], "4", "4");
const BARRIER: &SimulatedJobs = &jobs("luck/right_barrier_completes", &[], "3", "3");
const FENCE: &SimulatedJobs = &jobs("luck/right_fence_before_flag", &[], "2", "2");
const SIGNAL: &SimulatedJobs = &jobs("luck/right_data_after_signal", &[], "3", "3");
const FINALIZES: &SimulatedJobs = &jobs("luck/right_get_from_who_finalizes", &[], "3", "3");
const LOCALLY: &SimulatedJobs = &jobs("luck/right_source_after_local_complete", &[], "3", "3");
const FREED: &SimulatedJobs = &jobs("luck/right_freed_under_a_put", &[], "3", "3");
const BEHIND: &SimulatedJobs =
    &SimulatedJobs { limit: "8", ..jobs("luck/right_collective_behind_a_request", &[], "3", "3") };

/// The protocol of TCP's sessions in virtual time, whose connections are cut.
const CUTS: &str = "cuts_lose_nothing_and_repeat_nothing";
/// A channel of UCX, which must be here.
pub(super) const LONG_PUT: &str = "what_comes_behind_a_long_put_waits";

const fn sim(name: &'static str, what: &'static str, job: &'static SimulatedJobs) -> PlantedFault {
    PlantedFault { name, what, found_by: FoundBy::Sim(job) }
}

const fn test(name: &'static str, what: &'static str, test: &'static str) -> PlantedFault {
    PlantedFault { name, what, found_by: FoundBy::Test(test) }
}

const fn argument(what: &'static str, source: &'static str, faults: &'static [PlantedFault]) -> ReuseArgument {
    ReuseArgument { what, source, models: &[], faults }
}

impl ReuseArgument {
    const fn modelled(self, models: &'static [&'static str]) -> ReuseArgument {
        ReuseArgument { models, ..self }
    }
}

const NODE_EAGER: &str = "runtime/src/collectives/node_eager.rs";
const CHANNEL: &str = "runtime/src/collectives/between_nodes/channel.rs";
const MODEL: &str = "runtime/src/collectives/between_nodes/channel/model.rs";
const WIRE: &str = "runtime/src/collectives/between_nodes/leader_wire.rs";
const RING: &str = "runtime/src/collectives/between_nodes/broadcast_ring.rs";

/// All of them. A new fault is a row here and a `planted!` in the source.
pub(super) const ARGUMENTS: &[ReuseArgument] = &[
    argument(
        "memory of a run is free two runs later: mailboxes, counters, scratch, copies of operands",
        CHANNEL,
        &[
            sim("mailbox-parity", "mailboxes do not take turns", IN_A_ROW),
            sim("scratch-parity", "scratch does not take turns", IN_A_ROW),
            sim("copy-parity", "copies of operands do not take turns", IN_A_ROW),
        ],
    )
    .modelled(&[MODEL, "schedule/src/prove.rs"]),
    argument(
        "memory of an exchange is free two exchanges later: lines, gather and outgoing buffers",
        CHANNEL,
        &[
            sim("line-parity", "lines of an exchange do not take turns", IN_A_ROW_ON_TWO),
            sim("gather-parity", "gather buffers do not take turns", IN_A_ROW),
            sim("part-parity", "outgoing buffers do not take turns", IN_A_ROW),
        ],
    )
    .modelled(&[MODEL, "schedule/src/prove.rs", "runtime/src/loom_models/slot.rs"]),
    argument(
        "eager buffers of a node are free two exchanges later",
        NODE_EAGER,
        &[test(
            "eager-parity",
            "eager buffers of a node do not take turns",
            "the_next_exchange_leaves_the_buffers_of_this_one_alone",
        )],
    )
    .modelled(&["runtime/src/loom_models/eager.rs"]),
    argument(
        "a root writes an entry again when all members have taken its broadcast",
        NODE_EAGER,
        &[test(
            "entry-not-taken",
            "a root writes an entry of its ring that a member is yet to read",
            "posted_broadcasts_arrive_in_order",
        )],
    )
    .modelled(&["runtime/src/loom_models/eager.rs"]),
    argument(
        "a place of an active set is free when nobody is inside and all broadcasts are taken",
        "runtime/src/collectives/active_set/place.rs",
        &[test(
            "place-with-a-posted-broadcast",
            "a place passes to another set while a broadcast is posted in it",
            "a_place_stays_with_its_set",
        )],
    )
    .modelled(&["runtime/src/loom_models/active_set.rs"]),
    argument(
        "mailboxes are cleared every 2^29 runs",
        CHANNEL,
        &[test(
            "mailboxes-never-cleared",
            "stamps of mailboxes come again after 2^31 runs",
            "a_word_is_cleared_before_its_stamp_comes_again",
        )],
    ),
    argument(
        "all words of a message name the run",
        WIRE,
        &[sim("message-by-its-head", "a message counts as whole when its first word is there", IN_A_ROW)],
    )
    .modelled(&[MODEL]),
    argument(
        "an operand that changes is put from a copy",
        WIRE,
        &[
            sim("operand-not-kept", "an operand that changes is put from where it lies", IN_A_ROW),
            sim("operand-unfenced", "a signal does not wait for the operand in front of it", IN_A_ROW_BY_BRUCK),
        ],
    )
    .modelled(&[MODEL]),
    argument(
        "words that are set more than once keep their order",
        WIRE,
        &[sim("signals-of-a-word-unordered", "a later signal of a word overtakes an earlier one with its bytes", LONG)],
    ),
    argument(
        "blocks of broadcasts are acknowledged by the PE that has sent them on",
        RING,
        &[
            sim("block-without-acknowledgement", "a parent does not wait for acknowledgements", STAYS),
            sim("acknowledged-before-children", "a leader acknowledges a half before its children have", STAYS),
            sim("half-left-without-the-node", "a leader leaves a half that its node has not taken", STAYS_ON_TWO),
            sim("stamp-before-payload", "the stamp of a broadcast is not behind its payload", STAYS),
            sim("block-of-another-tree", "halves change while broadcasts go down several trees", CHANGES),
            sim("barrier-of-a-part", "a barrier of some PEs counts as one of all", GROUPS),
        ],
    )
    .modelled(&["runtime/src/collectives/between_nodes/broadcast_ring/model.rs"]),
    argument(
        "arrays that the network reads are taken back when it has read them",
        WIRE,
        &[sim("local-completion-skipped", "a collective ends while the network reads its arrays", IN_A_ROW)],
    ),
    argument(
        "sources of the program's puts are given back when the network has read them",
        "runtime/src/calls/extension.rs",
        &[sim("sources-given-back-at-once", "a local completion does not wait for the network", LOCALLY)],
    ),
    argument(
        "blocks that are fetched are there before they are used",
        "runtime/src/collectives/between_nodes/bytes.rs",
        &[sim("fetched-too-early", "fetched blocks are used before they are there", LONG)],
    ),
    argument(
        "buffers and slots are given back when a team ends while messages may be under way",
        CHANNEL,
        &[
            sim("stamps-of-a-dead-team", "the stamps of a team that has ended stay", TEAMS),
            sim("lease-of-an-old-number", "a slot begins anew with numbers that its lines have passed", TEAMS),
        ],
    )
    .modelled(&["schedule/src/lease.rs"]),
    argument(
        "places of active sets change hands when no seat is marked",
        "runtime/src/collectives/active_set/place.rs",
        &[],
    )
    .modelled(&["runtime/src/loom_models/active_set.rs"]),
    argument(
        "slots of meetings between nodes change hands when all members have left",
        "runtime/src/collectives/active_set/temporary_meeting.rs",
        &[],
    )
    .modelled(&["runtime/src/collectives/active_set/temporary_meeting/model.rs"]),
    argument(
        "frames of a TCP session are kept until the peer has executed them",
        "transport-tcp/src/proto/session.rs",
        &[
            test(
                "acknowledged-unexecuted",
                "a frame of TCP is acknowledged before it has been executed",
                "a_get_alone_takes_one_frame_each_way",
            ),
            test("sent-twice-after-a-break", "what the peer has executed is sent again over a new connection", CUTS),
            test("not-sent-again-after-a-break", "what a broken connection had under way is not sent again", CUTS),
        ],
    ),
    argument(
        "messages that expect no answer are acknowledged by the answer to a later question",
        "transport/src/software/requester.rs",
        &[test(
            "acknowledged-by-an-earlier-question",
            "an answer acknowledges what was sent after its question",
            "an_answer_completes_nothing_after_its_question",
        )],
    ),
    argument(
        "messages that travel together go before what comes behind them",
        "transport/src/software/service.rs",
        &[test(
            "message-before-its-batch",
            "a message overtakes those that wait for company",
            "messages_that_follow_one_another_go_in_one_batch",
        )],
    ),
    argument(
        "nothing overtakes a put by rendezvous",
        "transport-ucx/src/service.rs",
        &[test("long-put-overtaken", "what comes behind a put by rendezvous is done before it has arrived", LONG_PUT)],
    ),
    argument(
        "memory that has grown has a key for each piece",
        "transport/src/pieces.rs",
        &[test(
            "key-of-another-piece",
            "memory that has grown is reached by the key that it had before",
            "bytes_are_found_in_the_piece_that_holds_them",
        )],
    ),
    argument(
        "a signal comes behind its data",
        "transport/src/issuer.rs",
        &[sim("signal-before-its-data", "a long put and its signal have no order", SIGNAL)],
    ),
    argument(
        "fences, barriers and locks complete what went before",
        "runtime/src/calls/order.rs",
        &[
            sim("fence-forgotten", "a fence does nothing", FENCE),
            sim("barrier-without-quiet", "a barrier completes no puts", BARRIER),
            sim("lock-without-quiet", "a lock is handed on while puts are under way", LOCK),
        ],
    ),
    argument(
        "a PE that finalizes waits for those that still reach its memory",
        "runtime/src/calls/init/lifetime.rs",
        &[sim(
            "leaves-without-meeting",
            "a PE that finalizes does not wait for those that still read its memory",
            FINALIZES,
        )],
    ),
    argument(
        "nonblocking collectives that stop half way go on in their order",
        "runtime/src/calls/request.rs",
        &[
            sim("request-over-too-early", "a nonblocking collective is over while it has stopped half way", REQUESTS),
            sim(
                "blocking-before-its-turn",
                "a collective that waits overtakes those that have returned at once",
                BEHIND,
            ),
        ],
    ),
    argument(
        "memory is freed when no transfer to it is under way",
        "runtime/src/calls/memory/agreement.rs",
        &[sim("heap-call-without-quiet", "memory is freed and used again while puts to it are under way", FREED)],
    ),
];
