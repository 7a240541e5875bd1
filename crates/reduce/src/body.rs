//! The one loop behind every kernel, and its compilations.

use core::mem::{MaybeUninit, size_of};

use crate::operator::{Combine, Operator};

/// How results are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Through the caches.
    Cached,
    /// Past the caches, for results larger than they are; a store fence at the end orders the results before whatever
    /// is stored next. Where the processor or the destination's alignment does not allow it, as `Cached`.
    Streaming,
}

/// A compiled kernel: pointers to lanes, and how many lanes.
pub(crate) type Body = unsafe fn(destinations: &[*mut u8], sources: &[*const u8], lanes: usize, store: Store);

/// The compilations of the kernel for (`O`, `L`), as [`Variant`](crate::Variant) numbers them.
pub(crate) trait Bodies {
    const BODIES: [Body; 3];
}

/// The pair (`O`, `L`).
pub(crate) struct Pair<O, L>(core::marker::PhantomData<(O, L)>);

#[cfg(target_arch = "x86_64")]
impl<O: Operator, L: Combine<O>> Bodies for Pair<O, L> {
    const BODIES: [Body; 3] = [baseline::<O, L>, avx2::<O, L>, avx512::<O, L>];
}

#[cfg(not(target_arch = "x86_64"))]
impl<O: Operator, L: Combine<O>> Bodies for Pair<O, L> {
    const BODIES: [Body; 3] = [baseline::<O, L>; 3];
}

/// # Safety
/// As [`body`].
unsafe fn baseline<O: Operator, L: Combine<O>>(to: &[*mut u8], from: &[*const u8], lanes: usize, store: Store) {
    // SAFETY: the caller promises what `body` asks: lanes that are readable, writable, aligned and nobody else's.
    unsafe { body::<O, L>(to, from, lanes, store) }
}

/// # Safety
/// As [`body`], on a processor with the features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn avx2<O: Operator, L: Combine<O>>(to: &[*mut u8], from: &[*const u8], lanes: usize, store: Store) {
    // SAFETY: the caller promises what `body` asks: lanes that are readable, writable, aligned and nobody else's. The
    // processor has the features of this function, which are those that `body` is compiled with here.
    unsafe { body::<O, L>(to, from, lanes, store) }
}

/// # Safety
/// As [`body`], on a processor with the features.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
unsafe fn avx512<O: Operator, L: Combine<O>>(to: &[*mut u8], from: &[*const u8], lanes: usize, store: Store) {
    // SAFETY: the caller promises what `body` asks: lanes that are readable, writable, aligned and nobody else's. The
    // processor has the features of this function, which are those that `body` is compiled with here.
    unsafe { body::<O, L>(to, from, lanes, store) }
}

/// Folds a tile of every source into a buffer that stays in the first cache, then writes the buffer to every
/// destination. So a destination may be a source, and the compiler sees that what the inner loops write is none of
/// what they read. With no source there is no result and nothing is written.
///
/// # Safety
/// Every pointer is aligned to `L` and good for `lanes` lanes, reads from the sources and writes to the destinations.
/// A destination is the same as a source or does not overlap it, and overlaps no other destination. No other thread
/// accesses the destinations or writes to the sources meanwhile.
#[inline(always)]
unsafe fn body<O: Operator, L: Combine<O>>(to: &[*mut u8], from: &[*const u8], lanes: usize, store: Store) {
    if from.is_empty() {
        return;
    }
    if let (true, Store::Cached, &[x, y], &[a, b]) = (L::DIRECT, store, to, from)
        && [x, y].iter().all(|to| !core::ptr::eq(to.cast_const(), a) && !core::ptr::eq(to.cast_const(), b))
    {
        // SAFETY: the caller promises both pairs of arrays for `lanes` lanes, and destinations that do not overlap. The
        // comparison has just shown that none of them is a source, so all four arrays are apart.
        return unsafe { two_to_two::<O, L>([x.cast(), y.cast()], [a.cast(), b.cast()], lanes) };
    }
    let mut buffer = MaybeUninit::<Tile>::uninit();
    const { assert!(size_of::<L>() == size_of::<L::Running>() && align_of::<L>() >= align_of::<L::Running>()) };
    let tile = buffer.as_mut_ptr().cast::<L::Running>();
    let mut next_count = TILE_BYTES / size_of::<L>();
    if let (Store::Streaming, Some(to)) = (store, to.first()) {
        // The first tile ends where a cache line of the first destination, and usually of the others, ends.
        next_count -= (*to as usize % LINE) / size_of::<L>();
    }
    let mut at = 0;
    while at < lanes {
        let count = next_count.min(lanes - at);
        // SAFETY: the sources' lanes from `at` are the caller's promise; the tile has room for `count`. Once folded and
        // lowered it holds `count` lanes, which are written where the caller's promise allows it.
        unsafe {
            fold_tile::<O, L>(tile, from, at, count);
            for i in 0..count {
                tile.cast::<L>().add(i).write(L::lower(tile.add(i).read()));
            }
            for to in to {
                write(to.cast::<L>().add(at).cast(), tile.cast(), count * size_of::<L>(), store);
            }
        }
        at += count;
        next_count = TILE_BYTES / size_of::<L>();
    }
    if store == Store::Streaming {
        store_fence();
    }
}

