//! The subject of a wait, and its words in a record.

use core::fmt;

use serde::{Deserialize, Serialize};

/// Words of a subject: its kind and what that has.
pub(super) const SUBJECT: usize = 2 + MEETING + CallName::WORDS;
/// Words of a meeting.
const MEETING: usize = 8;

/// The subject of a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Subject {
    /// An operation of the network, or anything else whose looks may change something. They prove nothing.
    Operation {
        /// World number of the PE that must act, if it is one.
        peer: Option<u32>,
    },
    /// Room to send to a PE: the queues of the network are full, or the PE has not answered yet.
    Room {
        /// World number of that PE.
        peer: u32,
    },
    /// A lock that another PE has or gets before.
    Lock {
        /// World number of the PE that must act.
        after: u32,
    },
    /// The first of the PEs that meet without a team. It gives their meeting a place, and has not come.
    FirstMember {
        /// World number of that PE.
        pe: u32,
    },
    /// The members of a team.
    Meeting(TeamMeeting),
    /// Collectives that have returned at once and are not over.
    Collectives(AwaitedCollectives),
    /// The caller's variables.
    Variables {
        /// How many.
        count: u64,
        /// The value that ends the wait, if there is one variable.
        wanted: Comparand,
        /// The first of them, in its low bytes, when the thread last looked.
        seen: u64,
    },
}

/// The collectives that a wait is for. The first one of each team has a record of its own: see [`super::NO_THREAD`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AwaitedCollectives {
    /// The collective whose request is waited for; empty: all that are under way.
    pub call: CallName,
    /// How many collectives have to be over first.
    pub ahead: u64,
    /// Their team, at the meeting of the first one; `None`: those of all teams.
    pub team: Option<TeamMeeting>,
}

/// The name of a call, zero padded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct CallName(pub [u64; CallName::WORDS]);

/// One meeting of one team.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TeamMeeting {
    /// The team's slot.
    pub slot: u64,
    /// How many meetings the team has begun.
    pub number: u64,
    /// How many members it has.
    pub size: u32,
    /// The members' numbers.
    pub members: Named,
}

/// The members of a team as far as a record can name them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Named {
    /// Member i is `start + i * stride`.
    Triplet {
        /// World number of member 0.
        start: u32,
        /// From one member to the next.
        stride: i32,
    },
    /// One bit for each PE of the world.
    Set([u64; 4]),
    /// A list with larger numbers.
    Unknown,
}

/// The comparison that a variable is to satisfy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Comparand {
    /// The comparison, as the header numbers it.
    pub comparison: u8,
    /// Bytes of the variable.
    pub bytes: u8,
    /// Whether its type has negative numbers.
    pub signed: bool,
    /// The other operand, in the low bytes.
    pub value: u64,
}

impl Comparand {
    /// Of variables that are compared each in its own way: they have no size in common that a report could show.
    pub const EACH_ITS_OWN: Self = Self { comparison: 0, bytes: 0, signed: false, value: 0 };
}

impl CallName {
    /// Room for the longest name of a routine, `shmem_ctx_ulonglong_atomic_compare_swap_nbi`: the beginning of a name may be the name of
    /// another routine.
    pub(super) const WORDS: usize = 6;

    /// The name, or its beginning if it is longer than there is room.
    pub fn of(name: &str) -> Self {
        let mut bytes = [0_u8; 8 * Self::WORDS];
        let n = name.len().min(bytes.len() - 1);
        bytes[..n].copy_from_slice(&name.as_bytes()[..n]);
        let word = |i: usize| u64::from_ne_bytes(bytes[8 * i..8 * i + 8].try_into().expect("eight bytes"));
        Self(core::array::from_fn(word))
    }

    /// Whether it is the name of nothing.
    pub fn is_empty(&self) -> bool {
        self.0[0] == 0
    }
}

impl fmt::Display for CallName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: Vec<u8> = self.0.iter().flat_map(|word| word.to_ne_bytes()).take_while(|byte| *byte != 0).collect();
        f.write_str(&String::from_utf8_lossy(&bytes))
    }
}

impl TeamMeeting {
    fn to_words(self) -> [u64; MEETING] {
        let Self { slot, number, size, members } = self;
        let mut words = [0; MEETING];
        words[..3].copy_from_slice(&[slot, number, size.into()]);
        match members {
            Named::Triplet { start, stride } => words[3..6].copy_from_slice(&[0, start.into(), stride as u32 as u64]),
            Named::Set(bits) => {
                words[3] = 1;
                words[4..].copy_from_slice(&bits);
            }
            Named::Unknown => words[3] = 2,
        }
        words
    }

    fn of_words([slot, number, size, kind, a, b, c, d]: [u64; MEETING]) -> Self {
        let members = match kind {
            0 => Named::Triplet { start: a as u32, stride: b as u32 as i32 },
            1 => Named::Set([a, b, c, d]),
            _ => Named::Unknown,
        };
        Self { slot, number, size: size as u32, members }
    }
}

impl Subject {
    pub(super) fn to_words(self) -> [u64; SUBJECT] {
        let mut words = [0; SUBJECT];
        match self {
            Self::Operation { peer } => words[..2].copy_from_slice(&[0, peer.map_or(u64::MAX, u64::from)]),
            Self::Lock { after } => words[..2].copy_from_slice(&[1, after.into()]),
            Self::Room { peer } => words[..2].copy_from_slice(&[6, peer.into()]),
            Self::FirstMember { pe } => words[..2].copy_from_slice(&[7, pe.into()]),
            Self::Variables { count, wanted: Comparand { comparison, bytes, signed, value }, seen } => {
                let [comparison, bytes, signed] = [comparison, bytes, signed.into()].map(u64::from);
                words[..7].copy_from_slice(&[2, count, comparison, bytes, signed, value, seen]);
            }
            Self::Meeting(meeting) => {
                words[0] = 3;
                words[1..=MEETING].copy_from_slice(&meeting.to_words());
            }
            Self::Collectives(AwaitedCollectives { call, ahead, team }) => {
                words[0] = if team.is_some() { 4 } else { 5 };
                words[1..=MEETING].copy_from_slice(&team.map_or([0; MEETING], TeamMeeting::to_words));
                words[MEETING + 1] = ahead;
                words[MEETING + 2..].copy_from_slice(&call.0);
            }
        }
        words
    }

    pub(super) fn of_words(words: [u64; SUBJECT]) -> Self {
        let [kind, a, b, c, d, e, f, ..] = words;
        let meeting = || TeamMeeting::of_words(words[1..=MEETING].try_into().expect("a meeting has these words"));
        match kind {
            1 => Self::Lock { after: a as u32 },
            2 => {
                let wanted = Comparand { comparison: b as u8, bytes: c as u8, signed: d != 0, value: e };
                Self::Variables { count: a, wanted, seen: f }
            }
            3 => Self::Meeting(meeting()),
            4 | 5 => Self::Collectives(AwaitedCollectives {
                call: CallName(words[MEETING + 2..].try_into().expect("a name has these words")),
                ahead: words[MEETING + 1],
                team: (kind == 4).then(meeting),
            }),
            6 => Self::Room { peer: a as u32 },
            7 => Self::FirstMember { pe: a as u32 },
            _ => Self::Operation { peer: u32::try_from(a).ok() },
        }
    }
}
