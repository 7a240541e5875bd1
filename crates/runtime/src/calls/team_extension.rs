//! The team calls of Cray OpenSHMEMX. They return nothing: every error ends the job with a message, in which `name` is that of the
//! routine.
//!
//! `split_strided` is called by the members of the triplet, and by other members of the parent if they like. So it
//! agrees among the triplet's members only ([`kept_parts`]), and leaves alone what the standard's splits share with all of
//! the parent. If the triplet names the whole parent, all members call, and it takes a lease of the parent as these splits do.

use core::ffi::{c_int, c_long};

use oxshmem_base::Error;
use oxshmem_reduce::{And, Max, Min, Operand, Or, Prod, Sum, Xor};
use oxshmem_schedule::strided_team::Triplet;

use crate::calls::{order, team as standard};
use crate::collectives::call::Call;
use crate::collectives::signature::CallKind;
use crate::collectives::{self, between_nodes, node_exchange};
use crate::diagnosis::errors;
use crate::start::state;
use crate::teams::members::Members;
use crate::teams::split_arguments::{self, SplitArguments};
use crate::teams::team::{TeamHandle, TeamState};
use crate::teams::{kept_parts, leasing};
use crate::transfers::length;

const COLOR_UNDEFINED: c_int = -1;

#[cold]
fn bad(call: &'static str, argument: &str, value: i64, why: String) -> ! {
    errors::fail(
        &Error::new(format!("{call}: {argument} is {value}"))
            .because(why)
            .fix(format!("correct {argument}, on all PEs alike")),
    )
}

#[cold]
fn no_slot(call: &'static str) -> ! {
    let most = state::current().and_then(|life| life.settings.teams_max);
    let why = match most {
        Some(most) => format!("some PE has as many live teams as SHMEM_TEAMS_MAX allows, which is {most}"),
        None => format!("some PE has as many live teams and active sets as it can, {} in all", between_nodes::slots()),
    };
    errors::fail(&Error::new(format!("{call}: no team can be made")).because(why).fix(
        "destroy teams that are not used any more, free pSync arrays in the heap, or let calls of a set share one array",
    ))
}

/// Makes a team of the parent's members `PE_start + i * PE_stride`, numbered by rising world number.
///
/// # Safety
/// `new_team` is writable. The functions below ask the same.
pub unsafe fn split_strided(
    name: &'static str,
    parent: TeamHandle,
    start: c_int,
    stride: c_int,
    size: c_int,
    new_team: *mut TeamHandle,
) {
    if new_team.is_null() {
        errors::null(name, "newteam");
    }
    let parent = standard::live_argument(name, "parent_team", parent);
    let child = checked(name, parent, start, stride, size);
    // SAFETY: the caller promises that `new_team` is writable.
    unsafe { new_team.write(TeamHandle::INVALID) };
    if child.number(parent.my.into()).is_none() {
        return;
    }
    let members = parent.subset(&child).in_world_order(child.size);
    let my =
        members.find(child.size, parent.world(parent.my)).unwrap_or_else(|| unreachable!("a member is in its team"));
    let is_whole = child.size == parent.size;
    let lease = if is_whole {
        leasing::lease_collectively(name, parent, true)
    } else {
        kept_parts::lease(name, parent, &child, &members, my)
    };
    let lease = lease.unwrap_or_else(|| no_slot(name));
    if is_whole {
        split_arguments::require_equal(name, parent, &lease, SplitArguments::WholeByCray);
    }
    // SAFETY: the caller promises that `new_team` is writable; there is no config.
    unsafe { new_team.write(standard::make(members, child.size, my, lease, core::ptr::null(), 0)) };
}

/// [`split_strided`] of the world.
///
/// # Safety
/// See [`split_strided`].
pub unsafe fn create_strided(name: &'static str, start: c_int, stride: c_int, size: c_int, new_team: *mut TeamHandle) {
    // SAFETY: the caller promises that `new_team` is writable.
    unsafe { split_strided(name, TeamHandle::world(), start, stride, size, new_team) }
}

