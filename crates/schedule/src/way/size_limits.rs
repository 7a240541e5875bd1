//! The sizes by which a way is chosen: the memory that the library has for collectives, and the limits that were measured.
//!
//! They are the same on all members, so that all choose alike. The layout of the memory is the runtime's (`memory::control`).

use crate::node::LINE_BYTES;

/// Bytes that travel with an exchange: such collectives cost what a barrier costs.
pub const PAYLOAD: usize = LINE_BYTES as usize;

/// Bytes of a broadcast on a node that its root posts, and goes on.
pub const NODE_POST: usize = 120;
/// Bytes of a member's eager buffer on a node. Blocks of that size go there with more PEs than processors alone: elsewhere the copy costs as
/// much as the second meeting.
pub const NODE_EAGER: usize = 7 << 10;
/// Bytes of an operand up to which it goes there where each PE has a processor. Two PEs took 0.17 us for a maximum of 64 to 128 bytes
/// instead of 0.25 by slices, and 0.25 instead of 0.30 for 512; with 1 KiB the copies cost as much as the second meeting.
pub const EAGER_OPERAND: usize = 512;
/// And bytes of the operands of all members: each reads all of them, and by slices only its share. With more PEs than processors this alone
/// is the limit: six PEs on two processors took 7.3 us instead of 10.4 for 512 bytes each, the same with 2 KiB, and longer with 4 KiB.
pub const EAGER_OPERANDS: usize = 8 << 10;

/// Lines of a member for a synchronising call of a team that meets level by level. The operands of one double of each of 128 members need
/// ten, and four levels their release.
pub const LEVEL_LINES: u32 = 24;
/// Lines of a one-way call there: one to say that it is done, and one for each level.
pub const ONE_WAY_LINES: u32 = 9;

/// Words of a slot's area for synchronising schedules on a node: of 16,384 members the widest dissemination, radix 64, signals 3 * 63.
pub const AREA_WORDS: usize = 192;
/// Words of a signal set there: of 16,384 members a tree of radix 8 signals 5 * 7.
pub const AREA_SIGNAL_SET_WORDS: usize = 64;
/// Bytes of scratch there: what Bruck's exchange of 32-byte blocks among 16,384 members needs, the most that a row of the standard
/// table asks for at once. Reductions of any length are cut to it.
pub const AREA_SCRATCH: usize = 147_456 * 32;

/// Words that the leaders' synchronising schedules may signal: 4 in each of 14 rounds, which is what a reduction on a circulant
/// graph needs among 16,384 leaders.
pub const WORDS: usize = 56;
/// Words of a signal set of the leaders: of 16,384 a tree of radix 4 signals 7 * 3.
pub const SIGNAL_SET_WORDS: usize = 24;
/// 64-bit words of all mailboxes of a parity: with 21 mailboxes, which is what a dissemination among 16,384 leaders needs, each
/// holds a payload.
pub const MAILBOX_WORDS: usize = 336;
/// Words of a message before its content: the signature of the call and the length; if it has a content, where that belongs.
pub const MESSAGE_HEAD: usize = 2;
/// Bytes of content in a word of a message.
pub const WORD_CONTENT: usize = 4;
/// Bytes of scratch that only its owner reaches: small enough for the stack.
pub const PRIVATE_SCRATCH: usize = 4096;

/// Bytes of leased scratch, where schedules put operands; longer reductions are cut to it.
pub const SCRATCH: usize = 256 << 10;
/// Bytes of a leased gather buffer, to which others may put.
pub const GATHER: usize = 256 << 10;
/// Bytes of the gather buffer of a team without a lease: longer lines are fetched one by one there, so more would not be faster.
pub const SMALL_GATHER: usize = 4 << 10;
/// Bytes of operands that a run may keep for the network after it is over.
pub const COPIES: usize = 128 << 10;
/// Bytes before each part of an exchange of parts: the number of the exchange with the signature of its call. What follows suits
/// every type.
pub const PART_HEAD: usize = 16;

/// Bytes of a broadcast between nodes whose root does not wait.
pub const EAGER_BROADCAST: usize = 64 << 10;
/// Bytes of the arrays of a node up to which its leader combines them alone.
pub const LEADER_COMBINES: usize = 128 << 10;
/// Nodes up to which a longer reduction in any order goes eagerly in slices: each sends one message to each.
pub const SLICED_NODES: u32 = 8;

