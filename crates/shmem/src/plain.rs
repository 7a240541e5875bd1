//! Which types may live in symmetric memory.

use oxshmem_reduce::Complex;

/// A type whose values may live in symmetric memory.
///
/// It is what [`World::allocate`](crate::World::allocate) asks for:
///
/// ```
/// fn lives_there<T: oxshmem::Resident>() {}
/// lives_there::<[u16; 5]>();
/// lives_there::<oxshmem::Atomic<u64>>();
/// ```
///
/// # Safety
/// Every pattern of bits in the size of the type is a value of it, it has no padding, and it holds no address.
/// Then whatever another PE stores there, a torn or stale value included, is a value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot live in symmetric memory",
    label = "other PEs could store bits here that are no `{Self}`",
    note = "numbers and arrays can; a struct can by `#[derive(oxshmem::Plain)]`, and an enum or a `bool` as an `oxshmem::Code`"
)]
pub unsafe trait Resident: Copy + Send + Sync + 'static {}

/// Plain data: what transfers and collectives move. [`plain!`](crate::plain) makes a struct plain.
///
/// ```
/// fn is_plain<T: oxshmem::Plain>() {}
/// is_plain::<[f64; 3]>();
/// ```
///
/// # Safety
/// As for [`Resident`]; and the type makes no promise about its writers, or how many bytes they change at a time.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data",
    note = "numbers and arrays are; a struct is by `#[derive(oxshmem::Plain)]`, and an `oxshmem::Code` of an enum or a `bool`"
)]
pub unsafe trait Plain: Resident {}

macro_rules! plain_types {
    ($($type:ty)*) => {$(
        // SAFETY: numbers have no padding, and every pattern of bits is one.
        unsafe impl Resident for $type {}
        // SAFETY: a number makes no promise about its writers, or how many bytes they change at a time.
        unsafe impl Plain for $type {}
    )*};
}

plain_types! { i8 u8 i16 u16 i32 u32 i64 u64 i128 u128 isize usize f32 f64 Complex<f32> Complex<f64> }

// SAFETY: arrays have no padding between elements.
unsafe impl<T: Resident, const N: usize> Resident for [T; N] {}
// SAFETY: the elements make no promise about their writers, and an array adds none.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// Defines a struct of plain fields that is plain itself. Padding is an error of the compiler; name it, and it is a
/// field.
///
/// ```
/// oxshmem::plain! {
///     /// A point with a weight.
///     #[derive(Debug, PartialEq)]
///     pub struct Point {
///         pub x: f64,
///         pub y: f64,
///         pub weight: u32,
///         pub reserved: u32,
///     }
/// }
/// let world = oxshmem::World::init()?;
/// let points = world.allocate_slice(10, Point { x: 1.0, y: 2.0, weight: 3, reserved: 0 })?;
/// assert_eq!(points[9].get(0).weight, 3);
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[macro_export]
macro_rules! plain {
    (
        $(#[$attribute:meta])*
        $visible:vis struct $name:ident {
            $($(#[$field_attribute:meta])* $field_visible:vis $field:ident: $type:ty),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy)]
        #[repr(C)]
        $visible struct $name {
            $($(#[$field_attribute])* $field_visible $field: $type),+
        }

        const _: () = {
            const fn size<T: $crate::Plain>() -> usize {
                ::core::mem::size_of::<T>()
            }
            ::core::assert!(::core::mem::size_of::<$name>() == 0 $(+ size::<$type>())+, "the struct has padding: make it a field");

            // And these are the fields, of these types: attributes could have taken some away, or the struct itself.
            #[allow(dead_code)]
            fn fields($name { $($field),+ }: $name) -> ($($type,)+) {
                ($($field,)+)
            }
        };

        // SAFETY: all fields are plain and there is nothing between them: see above.
        unsafe impl $crate::Resident for $name {}
        // SAFETY: the checks above have shown that each field is plain, and a struct adds no promise of its own.
        unsafe impl $crate::Plain for $name {}
    };
}
