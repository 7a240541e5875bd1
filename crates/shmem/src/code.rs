//! Values that not every pattern of bits is: they travel as integers, and are checked when they are read.

use core::fmt;
use core::marker::PhantomData;

use crate::{Error, ErrorKind, Plain, Resident};

/// A type whose values have codes: integers that can live in symmetric memory, as a [`Code`].
///
/// `bool` and `char` have codes, and an enum without fields gets them by `#[derive(oxshmem::Coded)]`.
///
/// ```
/// use oxshmem::Coded;
/// assert_eq!((true.code(), bool::of_code(1), bool::of_code(2)), (1, Some(true), None));
/// ```
pub trait Coded: Copy + 'static {
    /// The integer.
    type Code: Plain + fmt::Debug + PartialEq;

    /// The value's code.
    ///
    /// ```
    /// assert_eq!(oxshmem::Coded::code('a'), 97);
    /// ```
    fn code(self) -> Self::Code;

    /// The value with this code, if there is one.
    ///
    /// ```
    /// assert_eq!(<char as oxshmem::Coded>::of_code(0xd800), None);
    /// ```
    fn of_code(code: Self::Code) -> Option<Self>;
}

impl Coded for bool {
    type Code = u8;

    fn code(self) -> u8 {
        self.into()
    }

    fn of_code(code: u8) -> Option<Self> {
        [false, true].get(usize::from(code)).copied()
    }
}

impl Coded for char {
    type Code = u32;

    fn code(self) -> u32 {
        self.into()
    }

    fn of_code(code: u32) -> Option<Self> {
        Self::from_u32(code)
    }
}

/// A value in symmetric memory as its [code](Coded::code): [plain](Plain) whatever other PEs store there, and read with a check.
///
/// ```
/// use oxshmem::Code;
/// let world = oxshmem::World::init()?;
/// let ready = world.allocate(Code::new(false))?;
/// ready.put(Code::new(true), 0);
/// assert!(ready.load().value()?);
/// # Ok::<(), oxshmem::Error>(())
/// ```
#[repr(transparent)]
pub struct Code<T: Coded>(T::Code, PhantomData<fn() -> T>);

impl<T: Coded> Clone for Code<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Coded> Copy for Code<T> {}

impl<T: Coded> PartialEq for Code<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<T: Coded> fmt::Debug for Code<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Code").field(&self.0).finish()
    }
}

impl<T: Coded> From<T> for Code<T> {
    fn from(value: T) -> Self {
        Self::new(value)
    }
}

// SAFETY: it is the code and nothing else, by `repr(transparent)`, and the code is plain.
unsafe impl<T: Coded> Resident for Code<T> {}
// SAFETY: the code is plain, and this type makes no promise of its own: reading checks what is there.
unsafe impl<T: Coded> Plain for Code<T> {}

impl<T: Coded> Code<T> {
    /// The code of `value`.
    ///
    /// ```
    /// assert_eq!(oxshmem::Code::new(true), true.into());
    /// ```
    pub fn new(value: T) -> Self {
        Self(value.code(), PhantomData)
    }

    /// The value, or an error of the kind [`InvalidValue`](ErrorKind::InvalidValue) if no value has this code.
    ///
    /// ```
    /// assert_eq!(oxshmem::Code::new('x').value()?, 'x');
    /// # Ok::<(), oxshmem::Error>(())
    /// ```
    pub fn value(self) -> Result<T, Error> {
        T::of_code(self.0).ok_or_else(|| invalid::<T>(&self.0))
    }
}

#[cold]
fn invalid<T: Coded>(code: &T::Code) -> Error {
    Error::new(format!("no {} has the code {code:?}", core::any::type_name::<T>()))
        .because("some PE has stored other bits there, or a transfer was read before it had completed")
        .fix("store only codes there, and read after a signal or a barrier")
        .of_kind(ErrorKind::InvalidValue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_that_are_no_value_are_an_error() {
        let torn = Code::<bool>(2, PhantomData);
        assert_eq!(torn.value().unwrap_err().kind(), ErrorKind::InvalidValue);
        assert!(torn.value().unwrap_err().to_string().contains("no bool has the code 2"));
        assert_eq!(Code::<char>(0x11_0000, PhantomData).value().unwrap_err().kind(), ErrorKind::InvalidValue);
    }
}
