//! The clocks that synchronisation leaves behind: what strands have published, and others may learn.
//!
//! Locks, meetings and long puts publish at numbers, words of symmetric memory at themselves. A program has few numbers. It may have more
//! words than there is memory for clocks, so the clock of a word gives way to that of another one. What it knew is kept together with what
//! its neighbours knew, and a bit says that the word has lost it. A strand that learns from a word without that bit learns what was
//! published at this word, and nothing else.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use crate::clock::{Clock, ClockShape};
use crate::place::{MemoryPart, SymmetricPlace};

/// How many clocks of numbers there are. Two numbers may share one: then more is taken as ordered than is.
const NUMBERS: usize = 1 << 14;
/// Words that compete for clocks.
const WAYS: usize = 8;
/// The clocks of a set: those of its words, and one for what words have lost.
const CLOCKS: usize = WAYS + 1;
/// There are no more sets than this: clocks for some 65,000 words.
const MOST_SETS: usize = 1 << 13;
/// The memory that the clocks of words may take on a node of few PEs, and for each PE on a larger one.
const MEMORY: usize = 64 << 20;
const MEMORY_PER_PE: usize = 4 << 20;

/// How many sets of words a node has.
fn sets(shape: ClockShape) -> usize {
    let clock = shape.used(1) * size_of::<AtomicU32>();
    (MEMORY.max(shape.pes * MEMORY_PER_PE) / (CLOCKS * clock)).clamp(8, MOST_SETS)
}

/// How many elements each array of [`PublishedClocks`] has, in the order of its fields.
#[derive(Clone, Copy, Debug)]
pub struct PublishedLengths {
    /// See [`PublishedClocks::locks`].
    pub locks: usize,
    /// See [`PublishedClocks::sets`].
    pub sets: usize,
    /// See [`PublishedClocks::firsts`].
    pub firsts: usize,
    /// See [`PublishedClocks::rests`].
    pub rests: usize,
}

impl PublishedLengths {
    /// Those of a node with clocks of this shape.
    pub fn new(shape: ClockShape) -> PublishedLengths {
        let sets = sets(shape);
        let clocks = NUMBERS + sets * CLOCKS;
        let first = shape.used(1);
        PublishedLengths { locks: NUMBERS, sets, firsts: clocks * first, rests: clocks * (shape.words() - first) }
    }
}

/// The clocks, in shared memory. All zero at first: they know nothing.
///
/// The parts of all clocks for the first strands of the PEs lie together, because most programs have no other strands. So what a program
/// touches fills its pages.
#[derive(Debug)]
pub struct PublishedClocks<'m> {
    /// The shape of all clocks.
    pub shape: ClockShape,
    /// How many strands a PE of the node has had at most.
    pub used: &'m AtomicU32,
    /// One for each number's clock.
    pub locks: &'m [AtomicU32],
    /// The words that have clocks.
    pub sets: &'m [WordSet],
    /// The parts of the clocks for the first strands: those of numbers, and behind them those of each set.
    pub firsts: &'m [AtomicU32],
    /// The parts for other strands.
    pub rests: &'m [AtomicU32],
    /// A bit for each word of each PE's heap and static variables: what it knew is with what others have lost.
    pub lost: Vec<[&'m [AtomicU64]; 2]>,
}

/// Words that compete for clocks. The holder of the lock reads and writes the rest, and their clocks.
#[repr(C)]
#[derive(Debug, Default)]
pub struct WordSet {
    lock: AtomicU32,
    /// Where the search for a clock that gives way goes on.
    hand: AtomicU32,
    /// The names of the words: [`WordPart::tag`]; 0 where there is none.
    tags: [AtomicU64; WAYS],
}

/// A tag says that its word was used again since the search has passed it. Names of words have zeros there.
const USED: u64 = 1 << 15;

/// Bytes of a word of symmetric memory: flags that lie in one word are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WordPart {
    /// Where the word is.
    pub(crate) place: SymmetricPlace,
    /// Its bytes, a bit for each.
    bytes: u8,
}

/// Where a tag has the bytes. Names of words end far below: no memory is that large.
const BYTES_SHIFT: u32 = 56;

impl WordPart {
    /// These bytes of the word around a place.
    pub(crate) fn of(place: SymmetricPlace, bytes: u8) -> WordPart {
        WordPart { place: SymmetricPlace { offset: place.offset & !7, ..place }, bytes }
    }

    /// The parts of the words that `len` bytes touch.
    pub(crate) fn all(place: SymmetricPlace, len: usize) -> impl Iterator<Item = WordPart> {
        let (start, end) = (place.offset, place.offset + len);
        (start / 8..end.div_ceil(8)).map(move |word| {
            let (first, last) = (start.max(word * 8) % 8, (end.min(word * 8 + 8) - 1) % 8);
            WordPart::of(SymmetricPlace { offset: word * 8, ..place }, (0xff << first) & (0xff >> (7 - last)))
        })
    }

