//! Collective operations: each is an exchange of bytes, from which every PE computes the result of the call.

use core::cell::Cell;
use core::ffi::{c_int, c_long};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use oxshmem_reduce::{And, Max, Min, Operand, Operator, Or, Prod, Sum, Xor};
use oxshmem_runtime as runtime;
use oxshmem_schedule::team::Triplet;
use parking_lot::{Mutex, MutexGuard};

use super::{ThreadPe, context_handle, context_number, team_handle, team_number};
use crate::{Error, Plain};

/// Some PEs, as one of them sees them.
pub(super) struct ThreadTeam {
    /// How it came from the world: the same for all members, and no other team's.
    path: Vec<u64>,
    /// World numbers.
    pub(super) list: Vec<usize>,
    pub(super) my: usize,
    /// How many exchanges it has made.
    calls: Cell<u64>,
}

impl ThreadTeam {
    pub(super) fn world(pes: usize, me: usize) -> Self {
        Self::predefined(0, pes, me)
    }

    /// Number `which` of the teams that have all PEs from the beginning.
    pub(super) fn predefined(which: u64, pes: usize, me: usize) -> Self {
        Self { path: vec![which], list: (0..pes).collect(), my: me, calls: Cell::new(0) }
    }
}

/// Exchanges that some members have come to and not all have left.
#[derive(Default)]
pub(super) struct Meetings(Mutex<BTreeMap<(Vec<u64>, u64), Meeting>>);

struct Meeting {
    call: &'static str,
    brought: Vec<Option<Vec<u8>>>,
    all: Option<All>,
    left: usize,
}

/// The contributions of all PEs to an exchange.
#[derive(Clone)]
pub(super) struct All {
    bytes: Arc<Vec<Vec<u8>>>,
    /// A number that the first member to ask decides.
    decided: Arc<OnceLock<u64>>,
}

impl ThreadPe {
    fn meetings(&self) -> MutexGuard<'_, BTreeMap<(Vec<u64>, u64), Meeting>> {
        self.job.meetings.0.lock()
    }

    fn group(&self, call: &str, team: runtime::Team) -> Rc<ThreadTeam> {
        let group = self.teams.borrow().get(team_number(team)).cloned();
        group.unwrap_or_else(|| self.fail(&Error::new(format!("{call}: the team is not valid"))))
    }

    /// Waits for all members and gets what each has brought.
    pub(super) fn exchange(&self, team: runtime::Team, call: &'static str, mine: Vec<u8>) -> All {
        self.turns().step(self.me);
        let group = self.group(call, team);
        let size = group.list.len();
        let name = (group.path.clone(), group.calls.replace(group.calls.get() + 1));
        let other = {
            let mut meetings = self.meetings();
            let meeting = meetings.entry(name.clone()).or_insert_with(|| Meeting::of(call, size));
            meeting.brought[group.my] = Some(mine);
            (meeting.call != call).then_some(meeting.call)
        };
        if let Some(other) = other {
            self.fail(
                &Error::new(format!("{call}: the members of the team make different calls"))
                    .because(format!("this PE is in {call}, and another one in {other}"))
                    .fix("let all members make the same collective calls in the same order"),
            );
        }
        self.turns().changed();
        self.turns().wait(self.me, call, || {
            let mut meetings = self.meetings();
            let meeting = meetings.get_mut(&name)?;
            let all = meeting.complete()?;
            meeting.left += 1;
            if meeting.left == size {
                meetings.remove(&name);
            }
            Some(all)
        })
    }

    /// Ends the world unless all have brought the same.
    pub(super) fn same_everywhere(&self, call: &str, all: &All) {
        if all.bytes.iter().any(|bytes| *bytes != all.bytes[0]) {
            self.fail(
                &Error::new(format!("{call}: the PEs pass different arguments"))
                    .because("an allocation is one call of all PEs")
                    .fix("let all PEs make the same collective calls with the same arguments"),
            );
        }
    }

    /// A number that one member decides for all who were in this exchange.
    pub(super) fn first_of(&self, all: &All, decide: impl FnOnce() -> u64) -> u64 {
        *all.decided.get_or_init(decide)
    }

    fn enlist(&self, group: ThreadTeam) -> runtime::Team {
        let mut teams = self.teams.borrow_mut();
        teams.push(Rc::new(group));
        team_handle(teams.len() - 1)
    }
}

