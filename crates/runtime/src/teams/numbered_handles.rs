//! Handles that are numbers, and the table of what they stand for.
//!
//! A number has the place in the table and how often the place has been used before. So a handle that has ended is known as such
//! for ever, and a number that was never a handle is none. A handle never leads to a read of memory.

/// The first byte of all numbers. No address that a program has begins with it, and no small number does.
const MARK: usize = 0xa5;
/// Bits of the place, and of the count of its uses.
pub(crate) const BITS: u32 = 28;
/// The last number that these bits have.
const LAST: u32 = (1 << BITS) - 1;

/// The meaning of a handle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NumberedHandle<T> {
    Live(T),
    /// It has stood for something.
    Ended,
    /// No call has returned this number.
    Never,
}

struct TablePlace<T> {
    /// How often the place has been used before.
    uses: u32,
    value: Option<T>,
}

/// The values of the handles of one kind.
pub(crate) struct NumberedHandles<T> {
    places: Vec<TablePlace<T>>,
    free: Vec<u32>,
}

/// Whether a number looks like a handle of this kind.
pub(crate) fn is_numbered(handle: usize) -> bool {
    handle >> (2 * BITS) == MARK
}

/// The number with this place and this use.
fn number(index: usize, uses: u32) -> usize {
    MARK << (2 * BITS) | (uses as usize) << BITS | index
}

/// The place and the use in a number.
fn parts(handle: usize) -> Option<(usize, u32)> {
    is_numbered(handle).then_some((handle & LAST as usize, (handle >> BITS) as u32 & LAST))
}

impl<T: Clone> NumberedHandles<T> {
    pub(crate) const fn new() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }

    /// A handle for a value; `None` if there are as many as there are numbers.
    pub(crate) fn insert(&mut self, value: T) -> Option<usize> {
        let index = match self.free.pop() {
            Some(index) => index,
            None => {
                let index = u32::try_from(self.places.len()).ok().filter(|index| *index <= LAST)?;
                self.places.push(TablePlace { uses: 0, value: None });
                index
            }
        };
        let place = &mut self.places[index as usize];
        place.value = Some(value);
        Some(number(index as usize, place.uses))
    }

    pub(crate) fn find(&self, handle: usize) -> NumberedHandle<T> {
        let Some((index, used)) = parts(handle) else { return NumberedHandle::Never };
        match self.places.get(index) {
            Some(TablePlace { uses, value: Some(value) }) if *uses == used => NumberedHandle::Live(value.clone()),
            Some(place) if used < place.uses => NumberedHandle::Ended,
            _ => NumberedHandle::Never,
        }
    }

    /// The values of all handles that have not ended.
    pub(crate) fn values(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| place.value.as_ref())
    }

    /// Ends a handle, unless it has ended before.
    pub(crate) fn remove(&mut self, handle: usize) {
        let Some((index, used)) = parts(handle) else { return };
        if let Some(place) = self.places.get_mut(index)
            && place.uses == used
            && place.value.take().is_some()
        {
            place.uses += 1;
            // A place whose uses are counted out stays empty.
            if place.uses < LAST {
                self.free.push(index as u32);
            }
        }
    }

    pub(crate) fn remove_all(&mut self) {
        for index in 0..self.places.len() {
            if self.places[index].value.is_some() {
                self.remove(number(index, self.places[index].uses));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_N3_a_handle_that_has_ended_never_stands_for_another_value() {
        let mut table = NumberedHandles::new();
        let first = table.insert(1).expect("a number");
        assert_eq!(table.find(first), NumberedHandle::Live(1));
        table.remove(first);
        table.remove(first);
        let second = table.insert(2).expect("a number");
        let third = table.insert(3).expect("a number");
        assert_eq!(
            (table.find(first), table.find(second), table.find(third)),
            (NumberedHandle::Ended, NumberedHandle::Live(2), NumberedHandle::Live(3))
        );
        table.remove_all();
        assert_eq!((table.find(second), table.find(third)), (NumberedHandle::Ended, NumberedHandle::Ended));
    }

    #[test]
    fn fault_N3_garbage_is_no_handle() {
        let mut table = NumberedHandles::new();
        let here = table.insert(1).expect("a number");
        let address = &raw const table as usize;
        for garbage in [1, 0xdead_beef, usize::MAX, address, here + 1, here + (1 << BITS), 0] {
            assert_eq!(table.find(garbage), NumberedHandle::Never, "{garbage:#x}");
            table.remove(garbage);
        }
        assert_eq!(table.find(here), NumberedHandle::Live(1));
    }

    #[test]
    fn fault_N3_a_place_whose_uses_are_counted_out_is_used_no_more() {
        let mut table = NumberedHandles::new();
        table.places.push(TablePlace { uses: LAST - 1, value: Some(7) });
        let last = number(0, LAST - 1);
        assert_eq!(table.find(last), NumberedHandle::Live(7));
        table.remove(last);
        let next = table.insert(8).expect("a number");
        assert_eq!(
            (table.find(last), table.find(next), next & LAST as usize),
            (NumberedHandle::Ended, NumberedHandle::Live(8), 1)
        );
    }
}
