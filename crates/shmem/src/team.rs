//! Teams: some of the PEs, numbered from 0, which make collective calls together.

use core::ffi::c_int;
use core::marker::PhantomData;

use oxshmem_os::process;
use oxshmem_reduce::And;
use oxshmem_runtime as runtime;

use crate::backend::{self, number, team as calls, team_extension};
use crate::{Error, ErrorKind, context, epoch, mistake};

/// Some of the PEs. The [`World`](crate::World) is one; others are split from it, and live no longer than what they
/// are split from.
///
/// Dropping a team that a split has made is collective among its members, who drop several teams in the same order.
///
/// ```
/// let world = oxshmem::World::init()?;
/// if let Some(even) = world.split_strided(0, 2, world.n_pes().div_ceil(2))? {
///     assert_eq!(even.my_pe(), world.my_pe() / 2);
/// }
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Debug)]
pub struct Team<'p> {
    handle: runtime::TeamHandle,
    my: usize,
    size: usize,
    /// Whether a split has made it.
    made: bool,
    parent: PhantomData<&'p ()>,
}

/// Both axes of a grid with two dimensions, from [`Team::split_2d`].
///
/// ```
/// let world = oxshmem::World::init()?;
/// let oxshmem::Axes { x, y } = world.split_2d(1)?;
/// assert_eq!((x.n_pes(), y.n_pes()), (1, world.n_pes()));
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[derive(Debug)]
pub struct Axes<'p> {
    /// The PEs of this PE's row; numbers are x coordinates.
    pub x: Team<'p>,
    /// The PEs of this PE's column; numbers are y coordinates.
    pub y: Team<'p>,
}

