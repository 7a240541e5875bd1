//! Libraries that are opened at run time, so that one build runs where they are and where they are not.
//!
//! [`function_table!`](crate::function_table) declares what is called of such a library: a struct with one function
//! pointer for each name, filled once and never unloaded, because fabric libraries leave threads and hooks behind.

use std::ffi::{CStr, CString, c_int, c_void};
use std::fmt;
use std::ptr::NonNull;

use crate::executable::Executable;

/// The libraries that see the symbols of one that is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolScope {
    /// Only code that looks them up in it.
    Local,
    /// Everything that is opened later: some libraries' plug-ins expect their parent's symbols there.
    Global,
}

/// Why a library cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Missing {
    library: &'static str,
    why: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.library, self.why)
    }
}

impl std::error::Error for Missing {}

/// A library of this process. It stays loaded.
#[derive(Debug)]
pub struct Library {
    name: &'static str,
    handle: NonNull<c_void>,
}

impl Library {
    /// Opens the library with this soname, by the loader's search path.
    pub fn open(name: &'static CStr, scope: SymbolScope) -> Result<Library, Missing> {
        let library = name.to_str().unwrap_or("a library");
        let loaded = Executable::this().is_none_or(|this| this.headers().iter().any(|h| h.p_type == libc::PT_INTERP));
        if !loaded {
            // The C library inside a static program opens libraries that need another copy of it, and crashes.
            return Err(Missing { library, why: "this program is linked statically".into() });
        }
        let scope = match scope {
            SymbolScope::Local => libc::RTLD_LOCAL,
            SymbolScope::Global => libc::RTLD_GLOBAL,
        };
        // SAFETY: the name ends in a zero byte. The library's initialisers run; the caller that names a library here
        // trusts them.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | scope) };
        NonNull::new(handle).map(|handle| Library { name: library, handle }).ok_or_else(|| {
            // SAFETY: dlopen has failed in this thread, so there is a message, valid until the next call.
            let message = unsafe { libc::dlerror() };
            let why = if message.is_null() {
                "cannot be opened".into()
            } else {
                // SAFETY: a string of the loader, checked above.
                unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
            };
            // The loader begins with the name, which `Missing` prints by itself.
            Missing { library, why: why.strip_prefix(&format!("{library}: ")).unwrap_or(&why).into() }
        })
    }

    /// The address of a function, of one version of it if a version is named.
    pub fn symbol(&self, name: &CStr, version: Option<&CStr>) -> Result<NonNull<c_void>, Missing> {
        let address = match version {
            // SAFETY: the handle is open, both strings end in a zero byte.
            Some(version) => unsafe { libc::dlvsym(self.handle.as_ptr(), name.as_ptr(), version.as_ptr()) },
            // SAFETY: the handle is open, and the name ends in a zero byte.
            None => unsafe { libc::dlsym(self.handle.as_ptr(), name.as_ptr()) },
        };
        NonNull::new(address).ok_or_else(|| {
            let version = version.map(|version| format!(" of version {}", version.to_string_lossy()));
            let why = format!("has no function {}{}", name.to_string_lossy(), version.unwrap_or_default());
            Missing { library: self.name, why }
        })
    }
}

/// The address of a function that any library of the process shows to all.
pub fn of_any(name: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the name ends in a zero byte.
    NonNull::new(unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) })
}

/// The address of a function of a library whose file's name begins with `file`. A library that a module of an
/// interpreter brings along shows its functions to that module only, so that [`of_any`] does not find them.
fn of_loaded(file: &str, name: &CStr) -> Option<NonNull<c_void>> {
    unsafe extern "C" fn each(info: *mut libc::dl_phdr_info, _size: usize, paths: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid description, whose name is null or ends in a zero byte; `paths` is the list below.
        unsafe {
            let (info, paths) = (&*info, &mut *paths.cast::<Vec<CString>>());
            if !info.dlpi_name.is_null() {
                paths.push(CStr::from_ptr(info.dlpi_name).to_owned());
            }
        }
        0
    }
    let mut paths: Vec<CString> = Vec::new();
    // SAFETY: the callback treats the pointer as what it is, the list on our stack.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut paths).cast()) };
    let is_meant = |path: &&CString| {
        let last = path.as_bytes().rsplit(|&byte| byte == b'/').next();
        last.is_some_and(|last| last.starts_with(file.as_bytes()))
    };
    paths.iter().filter(is_meant).find_map(|path| {
        // SAFETY: the name ends in a zero byte. Nothing is loaded, so no initialiser runs; what is there stays.
        let library = NonNull::new(unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) })?;
        // SAFETY: the handle is open, and the name ends in a zero byte.
        NonNull::new(unsafe { libc::dlsym(library.as_ptr(), name.as_ptr()) })
    })
}

/// The loader's knowledge of an address in use.
fn at(address: usize) -> Option<libc::Dl_info> {
    // SAFETY: all-zero is an answer of dladdr, which writes only to it.
    unsafe {
        let mut place: libc::Dl_info = std::mem::zeroed();
        (libc::dladdr(address as *const c_void, &raw mut place) != 0).then_some(place)
    }
}

/// Where the executable or library is loaded that has its code or variables at an address.
pub fn base_at(address: usize) -> Option<usize> {
    at(address).map(|place| place.dli_fbase as usize)
}

/// The name of its file.
pub fn name_at(address: usize) -> Option<String> {
    let path = at(address)?.dli_fname;
    if path.is_null() {
        return None;
    }
    // SAFETY: a string of the loader, which lives while the library is loaded: the address is in use.
    let path = unsafe { CStr::from_ptr(path) }.to_string_lossy();
    path.rsplit('/').next().map(str::to_owned)
}

