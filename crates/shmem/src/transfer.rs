//! Put and get: between memory of the caller and the copies of other PEs.

use core::ffi::c_int;
use core::mem::{self, MaybeUninit};

use oxshmem_runtime as runtime;

use crate::backend::{self, number, rma, team};
use crate::context::ContextPe;
use crate::{Error, ErrorKind, Plain, Symmetric, mistake};

/// Whose copy is meant: a PE number of the world, or one of a context's team ([`Context::pe`](crate::Context::pe)).
///
/// ```
/// let world = oxshmem::World::init()?;
/// let context = world.context();
/// let number = world.allocate(1)?;
/// number.put(2, 0);
/// assert_eq!(number.get(context.pe(0)), 2);
/// # Ok::<(), oxshmem::Error>(())
/// ```
pub trait Target: Copy + Resolve {}

/// How a [`Target`] becomes what the runtime wants. No other crate can name it, so none has targets of its own: a pending
/// transfer relies on its target to mean the same context whenever it is asked.
pub trait Resolve {
    type Via: runtime::Via;
    fn resolve(self, call: &'static str) -> Way<Self::Via>;
    /// The number of the PE, and how many there are.
    fn numbers(self) -> (usize, usize);
}

/// A call on a context, and a PE. Only this crate looks inside: a handle of a context does not borrow it.
#[derive(Clone, Copy)]
pub struct Way<V>(pub(crate) V, pub(crate) c_int);

impl Target for usize {}

impl Resolve for usize {
    type Via = runtime::InWorld;
    #[inline(always)]
    fn resolve(self, call: &'static str) -> Way<runtime::InWorld> {
        Way(runtime::InWorld(call), number(self))
    }

    fn numbers(self) -> (usize, usize) {
        if !has_pes() {
            return (self, 0);
        }
        // SAFETY: the team of the world is never destroyed; between init and finalize it has PEs.
        let pes = unsafe { team::n_pes(runtime::TeamHandle::world()) };
        (self, usize::try_from(pes).unwrap_or(0))
    }
}

/// Whether there are PEs. Outside of init and finalize the runtime's number of them is -1, with a message that names a call of C.
fn has_pes() -> bool {
    let mut is_open: c_int = 0;
    // SAFETY: the local is writable.
    unsafe { runtime::calls::init::query_initialized(&raw mut is_open) };
    is_open != 0 || backend::in_threads()
}

impl Target for ContextPe<'_> {}

impl Resolve for ContextPe<'_> {
    type Via = runtime::On;
    #[inline(always)]
    fn resolve(self, call: &'static str) -> Way<runtime::On> {
        Way(runtime::On(self.context, call), number(self.pe))
    }

    fn numbers(self) -> (usize, usize) {
        (self.pe, self.pes)
    }
}

impl<T: Plain> Symmetric<T> {
    /// Writes the copy of `to`. It is there after the next [`quiet`](crate::World::quiet) or barrier.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let number = world.allocate(1)?;
    /// number.put(2, world.my_pe());
    /// assert_eq!(number.load(), 2);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_p")]
    #[inline(always)]
    #[cfg_attr(feature = "race", track_caller)]
    pub fn put(&self, value: T, to: impl Target) {
        let Way(via, pe) = to.resolve("Symmetric::put");
        macro_rules! word {
            ($word:ty) => {
                // SAFETY: a place is symmetric or the call ends the job, and aligned for a `T`, which is such a word. The
                // access is one relaxed atomic store, as those of `load` and `store` are.
                unsafe { rma::p(via, self.own().cast::<$word>(), mem::transmute_copy(&value), pe) }
            };
        }
        match word_bytes::<T>() {
            1 => word!(u8),
            2 => word!(u16),
            4 => word!(u32),
            8 => word!(u64),
            // SAFETY: a place is symmetric or the call ends the job; the program orders this bulk transfer with what others
            // do there, as `Symmetric` asks of it. What a race tears is a value, too, by `Plain`.
            _ => unsafe { rma::put(via, self.own(), &raw const value, 1, pe) },
        }
    }

    /// Reads the copy of `from`.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.allocate(7)?.get(0), 7);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_g")]
    #[inline(always)]
    #[must_use]
    #[cfg_attr(feature = "race", track_caller)]
    pub fn get(&self, from: impl Target) -> T {
        let Way(via, pe) = from.resolve("Symmetric::get");
        macro_rules! word {
            ($word:ty) => {
                // SAFETY: a place is symmetric or the call ends the job, and aligned for a `T`, which is such a word; its
                // bits make a `T` by `Plain`.
                unsafe { mem::transmute_copy(&rma::g(via, self.own().cast::<$word>(), pe)) }
            };
        }
        match word_bytes::<T>() {
            1 => word!(u8),
            2 => word!(u16),
            4 => word!(u32),
            8 => word!(u64),
            _ => {
                let mut value = MaybeUninit::<T>::uninit();
                // SAFETY: a place is symmetric or the call ends the job; the program orders this bulk transfer with other
                // uses of the place, as `Symmetric` asks. The call fills the value or does not return.
                unsafe {
                    rma::get(via, value.as_mut_ptr(), self.own(), 1, pe);
                    value.assume_init()
                }
            }
        }
    }
}

