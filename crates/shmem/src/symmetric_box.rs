//! Symmetric memory that is allocated, and given back when its owner is dropped.

use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr::{self, NonNull};
use core::sync::atomic::Ordering::Relaxed;

use oxshmem_os::process;

use crate::backend::{self, binding, memory, order};
use crate::{Error, Resident, Symmetric, World, context, epoch, reactor, type_words};

/// Owns symmetric memory: [`Symmetric`] by dereference.
///
/// Dropping it is collective, as the allocation was: it waits until all PEs drop theirs, and gives the memory back. In
/// a program whose PEs run the same code the scopes see to that. A PE that panics leaks it and says so. It does not
/// leave its thread, but references to what it owns do.
///
/// ```
/// let world = oxshmem::World::init()?;
/// let numbers = world.allocate_slice(100, 0_u32)?;
/// std::thread::scope(|threads| {
///     threads.spawn(|| numbers[0].put(1, 0));
/// });
/// assert_eq!(numbers[0].load(), 1);
/// drop(numbers); // on all PEs
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Debug)]
pub struct SymmetricBox<'w, T: ?Sized> {
    place: NonNull<Symmetric<T>>,
    /// The serial number of the allocation in the process: the same on all PEs. [`NO_MEMORY`] if it has none.
    pub(crate) serial: u64,
    world: PhantomData<&'w World>,
}

// SAFETY: a shared box gives shared places, which are made for sharing.
unsafe impl<T: ?Sized> Sync for SymmetricBox<'_, T> where Symmetric<T>: Sync {}

/// The serial number of all boxes without memory.
const NO_MEMORY: u64 = u64::MAX;

impl World {
    /// Allocates a place for one value on every PE, this PE's with `value` in it. All PEs call it, with the same type: if PEs that run
    /// one program allocate different ones, the job ends.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let number = world.allocate(3.5)?;
    /// assert_eq!(number.get(0), 3.5);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_malloc")]
    #[track_caller]
    pub fn allocate<T: Resident>(&self, value: T) -> Result<SymmetricBox<'_, T>, Error> {
        let (start, serial) = self.block(1, value)?;
        Ok(SymmetricBox { place: start.cast(), serial, world: PhantomData })
    }

    /// Allocates a slice on every PE, this PE's filled with `value`. All PEs call it with the same length and type.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(1000, 3)?;
    /// assert_eq!(numbers[999].get(0), 3);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    ///
    /// Where there is no room it fails on all PEs and prints nothing. The kind of the error has the numbers:
    ///
    /// ```
    /// use oxshmem::ErrorKind::OutOfMemory;
    /// let world = oxshmem::World::init()?;
    /// let refused = world.allocate_slice(1 << 56, 0_u8).expect_err("no machine has that much");
    /// let OutOfMemory { asked, largest_free, heap, .. } = refused.kind() else { panic!("{refused}") };
    /// assert!(asked == 1 << 56 && largest_free <= heap);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_malloc")]
    #[track_caller]
    pub fn allocate_slice<T: Resident>(&self, len: usize, value: T) -> Result<SymmetricBox<'_, [T]>, Error> {
        let (start, serial) = self.block(len, value)?;
        // SAFETY: `block` filled `len` elements, which live as long as the box.
        let place = NonNull::from(unsafe { Symmetric::<[T]>::of(start.as_ptr(), len) });
        Ok(SymmetricBox { place, serial, world: PhantomData })
    }

    #[track_caller]
    fn block<T: Resident>(&self, len: usize, value: T) -> Result<(NonNull<T>, u64), Error> {
        const { assert!(size_of::<T>() > 0 && align_of::<T>() <= 64) };
        let bytes = len.saturating_mul(size_of::<T>());
        let _span = tracing::debug_span!("allocate", bytes).entered();
        epoch::refuse("World::allocate");
        if len == 0 {
            // Not collective, so it does not count: the others' next allocation is this PE's next.
            return Ok((NonNull::dangling(), NO_MEMORY));
        }
        let serial = backend::own(|own| own.allocations.fetch_add(1, Relaxed));
        let compared = backend::own(|own| own.one_program.load(Relaxed));
        let content = compared.then(type_words::of::<T>);
        // SAFETY: the library is initialised, and this thread has the world, so it is the only one of the PE in a collective call.
        let start = unsafe { binding::allocate("World::allocate", bytes, content) }?.cast::<T>();
        let start = NonNull::new(start).expect("no block begins at address 0");
        for i in 0..len {
            // SAFETY: inside the block, which no PE uses before all PEs have met below.
            unsafe { start.add(i).write(value) };
        }
        // SAFETY: the library is initialised, all PEs make this call, and this thread has the world.
        unsafe { order::sync_all() };
        Ok((start, serial))
    }
}

impl<'w, T: ?Sized> SymmetricBox<'w, T> {
    /// The place for the rest of the world's life; the memory is given back at finalize. Not collective.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let number: &oxshmem::Symmetric<u64> = world.allocate(3)?.leak();
    /// assert_eq!(number.get(0), 3);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn leak(self) -> &'w Symmetric<T> {
        // SAFETY: the block lives until the world ends: no code frees it any more.
        unsafe { core::mem::ManuallyDrop::new(self).place.as_ref() }
    }
}

impl<T: ?Sized> Deref for SymmetricBox<'_, T> {
    type Target = Symmetric<T>;
    #[inline(always)]
    fn deref(&self) -> &Symmetric<T> {
        // SAFETY: the block lives as long as the box.
        unsafe { self.place.as_ref() }
    }
}

impl<T: ?Sized> Drop for SymmetricBox<'_, T> {
    fn drop(&mut self) {
        let bytes = size_of_val::<Symmetric<T>>(self);
        if bytes == 0 {
            return;
        }
        if std::thread::panicking() {
            if backend::in_threads() {
                return;
            }
            process::say(&format!("oxshmem: this PE panics and leaks {bytes} bytes of symmetric memory\n"));
            return;
        }
        let _span = tracing::debug_span!("free", bytes).entered();
        epoch::refuse("SymmetricBox::drop");
        let start = self.place.cast::<u8>().as_ptr();
        context::quiet_all("SymmetricBox::drop");
        reactor::forget(ptr::slice_from_raw_parts(start, bytes));
        // SAFETY: the block came from the allocation, and no code borrows it any more, neither here nor on the other
        // PEs, whose boxes are being dropped too before this returns.
        unsafe { memory::free("SymmetricBox::drop", start.cast()) }
    }
}
