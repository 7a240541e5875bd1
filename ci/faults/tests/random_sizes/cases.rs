//! Sizes of a call that its arrays hold, and sizes that they do not.

use oxshmem_base::chance::Dice;

use crate::calls::{Kind, Routine};

/// Reproducible sizes.
pub(crate) struct SizeDice(Dice);

impl SizeDice {
    pub(crate) fn new(seed: u64) -> SizeDice {
        SizeDice(Dice::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d))
    }

    /// A number below the limit.
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
}

/// The sizes of a call, in the order in which the program reads them. The kind says what they are.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    kind: Kind,
    /// Elements, or blocks of `Strided`; PEs of a list for `None`; bytes for `Heap`, and of each piece for `Places` and `Packed`.
    n: u64,
    /// The second size, where the routine has one: elements of a block of `Strided`, an alignment or a count of `Heap`, bytes of the
    /// destination of `Packed`.
    second: u64,
    /// At the destination: the stride of `Strided` and `ExchangeStrided`, the offset of `Places`.
    dst: i64,
    /// At the source: likewise, and the offset of `Packed`.
    sst: i64,
    heap: bool,
    right: bool,
}

/// Bytes of the arrays.
const ROOM: u64 = 4096;

impl Case {
    /// The call in a word, as the program reads it.
    pub(crate) fn word(&self, routine: usize) -> String {
        let (place, expected) =
            (if self.heap { "heap" } else { "static" }, if self.right { "right" } else { "refused" });
        let Case { kind, n, second, dst, sst, .. } = self;
        format!("{kind:?}:{routine}:{n}:{second}:{dst}:{sst}:{place}:{expected}")
    }

    /// A call of a few elements; or of none, or of a single one, to which strides do not matter.
    pub(crate) fn right(routine: &Routine, pes: usize, dice: &mut SizeDice) -> Case {
        let (kind, element) = (routine.kind, routine.element);
        let mut case =
            Case { kind, n: dice.below(5) as u64, second: 1, dst: 0, sst: 0, heap: dice.below(2) == 0, right: true };
        match kind {
            Kind::Strided => {
                (case.dst, case.sst) = (dice.near(), dice.near());
                if routine.second.is_some() {
                    case.second = dice.below(3) as u64;
                }
                match dice.below(4) {
                    0 => (case.n, case.dst, case.sst) = (dice.below(2) as u64, dice.wide(element), dice.wide(element)),
                    1 if routine.second.is_some() => (case.n, case.second) = (dice.large(element), 0),
                    2 if routine.second.is_some() => (case.n, case.second) = (0, dice.large(element)),
                    _ => {}
                }
            }
            Kind::ExchangeStrided => {
                (case.dst, case.sst) = (1 + dice.below(3) as i64, 1 + dice.below(3) as i64);
                if dice.below(4) == 0 {
                    case.n = u64::from(pes == 1 && dice.below(2) == 0);
                    (case.dst, case.sst) = match case.n {
                        0 => (dice.wide(element), dice.wide(element)),
                        _ => (dice.wide(element) & i64::MAX | 1 << 31, dice.wide(element) & i64::MAX | 1 << 31),
                    };
                }
            }
            Kind::Places | Kind::Packed => {
                (case.dst, case.sst) = (dice.below(9) as i64, dice.below(9) as i64);
                case.second = if dice.below(2) == 0 { ROOM } else { dice.large(1) };
                if dice.below(4) == 0 {
                    (case.n, case.dst, case.sst) = (0, dice.wide(1), dice.wide(1));
                }
            }
            Kind::Heap => {
                case.n = 1 + dice.below(100) as u64;
                case.second = 1 << dice.below(8);
            }
            Kind::None => case.n = dice.of(&[0, 1, pes as u64]),
            _ => {}
        }
        case
    }

    /// A call that the arrays do not hold; `None` if all its sizes are right.
    pub(crate) fn refused(routine: &Routine, pes: usize, dice: &mut SizeDice) -> Option<Case> {
        let (kind, element, second) = (routine.kind, routine.element, routine.second.as_deref());
        let mut case = Case { right: false, ..Case::right(routine, pes, dice) };
        let some = 2 + dice.below(3) as u64;
        match kind {
            Kind::None => return None,
            Kind::Strided => {
                (case.n, case.dst, case.sst) = (some, dice.near(), dice.near());
                case.second = if second.is_some() { 1 + dice.below(2) as u64 } else { 1 };
                match dice.below(4) {
                    0 => case.n = dice.large(element),
                    1 => case.dst = dice.wide(element),
                    2 => case.sst = dice.wide(element),
                    _ if second.is_some() => case.second = dice.large(element),
                    _ => (case.dst, case.sst) = (dice.wide(element), dice.wide(element)),
                }
            }
            Kind::ExchangeStrided => {
                (case.n, case.dst, case.sst) = (some, 1 + dice.below(3) as i64, 1 + dice.below(3) as i64);
                match dice.below(4) {
                    0 => case.n = dice.large(element),
                    1 => case.dst = dice.wide(element),
                    2 => case.sst = dice.wide(element),
                    _ => case.dst = -(dice.below(3) as i64),
                }
            }
            Kind::Places => {
                (case.n, case.dst, case.sst) = (some, dice.below(9) as i64, dice.below(9) as i64);
                match dice.below(3) {
                    0 => case.n = dice.large(1),
                    1 => case.dst = dice.large(1) as i64,
                    _ => case.sst = dice.large(1) as i64,
                }
            }
            Kind::Packed => {
                (case.n, case.second, case.sst) = (some, ROOM, dice.below(9) as i64);
                match dice.below(3) {
                    0 => case.n = dice.large(1),
                    1 => case.sst = dice.large(1) as i64,
                    _ => case.second = some * pes as u64 - 1,
                }
            }
            Kind::Heap => match (dice.below(2), second) {
                (0, Some("alignment")) => case.second = 1 << dice.of(&[31, 32, 61, 63]),
                (0, Some(_)) => case.second = dice.large(case.n as usize),
                _ => case.n = dice.large(case.second as usize),
            },
            _ if routine.counts_in_int => {
                case.n = dice.of(&[i32::MAX, i32::MAX - 3, i32::MIN, i32::MIN + 5, -1]) as i64 as u64;
            }
            _ => case.n = dice.large(element),
        }
        Some(case)
    }
}
