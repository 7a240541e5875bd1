//! Rings as readers from outside copy them.

use serde::{Deserialize, Serialize};

use super::{
    AT_ONCE, CallSubject, HEAD, KEPT, LONGEST_NAME, MOST, MOST_RINGS, NEXT, RECENT, TAIL, TICK, TIME_BITS, TURNS,
    WORDS, since, stamp, ticks, turn,
};

/// A call, as its record tells it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CallEntry {
    /// Its number among the calls of its ring.
    pub number: u64,
    /// The name of the C call.
    pub name: String,
    /// Its peer, team and bytes.
    pub subject: CallSubject,
    /// Nanoseconds since it began.
    #[serde(rename = "age_ns")]
    pub age: u64,
    /// Nanoseconds that it took; `None`: it has not ended.
    #[serde(rename = "took_ns")]
    pub took: Option<u64>,
}

/// The calls of one ring, or of all rings of a PE.
#[derive(Debug, Default)]
pub struct Calls {
    /// How many calls have begun.
    pub made: u64,
    /// How many bytes they have moved.
    pub bytes: u64,
    /// The last ones, the latest first.
    pub last: Vec<CallEntry>,
}

/// The calls in the words of a ring, read twice: records that changed meanwhile, or that are half written, are left out. `name`
/// reads a name of this many bytes at an address of the PE's process; `now` is the time of the same machine.
pub fn decode(
    first: &[u64],
    again: &[u64],
    most: usize,
    now: u64,
    name: impl Fn(u64, usize) -> Option<String>,
) -> Calls {
    let whole = TAIL + RECENT * WORDS;
    if first.len() < whole || again.len() < whole {
        return Calls::default();
    }
    let (made, bytes, clock) = (again[HEAD], again[HEAD + 1], again[HEAD + 2] >> TICK);
    // The ring's clock has all bits of its time. A record has the low ones, so that its age is known up to that time.
    let since_clock = (now >> TICK).saturating_sub(clock) << TICK;
    let record = |number: u64| {
        let at = if made - number <= RECENT as u64 {
            TAIL + (number as usize % RECENT) * WORDS
        } else {
            (number as usize % KEPT) * WORDS
        };
        let (record, later) = (&first[at..at + WORDS], &again[at..at + WORDS]);
        if record[0] & TURNS != turn(number) || record[0] == 0 || record[..3] != later[..3] {
            return None;
        }
        let (address, length) = (record[0] & ((1 << 48) - 1), (record[0] >> 48) as usize & 0x7f);
        let begin = ticks(record[2]);
        let end = if record[0] & AT_ONCE != 0 { stamp(number + 1, begin) } else { later[3] };
        let has_ended = end >> TIME_BITS == (number + 1) & MOST;
        Some(CallEntry {
            number,
            name: name(address, length.min(LONGEST_NAME))?,
            subject: CallSubject::of(record[1], record[2] >> TIME_BITS),
            age: since_clock + since(begin, clock),
            took: has_ended.then(|| since(begin, end)),
        })
    };
    let last = (made.saturating_sub(KEPT as u64)..made).rev().filter_map(record).take(most).collect();
    Calls { made, bytes, last }
}

/// The calls of all rings of a PE, the first of which is at this address in its process; `read` copies the [`BYTES`](super::BYTES) of the
/// ring at an address, and the rest is as for [`decode`].
pub fn decode_all<E>(
    first: u64,
    read: impl Fn(u64) -> Result<Vec<u64>, E>,
    most: usize,
    now: u64,
    name: impl Fn(u64, usize) -> Option<String>,
) -> Result<Calls, E> {
    let ring = |at: u64| -> Result<(Calls, Option<u64>), E> {
        let (first, again) = (read(at)?, read(at)?);
        let next = again.get(NEXT).copied().filter(|next| *next != 0);
        Ok((decode(&first, &again, most, now, &name), next))
    };
    let (mut all, mut next) = ring(first)?;
    if next.is_none() {
        return Ok(all);
    }
    for _ in 0..MOST_RINGS {
        let Some(at) = next else { break };
        let (calls, behind) = ring(at)?;
        all.made = all.made.wrapping_add(calls.made);
        all.bytes = all.bytes.wrapping_add(calls.bytes);
        all.last.extend(calls.last);
        next = behind;
    }
    // Those of the same time stay in the order of their ring.
    all.last.sort_by_key(|call| call.age);
    all.last.truncate(most);
    Ok(all)
}
