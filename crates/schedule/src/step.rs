//! The steps a collective is made of, and what an algorithm must say to be run, proven, simulated or printed.
//!
//! An algorithm is a pure function from (plan, caller, program counter) to one step. No schedule is stored: the
//! executor asks for step 0, 1, 2, … until [`Step::Done`]. All lengths and offsets count elements, all PE numbers are
//! numbers in the team.
//!
//! # The promises between a schedule and the engine that runs it
//!
//! - Every put carries a signal to its target. A PE that has seen the signal may read the data; nothing else shows that it is there.
//! - When a put step is over, its local operand may be overwritten.
//! - Two signals of one PE to one word of another PE arrive in the order they were sent.
//! - Words hold 64-bit values that only grow: a waiter compares with `>=` and nothing is ever reset.
//! - *Synchronising* calls (no PE leaves before all have entered) use words, counter and scratch of the parity of their
//!   [`Turn`]. Two synchronising calls later all have left the first one, so its area is quiet.
//! - *One-way* calls (a broadcast root leaves at once) have no scratch: they write `dest`, which the caller has
//!   made ready, and each of their words has one writer for ever, whatever the root.

/// One memory object of a collective call, the same on every PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The caller's source array.
    Source,
    /// The caller's dest array.
    Dest,
    /// The scratch of the call's parity: memory of each member in which messages and partial results lie.
    Scratch,
}

/// An element of an object of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loc {
    /// The object.
    pub place: Place,
    /// The element, counted from the object's start.
    pub at: u64,
}

/// An element of the source array.
pub const fn source(at: u64) -> Loc {
    Loc { place: Place::Source, at }
}

/// An element of the dest array.
pub const fn dest(at: u64) -> Loc {
    Loc { place: Place::Dest, at }
}

/// An element of the scratch.
pub const fn scratch(at: u64) -> Loc {
    Loc { place: Place::Scratch, at }
}

/// The notice that a put gives to its target once the data is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutSignal {
    /// Stores `value` in a word.
    Set {
        /// The word, below [`Algorithm::words`].
        word: u32,
        /// The value, from [`Plan::mark`].
        value: u64,
    },
    /// Adds one to the counter of the call's parity.
    Count,
}

/// One step of a PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Writes `len` elements (perhaps none) to another PE, then signals it.
    Put {
        /// The target.
        to: u32,
        /// The local operand.
        from: Loc,
        /// Where it goes at the target.
        into: Loc,
        /// Elements.
        len: u64,
        /// The change that the target sees afterwards.
        signal: PutSignal,
    },
    /// Waits until a word of this PE holds at least `value`.
    Wait {
        /// The word.
        word: u32,
        /// The awaited value.
        value: u64,
    },
    /// Waits until this PE's counter holds at least `total`.
    WaitCount {
        /// The awaited total.
        total: u64,
    },
    /// `into = left ∘ right ∘ (right + stride) ∘ …` with `terms` operands on the right, folded from the left. `into`
    /// may be one of the operands.
    Reduce {
        /// The result.
        into: Loc,
        /// The leftmost operand.
        left: Loc,
        /// The first operand on the right.
        right: Loc,
        /// Elements from one right operand to the next.
        stride: u64,
        /// How many right operands there are.
        terms: u32,
        /// Elements.
        len: u64,
    },
    /// Copies inside this PE; the two ranges are the same or disjoint.
    Copy {
        /// The copy.
        into: Loc,
        /// The original.
        from: Loc,
        /// Elements.
        len: u64,
    },
    /// Stores zeros.
    Zero {
        /// The first element.
        into: Loc,
        /// Elements.
        len: u64,
    },
    /// Nothing here; it keeps the arithmetic on program counters regular.
    Skip,
    /// The call is over.
    Done,
}

/// The facts about a call that all members of the team know, identical on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Members of the team.
    pub size: u32,
    /// The root of a broadcast, a number in the team.
    pub root: u32,
    /// Elements: of the arrays in a reduction or broadcast, of one PE's block in a gather or all-to-all.
    pub count: u64,
    /// The number of the call on this team, counted from 1.
    pub call: u64,
    /// The root's dest stays as it is: the active-set broadcast.
    pub root_apart: bool,
}

impl Plan {
    /// A plan for call number 1 with root 0.
    pub const fn new(size: u32, count: u64) -> Self {
        Self { size, root: 0, count, call: 1, root_apart: false }
    }

    /// The signal value of stage `stage` of this call. Values grow with the calls and, inside one call, with the stage.
    /// Ten million calls a second fill the 48 bits in 326 days.
    pub const fn mark(&self, stage: u16) -> u64 {
        self.call << 16 | stage as u64
    }

