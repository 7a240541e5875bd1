//! The files that the loader has loaded: the program and its libraries.

use std::ffi::{CStr, c_char, c_int, c_void};

use oxshmem_os::program;

/// A loaded file that has code.
#[derive(Debug, PartialEq)]
pub(crate) struct Module {
    /// Addresses of the code.
    pub(crate) code: (usize, usize),
    /// The offset of addresses of the file.
    pub(crate) bias: usize,
    /// The path.
    pub(crate) path: Vec<u8>,
    /// The addresses of writable variables.
    pub(crate) data: (usize, usize),
}

/// The files that are loaded now; the executable is the first one.
pub(crate) fn loaded() -> Vec<Module> {
    unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _size: usize, found: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid description, and `found` is the vector below.
        let (info, found) = unsafe { (&*info, &mut *found.cast::<Vec<Module>>()) };
        if info.dlpi_phdr.is_null() {
            return 0;
        }
        // SAFETY: the loader passes the address of so many headers.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let bias = info.dlpi_addr as usize;
        let extent = |flag: u32| {
            let parts = headers.iter().filter(|part| part.p_type == libc::PT_LOAD && part.p_flags & flag != 0);
            let ends = parts.map(|part| (bias + part.p_vaddr as usize, bias + (part.p_vaddr + part.p_memsz) as usize));
            ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap_or((0, 0))
        };
        // SAFETY: the loader's name is a string, or nothing.
        let path = unsafe { name_of(info.dlpi_name) };
        let path = std::os::unix::ffi::OsStringExt::into_vec(path);
        found.push(Module { code: extent(libc::PF_X), bias, path, data: extent(libc::PF_W) });
        0
    }
    let mut found: Vec<Module> = Vec::new();
    // SAFETY: the callback treats the pointer as what it is, the vector on our stack.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut found).cast()) };
    // The loader has no name for the executable.
    if let (Some(executable), Some(path)) = (found.first_mut(), program::path()) {
        executable.path = std::os::unix::ffi::OsStringExt::into_vec(path.into_os_string());
    }
    found
}

/// The name of a loaded file.
///
/// # Safety
/// `name` is null or a string.
unsafe fn name_of(name: *const c_char) -> std::ffi::OsString {
    if name.is_null() {
        return std::ffi::OsString::new();
    }
    // SAFETY: the caller promises a string.
    let bytes = unsafe { CStr::from_ptr(name) }.to_bytes();
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_the_first_module_and_holds_this_code() {
        let modules = loaded();
        let here = the_executable_is_the_first_module_and_holds_this_code as *const () as usize;
        assert!((modules[0].code.0..modules[0].code.1).contains(&here));
        assert!(!modules[0].path.is_empty() && modules[0].data.1 > modules[0].data.0);
    }
}
