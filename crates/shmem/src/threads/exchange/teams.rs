//! Teams and their contexts: each split is an exchange, after which every member knows its part.

use core::cell::Cell;
use core::ffi::{c_int, c_long};

use oxshmem_runtime as runtime;
use oxshmem_schedule::strided_team::Triplet;

use super::ThreadTeam;
use crate::threads::{ThreadPe, context_handle, context_number};

pub(crate) mod context {
    use super::*;

    pub(crate) unsafe fn team_create_ctx(
        here: &ThreadPe,
        call: &'static str,
        team: runtime::TeamHandle,
        _options: c_long,
        context: *mut runtime::ContextHandle,
    ) -> c_int {
        let stream = here.stream(here.group(call, team));
        let mut streams = here.streams.borrow_mut();
        streams.push(stream);
        // SAFETY: the caller promises that `context` is writable.
        unsafe { context.write(context_handle(streams.len() - 1)) };
        0
    }

    pub(crate) unsafe fn destroy(here: &ThreadPe, context: runtime::ContextHandle) {
        here.turns().step(here.me);
        here.streams.borrow_mut()[context_number(context)].complete(here);
    }
}

pub(crate) mod team {
    use oxshmem_runtime::calls::team::Config;

    use super::*;

    pub(crate) unsafe fn my_pe(here: &ThreadPe, team: runtime::TeamHandle) -> c_int {
        here.group("shmem_team_my_pe", team).my as c_int
    }

    pub(crate) unsafe fn n_pes(here: &ThreadPe, team: runtime::TeamHandle) -> c_int {
        here.group("shmem_team_n_pes", team).list.len() as c_int
    }

    pub(crate) unsafe fn translate_pe(
        here: &ThreadPe,
        source: runtime::TeamHandle,
        pe: c_int,
        dest: runtime::TeamHandle,
    ) -> c_int {
        const CALL: &str = "shmem_team_translate_pe";
        let (source, dest) = (here.group(CALL, source), here.group(CALL, dest));
        let member = usize::try_from(pe).ok().and_then(|pe| source.list.get(pe).copied());
        let number = member.and_then(|pe| dest.list.iter().position(|&theirs| theirs == pe));
        number.map_or(-1, |number| number as c_int)
    }

    pub(crate) unsafe fn sync(here: &ThreadPe, team: runtime::TeamHandle) -> c_int {
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
        parent: runtime::TeamHandle,
        start: c_int,
        stride: c_int,
        size: c_int,
        _config: *const Config,
        _mask: c_long,
        new_team: *mut runtime::TeamHandle,
    ) -> c_int {
        const CALL: &str = "shmem_team_split_strided";
        here.exchange(parent, CALL, Vec::new());
        let parent = here.group(CALL, parent);
        let numbers = Triplet::world(parent.list.len() as u32);
        let Some(child) = numbers.split_strided(start.into(), stride.into(), size.into()) else { return -1 };
        let made = part(&parent, &child, [0, 0]).map_or(runtime::TeamHandle::INVALID, |group| here.enlist(group));
        // SAFETY: the caller promises that `new_team` is writable.
        unsafe { new_team.write(made) };
        0
    }

    pub(crate) unsafe fn split_2d(
        here: &ThreadPe,
        parent: runtime::TeamHandle,
        xrange: c_int,
        _x_config: *const Config,
        _x_mask: c_long,
        x_team: *mut runtime::TeamHandle,
        _y_config: *const Config,
        _y_mask: c_long,
        y_team: *mut runtime::TeamHandle,
    ) -> c_int {
        const CALL: &str = "shmem_team_split_2d";
        here.exchange(parent, CALL, Vec::new());
        let parent = here.group(CALL, parent);
        let numbers = Triplet::world(parent.list.len() as u32);
        let Some(grid) = numbers.split_2d(xrange.into(), parent.my as u32) else { return -1 };
        let axes = [(x_team, &grid.row, [1, grid.row.start as u64]), (y_team, &grid.column, [2, u64::from(grid.x)])];
        for (team, numbers, which) in axes {
            let made = part(&parent, numbers, which).map_or(runtime::TeamHandle::INVALID, |group| here.enlist(group));
            // SAFETY: the caller promises that `x_team` and `y_team` are writable.
            unsafe { team.write(made) };
        }
        0
    }

    pub(crate) unsafe fn destroy(here: &ThreadPe, team: runtime::TeamHandle) {
        if team != runtime::TeamHandle::INVALID {
            here.exchange(team, "shmem_team_destroy", Vec::new());
        }
    }
}

pub(crate) mod team_extension {
    use super::*;

    pub(crate) unsafe fn split_color(
        here: &ThreadPe,
        call: &'static str,
        parent: runtime::TeamHandle,
        color: c_int,
        key: c_int,
        new_team: *mut runtime::TeamHandle,
    ) {
        let mine = [color.to_le_bytes(), key.to_le_bytes()].concat();
        let all = here.exchange(parent, call, mine);
        let parent = here.group(call, parent);
        let number = |bytes: &[u8]| c_int::from_le_bytes(bytes.try_into().unwrap_or_default());
        let members = all.bytes.iter().zip(&parent.list);
        let same = members.filter(|(theirs, _)| number(&theirs[..4]) == color);
        let mut same: Vec<(c_int, usize)> = same.map(|(theirs, &pe)| (number(&theirs[4..]), pe)).collect();
        // The sort keeps the order of members with one key.
        same.sort_by_key(|&(key, _)| key);
        let list: Vec<usize> = same.into_iter().map(|(_, pe)| pe).collect();
        let my = list.iter().position(|&pe| pe == here.me).filter(|_| color >= 0);
        let made = my.map_or(runtime::TeamHandle::INVALID, |my| {
            let path = [&parent.path[..], &[parent.calls.get(), 3, color as u64]].concat();
            here.enlist(ThreadTeam { path, list, my, calls: Cell::new(0) })
        });
        // SAFETY: the caller promises that `new_team` is writable.
        unsafe { new_team.write(made) };
    }
}
