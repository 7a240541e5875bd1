//! The collectives that move or reduce data.

use core::ffi::c_int;

use oxshmem_reduce::{And, Max, Min, Operand, Operator, Or, Prod, Sum, Xor};
use oxshmem_runtime as runtime;

use crate::threads::ThreadPe;
use crate::{Error, Plain};

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
    team: runtime::TeamHandle,
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
    team: runtime::TeamHandle,
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
    team: runtime::TeamHandle,
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
    team: runtime::TeamHandle,
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
            here: &ThreadPe, team: runtime::TeamHandle, dest: *mut T, source: *const T, nreduce: usize,
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
    team: runtime::TeamHandle,
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
    team: runtime::TeamHandle,
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