/// Says which argument is wrong.
fn checked(call: &'static str, parent: &TeamState, start: c_int, stride: c_int, size: c_int) -> Triplet {
    let most = i64::from(parent.size);
    if !(0..most).contains(&start.into()) {
        bad(call, "PE_start", start.into(), format!("the parent team has the PEs 0 to {}", most - 1));
    }
    if size < 1 || i64::from(size) > most {
        bad(call, "PE_size", size.into(), format!("a team of this parent has 1 to {most} PEs"));
    }
    if size > 1 && stride < 1 {
        bad(call, "PE_stride", stride.into(), "it must be positive".into());
    }
    let last = i64::from(start) + (i64::from(size) - 1) * i64::from(stride);
    if size > 1 && last >= most {
        let values = format!("PE_start {start}, PE_stride {stride} and PE_size {size}");
        errors::do_not_fit(call, "PE_stride", &values, last, most);
    }
    parent
        .numbers()
        .split_strided(start.into(), stride.into(), size.into())
        .unwrap_or_else(|| unreachable!("the arguments have just been checked"))
}

/// One team for each colour, ordered by key, then by number in the parent. All members of the parent call.
///
/// # Safety
/// See [`split_strided`].
pub unsafe fn split_color(name: &'static str, parent: TeamHandle, color: c_int, key: c_int, new_team: *mut TeamHandle) {
    if new_team.is_null() {
        errors::null(name, "newteam");
    }
    let parent = standard::live_argument(name, "parent_team", parent);
    if color < 0 && color != COLOR_UNDEFINED {
        errors::fail(
            &Error::new(format!("{name}: color is {color}"))
                .because("a colour is not negative")
                .fix("pass 0 or more, or SHMEM_COLOR_UNDEFINED (-1) on a PE that is to be in no team"),
        );
    }
    let mut same: Vec<(c_int, u32)> = Vec::new();
    let mine = u64::from(color as u32) << 32 | u64::from(key as u32);
    node_exchange::exchange(Call::of(parent, name, CallKind::Colors), &[mine], |member, words| {
        if (words[0] >> 32) as c_int == color {
            same.push((words[0] as c_int, member));
        }
    });
    let joins = color != COLOR_UNDEFINED;
    let lease = leasing::lease_collectively(name, parent, joins).unwrap_or_else(|| no_slot(name));
    // SAFETY: the caller promises that `new_team` is writable.
    unsafe { new_team.write(TeamHandle::INVALID) };
    if !joins {
        leasing::decline(lease);
        return;
    }
    same.sort_unstable();
    let list: Box<[u32]> = same.iter().map(|&(_, member)| parent.world(member)).collect();
    let size = list.len() as u32;
    let my = same.iter().position(|&(_, member)| member == parent.my);
    let my = my.unwrap_or_else(|| unreachable!("the caller has its own colour")) as u32;
    // SAFETY: the caller promises that `new_team` is writable; there is no config.
    unsafe { new_team.write(standard::make(Members::of(list), size, my, lease, core::ptr::null(), 0)) };
}

/// The axes of a grid with both extents given; members beyond the grid get no team. All members of the parent call.
///
/// # Safety
/// See [`split_strided`], for both.
pub unsafe fn split_2d(
    name: &'static str,
    parent: TeamHandle,
    xrange: c_int,
    yrange: c_int,
    x_team: *mut TeamHandle,
    y_team: *mut TeamHandle,
) {
    // SAFETY: the caller promises that `x_team` and `y_team` are writable, and all members of the parent call.
    unsafe { split_grid(name, parent, &[xrange, yrange], &[x_team, y_team]) }
}

/// The axes of a grid with three extents.
///
/// # Safety
/// See [`split_2d`].
pub unsafe fn split_3d(
    name: &'static str,
    parent: TeamHandle,
    xrange: c_int,
    yrange: c_int,
    zrange: c_int,
    x_team: *mut TeamHandle,
    y_team: *mut TeamHandle,
    z_team: *mut TeamHandle,
) {
    // SAFETY: the caller promises that `x_team`, `y_team` and `z_team` are writable, and all members of the parent call.
    unsafe { split_grid(name, parent, &[xrange, yrange, zrange], &[x_team, y_team, z_team]) }
}