impl<T: Plain> Symmetric<[T]> {
    /// Writes the first `source.len()` elements of `to`'s copy; `source` may be reused at once.
    ///
    /// A source longer than the slice ends the job, as a PE that does not exist does: the standard calls both
    /// undefined.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(4, 0)?;
    /// numbers[1..3].put_slice(&[5, 6], 0);
    /// assert_eq!(numbers.to_vec(), [0, 5, 6, 0]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_put")]
    #[inline(always)]
    #[track_caller]
    pub fn put_slice(&self, source: &[T], to: impl Target) {
        self.fits("Symmetric::put_slice", source.len());
        let Way(via, pe) = to.resolve("Symmetric::put_slice");
        // SAFETY: a place is symmetric or the call ends the job, and both sides have the elements; the program orders bulk
        // transfers with what others do there.
        unsafe { rma::put(via, self.as_ptr(), source.as_ptr(), source.len(), pe) }
    }

    /// Reads the first `dest.len()` elements of `from`'s copy.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let mut two = [0; 2];
    /// world.allocate_slice(4, 3)?[2..].get_slice(&mut two, 0);
    /// assert_eq!(two, [3, 3]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_get")]
    #[inline(always)]
    #[track_caller]
    pub fn get_slice(&self, dest: &mut [T], from: impl Target) {
        self.fits("Symmetric::get_slice", dest.len());
        let Way(via, pe) = from.resolve("Symmetric::get_slice");
        // SAFETY: a place is symmetric or the call ends the job, and both sides have the elements; the program orders bulk
        // transfers with other uses of the place.
        unsafe { rma::get(via, dest.as_mut_ptr(), self.as_ptr(), dest.len(), pe) }
    }

    /// Reads all of `from`'s copy.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.allocate_slice(2, 3)?.get_vec(0), [3, 3]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[must_use]
    #[cfg_attr(feature = "race", track_caller)]
    pub fn get_vec(&self, from: impl Target) -> Vec<T> {
        let Way(via, pe) = from.resolve("Symmetric::get_vec");
        let mut all = Vec::with_capacity(self.len());
        // SAFETY: a place is symmetric or the call ends the job, and both sides have room for the elements; the program
        // orders bulk transfers with other uses of the place. The call fills the capacity or does not return.
        unsafe {
            rma::get(via, all.as_mut_ptr(), self.as_ptr(), self.len(), pe);
            all.set_len(self.len());
        }
        all
    }

    /// Writes every `stride`th element of `to`'s copy from every `source_stride`th of `source`, as long as both have
    /// any. Returns how many.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(5, 0)?;
    /// assert_eq!(numbers.put_strided(2, &[1, 2, 3], 1, 0), 3);
    /// assert_eq!(numbers.to_vec(), [1, 0, 2, 0, 3]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_iput")]
    #[cfg_attr(feature = "race", track_caller)]
    pub fn put_strided(&self, stride: usize, source: &[T], source_stride: usize, to: impl Target) -> usize {
        let count = steps(self.len(), stride).min(steps(source.len(), source_stride));
        let Way(via, pe) = to.resolve("Symmetric::put_strided");
        // SAFETY: a place is symmetric or the call ends the job; `count` steps stay inside on both sides, and so strides
        // fit an `isize`. The program orders bulk transfers with other uses of the place.
        unsafe {
            rma::iput(via, self.as_ptr(), source.as_ptr(), stride as isize, source_stride as isize, count, pe);
        }
        count
    }

    /// Reads every `stride`th element of `from`'s copy into every `dest_stride`th of `dest`, as long as both have any.
    /// Returns how many.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(5, 0)?;
    /// numbers.store_all(0..);
    /// let mut odd = [0; 2];
    /// assert_eq!(numbers[1..].get_strided(2, &mut odd, 1, 0), 2);
    /// assert_eq!(odd, [1, 3]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_iget")]
    #[cfg_attr(feature = "race", track_caller)]
    pub fn get_strided(&self, stride: usize, dest: &mut [T], dest_stride: usize, from: impl Target) -> usize {
        let count = steps(self.len(), stride).min(steps(dest.len(), dest_stride));
        let Way(via, pe) = from.resolve("Symmetric::get_strided");
        // SAFETY: a place is symmetric or the call ends the job; `count` steps stay inside on both sides, and so strides
        // fit an `isize`. The program orders bulk transfers with other uses of the place.
        unsafe {
            rma::iget(via, dest.as_mut_ptr(), self.as_ptr(), dest_stride as isize, stride as isize, count, pe);
        }
        count
    }