/// Two sources into two destinations that are not sources: what two PEs do with each slice. Results go straight to both
/// destinations; nothing is read again, which would wait for a line that another processor still has.
///
/// # Safety
/// As [`body`]; the four arrays do not overlap.
#[inline(always)]
unsafe fn two_to_two<O: Operator, L: Combine<O>>(to: [*mut L; 2], from: [*const L; 2], lanes: usize) {
    let mut at = 0;
    while at < lanes {
        let count = (TILE_BYTES / size_of::<L>()).min(lanes - at);
        // SAFETY: lanes `at` to `at + count` of the caller's promise.
        unsafe {
            let part = |array: *const L| core::slice::from_raw_parts(array.add(at), count);
            let room = |array: *mut L| core::slice::from_raw_parts_mut(array.add(at).cast::<MaybeUninit<L>>(), count);
            L::combine_pair([room(to[0]), room(to[1])], [part(from[0]), part(from[1])]);
        }
        at += count;
    }
}

/// Large enough to make the loops' set-up small, small enough to leave the first cache to the sources.
const TILE_BYTES: usize = 2048;
const LINE: usize = 64;

#[repr(C, align(64))]
struct Tile([u8; TILE_BYTES]);

/// The left fold of `count` lanes of every source from `at`. The more sources a pass takes in, the fewer times the
/// tile is read and written.
///
/// # Safety
/// As [`body`], for these lanes; `tile` has room for them.
#[inline(always)]
unsafe fn fold_tile<O: Operator, L: Combine<O>>(tile: *mut L::Running, from: &[*const u8], at: usize, count: usize) {
    // SAFETY: the caller promises the sources' lanes and room for them in `tile`. The first pass fills the tile, which
    // every later pass reads.
    unsafe {
        let mut rest = match from.len() {
            8.. => pass::<O, L, 8, true>(tile, from, at, count),
            4.. => pass::<O, L, 4, true>(tile, from, at, count),
            2.. => pass::<O, L, 2, true>(tile, from, at, count),
            _ => pass::<O, L, 1, true>(tile, from, at, count),
        };
        while !rest.is_empty() {
            rest = match rest.len() {
                8.. => pass::<O, L, 8, false>(tile, rest, at, count),
                4.. => pass::<O, L, 4, false>(tile, rest, at, count),
                2.. => pass::<O, L, 2, false>(tile, rest, at, count),
                _ => pass::<O, L, 1, false>(tile, rest, at, count),
            };
        }
    }
}

/// Folds the first `K` sources into the tile and returns the others.
///
/// # Safety
/// As [`fold_tile`]; there are at least `K` sources, and the tile is filled unless this is the `FIRST` pass.
#[inline(always)]
unsafe fn pass<O: Operator, L: Combine<O>, const K: usize, const FIRST: bool>(
    tile: *mut L::Running,
    from: &[*const u8],
    at: usize,
    count: usize,
) -> &[*const u8] {
    // SAFETY: the caller promises `count` readable lanes from `at` in at least `K` sources, and room for them in `tile`.
    unsafe {
        let sources: [*const L; K] = core::array::from_fn(|k| from[k].cast::<L>().add(at));
        L::combine_rows::<K, FIRST>(tile, sources, count);
    }
    &from[K..]
}

/// # Safety
/// `from` is good for reading and `to` for writing `bytes`, and they do not overlap; `from` is aligned to a line.
#[inline(always)]
unsafe fn write(to: *mut u8, from: *const u8, bytes: usize, store: Store) {
    // SAFETY: the caller promises `bytes` readable at `from` and writable at `to`, without overlap; `stream_lines` writes
    // at most as many.
    unsafe {
        let streamed = if store == Store::Streaming { stream_lines(to, from, bytes) } else { 0 };
        to.add(streamed).copy_from_nonoverlapping(from.add(streamed), bytes - streamed);
    }
}

/// Writes whole lines past the caches, if `to` is aligned for it, and returns how many bytes that made.
///
/// # Safety
/// As [`write`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[inline(always)]
unsafe fn stream_lines(to: *mut u8, from: *const u8, bytes: usize) -> usize {
    use core::arch::x86_64::{__m128i, _mm_load_si128, _mm_stream_si128};
    if !to.cast::<__m128i>().is_aligned() {
        return 0;
    }
    let lines = bytes - bytes % LINE;
    for vector in 0..lines / size_of::<__m128i>() {
        // SAFETY: within `bytes`, and both sides are aligned.
        unsafe {
            let value = _mm_load_si128(from.cast::<__m128i>().add(vector));
            _mm_stream_si128(to.cast::<__m128i>().add(vector), value);
        }
    }
    lines
}

/// Rust offers no streaming stores here.
///
/// # Safety
/// None.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn stream_lines(_to: *mut u8, _from: *const u8, _bytes: usize) -> usize {
    0
}

/// Streaming stores are not ordered by anything else.
#[inline(always)]
fn store_fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every x86-64 processor has SSE.
    unsafe {
        core::arch::x86_64::_mm_sfence()
    };
}
