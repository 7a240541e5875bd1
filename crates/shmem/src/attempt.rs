//! Transfers that return an error where those of the same name without `try_` end the job.

use crate::transfer::{no_such_pe, too_long};
use crate::{Array, Error, Plain, Symmetric, Target};

/// An error unless the target's PE exists.
fn exists(call: &str, target: impl Target) -> Result<(), Error> {
    let (pe, pes) = target.numbers();
    if pe < pes { Ok(()) } else { Err(no_such_pe(call, pe, pes)) }
}

impl<T: Plain> Symmetric<T> {
    /// [`put`](Self::put) that returns an error if `to` does not exist, for PE numbers that come from elsewhere.
    ///
    /// ```
    /// use oxshmem::ErrorKind;
    /// let world = oxshmem::World::init()?;
    /// let number = world.allocate(1)?;
    /// number.try_put(2, 0)?;
    /// let refused = number.try_put(3, world.n_pes()).expect_err("PEs are numbered from 0");
    /// assert_eq!((refused.kind(), number.load()), (ErrorKind::InvalidArgument, 2));
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[cfg_attr(feature = "race", track_caller)]
    pub fn try_put(&self, value: T, to: impl Target) -> Result<(), Error> {
        exists("Symmetric::try_put", to)?;
        self.put(value, to);
        Ok(())
    }

    /// [`get`](Self::get) that returns an error if `from` does not exist.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let number = world.allocate(7)?;
    /// assert_eq!(number.try_get(0)?, 7);
    /// assert!(number.try_get(world.n_pes()).is_err());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[cfg_attr(feature = "race", track_caller)]
    pub fn try_get(&self, from: impl Target) -> Result<T, Error> {
        exists("Symmetric::try_get", from)?;
        Ok(self.get(from))
    }
}

impl<T: Plain> Symmetric<[T]> {
    /// [`put_slice`](Self::put_slice) that returns an error if `source` is too long or `to` does not exist. Then nothing is written.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(2, 0)?;
    /// numbers.try_put_slice(&[1, 2], 0)?;
    /// assert!(numbers.try_put_slice(&[3, 4, 5], 0).is_err());
    /// assert_eq!(numbers.to_vec(), [1, 2]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[cfg_attr(feature = "race", track_caller)]
    pub fn try_put_slice(&self, source: &[T], to: impl Target) -> Result<(), Error> {
        const CALL: &str = "Symmetric::try_put_slice";
        self.has_room(CALL, source.len())?;
        exists(CALL, to)?;
        self.put_slice(source, to);
        Ok(())
    }

    /// [`get_slice`](Self::get_slice) that returns an error if `dest` is too long or `from` does not exist. Then `dest` is unchanged.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(2, 3)?;
    /// let mut found = [0; 2];
    /// numbers.try_get_slice(&mut found, 0)?;
    /// assert_eq!(found, [3, 3]);
    /// assert!(numbers[1..].try_get_slice(&mut found, 0).is_err());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[cfg_attr(feature = "race", track_caller)]
    pub fn try_get_slice(&self, dest: &mut [T], from: impl Target) -> Result<(), Error> {
        const CALL: &str = "Symmetric::try_get_slice";
        self.has_room(CALL, dest.len())?;
        exists(CALL, from)?;
        self.get_slice(dest, from);
        Ok(())
    }

    /// [`get_vec`](Self::get_vec) that returns an error if `from` does not exist.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(2, 3)?;
    /// assert_eq!(numbers.try_get_vec(0)?, [3, 3]);
    /// assert!(numbers.try_get_vec(world.n_pes()).is_err());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[cfg_attr(feature = "race", track_caller)]
    pub fn try_get_vec(&self, from: impl Target) -> Result<Vec<T>, Error> {
        exists("Symmetric::try_get_vec", from)?;
        Ok(self.get_vec(from))
    }

    fn has_room(&self, call: &str, len: usize) -> Result<(), Error> {
        if len <= self.len() { Ok(()) } else { Err(too_long(call, len, self.len())) }
    }
}

impl<T: Plain> Array<'_, T> {
    /// [`get`](Self::get) that returns an error if there is no element `i`.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let array = world.array(10, 3)?;
    /// assert_eq!(array.try_get(9)?, 3);
    /// assert!(array.try_get(10).is_err());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[cfg_attr(feature = "race", track_caller)]
    pub fn try_get(&self, i: usize) -> Result<T, Error> {
        self.contains(&(i..i.saturating_add(1)))?;
        Ok(self.get(i))
    }

    /// [`put`](Self::put) that returns an error if there is no element `i`.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let array = world.array(10, 3)?;
    /// array.try_put(9, 4)?;
    /// assert!(array.try_put(10, 4).is_err());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[cfg_attr(feature = "race", track_caller)]
    pub fn try_put(&self, i: usize, value: T) -> Result<(), Error> {
        self.contains(&(i..i.saturating_add(1)))?;
        self.put(i, value);
        Ok(())
    }

    /// [`get_range`](Self::get_range) that returns an error if the range is not inside.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let array = world.array(10, 3)?;
    /// assert_eq!(array.try_get_range(8..10)?, [3, 3]);
    /// assert!(array.try_get_range(8..11).is_err());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[cfg_attr(feature = "race", track_caller)]
    pub fn try_get_range(&self, range: core::ops::Range<usize>) -> Result<Vec<T>, Error> {
        self.contains(&range)?;
        Ok(self.get_range(range))
    }

    /// [`put_range`](Self::put_range) that returns an error if there are not as many elements from `begin` on. Then nothing is
    /// written.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let array = world.array(10, 3)?;
    /// array.try_put_range(8, &[4, 5])?;
    /// assert!(array.try_put_range(9, &[4, 5]).is_err());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[cfg_attr(feature = "race", track_caller)]
    pub fn try_put_range(&self, begin: usize, values: &[T]) -> Result<(), Error> {
        self.contains(&(begin..begin.saturating_add(values.len())))?;
        self.put_range(begin, values);
        Ok(())
    }
}
