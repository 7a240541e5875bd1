//! The job as one PE sees it.

use core::ops::Deref;
use core::sync::atomic::{Ordering::AcqRel, Ordering::Acquire, Ordering::Release};

use oxshmem_runtime as runtime;

use crate::backend::{self, binding, number, order, own, team as calls};
use crate::epoch::{self, ExchangeKind};
use crate::{Error, ErrorKind, Team, context, program, reactor};

/// `SHMEM_THREAD_MULTIPLE`: all levels cost the same, and safe code may use threads.
const MULTIPLE: i32 = 3;

/// All PEs, while the library is initialised. It is also the [`Team`] of all of them.
///
/// There is one at a time in a process. Everything else borrows from it, so the library cannot be finalized while
/// symmetric memory, a team or a context is alive. Collective calls need the world or a team, and neither leaves its
/// thread; places of symmetric memory may be used from all threads.
///
/// ```
/// let world = oxshmem::World::init()?;
/// println!("Hello from PE {} of {}", world.my_pe(), world.n_pes());
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Debug)]
pub struct World {
    team: Team<'static>,
    /// All PEs again, for exclusive epochs: a slot that no other call can use.
    epochs: runtime::TeamHandle,
}

impl World {
    /// Joins the job and initialises the library; all PEs call it. Without a launcher the process is a job of its own.
    ///
    /// The types of this crate keep a program's promises on all PEs because all PEs run it. So this makes sure that
    /// they do run the same executable; [`init_with_others`](Self::init_with_others) is for jobs of several programs.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert!(world.my_pe() < world.n_pes());
    /// assert!(oxshmem::World::init().is_err(), "there is one world at a time");
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_init")]
    #[doc(alias = "shmem_init_thread")]
    pub fn init() -> Result<Self, Error> {
        let world = Self::join()?;
        // Threads run one executable.
        if !backend::in_threads() {
            program::same_everywhere(&world)?;
            backend::detector::begin();
        }
        own(|own| own.one_program.store(true, Release));
        Ok(world)
    }

    /// [`init`](Self::init) without the check that all PEs run the same executable. (Different ones cannot share static
    /// variables; where they are in one job, `SHMEM_STATICS=0` turns these off.)
    ///
    /// ```
    /// // SAFETY: this process is the only PE.
    /// let world = unsafe { oxshmem::World::init_with_others() }?;
    /// assert_eq!(world.n_pes(), 1);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    ///
    /// # Safety
    /// The other PEs' programs touch this PE's memory only as this crate would: inside of what was allocated by the
    /// same collective calls with the same types, atomics and locks by their operations only, and nothing that is in
    /// an exclusive epoch. Programs of one source that use only the safe part of this crate do.
    pub unsafe fn init_with_others() -> Result<Self, Error> {
        let world = Self::join()?;
        own(|own| own.one_program.store(false, Release));
        Ok(world)
    }

    fn join() -> Result<Self, Error> {
        let _span = tracing::debug_span!("World::init").entered();
        if own(|own| own.panicked.load(Acquire)) {
            return Err(Error::new("World::init: the last world of this process ended in a panic")
                .because("a PE that panics does not wait for the others, so the library is not finalized and cannot begin anew")
                .fix("let the panic end the process, or catch it while the world is alive")
                .of_kind(ErrorKind::AlreadyInitialized));
        }
        if own(|own| own.taken.swap(true, AcqRel)) {
            return Err(Error::new("World::init: this process has a world already")
                .because("there is one world at a time, so that one thread at a time is in its collective calls")
                .fix("pass it on by reference, or drop it first")
                .of_kind(ErrorKind::AlreadyInitialized));
        }
        let granted = binding::init(MULTIPLE).and_then(|level| match level {
            MULTIPLE.. => Ok(()),
            _ => {
                // SAFETY: takes back the initialisation that has just been made. That of the program's other part stays.
                unsafe { binding::finalize() };
                Err(too_few_threads(level))
            }
        });
        if let Err(error) = granted {
            own(|own| own.taken.store(false, Release));
            return Err(error);
        }
        let team = Team::predefined(runtime::TeamHandle::world());
        let mut epochs = runtime::TeamHandle::INVALID;
        let (first, stride, all) = (0, 1, team.n_pes() as i32);
        // SAFETY: all PEs are here; `epochs` is writable and there is no config.
        let status = unsafe {
            calls::split_strided(
                runtime::TeamHandle::world(),
                first,
                stride,
                all,
                core::ptr::null(),
                0,
                &raw mut epochs,
            )
        };
        // From here on dropping the world takes everything back.
        let world = Self { team, epochs };
        if status != 0 {
            return Err(Error::new("World::init: no team can be made")
                .because("the world takes one, and the library has none left, or none that SHMEM_TEAMS_MAX allows")
                .fix("destroy teams of the program's parts in C, or raise SHMEM_TEAMS_MAX")
                .of_kind(ErrorKind::LimitReached));
        }
        own(|own| own.open.store(true, Release));
        Ok(world)
    }

