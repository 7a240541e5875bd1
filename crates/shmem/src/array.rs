//! Arrays whose elements are spread over all PEs in blocks.

mod ranges;

use core::ops::Range;

use oxshmem_reduce::{Max, Min, Operand, Sum};

use crate::{Error, ErrorKind, Plain, Symmetric, SymmetricBox, Team, World, mistake};

use ranges::{JoinedGets, JoinedPuts};

/// An array of which every PE has a block: PE 0 the first elements, PE 1 those behind them, and so on, of one length until the array
/// ends. Every PE reads and writes every element, by its index in the whole. [`World::array_over`] makes one of which the members of a
/// team have the blocks.
///
/// ```
/// let world = oxshmem::World::init()?;
/// let mut squares = world.array(1000, 0_u64)?;
/// squares.update(|i, _| (i * i) as u64);           // each PE its own block
/// assert_eq!(squares.get(31), 961);                // wherever that is
/// assert_eq!(squares.sum(), (0..1000).map(|i| i * i).sum());
/// # Ok::<(), oxshmem::Error>(())
/// ```
///
/// Elements follow the rules of [`Symmetric`]: a [`put`](Self::put) is there after the next quiet or barrier, and the program orders
/// bulk transfers with other uses of the same elements.
#[derive(Debug)]
pub struct Array<'w, T> {
    /// Equally many elements on each PE; the last ones may be unused.
    blocks: SymmetricBox<'w, [T]>,
    /// How many of them belong to the array; other teams may have more.
    block: usize,
    len: usize,
    team: &'w Team<'w>,
    /// The members' numbers in the world, where they have others there.
    members: Option<Vec<usize>>,
    world: &'w World,
}

impl World {
    /// An array of `len` elements with this value at first. All PEs call it with the same length.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.array(10, 2.5)?.get(9), 2.5);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn array<T: Plain>(&self, len: usize, value: T) -> Result<Array<'_, T>, Error> {
        let block = len.div_ceil(self.n_pes());
        Ok(Array { blocks: self.allocate_slice(block, value)?, block, len, team: self, members: None, world: self })
    }

    /// An array of which the members of `team` have the blocks, in the order of the team. An allocation is a call of all PEs, so all
    /// call it, each with a team that it is a member of; members of one team pass the same length.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let rows = world.split_2d(2)?.x;
    /// let row = world.array_over(&rows, 10, world.my_pe() / 2)?;     // an array for each row
    /// assert_eq!(row.sum(), 10 * (world.my_pe() / 2));
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    ///
    /// [`block_of`](Array::block_of) takes numbers of members and [`place`](Array::place) gives a PE of the world, as transfers want
    /// it. [`fill`](Array::fill) and the reductions are calls of the members; [`exclusive`](Array::exclusive) and what is made of it
    /// are calls of all PEs.
    pub fn array_over<'w, T: Plain>(&'w self, team: &'w Team<'w>, len: usize, value: T) -> Result<Array<'w, T>, Error> {
        let block = len.div_ceil(team.n_pes());
        let members = (0..team.n_pes()).filter_map(|member| team.translate(member, self)).collect();
        let blocks = self.allocate_slice(self.max_of(block), value)?;
        Ok(Array { blocks, block, len, team, members: Some(members), world: self })
    }
}