    /// The member `distance` places after `rank`, around the end; at most once around.
    #[inline]
    pub const fn after(&self, rank: u32, distance: u32) -> u32 {
        let sum = rank as u64 + distance as u64;
        (if sum < self.size as u64 { sum } else { sum - self.size as u64 }) as u32
    }

    /// The partner at a distance. Among a power of two of PEs it is the PE whose number differs in the bits of the distance, so it
    /// has the caller as its partner: messages go both ways, and acknowledgements travel with them. Otherwise it is the
    /// PE `distance` places ahead.
    pub fn partner(&self, rank: u32, distance: u32) -> u32 {
        if self.size.is_power_of_two() { rank ^ distance } else { self.after(rank, distance) }
    }

    /// The member `distance` places before `rank`, around the start; at most once around.
    #[inline]
    pub const fn before(&self, rank: u32, distance: u32) -> u32 {
        if distance <= rank { rank - distance } else { (rank as u64 + self.size as u64 - distance as u64) as u32 }
    }

    /// Where block `block` starts when the array is cut into one block per member, the first ones longer by an element
    /// if need be.
    #[inline]
    pub const fn block_start(&self, block: u32) -> u64 {
        let (block, size) = (block as u64, self.size as u64);
        let (each, longer) = (self.count / size, self.count % size);
        block * each + if block < longer { block } else { longer }
    }
}

/// The facts that only the calling PE knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller<'a> {
    /// Its number in the team.
    pub rank: u32,
    /// The arrivals its counter of this parity has seen in earlier calls: the sum of their [`Algorithm::arrivals`].
    pub counted: u64,
    /// Its share of a collect; unused elsewhere.
    pub share: CallerShare<'a>,
}

impl Caller<'_> {
    /// A caller whose counters are fresh.
    pub const fn new(rank: u32) -> Self {
        Self { rank, counted: 0, share: CallerShare { offset: 0, mine: 0, total: 0, windows: &[] } }
    }
}

/// Where a PE's block lies in the result of a collect, found by [`crate::algorithm::gather::Shares`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerShare<'a> {
    /// Elements of all members before this one.
    pub offset: u64,
    /// Elements of this one.
    pub mine: u64,
    /// Elements of all.
    pub total: u64,
    /// For each round the elements of the members in the window before this one, around the start.
    pub windows: &'a [u64],
}

/// The dependence of members on each other in a call; it decides which words a call may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Traffic {
    /// No PE leaves before all have entered.
    Synchronising,
    /// Some PE may leave early. The words of such calls are in signal sets. Calls of one set share its words, so calls with different
    /// patterns of writers have different sets.
    OneWay {
        /// The signal set, below [`SIGNAL_SETS`].
        signal_set: u8,
    },
}

/// Signal sets of one-way traffic.
pub const SIGNAL_SETS: u8 = 8;

/// A collective as a pure function.
pub trait Algorithm {
    /// The dependence of members on each other.
    fn traffic(&self) -> Traffic {
        Traffic::Synchronising
    }
    /// Words it signals.
    fn words(&self, plan: &Plan) -> u32;
    /// Elements of its scratch.
    fn scratch(&self, _plan: &Plan) -> u64 {
        0
    }
    /// Arrivals at `rank`'s counter during the call.
    fn arrivals(&self, _plan: &Plan, _rank: u32) -> u64 {
        0
    }
    /// The step at `pc`. The first [`Step::Done`] is the last step.
    fn step(&self, plan: &Plan, me: &Caller, pc: u64) -> Step;
}

/// The place of a call in the history of its team. Every member counts alike, so every member has the same turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Turn {
    /// The number of the call.
    pub call: u64,
    /// The number of synchronising calls up to this one.
    pub generation: u32,
}

impl Turn {
    /// The turn of the next call. The parity moves with the synchronising calls only: a broadcast between two of them
    /// proves nothing about which PEs have left.
    pub const fn next(self, traffic: Traffic) -> Self {
        let step = matches!(traffic, Traffic::Synchronising) as u32;
        Self { call: self.call + 1, generation: self.generation.wrapping_add(step) }
    }

    /// Which of the two areas a synchronising call uses.
    pub const fn parity(self) -> usize {
        (self.generation & 1) as usize
    }
}

/// The least `r` with `radix^r >= n`.
pub const fn rounds(n: u32, radix: u32) -> u32 {
    if radix == 2 {
        return u32::BITS - (n - 1).leading_zeros();
    }
    let (mut reach, mut r) = (1u64, 0);
    while reach < n as u64 {
        reach *= radix as u64;
        r += 1;
    }
    r
}