impl Meeting {
    fn of(call: &'static str, size: usize) -> Self {
        Self { call, brought: vec![None; size], all: None, left: 0 }
    }

    fn complete(&mut self) -> Option<All> {
        if self.all.is_none() && self.brought.iter().all(Option::is_some) {
            let bytes = self.brought.iter_mut().filter_map(Option::take).collect();
            self.all = Some(All { bytes: Arc::new(bytes), decided: Arc::default() });
        }
        self.all.clone()
    }
}

pub(crate) mod binding {
    use super::*;

    pub(crate) fn init(here: &ThreadPe, requested: c_int) -> Result<c_int, Error> {
        here.turns().step(here.me);
        Ok(requested)
    }

    pub(crate) unsafe fn finalize(here: &ThreadPe) {
        here.exchange(runtime::Team::world(), "shmem_finalize", Vec::new());
        here.complete_all();
    }

    pub(crate) unsafe fn exchange(
        here: &ThreadPe,
        team: runtime::Team,
        call: &'static str,
        _kind: u8,
        words: &[u64],
        mut visit: impl FnMut(u32, &[u64]),
    ) {
        let all = here.exchange(team, call, words.iter().flat_map(|word| word.to_le_bytes()).collect());
        for (member, bytes) in all.bytes.iter().enumerate() {
            let theirs = bytes.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
            // As many as the caller's, whatever the type of the others' value is.
            let theirs = theirs.chain(std::iter::repeat(0)).take(words.len());
            visit(member as u32, &theirs.collect::<Vec<_>>());
        }
    }
}

pub(crate) mod init {
    use super::*;

    pub(crate) unsafe fn global_exit(_here: &ThreadPe, status: c_int) -> ! {
        panic!("shmem_global_exit({status})")
    }
}

pub(crate) mod context {
    use super::*;

    pub(crate) unsafe fn team_create_ctx(
        here: &ThreadPe,
        team: runtime::Team,
        _options: c_long,
        context: *mut runtime::Context,
    ) -> c_int {
        let stream = here.stream(here.group("shmem_team_create_ctx", team));
        let mut streams = here.streams.borrow_mut();
        streams.push(stream);
        // SAFETY: the caller promises that `context` is writable.
        unsafe { context.write(context_handle(streams.len() - 1)) };
        0
    }

    pub(crate) unsafe fn destroy(here: &ThreadPe, context: runtime::Context) {
        here.turns().step(here.me);
        here.streams.borrow_mut()[context_number(context)].complete(here);
    }
}

pub(crate) mod team {
    use oxshmem_runtime::calls::team::Config;

    use super::*;

    pub(crate) unsafe fn my_pe(here: &ThreadPe, team: runtime::Team) -> c_int {
        here.group("shmem_team_my_pe", team).my as c_int
    }

    pub(crate) unsafe fn n_pes(here: &ThreadPe, team: runtime::Team) -> c_int {
        here.group("shmem_team_n_pes", team).list.len() as c_int
    }

    pub(crate) unsafe fn translate_pe(here: &ThreadPe, source: runtime::Team, pe: c_int, dest: runtime::Team) -> c_int {
        const CALL: &str = "shmem_team_translate_pe";
        let (source, dest) = (here.group(CALL, source), here.group(CALL, dest));
        let member = usize::try_from(pe).ok().and_then(|pe| source.list.get(pe).copied());
        let number = member.and_then(|pe| dest.list.iter().position(|&theirs| theirs == pe));
        number.map_or(-1, |number| number as c_int)
    }

    pub(crate) unsafe fn sync(here: &ThreadPe, team: runtime::Team) -> c_int {
        here.exchange(team, "shmem_team_sync", Vec::new());
        0
    }

