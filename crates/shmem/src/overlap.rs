//! Slices with elements in common. Most collectives have no result for them, because members read an element while its
//! owner writes it.

use crate::{Error, Plain, Symmetric, mistake};

/// Ends the job if the slices overlap without being the same.
#[inline(always)]
#[track_caller]
pub(crate) fn apart<T: Plain>(call: &str, dest: &Symmetric<[T]>, source: &Symmetric<[T]>) {
    let (to, from) = (dest.as_ptr() as usize, source.as_ptr() as usize);
    // The lengths have not been compared yet.
    if to != from && in_common(to, size_of_val(dest), from, size_of_val(source)) > 0 {
        overlap(call, to.abs_diff(from));
    }
}

#[cold]
#[track_caller]
fn overlap(call: &str, distance: usize) -> ! {
    mistake(
        &Error::new(format!("{call}: dest and source overlap"))
            .because(format!("one begins {distance} bytes after the other, inside of it"))
            .fix("pass the same slice twice, or two that have nothing in common"),
    )
}

/// Ends the job if the slices have elements in common.
#[inline(always)]
#[track_caller]
pub(crate) fn disjoint<T: Plain>(call: &str, dest: &Symmetric<[T]>, source: &Symmetric<[T]>) {
    let common = in_common(dest.as_ptr() as usize, size_of_val(dest), source.as_ptr() as usize, size_of_val(source));
    if common > 0 {
        intersecting(call, common);
    }
}

/// Ends the job if two rows of `count` elements have some in common. A row is a slice and the distance of its elements.
#[track_caller]
pub(crate) fn disjoint_rows<T: Plain>(
    call: &str,
    (dest, its): (&Symmetric<[T]>, usize),
    (source, of_other): (&Symmetric<[T]>, usize),
    count: usize,
) {
    let each = size_of::<T>();
    // The stride of a single element may be any number.
    let row = |slice: &Symmetric<[T]>, stride: usize| (slice.as_ptr() as usize, stride.saturating_mul(each));
    let common = rows_in_common(row(dest, its), row(source, of_other), each, count);
    if common > 0 {
        intersecting(call, common);
    }
}

/// The first `count` elements of a slice, or all.
pub(crate) fn first<T: Plain>(slice: &Symmetric<[T]>, count: usize) -> &Symmetric<[T]> {
    slice.part(..count).unwrap_or(slice)
}

/// How many bytes two ranges have in common.
#[inline(always)]
fn in_common(one: usize, its: usize, other: usize, of_other: usize) -> usize {
    (one + its).min(other + of_other).saturating_sub(one.max(other))
}

/// How many bytes two rows of `count` elements of `each` bytes have in common. A row is an address with the distance of
/// its elements in bytes.
fn rows_in_common((one, its): (usize, usize), (other, of_other): (usize, usize), each: usize, count: usize) -> usize {
    let reach = |apart: usize| (count - 1) * apart + each;
    if count == 0 || in_common(one, reach(its), other, reach(of_other)) == 0 {
        return 0;
    }
    // An element of a row meets at most two of the other row.
    let met_by = |at: usize| -> usize {
        let first = at.saturating_sub(one) / its;
        (first..count.min(first.saturating_add(2))).map(|i| in_common(one + i * its, each, at, each)).sum()
    };
    (0..count).map(|i| met_by(other + i * of_other)).sum()
}

#[cold]
#[track_caller]
fn intersecting(call: &str, common: usize) -> ! {
    mistake(
        &Error::new(format!("{call}: dest and source overlap"))
            .because(format!("they have {common} bytes in common, which members read while others write"))
            .fix("pass two slices that have nothing in common"),
    )
}

#[cfg(test)]
mod tests {
    use super::{in_common, rows_in_common};

    #[test]
    fn ranges_of_any_lengths_may_overlap() {
        assert_eq!([in_common(0, 8, 8, 8), in_common(8, 8, 0, 8), in_common(4, 0, 0, 8)], [0; 3]);
        assert_eq!((in_common(0, 8, 0, 8), in_common(0, 80, 16, 8), in_common(16, 8, 0, 20)), (8, 8, 4));
    }

    /// Compared with the bytes one by one.
    #[test]
    fn rows_have_the_bytes_in_common_that_lie_in_elements_of_both() {
        let bytes = |(start, apart): (usize, usize), each: usize, count: usize| {
            (0..count).flat_map(move |i| start + i * apart..start + i * apart + each).collect::<Vec<_>>()
        };
        for (its, of_other) in [(4, 4), (8, 8), (4, 12), (12, 4), (8, 12)] {
            for (start, count) in (0..60).flat_map(|start| (0..5).map(move |count| (start, count))) {
                let (one, other) = ((20, its), (start, of_other));
                let (mine, theirs) = (bytes(one, 4, count), bytes(other, 4, count));
                let expected = mine.iter().filter(|&byte| theirs.contains(byte)).count();
                assert_eq!(rows_in_common(one, other, 4, count), expected, "{one:?} {other:?} {count}");
            }
        }
        // The even places of one array, and the odd ones.
        assert_eq!(rows_in_common((0, 16), (8, 16), 8, 100), 0);
        // No stride is too long for a single element, and there are elements without bytes.
        assert_eq!(rows_in_common((8, usize::MAX), (8, usize::MAX), 8, 1), 8);
        assert_eq!(rows_in_common((8, 0), (8, 0), 0, 9), 0);
    }
}
