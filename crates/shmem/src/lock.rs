//! Locks that one PE holds at a time.

use core::ffi::c_long;
use core::marker::PhantomData;

use crate::backend::lock;
use crate::{Resident, Symmetric, Team};

/// A lock between PEs; waiting PEs are served in the order in which they came.
///
/// ```
/// oxshmem::symmetric! { static PRINTER: oxshmem::Lock = oxshmem::Lock::new(); }
/// let world = oxshmem::World::init()?;
/// {
///     let _held = PRINTER.lock(&world);
///     println!("nobody else prints now");
/// }
/// assert!(PRINTER.try_lock(&world).is_some());
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Lock(c_long);

// SAFETY: a number; the runtime looks at what it reads there before it follows it.
unsafe impl Resident for Lock {}

impl Lock {
    /// A lock that is free.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let lock = world.allocate(oxshmem::Lock::new())?;
    /// assert!(lock.try_lock(&world).is_some());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub const fn new() -> Self {
        Self(0)
    }
}

/// The lock is held as long as this lives. Letting it go completes what was put on the world before. What was put on a
/// [`Context`](crate::Context) is complete after its own quiet.
///
/// ```
/// let world = oxshmem::World::init()?;
/// let lock = world.allocate(oxshmem::Lock::new())?;
/// let held: oxshmem::LockGuard<'_> = lock.lock(&world);
/// drop(held);
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[must_use = "the lock is released when this is dropped"]
#[derive(Debug)]
pub struct LockGuard<'a> {
    lock: *mut c_long,
    held: PhantomData<&'a Symmetric<Lock>>,
}

impl Symmetric<Lock> {
    /// Waits for the lock. A PE is one owner, so only the thread with the world may ask; asking for what it holds
    /// already waits for ever, as it does with a mutex.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let lock = world.allocate(oxshmem::Lock::new())?;
    /// drop(lock.lock(&world));
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_set_lock")]
    pub fn lock<'a>(&'a self, _world: &'a Team<'_>) -> LockGuard<'a> {
        // SAFETY: a place is symmetric or the call ends the job, and only lock calls touch this one.
        unsafe { lock::set_lock(self.own().cast()) };
        LockGuard { lock: self.own().cast(), held: PhantomData }
    }

    /// Takes the lock if it is free.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let lock = world.allocate(oxshmem::Lock::new())?;
    /// let held = lock.try_lock(&world);
    /// assert!(held.is_some() && lock.try_lock(&world).is_none());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_test_lock")]
    #[must_use]
    pub fn try_lock<'a>(&'a self, _world: &'a Team<'_>) -> Option<LockGuard<'a>> {
        // SAFETY: a place is symmetric or the call ends the job, and only lock calls touch this one.
        let busy = unsafe { lock::test_lock(self.own().cast()) } != 0;
        (!busy).then(|| LockGuard { lock: self.own().cast(), held: PhantomData })
    }
}

impl Drop for LockGuard<'_> {
    fn drop(&mut self) {
        // SAFETY: the guard borrows the symmetric lock, which only lock calls touch, and stands for this PE's holding it.
        unsafe { lock::clear_lock(self.lock) }
    }
}