    fn tag(self) -> u64 {
        self.place.name() | u64::from(self.bytes) << BYTES_SHIFT
    }
}

/// The name of a tag's word.
fn word(tag: u64) -> u64 {
    tag & !USED & !(0xff << BYTES_SHIFT)
}

fn locked<T>(lock: &AtomicU32, work: impl FnOnce() -> T) -> T {
    while lock.swap(1, Acquire) != 0 {
        std::thread::yield_now();
    }
    let result = work();
    lock.store(0, Release);
    result
}

impl<'m> PublishedClocks<'m> {
    /// One of the published clocks.
    fn clock(&self, index: usize) -> Clock<'m> {
        let (first, all) = (self.shape.used(1), self.shape.words());
        let rest = all - first;
        let (first, rest) = (&self.firsts[index * first..][..first], &self.rests[index * rest..][..rest]);
        Clock { shape: self.shape, first, rest, used: self.used }
    }

    /// Works on the clock of a number.
    pub(crate) fn at_number<T>(&self, number: u64, work: impl FnOnce(Clock<'m>) -> T) -> T {
        let at = (mix(number) % NUMBERS as u64) as usize;
        locked(&self.locks[at], || work(self.clock(at)))
    }

    /// The set of a word, and where its clocks begin.
    fn set(&self, place: SymmetricPlace) -> (&'m WordSet, usize) {
        let at = (mix(place.word()) % self.sets.len() as u64) as usize;
        (&self.sets[at], NUMBERS + at * CLOCKS)
    }

    /// Publishes at a word.
    pub(crate) fn at_word(&self, part: WordPart, work: impl FnOnce(Clock<'m>)) {
        let (set, clocks) = self.set(part.place);
        locked(&set.lock, || {
            let tag = part.tag();
            let way = set.tags.iter().position(|there| there.load(Relaxed) & !USED == tag);
            let way = way.inspect(|&way| set.tags[way].store(tag | USED, Relaxed));
            let way = way.unwrap_or_else(|| {
                let way = self.vacate(set, clocks);
                set.tags[way].store(tag, Relaxed);
                way
            });
            work(self.clock(clocks + way));
        })
    }

    /// Makes room in a set: the clock of a word that was not used for long is empty then, and what it knew is with what others have lost.
    fn vacate(&self, set: &WordSet, clocks: usize) -> usize {
        loop {
            let way = set.hand.fetch_add(1, Relaxed) as usize % WAYS;
            let tag = set.tags[way].load(Relaxed);
            if tag & USED != 0 {
                set.tags[way].store(tag & !USED, Relaxed);
                continue;
            }
            if tag != 0 {
                let clock = self.clock(clocks + way);
                self.clock(clocks + WAYS).join(&clock);
                clock.clear();
                self.lost(SymmetricPlace::named(word(tag)), |bits, bit| _ = bits.fetch_or(bit, Relaxed));
            }
            return way;
        }
    }

    /// Learns what was published at a part of a word.
    pub(crate) fn learn_at_word(&self, part: WordPart, own: &Clock<'_>) {
        let (set, clocks) = self.set(part.place);
        locked(&set.lock, || {
            for (way, at) in set.tags.iter().enumerate() {
                let tag = at.load(Relaxed);
                if word(tag) == part.place.name() && tag >> BYTES_SHIFT & u64::from(part.bytes) != 0 {
                    at.store(tag | USED, Relaxed);
                    own.join(&self.clock(clocks + way));
                }
            }
            if self.lost(part.place, |bits, bit| bits.load(Relaxed) & bit != 0).unwrap_or(true) {
                own.join(&self.clock(clocks + WAYS));
            }
        })
    }

    /// Works on the bit of a word that says whether it has lost its clock: the bits around it, and the bit. `None`: it has none.
    fn lost<T>(&self, place: SymmetricPlace, work: impl FnOnce(&AtomicU64, u64) -> T) -> Option<T> {
        let bits = self.lost[place.pe][(place.segment == MemoryPart::Statics) as usize];
        let word = place.offset / 8;
        bits.get(word / 64).map(|bits| work(bits, 1 << (word % 64)))
    }

    /// Nothing is published in these words any more.
    pub(crate) fn forget(&self, place: SymmetricPlace, len: usize) {
        for part in WordPart::all(place, len).filter(|part| part.bytes == 0xff) {
            self.lost(part.place, |bits, bit| _ = bits.fetch_and(!bit, Relaxed));
        }
    }
}

/// Spreads numbers that lie close together.
pub(crate) fn mix(number: u64) -> u64 {
    let mixed = (number ^ number >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ mixed >> 32
}