/// # Safety
/// Each of `teams` is writable; all members of the parent call.
unsafe fn split_grid(call: &'static str, parent: TeamHandle, extents: &[c_int], teams: &[*mut TeamHandle]) {
    const NAMES: [&str; 3] = ["xrange", "yrange", "zrange"];
    for (team, name) in teams.iter().zip(["xaxis_team", "yaxis_team", "zaxis_team"]) {
        if team.is_null() {
            errors::null(call, name);
        }
    }
    let parent = standard::live_argument(call, "parent_team", parent);
    let mut places = 1;
    for (&extent, name) in extents.iter().zip(NAMES) {
        places *= i128::from(extent.max(0));
        if extent < 1 || places > i128::from(parent.size) {
            let why = format!("a grid of {extents:?} does not fit into the {} PEs of the parent team", parent.size);
            bad(call, name, extent.into(), why);
        }
    }
    let extents: Vec<i64> = extents.iter().map(|&extent| extent.into()).collect();
    for (axis, &team) in teams.iter().enumerate() {
        let members = parent.numbers().split_axis(&extents, axis, parent.my);
        let lease = leasing::lease_collectively(call, parent, members.is_some()).unwrap_or_else(|| no_slot(call));
        // SAFETY: the caller promises that each of `teams` is writable.
        unsafe { team.write(TeamHandle::INVALID) };
        match members {
            Some(members) => {
                let my = members.number(parent.my.into()).unwrap_or_else(|| unreachable!("a member is in its team"));
                let made = (parent.subset(&members), members.size);
                // SAFETY: the caller promises that each of `teams` is writable; there is no config.
                unsafe { team.write(standard::make(made.0, made.1, my, lease, core::ptr::null(), 0)) };
            }
            None => leasing::decline(lease),
        }
    }
}

/// Ends a team and the caller's handle of it.
///
/// # Safety
/// `team` is writable.
pub unsafe fn destroy(name: &'static str, team: *mut TeamHandle) {
    if team.is_null() {
        errors::null(name, "team");
    }
    // SAFETY: the caller promises that `team` is writable.
    unsafe {
        standard::end(name, *team, standard::live(name, *team));
        *team = TeamHandle::INVALID;
    }
}

/// The caller's number in the team.
///
/// # Safety
/// The handle is a constant, or of a team that has not been destroyed.
pub unsafe fn my_pe(name: &'static str, team: TeamHandle) -> c_int {
    standard::live(name, team).my as c_int
}

/// The number of members.
///
/// # Safety
/// The handle is a constant, or of a team that has not been destroyed.
pub unsafe fn n_pes(name: &'static str, team: TeamHandle) -> c_int {
    standard::live(name, team).size as c_int
}

/// The number that `source`'s member `pe` has in `dest`, or -1.
///
/// # Safety
/// See [`my_pe`], for both.
pub unsafe fn translate_pe(name: &'static str, source: TeamHandle, pe: c_int, dest: TeamHandle) -> c_int {
    standard::live_argument(name, "team1", source);
    standard::live_argument(name, "team2", dest);
    // SAFETY: the caller promises two teams that have not been destroyed.
    unsafe { standard::translate_pe(source, pe, dest) }
}

/// Completes the default context's operations, then waits for all members.
///
/// # Safety
/// See [`my_pe`]; all members call, one thread of each at a time.
pub unsafe fn barrier(name: &'static str, team: TeamHandle, _sync: *mut c_long) {
    let team = standard::live(name, team);
    // SAFETY: the default context is never destroyed.
    unsafe { order::quiet(crate::InWorld(name)) };
    let call = Call::new(team, name);
    let record = call.record_late(0);
    collectives::barrier::meet(call.with_late_record(&record));
}

macro_rules! reductions {
    ($($name:ident $op:ident)*) => {$(
        #[doc = concat!("Reduction by ", stringify!($op), " over a team. The work arrays are not touched.")]
        ///
        /// # Safety
        /// See [`barrier`]; `dest` and `source` are symmetric, have the elements, and are the same or apart.
        pub unsafe fn $name<T: Operand<$op>>(
            name: &'static str, dest: *mut T, source: *const T, nreduce: c_int, team: TeamHandle, _work: *mut T,
            _sync: *mut c_long,
        ) {
            let call = Call::new(standard::live(name, team), name);
            let Ok(n) = usize::try_from(nreduce) else {
                errors::bad_argument(name, "nreduce", nreduce.into(), "0 and more")
            };
            let record = call.record_late(length::bytes::<T>(n));
            // SAFETY: the caller keeps the standard's promises, which are those of the engine.
            unsafe { collectives::reduce::<$op, T>(call.with_late_record(&record), dest, source, n) };
        }
    )*};
}

reductions!(
    and_to_all And or_to_all Or xor_to_all Xor max_to_all Max min_to_all Min sum_to_all Sum prod_to_all Prod
);