    /// The part of a parent that is `child` by the parent's numbers; `which` tells it from others of the same call.
    fn part(parent: &ThreadTeam, child: &Triplet, which: [u64; 2]) -> Option<ThreadTeam> {
        let my = child.number(parent.my as i64)? as usize;
        let list = (0..i64::from(child.size)).filter_map(|i| child.pe(i)).map(|pe| parent.list[pe as usize]).collect();
        let path = [&parent.path[..], &[parent.calls.get()], &which].concat();
        Some(ThreadTeam { path, list, my, calls: Cell::new(0) })
    }

    pub(crate) unsafe fn split_strided(
        here: &ThreadPe,
        parent: runtime::Team,
        start: c_int,
        stride: c_int,
        size: c_int,
        _config: *const Config,
        _mask: c_long,
        new_team: *mut runtime::Team,
    ) -> c_int {
        const CALL: &str = "shmem_team_split_strided";
        here.exchange(parent, CALL, Vec::new());
        let parent = here.group(CALL, parent);
        let numbers = Triplet::world(parent.list.len() as u32);
        let Ok(child) = numbers.split_strided(start.into(), stride.into(), size.into()) else { return -1 };
        let made = part(&parent, &child, [0, 0]).map_or(runtime::Team::INVALID, |group| here.enlist(group));
        // SAFETY: the caller promises that `new_team` is writable.
        unsafe { new_team.write(made) };
        0
    }

    pub(crate) unsafe fn split_2d(
        here: &ThreadPe,
        parent: runtime::Team,
        xrange: c_int,
        _x_config: *const Config,
        _x_mask: c_long,
        x_team: *mut runtime::Team,
        _y_config: *const Config,
        _y_mask: c_long,
        y_team: *mut runtime::Team,
    ) -> c_int {
        const CALL: &str = "shmem_team_split_2d";
        here.exchange(parent, CALL, Vec::new());
        let parent = here.group(CALL, parent);
        let numbers = Triplet::world(parent.list.len() as u32);
        let Some(grid) = numbers.split_2d(xrange.into(), parent.my as u32) else { return -1 };
        let axes = [(x_team, &grid.row, [1, grid.row.start as u64]), (y_team, &grid.column, [2, u64::from(grid.x)])];
        for (team, numbers, which) in axes {
            let made = part(&parent, numbers, which).map_or(runtime::Team::INVALID, |group| here.enlist(group));
            // SAFETY: the caller promises that `x_team` and `y_team` are writable.
            unsafe { team.write(made) };
        }
        0
    }

    pub(crate) unsafe fn destroy(here: &ThreadPe, team: runtime::Team) {
        if team != runtime::Team::INVALID {
            here.exchange(team, "shmem_team_destroy", Vec::new());
        }
    }
}

pub(crate) mod team_extension {
    use super::*;

    pub(crate) unsafe fn split_color(
        here: &ThreadPe,
        parent: runtime::Team,
        color: c_int,
        key: c_int,
        new_team: *mut runtime::Team,
    ) {
        const CALL: &str = "shmemx_team_split";
        let mine = [color.to_le_bytes(), key.to_le_bytes()].concat();
        let all = here.exchange(parent, CALL, mine);
        let parent = here.group(CALL, parent);
        let number = |bytes: &[u8]| c_int::from_le_bytes(bytes.try_into().unwrap_or_default());
        let members = all.bytes.iter().zip(&parent.list);
        let same = members.filter(|(theirs, _)| number(&theirs[..4]) == color);
        let mut same: Vec<(c_int, usize)> = same.map(|(theirs, &pe)| (number(&theirs[4..]), pe)).collect();
        // The sort keeps the order of members with one key.
        same.sort_by_key(|&(key, _)| key);
        let list: Vec<usize> = same.into_iter().map(|(_, pe)| pe).collect();
        let my = list.iter().position(|&pe| pe == here.me).filter(|_| color >= 0);
        let made = my.map_or(runtime::Team::INVALID, |my| {
            let path = [&parent.path[..], &[parent.calls.get(), 3, color as u64]].concat();
            here.enlist(ThreadTeam { path, list, my, calls: Cell::new(0) })
        });
        // SAFETY: the caller promises that `new_team` is writable.
        unsafe { new_team.write(made) };
    }
}