impl<T: Plain> Array<'_, T> {
    /// How many elements all PEs have together.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.array(10, 0)?.len(), 10);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert!(world.array(0, 0)?.is_empty());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The indices of the elements that PE `pe` has.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let array = world.array(10, 0)?;
    /// assert_eq!((0..world.n_pes()).map(|pe| array.block_of(pe).len()).sum::<usize>(), 10);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[must_use]
    pub fn block_of(&self, pe: usize) -> Range<usize> {
        let begin = pe.saturating_mul(self.block).min(self.len);
        begin..(begin + self.block).min(self.len)
    }

    /// This PE's elements.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let array = world.array(10, 3)?;
    /// assert_eq!(array.block().len(), array.block_of(world.my_pe()).len());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[must_use]
    pub fn block(&self) -> &Symmetric<[T]> {
        &self.blocks[..self.block_of(self.team.my_pe()).len()]
    }

    /// The PE that has element `i`, and the place of the element there: for signals, contexts and scopes.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let array = world.array(10, 3)?;
    /// let (pe, place) = array.place(9);
    /// assert_eq!(place.get(pe), 3);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    ///
    /// An index beyond the end ends the job, here and below.
    #[must_use]
    #[track_caller]
    pub fn place(&self, i: usize) -> (usize, &Symmetric<T>) {
        self.inside(&(i..i.saturating_add(1)));
        (self.pe(i / self.block), &self.blocks[i % self.block])
    }

    /// Element `i`.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.array(10, 3)?.get(9), 3);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn get(&self, i: usize) -> T {
        let (pe, place) = self.place(i);
        place.get(pe)
    }

    /// Writes element `i`. It is there after the next [`quiet`](World::quiet) or barrier.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let array = world.array(10, 3)?;
    /// array.put(9, 4);
    /// world.barrier();
    /// assert_eq!(array.get(9), 4);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn put(&self, i: usize, value: T) {
        let (pe, place) = self.place(i);
        place.put(value, pe);
    }

    /// The elements of a range, whichever PEs have them.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.array(10, 3)?.get_range(2..5), [3, 3, 3]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn get_range(&self, range: Range<usize>) -> Vec<T> {
        self.inside(&range);
        let mut gets = JoinedGets::with_room(range.len());
        // A loop, and not a closure: a race is reported at the caller's line.
        for (pe, part, _) in self.parts(range) {
            // SAFETY: the parts are the range, for which there is room.
            unsafe { gets.get(part, pe) };
        }
        gets.wait()
    }

    /// Writes the elements from `begin` on, whichever PEs have them. They are there after the next quiet or barrier.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let array = world.array(10, 3)?;
    /// array.put_range(8, &[5, 6]);
    /// world.barrier();
    /// assert_eq!(array.get_range(7..10), [3, 5, 6]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn put_range(&self, begin: usize, values: &[T]) {
        let range = begin..begin.saturating_add(values.len());
        self.inside(&range);
        let mut puts = JoinedPuts::default();
        for (pe, part, at) in self.parts(range) {
            // SAFETY: the values are borrowed until this function returns, when the puts have been dropped.
            unsafe { puts.put(part, &values[at - begin..][..part.len()], pe) };
        }
    }

    /// This PE's elements with their indices in the whole.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let array = world.array(10, 3)?;
    /// assert!(array.iter_block().all(|(i, value)| i < 10 && value == 3));
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn iter_block(&self) -> impl ExactSizeIterator<Item = (usize, T)> {
        let first = self.block_of(self.team.my_pe()).start;
        self.block().iter().enumerate().map(move |(i, place)| (first + i, place.load()))
    }

    /// Writes one value to all elements. All PEs call it, and all elements are there when it returns.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let array = world.array(10, 3)?;
    /// array.fill(4);
    /// assert_eq!(array.sum(), 40);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[cfg_attr(feature = "race", track_caller)]
    pub fn fill(&self, value: T) {
        // No earlier put arrives after it.
        self.barrier();
        self.block().fill(value);
        self.barrier();
    }

    /// Runs `body` on this PE's elements as an ordinary slice, with the index of the first: [`World::exclusive`]. All PEs call it.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let mut array = world.array(10, 3)?;
    /// array.exclusive(|first, block| block.iter_mut().enumerate().for_each(|(i, value)| *value = first + i));
    /// assert_eq!(array.get(9), 9);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn exclusive<R>(&mut self, body: impl FnOnce(usize, &mut [T]) -> R) -> R {
        let mine = self.block_of(self.team.my_pe());
        self.world.exclusive(&mut self.blocks, |block| body(mine.start, &mut block[..mine.len()]))
    }

    /// Replaces every element by what `map` makes of its index and itself. All PEs call it.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let mut array = world.array(10, 3)?;
    /// array.update(|i, value| value * i as i32);
    /// assert_eq!(array.get(9), 27);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn update(&mut self, mut map: impl FnMut(usize, T) -> T) {
        self.exclusive(|first, block| {
            block.iter_mut().enumerate().for_each(|(i, value)| *value = map(first + i, *value));
        });
    }

    /// [`update`](Self::update) by the threads of rayon. (Feature `rayon`.)
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let mut array = world.array(1000, 3)?;
    /// array.par_update(|i, value| value * i as i32);
    /// assert_eq!(array.get(9), 27);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[cfg(feature = "rayon")]
    #[track_caller]
    pub fn par_update(&mut self, map: impl Fn(usize, T) -> T + Send + Sync) {
        use rayon::prelude::*;
        self.exclusive(|first, block| {
            block.par_iter_mut().enumerate().for_each(|(i, value)| *value = map(first + i, *value));
        });
    }

    /// A parallel iterator of rayon over this PE's elements, with their indices in the whole. (Feature `rayon`.)
    ///
    /// ```
    /// use rayon::prelude::*;
    /// let world = oxshmem::World::init()?;
    /// let array = world.array(1000, 3)?;
    /// let mine = array.par_iter_block().filter(|(i, value)| i % 2 == 0 && *value == 3).count();
    /// assert_eq!(world.sum_of(mine), 500);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[cfg(feature = "rayon")]
    pub fn par_iter_block(&self) -> impl rayon::iter::IndexedParallelIterator<Item = (usize, T)> {
        use rayon::prelude::*;
        let (block, first) = (self.block(), self.block_of(self.team.my_pe()).start);
        (0..block.len()).into_par_iter().map(move |i| (first + i, block[i].load()))
    }

    /// The number in the world of a member.
    fn pe(&self, member: usize) -> usize {
        self.members.as_ref().map_or(member, |members| members[member])
    }

    /// Completes this PE's operations and waits for the members.
    fn barrier(&self) {
        self.world.quiet();
        self.team.sync();
    }

    /// An error unless a range is inside.
    pub(crate) fn contains(&self, range: &Range<usize>) -> Result<(), Error> {
        if range.start <= range.end && range.end <= self.len { Ok(()) } else { Err(outside(range, self.len)) }
    }

    /// Ends the job unless a range is inside.
    #[track_caller]
    fn inside(&self, range: &Range<usize>) {
        if let Err(error) = self.contains(range) {
            mistake(&error);
        }
    }
}