impl Team<'_> {
    pub(crate) fn predefined(handle: runtime::TeamHandle) -> Team<'static> {
        Team::new(handle, false)
    }

    fn new<'p>(handle: runtime::TeamHandle, made: bool) -> Team<'p> {
        // SAFETY: the caller passes the handle of a team that has just been made and is not destroyed before the `Team` is
        // dropped.
        let (my, size) = unsafe { (calls::my_pe(handle), calls::n_pes(handle)) };
        Team { handle, my: my.max(0) as usize, size: size.max(0) as usize, made, parent: PhantomData }
    }

    /// The same team for a collective that has been started, whose place the caller may move meanwhile.
    pub(crate) fn alias(&self) -> Team<'static> {
        Team { handle: self.handle, my: self.my, size: self.size, made: false, parent: PhantomData }
    }

    /// The handle, for calls that are not collective.
    #[inline(always)]
    pub(crate) fn handle(&self) -> runtime::TeamHandle {
        self.handle
    }

    /// The handle, for a collective call.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn enter(&self, call: &str) -> runtime::TeamHandle {
        epoch::refuse(call);
        self.handle
    }

    /// This PE's number in the team.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert!(world.my_pe() < world.n_pes());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_my_pe")]
    #[doc(alias = "shmem_team_my_pe")]
    #[inline(always)]
    #[must_use]
    pub fn my_pe(&self) -> usize {
        self.my
    }

    /// How many PEs the team has.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert!(world.n_pes() > 0);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_n_pes")]
    #[doc(alias = "shmem_team_n_pes")]
    #[inline(always)]
    #[must_use]
    pub fn n_pes(&self) -> usize {
        self.size
    }

    /// The number that this team's `pe` has in `other`, if it is a member.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// assert_eq!(world.translate(0, &world), Some(0));
    /// assert_eq!(world.translate(world.n_pes(), &world), None);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_team_translate_pe")]
    #[must_use]
    pub fn translate(&self, pe: usize, other: &Team<'_>) -> Option<usize> {
        // SAFETY: both teams are borrowed, so neither has been destroyed.
        usize::try_from(unsafe { calls::translate_pe(self.handle, number(pe), other.handle) }).ok()
    }

    /// Waits for all members.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// world.sync();
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_team_sync")]
    #[inline]
    #[track_caller]
    pub fn sync(&self) {
        // SAFETY: the team lives, and one thread has it.
        unsafe { calls::sync(self.enter("Team::sync")) };
    }

    /// A team of the `size` members `start`, `start + stride` and so on. All members of this team call it with the
    /// same arguments; members that are not in the new team get `None`.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let backwards = world.split_strided(world.n_pes() - 1, -1, world.n_pes())?.expect("everybody is in it");
    /// assert_eq!(backwards.my_pe(), world.n_pes() - 1 - world.my_pe());
    /// assert!(world.split_strided(0, 1, world.n_pes() + 1).is_err());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_team_split_strided")]
    #[track_caller]
    pub fn split_strided(&self, start: usize, stride: isize, size: usize) -> Result<Option<Team<'_>>, Error> {
        const CALL: &str = "Team::split_strided";
        let parent = self.enter(CALL);
        let _span = tracing::debug_span!("split_strided", start, stride, size).entered();
        let mut made = runtime::TeamHandle::INVALID;
        // No stride beyond these numbers has two members.
        let step = c_int::try_from(stride).unwrap_or(0);
        // SAFETY: `made` is writable and there is no config; the team lives, and one thread has it.
        let status = unsafe {
            calls::split_strided(parent, number(start), step, number(size), core::ptr::null(), 0, &raw mut made)
        };
        if status != 0 {
            let arguments = format!("start {start}, stride {stride} and size {size}");
            let fits = self.has_members(start, stride, size);
            let fix = (!fits).then(|| format!("choose members among PEs 0 to {}", self.size - 1));
            return Err(self.refused(CALL, arguments, fix));
        }
        Ok((made != runtime::TeamHandle::INVALID).then(|| Team::new(made, true)))
    }

    /// Arranges the members in rows of `width`, row by row, and makes a team of each row and of each column. All
    /// members call it with the same argument.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let grid = world.split_2d(2)?;
    /// assert_eq!(grid.x.my_pe() + 2 * grid.y.my_pe(), world.my_pe());
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmem_team_split_2d")]
    #[track_caller]
    pub fn split_2d(&self, width: usize) -> Result<Axes<'_>, Error> {
        const CALL: &str = "Team::split_2d";
        let parent = self.enter(CALL);
        let _span = tracing::debug_span!("split_2d", width).entered();
        let (mut x, mut y) = (runtime::TeamHandle::INVALID, runtime::TeamHandle::INVALID);
        // A row has all members at most, however wide it is.
        let (row, none) = (number(width.min(self.size)), core::ptr::null());
        // SAFETY: `x` and `y` are writable and there are no configs; the team lives, and one thread has it.
        match unsafe { calls::split_2d(parent, row, none, 0, &raw mut x, none, 0, &raw mut y) } {
            0 => Ok(Axes { x: Team::new(x, true), y: Team::new(y, true) }),
            _ => Err(self.refused(CALL, format!("width {width}"), (width == 0).then(|| "pass 1 or more".into()))),
        }
    }

    /// Arranges the members in a grid of any dimension, the first coordinate running fastest, and makes for each axis
    /// a team of the members that differ from this PE in that coordinate only. All members call it with the same
    /// extents, whose product is the size of the team. If a team cannot be made, all members get an error.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let axes = world.split_grid(&[1, world.n_pes(), 1])?;
    /// assert_eq!(axes.iter().map(|axis| axis.my_pe()).collect::<Vec<_>>(), [0, world.my_pe(), 0]);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[track_caller]
    pub fn split_grid(&self, extents: &[usize]) -> Result<Vec<Team<'_>>, Error> {
        const CALL: &str = "Team::split_grid";
        let places = extents.iter().try_fold(1_usize, |product, &extent| product.checked_mul(extent));
        if places != Some(self.size) {
            let fix = format!("pass extents whose product is {}", self.size);
            return Err(self.refused(CALL, format!("extents {extents:?}"), Some(fix)));
        }
        let (mut axes, mut rest) = (Vec::with_capacity(extents.len()), None);
        let made = self.split_axes(extents, &mut axes, &mut rest);
        // The rests have different members, so the split of one may fail where that of another does not. No axis is dropped before all
        // know that, because who drops a team waits for its other members.
        let is_whole = extents.len() < 2 || self.combined::<And, u8>(CALL, made.is_ok().into()) != 0;
        made?;
        if is_whole { Ok(axes) } else { Err(self.refused(CALL, format!("extents {extents:?}"), None)) }
    }

    /// Makes the teams of the axes one by one. `rest` is the rest of the grid when the axes so far are fixed at this PE's coordinates.
    #[track_caller]
    fn split_axes<'p>(
        &self,
        extents: &[usize],
        axes: &mut Vec<Team<'p>>,
        rest: &mut Option<Team<'p>>,
    ) -> Result<(), Error> {
        for &extent in extents {
            let Axes { x, y } = rest.as_ref().unwrap_or(self).split_2d(extent)?;
            // The new teams do not need the rest they were split from, only what that was split from: this team.
            let (x, y) = (x.of_the_same_world(), y.of_the_same_world());
            axes.push(x);
            *rest = Some(y);
        }
        Ok(())
    }

    /// A team of the members that name the same colour, in the order of their keys and, where these are the same, of
    /// their numbers. All members call it; a member that names no colour gets no team.
    ///
    /// ```
    /// let world = oxshmem::World::init()?;
    /// let odd = world.split_color(Some(world.my_pe() as u32 % 2), 0).expect("everybody has a colour");
    /// assert!(world.split_color(None, 0).is_none());
    /// assert_eq!(odd.my_pe(), world.my_pe() / 2);
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    #[doc(alias = "shmemx_team_split_color")]
    #[must_use]
    #[track_caller]
    pub fn split_color(&self, color: Option<u32>, key: u32) -> Option<Team<'_>> {
        const CALL: &str = "Team::split_color";
        const NO_COLOR: c_int = -1;
        let parent = self.enter(CALL);
        let _span = tracing::debug_span!("split_color", color, key).entered();
        let mut made = runtime::TeamHandle::INVALID;
        let (color, key) = (color.map(small).unwrap_or(Ok(NO_COLOR)), small(key));
        let (color, key) = match (color, key) {
            (Ok(color), Ok(key)) => (color, key),
            (Err(number), _) | (_, Err(number)) => too_large(number),
        };
        // SAFETY: `made` is writable; the team lives, and one thread has it.
        unsafe { team_extension::split_color(CALL, parent, color, key, &raw mut made) };
        (made != runtime::TeamHandle::INVALID).then(|| Team::new(made, true))
    }

    /// For a team whose parent may end before it: the world does not.
    fn of_the_same_world<'p>(self) -> Team<'p> {
        let team = core::mem::ManuallyDrop::new(self);
        Team { handle: team.handle, my: team.my, size: team.size, made: team.made, parent: PhantomData }
    }

    /// Whether `start`, `start + stride` and so on, `size` of them, are members.
    fn has_members(&self, start: usize, stride: isize, size: usize) -> bool {
        let last = start as i128 + (size as i128 - 1) * stride as i128;
        let reaches = size > 1 && stride != 0 && (0..self.size as i128).contains(&last);
        start < self.size && (size == 1 || reaches)
    }

    /// Why there is no team. `fix` says which arguments would fit this one; `None`: these do.
    #[cold]
    fn refused(&self, call: &str, arguments: String, fix: Option<String>) -> Error {
        let error = Error::new(format!("{call}: no team for {arguments}"));
        let Some(fix) = fix else {
            return error
                .because("some PE is a member of as many teams as the library can have, or as SHMEM_TEAMS_MAX allows")
                .fix("drop teams that are not used any more, or raise SHMEM_TEAMS_MAX; a world takes one of them")
                .of_kind(ErrorKind::LimitReached);
        };
        error
            .because(format!("they do not describe members of this team, which has {} PEs", self.size))
            .fix(fix)
            .of_kind(ErrorKind::InvalidArgument)
    }
}

/// A colour or a key, as calls take it.
fn small(number: u32) -> Result<c_int, u32> {
    c_int::try_from(number).map_err(|_| number)
}

#[cold]
#[track_caller]
fn too_large(number: u32) -> ! {
    mistake(
        &Error::new("Team::split_color: a colour or a key is too large")
            .because(format!("it is {number}, and they are numbers of 31 bits"))
            .fix("pass smaller ones"),
    )
}

impl Drop for Team<'_> {
    fn drop(&mut self) {
        if !self.made {
            return;
        }
        if std::thread::panicking() {
            if backend::in_threads() {
                return;
            }
            process::say(&format!("oxshmem: this PE panics and leaks a team of {}\n", self.size));
            return;
        }
        context::forget_team(self.handle);
        // SAFETY: a split made it, and nothing borrows it any more.
        unsafe { calls::destroy(self.enter("Team::drop")) }
    }
}