    /// Writes blocks of `block` elements to `to`'s copy, which begin every `stride` elements there and every
    /// `source_stride` in `source`, as many as both have whole. Returns how many.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(5, 0)?;
    /// assert_eq!(numbers.put_blocks(2, 3, &[1, 2, 3, 4], 2, 0), 2);
    /// assert_eq!(numbers.to_vec(), [1, 2, 0, 3, 4]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_ibput")]
    #[cfg_attr(feature = "race", track_caller)]
    pub fn put_blocks(
        &self,
        block: usize,
        stride: usize,
        source: &[T],
        source_stride: usize,
        to: impl Target,
    ) -> usize {
        let count = blocks(self.len(), block, stride).min(blocks(source.len(), block, source_stride));
        let Way(via, pe) = to.resolve("Symmetric::put_blocks");
        let (stride, source_stride) = (stride as isize, source_stride as isize);
        // SAFETY: a place is symmetric or the call ends the job; `count` blocks at these strides stay inside on both
        // sides, and so strides fit an `isize`. The program orders bulk transfers with other uses of the place.
        unsafe { rma::ibput(via, self.as_ptr(), source.as_ptr(), stride, source_stride, block, count, pe) };
        count
    }

    /// Reads blocks of `block` elements of `from`'s copy, which begin every `stride` elements there and every
    /// `dest_stride` in `dest`, as many as both have whole. Returns how many.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let numbers = world.allocate_slice(5, 0)?;
    /// numbers.store_all(1..);
    /// let mut found = [0; 4];
    /// assert_eq!(numbers.get_blocks(2, 3, &mut found, 2, 0), 2);
    /// assert_eq!(found, [1, 2, 4, 5]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_ibget")]
    #[cfg_attr(feature = "race", track_caller)]
    pub fn get_blocks(
        &self,
        block: usize,
        stride: usize,
        dest: &mut [T],
        dest_stride: usize,
        from: impl Target,
    ) -> usize {
        let count = blocks(self.len(), block, stride).min(blocks(dest.len(), block, dest_stride));
        let Way(via, pe) = from.resolve("Symmetric::get_blocks");
        let (stride, dest_stride) = (stride as isize, dest_stride as isize);
        // SAFETY: a place is symmetric or the call ends the job; `count` blocks at these strides stay inside on both
        // sides, and so strides fit an `isize`. The program orders bulk transfers with other uses of the place.
        unsafe { rma::ibget(via, dest.as_mut_ptr(), self.as_ptr(), dest_stride, stride, block, count, pe) };
        count
    }

    /// Ends the job if `len` elements are more than there are.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn fits(&self, call: &str, len: usize) {
        if len > self.len() {
            mistake(&too_long(call, len, self.len()));
        }
    }
}

/// How many bytes the word has that a `T` is; zero if it is none, as the language has no atomic access to it then.
const fn word_bytes<T>() -> usize {
    if align_of::<T>() < size_of::<T>() { 0 } else { size_of::<T>() }
}

/// How many elements `0, stride, 2 stride …` a slice has; one is all that no stride reaches.
fn steps(len: usize, stride: usize) -> usize {
    if stride == 0 { len.min(1) } else { len.div_ceil(stride) }
}

/// How many whole blocks a slice has.
fn blocks(len: usize, block: usize, stride: usize) -> usize {
    if block == 0 || block > len { 0 } else { steps(len - block + 1, stride) }
}

#[cold]
pub(crate) fn too_long(call: &str, len: usize, room: usize) -> Error {
    Error::new(format!("{call}: {len} elements do not fit"))
        .because(format!("the symmetric slice has {room}"))
        .fix("pass a shorter slice, or allocate a longer one")
        .of_kind(ErrorKind::InvalidArgument)
}

#[cold]
pub(crate) fn no_such_pe(call: &str, pe: usize, pes: usize) -> Error {
    let error = Error::new(format!("{call}: PE {pe} does not exist")).of_kind(ErrorKind::InvalidArgument);
    match pes {
        0 => error
            .because("there is no world, which the PEs belong to")
            .fix("call World::init first, and keep the world"),
        _ => error
            .because(format!("there are the PEs 0 to {}", pes - 1))
            .fix("pass a PE number of the world, or of the team of the context"),
    }
}