pub(crate) mod collective {
    use super::*;

    /// The bytes of `n` elements.
    ///
    /// # Safety
    /// They are readable.
    unsafe fn bytes<T: Plain>(source: *const T, n: usize) -> Vec<u8> {
        // SAFETY: the caller promises `n` readable elements, and plain data has no padding.
        unsafe { core::slice::from_raw_parts(source.cast::<u8>(), n * size_of::<T>()) }.into()
    }

    /// Stores element `i` of what `bytes` holds.
    ///
    /// # Safety
    /// `dest` is writable.
    unsafe fn store<T: Plain>(dest: *mut T, bytes: &[u8], i: usize) {
        let element = &bytes[i * size_of::<T>()..][..size_of::<T>()];
        // SAFETY: the caller promises that `dest` is writable for a `T`, and the slice has as many bytes.
        unsafe { dest.cast::<u8>().copy_from_nonoverlapping(element.as_ptr(), element.len()) }
    }

    pub(crate) unsafe fn broadcast<T: Plain>(
        here: &ThreadPe,
        team: runtime::Team,
        dest: *mut T,
        source: *const T,
        nelems: usize,
        root: c_int,
    ) -> c_int {
        const CALL: &str = "shmem_broadcast";
        // SAFETY: the caller promises `nelems` elements at `source`.
        let all = here.exchange(team, CALL, unsafe { bytes(source, nelems) });
        let Some(theirs) = usize::try_from(root).ok().and_then(|root| all.bytes.get(root)) else {
            here.fail(&Error::new(format!("{CALL}: PE {root} does not exist")))
        };
        // SAFETY: the caller promises `nelems` elements at `dest`, and `i` is less than that.
        (0..nelems).for_each(|i| unsafe { store(dest.add(i), theirs, i) });
        0
    }

    pub(crate) unsafe fn fcollect<T: Plain>(
        here: &ThreadPe,
        team: runtime::Team,
        dest: *mut T,
        source: *const T,
        nelems: usize,
    ) -> c_int {
        // SAFETY: the caller promises `nelems` elements at `source`.
        let all = here.exchange(team, "shmem_fcollect", unsafe { bytes(source, nelems) });
        for (member, theirs) in all.bytes.iter().enumerate() {
            // SAFETY: the caller promises a block of `nelems` elements for each member at `dest`, and `i` is less than
            // `nelems`.
            (0..nelems).for_each(|i| unsafe { store(dest.add(member * nelems + i), theirs, i) });
        }
        0
    }

    pub(crate) unsafe fn alltoall<T: Plain>(
        here: &ThreadPe,
        team: runtime::Team,
        dest: *mut T,
        source: *const T,
        nelems: usize,
    ) -> c_int {
        let (my, size) = (here.group("shmem_alltoall", team).my, here.group("shmem_alltoall", team).list.len());
        // SAFETY: the caller promises a block of `nelems` elements for each member at `source`.
        let all = here.exchange(team, "shmem_alltoall", unsafe { bytes(source, nelems * size) });
        for (member, theirs) in all.bytes.iter().enumerate() {
            // SAFETY: the caller promises a block of `nelems` elements for each member at `dest`, and `i` is less than
            // `nelems`.
            (0..nelems).for_each(|i| unsafe { store(dest.add(member * nelems + i), theirs, my * nelems + i) });
        }
        0
    }

