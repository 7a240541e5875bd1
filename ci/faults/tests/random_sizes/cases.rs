//! Sizes of a call that its arrays hold, and sizes that they do not.

use oxshmem_base::chance::Dice;

use crate::calls::{Kind, Routine};

pub(crate) struct SizeDice(Dice);

impl SizeDice {
    pub(crate) fn new(seed: u64) -> SizeDice {
        SizeDice(Dice::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d))
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0.below(limit)
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// A number that no array has elements: near the powers where a count, or a count of elements of this size, changes its
    /// sign or wraps.
    fn large(&mut self, element: usize) -> u64 {
        loop {
            let whole: u128 = 1 << 64;
            let powers =
                [1 << 31, 1 << 32, 1 << 61, 1 << 63, whole, whole / element as u128, whole / 2 / element as u128];
            let number = (self.of(&powers) + self.below(17) as u128).wrapping_sub(8) as u64;
            if number >= (1 << 31) - 8 {
                return number;
            }
        }
    }

    /// The same as a stride, forwards or backwards.
    fn wide(&mut self, element: usize) -> i64 {
        loop {
            let stride = self.large(element) as i64;
            let stride = if self.below(2) == 0 { stride } else { stride.wrapping_neg() };
            if stride.unsigned_abs() >= (1 << 31) - 8 {
                return stride;
            }
        }
    }

    /// A stride at which blocks of two elements lie apart.
    fn near(&mut self) -> i64 {
        self.of(&[-4, -3, -2, 2, 3, 4])
    }

    /// A stride of an exchange, forwards.
    fn short(&mut self) -> i64 {
        1 + self.below(3) as i64
    }

    /// A few bytes behind the beginning of an array.
    fn offset(&mut self) -> i64 {
        self.below(9) as i64
    }

    /// Bytes of a small block.
    fn bytes(&mut self) -> u64 {
        1 + self.below(100) as u64
    }

    /// A small power of two.
    fn power(&mut self) -> u64 {
        1 << self.below(8)
    }
}

const ROOM: u64 = 4096;

/// A call: its sizes, and where its arrays are.
#[derive(Debug)]
pub(crate) struct Case {
    kind: Kind,
    sizes: Sizes,
    in_heap: bool,
    /// Whether the arrays hold it.
    pub(crate) is_right: bool,
}

impl Case {
    /// A call that its arrays hold.
    pub(crate) fn right(routine: &Routine, pes: usize, dice: &mut SizeDice) -> Case {
        let sizes = Sizes::right(routine, pes, dice);
        Case { kind: routine.kind, sizes, in_heap: dice.below(2) == 0, is_right: true }
    }

    /// A call that its arrays do not hold; a right one where the routine takes any size.
    pub(crate) fn refused(routine: &Routine, pes: usize, dice: &mut SizeDice) -> Case {
        match Sizes::wrong(routine, pes, dice) {
            Some(sizes) => Case { kind: routine.kind, sizes, in_heap: dice.below(2) == 0, is_right: false },
            None => Case::right(routine, pes, dice),
        }
    }

    /// The call in a word, as the program reads it.
    pub(crate) fn word(&self, routine: usize) -> String {
        let Case { kind, sizes, in_heap, is_right } = self;
        let (place, expected) = (if *in_heap { "heap" } else { "static" }, if *is_right { "right" } else { "refused" });
        let (n, second, dst, sst) = match *sizes {
            Sizes::Plain { n } => (n, 1, 0, 0),
            Sizes::Strided { blocks, block, dst, sst } => (blocks, block, dst, sst),
            Sizes::ExchangeStrided { n, dst, sst } => (n, 1, dst, sst),
            Sizes::Places { piece, dst, sst } => (piece, 1, dst, sst),
            Sizes::Packed { piece, room, sst } => (piece, room, 0, sst),
            Sizes::Heap { bytes, second } => (bytes, second, 0, 0),
        };
        format!("{kind:?}:{routine}:{n}:{second}:{dst}:{sst}:{place}:{expected}")
    }
}

/// The sizes of a call, under the name of its kind where there is more than a number. `dst` and `sst` are at the destination and at
/// the source.
#[derive(Clone, Copy, Debug)]
enum Sizes {
    /// Elements, or for `Kind::None` PEs of a list.
    Plain { n: u64 },
    /// Blocks, elements of each, and strides.
    Strided { blocks: u64, block: u64, dst: i64, sst: i64 },
    /// Elements for each PE, and strides.
    ExchangeStrided { n: u64, dst: i64, sst: i64 },
    /// Bytes of each piece, and offsets.
    Places { piece: u64, dst: i64, sst: i64 },
    /// Bytes of each piece and of the destination, and the offset.
    Packed { piece: u64, room: u64, sst: i64 },
    /// Bytes, and an alignment or a count where the routine has one.
    Heap { bytes: u64, second: u64 },
}

