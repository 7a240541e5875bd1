//! The atomics of a card that knows nothing of processors: the worst that the network domain allows.
//!
//! An object that an atomic changes is in the card until that atomic has been written back. Atomics that come meanwhile
//! find it there, so they are atomic among themselves; what a processor does to the memory meanwhile is lost.

use std::collections::HashMap;

use crate::{Amo, OutOfRange, Region, RegisteredMemory, Remote, Width};

/// The objects that one PE's card has at the moment.
#[derive(Default)]
pub(super) struct Card {
    objects: HashMap<CardObject, CardValue>,
}

/// An object of a PE's memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CardObject {
    region: Region,
    offset: u64,
    width: Width,
}

struct CardValue {
    value: u64,
    /// Atomics that have changed it and have not been written back.
    users: u32,
}

impl CardObject {
    /// The object at a place. The card has none of 2 bytes.
    pub(super) fn of(Remote { region, offset, .. }: Remote, width: Width) -> Result<Self, OutOfRange> {
        if width == Width::Two {
            return Err(OutOfRange { region, offset, bytes: 2, registered: 0 });
        }
        Ok(Self { region, offset, width })
    }

    fn load(self, memory: &RegisteredMemory) -> Result<u64, OutOfRange> {
        memory.amo(self.region, self.offset, self.width, Amo::Fetch)
    }
}

impl Card {
    /// Changes an object, in the card; returns what was there.
    pub(super) fn update(
        &mut self,
        memory: &RegisteredMemory,
        object: CardObject,
        amo: Amo,
    ) -> Result<u64, OutOfRange> {
        let old = match self.objects.get(&object) {
            Some(kept) => kept.value,
            None => object.load(memory)?,
        };
        let value = amo.apply(old, object.width.bytes());
        let kept = self.objects.entry(object).or_insert(CardValue { value, users: 0 });
        *kept = CardValue { value, users: kept.users + 1 };
        Ok(old)
    }

    /// One of its atomics is over: memory gets the value that the card has.
    pub(super) fn write_back(&mut self, memory: &RegisteredMemory, object: CardObject) {
        let Some(kept) = self.objects.get_mut(&object) else { return };
        kept.users -= 1;
        let CardObject { region, offset, width } = object;
        memory.amo(region, offset, width, Amo::Swap(kept.value)).expect("the object was found before");
        if kept.users == 0 {
            self.objects.remove(&object);
        }
    }

    /// The card itself has written `n` bytes to memory.
    pub(super) fn look_again(&mut self, memory: &RegisteredMemory, region: Region, offset: u64, n: usize) {
        let written = |object: &CardObject| {
            let end = object.offset + object.width.bytes() as u64;
            object.region == region && object.offset < offset + n as u64 && offset < end
        };
        for (object, kept) in self.objects.iter_mut().filter(|(object, _)| written(object)) {
            kept.value = object.load(memory).expect("the object was found before");
        }
    }
}