    /// Completes this PE's operations on the world, then waits for all PEs: what any PE put before is there after.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let number = world.allocate(0)?;
    /// number.put(1, (world.my_pe() + 1) % world.n_pes());
    /// world.barrier();
    /// assert_eq!(number.load(), 1);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_barrier_all")]
    #[inline]
    #[track_caller]
    pub fn barrier(&self) {
        epoch::refuse("World::barrier");
        // SAFETY: the library is initialised, and this thread has the world.
        unsafe { order::barrier_all() }
    }

    /// Completes what this PE has issued on the world: puts are visible to all PEs.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// world.allocate(0)?.put(1, 0);
    /// world.quiet();
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_quiet")]
    #[inline(always)]
    pub fn quiet(&self) {
        // SAFETY: the default context is never destroyed.
        unsafe { order::quiet(runtime::InWorld("World::quiet")) }
    }

    /// [`quiet`](Self::quiet) for what was issued to these PEs.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// world.allocate(0)?.put(1, 0);
    /// world.quiet_for(&[0]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_pe_quiet")]
    pub fn quiet_for(&self, pes: &[usize]) {
        let pes: Vec<_> = pes.iter().map(|&pe| number(pe)).collect();
        // SAFETY: the default context is never destroyed, and the list has the elements that its length says.
        unsafe { order::pe_quiet(runtime::InWorld("World::quiet_for"), pes.as_ptr(), pes.len()) }
    }

    /// The PEs whose memory this one reaches by load and store: those of its node.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert!(world.node().n_pes() <= world.n_pes());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "SHMEM_TEAM_SHARED")]
    #[doc(alias = "SHMEM_TEAM_NODE")]
    #[must_use]
    pub fn node(&self) -> Team<'_> {
        Team::predefined(runtime::TeamHandle::shared())
    }

    /// Orders what this PE has issued on the world before what it issues afterwards, for each target.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let (data, flag) = (world.allocate(0)?, world.allocate(oxshmem::Atomic::new(0))?);
    /// data.put(1, 0);
    /// world.fence();
    /// flag.set(1, 0);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_fence")]
    #[inline(always)]
    pub fn fence(&self) {
        // SAFETY: the default context is never destroyed.
        unsafe { order::fence(runtime::InWorld("World::fence")) }
    }

    /// Ends all PEs, with this status of the job.
    ///
    /// ```no_run
    /// let world = oxshmem::World::init()?;
    /// if world.n_pes() < 4 {
    ///     world.global_exit(2);
    /// }
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_global_exit")]
    pub fn global_exit(&self, status: i32) -> ! {
        backend::global_exit(status)
    }

    /// An exchange among all PEs, only for the library's own checks.
    pub(crate) fn agree(&self, call: &'static str, kind: ExchangeKind, words: &[u64], visit: impl FnMut(u32, &[u64])) {
        // SAFETY: only the thread with the world gets here.
        unsafe { binding::exchange(self.epochs, call, kind as u8, size_of_val(words), words, visit) }
    }
}

impl Deref for World {
    type Target = Team<'static>;
    #[inline(always)]
    fn deref(&self) -> &Team<'static> {
        &self.team
    }
}

impl Drop for World {
    /// Finalizes: waits for all PEs. A PE that panics does not wait; the others learn that it is gone.
    fn drop(&mut self) {
        if std::thread::panicking() {
            own(|own| own.panicked.store(true, Release));
            return;
        }
        let _span = tracing::debug_span!("World::drop").entered();
        epoch::refuse("World::drop");
        own(|own| own.open.store(false, Release));
        if !backend::in_threads() {
            reactor::close();
        }
        // Contexts that were forgotten do not end with a drop.
        context::quiet_all("World::drop");
        context::forget_all();
        // SAFETY: nothing that borrows from the world is alive. An invalid team is left alone.
        unsafe {
            calls::destroy(self.epochs);
            binding::finalize();
        }
        own(|own| own.taken.store(false, Release));
    }
}

/// Safe code may use threads, which the program's other part has promised not to do.
fn too_few_threads(level: i32) -> Error {
    let names = ["SHMEM_THREAD_SINGLE", "SHMEM_THREAD_FUNNELED", "SHMEM_THREAD_SERIALIZED"];
    let name = names.get(level as usize).copied().unwrap_or("a lower level");
    Error::new(format!("World::init: the library was initialised with {name}"))
        .because("safe code may make calls by several threads at once")
        .fix("let C call shmem_init_thread with SHMEM_THREAD_MULTIPLE, or let it come after World::init")
}

/// Whether the library is between init and finalize.
///
/// ```
/// assert!(!oxshmem::is_initialized());
/// let world = oxshmem::World::init()?;
/// assert!(oxshmem::is_initialized());
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[doc(alias = "shmem_query_initialized")]
#[must_use]
pub fn is_initialized() -> bool {
    own(|own| own.open.load(Acquire))
}