impl Sizes {
    /// A few elements; or none, or a single one, to which strides do not matter.
    fn right(routine: &Routine, pes: usize, dice: &mut SizeDice) -> Sizes {
        let (element, has_blocks) = (routine.element, routine.second.is_some());
        let few = dice.below(5) as u64;
        match routine.kind {
            Kind::Strided => {
                let (mut blocks, mut block) = (few, if has_blocks { dice.below(3) as u64 } else { 1 });
                let (mut dst, mut sst) = (dice.near(), dice.near());
                match dice.below(4) {
                    0 => (blocks, dst, sst) = (dice.below(2) as u64, dice.wide(element), dice.wide(element)),
                    1 if has_blocks => (blocks, block) = (dice.large(element), 0),
                    2 if has_blocks => (blocks, block) = (0, dice.large(element)),
                    _ => {}
                }
                Sizes::Strided { blocks, block, dst, sst }
            }
            Kind::ExchangeStrided => match dice.below(4) {
                0 if pes == 1 && dice.below(2) == 0 => {
                    let mut forwards = || dice.wide(element) & i64::MAX | 1 << 31;
                    Sizes::ExchangeStrided { n: 1, dst: forwards(), sst: forwards() }
                }
                0 => Sizes::ExchangeStrided { n: 0, dst: dice.wide(element), sst: dice.wide(element) },
                _ => Sizes::ExchangeStrided { n: few, dst: dice.short(), sst: dice.short() },
            },
            Kind::Places => match dice.below(4) {
                0 => Sizes::Places { piece: 0, dst: dice.wide(1), sst: dice.wide(1) },
                _ => Sizes::Places { piece: few, dst: dice.offset(), sst: dice.offset() },
            },
            Kind::Packed => {
                let room = if dice.below(2) == 0 { ROOM } else { dice.large(1) };
                match dice.below(4) {
                    0 => Sizes::Packed { piece: 0, room, sst: dice.wide(1) },
                    _ => Sizes::Packed { piece: few, room, sst: dice.offset() },
                }
            }
            Kind::Heap => Sizes::Heap { bytes: dice.bytes(), second: dice.power() },
            Kind::None => Sizes::Plain { n: dice.of(&[0, 1, pes as u64]) },
            _ => Sizes::Plain { n: few },
        }
    }

    /// Sizes that the arrays do not hold; `None` where a routine takes any size.
    fn wrong(routine: &Routine, pes: usize, dice: &mut SizeDice) -> Option<Sizes> {
        let (element, second) = (routine.element, routine.second.as_deref());
        let some = 2 + dice.below(3) as u64;
        Some(match routine.kind {
            Kind::None => return None,
            Kind::Strided => {
                let (mut blocks, mut block) = (some, if second.is_some() { 1 + dice.below(2) as u64 } else { 1 });
                let (mut dst, mut sst) = (dice.near(), dice.near());
                match dice.below(4) {
                    0 => blocks = dice.large(element),
                    1 => dst = dice.wide(element),
                    2 => sst = dice.wide(element),
                    _ if second.is_some() => block = dice.large(element),
                    _ => (dst, sst) = (dice.wide(element), dice.wide(element)),
                }
                Sizes::Strided { blocks, block, dst, sst }
            }
            Kind::ExchangeStrided => {
                let (mut n, mut dst, mut sst) = (some, dice.short(), dice.short());
                match dice.below(4) {
                    0 => n = dice.large(element),
                    1 => dst = dice.wide(element),
                    2 => sst = dice.wide(element),
                    _ => dst = -(dice.below(3) as i64),
                }
                Sizes::ExchangeStrided { n, dst, sst }
            }
            Kind::Places => {
                let (mut piece, mut dst, mut sst) = (some, dice.offset(), dice.offset());
                match dice.below(3) {
                    0 => piece = dice.large(1),
                    1 => dst = dice.large(1) as i64,
                    _ => sst = dice.large(1) as i64,
                }
                Sizes::Places { piece, dst, sst }
            }
            Kind::Packed => {
                let (mut piece, mut room, mut sst) = (some, ROOM, dice.offset());
                match dice.below(3) {
                    0 => piece = dice.large(1),
                    1 => sst = dice.large(1) as i64,
                    _ => room = some * pes as u64 - 1,
                }
                Sizes::Packed { piece, room, sst }
            }
            Kind::Heap => {
                let (mut bytes, mut other) = (dice.bytes(), dice.power());
                match (dice.below(2), second) {
                    (0, Some("alignment")) => other = 1 << dice.of(&[31, 32, 61, 63]),
                    (0, Some(_)) => other = dice.large(bytes as usize),
                    _ => bytes = dice.large(other as usize),
                }
                Sizes::Heap { bytes, second: other }
            }
            _ if routine.counts_in_int => {
                Sizes::Plain { n: dice.of(&[i32::MAX, i32::MAX - 3, i32::MIN, i32::MIN + 5, -1]) as i64 as u64 }
            }
            _ => Sizes::Plain { n: dice.large(element) },
        })
    }
}