/// Where the executable is loaded.
pub fn executable_base() -> Option<usize> {
    // SAFETY: reads the auxiliary vector of this process; the entry exists on Linux, and is an address in the executable.
    base_at(unsafe { libc::getauxval(libc::AT_ENTRY) as usize })
}

/// Whether a library of MPI in this process has been finalized. `false`: there is none, or it goes on.
pub fn mpi_is_finalized() -> bool {
    const NAME: &CStr = c"MPI_Finalized";
    let Some(function) = of_any(NAME).or_else(|| of_loaded("libmpi", NAME)) else { return false };
    // SAFETY: every library of MPI has this function of this type.
    let asked = unsafe { std::mem::transmute::<NonNull<c_void>, unsafe extern "C" fn(*mut c_int) -> c_int>(function) };
    let mut is_finalized = 0;
    // SAFETY: the function may be called at any time, by any thread, and writes one number.
    unsafe { asked(&raw mut is_finalized) == 0 && is_finalized != 0 }
}

// SAFETY: a handle of the loader, which is the same in every thread.
unsafe impl Send for Library {}
// SAFETY: `dlsym` on an open handle may be called by several threads at once, and nothing else is done through a reference.
unsafe impl Sync for Library {}

/// Declares the functions that are used of a library opened at run time.
///
/// ```
/// oxshmem_os::function_table! {
///     /// What we call of the mathematics library.
///     pub struct Mathematics of c"libm.so.6", Local {
///         /// Cosine, in the version that every system has.
///         cos: unsafe extern "C" fn(f64) -> f64, c"cos" c"GLIBC_2.2.5";
///         /// Sine, in the newest version.
///         sin: unsafe extern "C" fn(f64) -> f64, c"sin";
///     }
/// }
/// # #[cfg(all(target_arch = "x86_64", target_env = "gnu"))] {
/// let mathematics = Mathematics::open().unwrap();
/// // SAFETY: the cosine of any number is defined.
/// assert_eq!(unsafe { (mathematics.cos)(0.0) }, 1.0);
/// # }
/// ```
///
/// The signatures are the declarer's promise. A `-sys` crate compares each with its generated declaration, in a
/// constant, so that a wrong one does not compile.
#[macro_export]
macro_rules! function_table {
    ($(#[$about:meta])* $visibility:vis struct $table:ident of $library:expr, $scope:ident {
        $($(#[$note:meta])* $field:ident: $signature:ty, $name:literal $($version:literal)?;)*
    }) => {
        $(#[$about])*
        #[derive(Debug)]
        $visibility struct $table {
            $($(#[$note])* pub $field: $signature,)*
        }

        impl $table {
            /// Opens the library, once in a process; the error says what is missing.
            $visibility fn open() -> Result<&'static $table, &'static $crate::library::Missing> {
                static TABLE: std::sync::OnceLock<Result<$table, $crate::library::Missing>> = std::sync::OnceLock::new();
                TABLE.get_or_init(|| {
                    let library = $crate::library::Library::open($library, $crate::library::SymbolScope::$scope)?;
                    $(
                        let version: Option<&std::ffi::CStr> = None $(.or(Some($version)))?;
                        let address = library.symbol($name, version)?;
                        // SAFETY: the library's function of this name has this signature: the declarer's promise.
                        let $field = unsafe {
                            std::mem::transmute::<std::ptr::NonNull<std::ffi::c_void>, $signature>(address)
                        };
                    )*
                    Ok($table { $($field),* })
                }).as_ref()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    crate::function_table! {
        /// Of a library that is always there.
        struct Present of c"libc.so.6", Local {
            /// Its process number.
            getpid: unsafe extern "C" fn() -> i32, c"getpid";
        }
    }

    crate::function_table! {
        /// Of a library that nobody has.
        #[expect(dead_code)]
        struct Absent of c"liboxshmem-nowhere.so.1", Global {
            /// Never called.
            nothing: unsafe extern "C" fn(), c"nothing";
        }
    }

    crate::function_table! {
        /// A function that the library lacks.
        #[expect(dead_code)]
        struct Lacking of c"libc.so.6", Local {
            /// Never called.
            nothing: unsafe extern "C" fn(), c"oxshmem_nothing";
        }
    }

    crate::function_table! {
        /// A version that the library lacks.
        #[expect(dead_code)]
        struct Outdated of c"libc.so.6", Local {
            /// Never called.
            getpid: unsafe extern "C" fn() -> i32, c"getpid" c"GLIBC_0.1";
        }
    }

    #[test]
    fn a_library_that_is_there_is_called() {
        let present = Present::open().unwrap();
        // SAFETY: getpid has no preconditions.
        assert_eq!(unsafe { (present.getpid)() }, std::process::id() as i32);
    }

    #[test]
    fn a_function_is_found_in_a_library_that_is_loaded() {
        assert_eq!(super::of_loaded("libc.so", c"getpid"), super::of_any(c"getpid"));
        assert!(super::of_loaded("liboxshmem-nowhere", c"getpid").is_none());
        assert!(super::of_loaded("libc.so", c"oxshmem_nothing").is_none() && !super::mpi_is_finalized());
    }

    #[test]
    fn what_is_missing_is_named() {
        let absent = Absent::open().unwrap_err().to_string();
        assert!(absent.starts_with("liboxshmem-nowhere.so.1: cannot open shared object file"), "{absent}");
        assert_eq!(Lacking::open().unwrap_err().to_string(), "libc.so.6: has no function oxshmem_nothing");
        assert_eq!(Outdated::open().unwrap_err().to_string(), "libc.so.6: has no function getpid of version GLIBC_0.1");
    }
}