    pub(crate) unsafe fn alltoalls<T: Plain>(
        here: &ThreadPe,
        team: runtime::Team,
        dest: *mut T,
        source: *const T,
        dst: isize,
        sst: isize,
        nelems: usize,
    ) -> c_int {
        let (my, size) = (here.group("shmem_alltoalls", team).my, here.group("shmem_alltoalls", team).list.len());
        let (dst, sst) = (dst as usize, sst as usize);
        let last = (nelems * size).saturating_sub(1);
        let n = if nelems == 0 { 0 } else { last * sst + 1 };
        // SAFETY: the caller promises elements at `source` up to the last one that travels, which is `last` strides behind
        // the first.
        let all = here.exchange(team, "shmem_alltoalls", unsafe { bytes(source, n) });
        for (member, theirs) in all.bytes.iter().enumerate() {
            for i in 0..nelems {
                // SAFETY: the caller promises a block of `nelems` elements at this stride for each member at `dest`, and
                // `i` is less than `nelems`.
                unsafe { store(dest.add((member * nelems + i) * dst), theirs, (my * nelems + i) * sst) }
            }
        }
        0
    }

    /// The elements of `members` combined place by place, in this order.
    ///
    /// # Safety
    /// Both sides have the elements.
    unsafe fn combine<O: Operator, T: Plain + Operand<O>>(members: &[Vec<u8>], dest: *mut T, nelems: usize) {
        for i in 0..nelems {
            let element = |bytes: &Vec<u8>| {
                let mut value = core::mem::MaybeUninit::<T>::uninit();
                // SAFETY: a local has room; plain data is made of any bytes.
                unsafe {
                    store(value.as_mut_ptr(), bytes, i);
                    value.assume_init()
                }
            };
            if let Some(result) = members.iter().map(element).reduce(|all, one| <T as Operand<O>>::combine(all, one)) {
                // SAFETY: the caller promises `nelems` elements at `dest`, and `i` is less than that.
                unsafe { dest.add(i).write(result) }
            }
        }
    }

    macro_rules! reductions {
        ($($name:ident $op:ident $call:literal;)*) => {$(
            pub(crate) unsafe fn $name<T: Plain + Operand<$op>>(
                here: &ThreadPe, team: runtime::Team, dest: *mut T, source: *const T, nreduce: usize,
            ) -> c_int {
                // SAFETY: the caller promises `nreduce` elements at `source`.
                let all = here.exchange(team, $call, unsafe { bytes(source, nreduce) });
                // SAFETY: the caller promises `nreduce` elements at `dest`, and each member has brought as many.
                unsafe { combine::<$op, T>(&all.bytes, dest, nreduce) };
                0
            }
        )*};
    }

    reductions! {
        and_reduce And "shmem_and_reduce";
        or_reduce Or "shmem_or_reduce";
        xor_reduce Xor "shmem_xor_reduce";
        max_reduce Max "shmem_max_reduce";
        min_reduce Min "shmem_min_reduce";
        sum_reduce Sum "shmem_sum_reduce";
        prod_reduce Prod "shmem_prod_reduce";
    }

    pub(crate) unsafe fn sum_inscan<T: Plain + Operand<Sum>>(
        here: &ThreadPe,
        team: runtime::Team,
        dest: *mut T,
        source: *const T,
        nelems: usize,
    ) -> c_int {
        let my = here.group("shmem_sum_inscan", team).my;
        // SAFETY: the caller promises `nelems` elements at `source`.
        let all = here.exchange(team, "shmem_sum_inscan", unsafe { bytes(source, nelems) });
        // SAFETY: the caller promises `nelems` elements at `dest`, and each member has brought as many.
        unsafe { combine::<Sum, T>(&all.bytes[..=my], dest, nelems) };
        0
    }

    pub(crate) unsafe fn sum_exscan<T: Plain + Operand<Sum>>(
        here: &ThreadPe,
        team: runtime::Team,
        dest: *mut T,
        source: *const T,
        nelems: usize,
    ) -> c_int {
        let my = here.group("shmem_sum_exscan", team).my;
        // SAFETY: the caller promises `nelems` elements at `source`.
        let all = here.exchange(team, "shmem_sum_exscan", unsafe { bytes(source, nelems) });
        // SAFETY: the caller promises `nelems` elements at `dest`, and each member has brought as many. All bytes zero is
        // a number: the sum of nothing.
        unsafe {
            dest.write_bytes(0, nelems);
            combine::<Sum, T>(&all.bytes[..my], dest, nelems);
        }
        0
    }
}
