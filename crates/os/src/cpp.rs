//! Names of C++ functions as their source has them, by the C++ runtime of the program.

use std::ffi::{CStr, CString, c_char, c_int};
use std::ptr;

use crate::library;

/// The function of the C++ ABI that makes a name readable: the name, a buffer and its length, or null, and where the status goes.
type Demangle = unsafe extern "C" fn(*const c_char, *mut c_char, *mut usize, *mut c_int) -> *mut c_char;

/// The name of `symbol` in its source, such as `solve<double>(int)`. `None`: it is no name of C++, or no C++ runtime is in the process.
pub fn in_source(symbol: &str) -> Option<String> {
    let symbol = symbol.strip_prefix("_Z").and_then(|_| CString::new(symbol).ok())?;
    let address = library::of_any(c"__cxa_demangle")?;
    // SAFETY: the C++ ABI gives the function of this name this type.
    let demangle = unsafe { std::mem::transmute::<ptr::NonNull<std::ffi::c_void>, Demangle>(address) };
    // SAFETY: the symbol ends in a zero byte. Without a buffer the function allocates one; the status may be left out.
    let text = unsafe { demangle(symbol.as_ptr(), ptr::null_mut(), ptr::null_mut(), ptr::null_mut()) };
    if text.is_null() {
        return None;
    }
    // SAFETY: the function has returned a text that ends in a zero byte, in a block of `malloc` that is the caller's.
    unsafe {
        let name = CStr::from_ptr(text).to_string_lossy().into_owned();
        libc::free(text.cast());
        Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_cpp_are_read_where_a_cpp_runtime_is() {
        // SAFETY: the C++ library has no requirements for being loaded.
        let runtime = unsafe { libc::dlopen(c"libstdc++.so.6".as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        let there = |name: &str| if runtime.is_null() { None } else { Some(name.to_owned()) };
        assert_eq!(in_source("_Z4amosIiEvii"), there("void amos<int>(int, int)"));
        assert_eq!(in_source("_ZN4heat6SolverIdE4stepEv"), there("heat::Solver<double>::step()"));
        for other in ["main", "_Z", "_Zgarbage", "_Z4am\0os", ""] {
            assert_eq!(in_source(other), None, "{other:?}");
        }
    }
}