/// Bytes up to which a part of an all-to-all may be empty for the most, because nodes have unequal numbers of members. Chosen: such
/// a part is one short message.
pub const PADDED_PART: usize = 4 << 10;

/// Bytes before a block of a collect that travels with its size: that, and the name of the destination.
pub const COLLECT_HEAD: usize = 16;
/// Bytes of a block that travels with its size and the name in the line of an exchange.
pub const COLLECT_INLINE: usize = PAYLOAD - COLLECT_HEAD;
/// Bytes up to which the place of a block is padded where the blocks of a collect differ. Chosen: a message of a few hundred bytes takes as
/// long as a short one. Two processors, TCP: collects with places took 17.5 us instead of 34.3 for 1,000 bytes from each of two PEs, 63
/// instead of 146 for 64 bytes from each of four, and 55 instead of 75 for 32 KiB from each of four PEs on two nodes.
pub const COLLECT_PADDING: usize = 128;

/// Exchanges in which an all-to-all on a crowded machine goes at most, if its blocks are too long for one, also where their elements lie
/// apart: blocks of 64 KiB with every second element took 165 us instead of 600 among four nodes. Two processors, two nodes over
/// TCP: among four PEs blocks of 32 and 64 KiB took 103 and 217 us instead of 239 and 294 by a get of each, among eight PEs blocks of 8 and
/// 16 KiB 175 and 315 instead of 585 and 645.
pub const PIECES_OF_BLOCKS: usize = 4;

/// The same where the elements of blocks lie apart: gets bring the bytes between them, too. Two processors, TCP, every second of elements of 8
/// bytes, two nodes of two PEs: blocks of 160, 320 and 800 KB took 429, 933 and 2,796 us instead of 939, 2,365 and 5,100 by gets, of 2 MB as
/// long; four nodes 1,445 and 4,426 us instead of 3,492 and 9,797 for 320 and 800 KB.
pub const PIECES_OF_STRIDED_BLOCKS: usize = 32;

/// The most calls into which prefix sums, and sums in team order, are cut on a crowded machine where the operands of all have no room at
/// once. Two processors, TCP, by two pieces instead of gets of each: prefix sums of 64 KiB among four PEs on two nodes took 51 us instead of
/// 147, of 96 KiB among six 112 instead of 318, and sums of doubles 101 instead of 311.
pub const PIECES_OF_ELEMENTS: usize = 4;

/// Bytes of the arrays of a node from which sums in team order go along a chain of nodes on a crowded machine. Two processors, TCP, old and
/// new in turns, medians: sums of doubles of 1 MiB took 2,168 us instead of 3,844 by gets among eight nodes, 1,157 instead of 3,373 among four
/// nodes of two PEs; 512 KiB 1,665 instead of 1,964 among eight and 855 instead of 990 among six; 128 KiB 74 instead of 122 on two nodes of two
/// PEs. Among more than four nodes the length grows with them: a single piece keeps one processor
/// busy at a time, and 256 KiB among eight nodes took 1,471 us instead of 1,241.
pub const fn chain_from(nodes: u32) -> usize {
    let least = 256 << 10;
    let of_nodes = nodes as usize * (64 << 10);
    if of_nodes > least { of_nodes } else { least }
}
/// The most nodes of one PE each that go other ways. Four of them took 798 us for 1 MiB of doubles instead of 679 by gets, and 3,905
/// instead of 3,211 for 4 MiB; three 506 instead of 526, and 2,508 instead of 2,236.
pub const CHAIN_SINGLE_NODES: u32 = 4;
/// Bytes of the pieces in which they go. There pieces of 64 KiB took 4,500 us for 1 MiB among eight nodes instead of 3,771.
pub const CHAIN_SEGMENT: usize = 256 << 10;

/// Bytes of an array up to which a reduction between `nodes` nodes is eager as a whole: each round keeps a copy of what
/// it sends.
pub const fn eager_reduction(nodes: u32) -> usize {
    let copies = COPIES / nodes.next_power_of_two().trailing_zeros() as usize;
    let most = if copies < 64 << 10 { copies } else { 64 << 10 };
    if most > 32 << 10 { most } else { 32 << 10 }
}
const _: () = assert!(eager_reduction(2) <= GATHER);