/// The reductions of all elements: what they give, the fold of this PE's, the collective of all PEs'.
macro_rules! reductions {
    ($($what:literal $name:ident $op:ident $of:ident, $expect:literal;)*) => {
        impl<T: Plain> Array<'_, T> {$(
            #[doc = concat!($what, " of all elements, or `None` if there are none. All PEs call it.")]
            ///
            /// ```
            /// let world = oxshmem::World::init()?;
            #[doc = $expect]
            /// # Ok::<(), oxshmem::Error>(())
            /// ```
            #[must_use]
            pub fn $name(&self) -> Option<T>
            where
                T: Operand<$op>,
            {
                if self.len == 0 {
                    return None;
                }
                // A member without elements contributes the first of all, which it reads after its owner has arrived.
                if self.block_of(self.team.n_pes() - 1).is_empty() {
                    self.team.sync();
                }
                let mine = self.iter_block().map(|(_, value)| value).reduce(<T as Operand<$op>>::combine);
                Some(self.team.$of(mine.unwrap_or_else(|| self.get(0))))
            }
        )*}
    };
}

reductions! {
    "The greatest" max Max max_of, "assert_eq!(world.array(10, 3)?.max(), Some(3));";
    "The least" min Min min_of, "assert_eq!(world.array(0, 3)?.min(), None);";
}

impl<T: Plain + Operand<Sum>> Array<'_, T> {
    /// The sum of all elements. All PEs call it. Integers wrap. Floating-point sums are those of the blocks, in the order of the PEs.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.array(10, 3)?.sum(), 30);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[must_use]
    pub fn sum(&self) -> T
    where
        T: core::iter::Sum,
    {
        let mine = self.iter_block().map(|(_, value)| value).reduce(<T as Operand<Sum>>::combine);
        self.team.sum_of(mine.unwrap_or_else(|| core::iter::empty().sum()))
    }
}

#[cold]
fn outside(range: &Range<usize>, len: usize) -> Error {
    let what = if range.len() == 1 { format!("element {}", range.start) } else { format!("the range {range:?}") };
    Error::new(format!("Array: {what} is not inside"))
        .because(format!("the array has {len} elements"))
        .fix("pass indices that are less than its length")
        .of_kind(ErrorKind::InvalidArgument)
}
