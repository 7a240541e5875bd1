//! The functions of PMI in a launcher's own library, as one client that is safe to use.
//!
//! Neither library promises anything about threads, so calls take turns. A signature that is not the header's does not
//! compile:
//!
//! ```
//! const _: unsafe extern "C" fn() -> i32 = oxshmem_pmi_sys::PMI2_KVS_Fence;
//! ```
//! ```compile_fail,E0308
//! const _: unsafe extern "C" fn() = oxshmem_pmi_sys::PMI2_KVS_Fence;
//! ```

#[allow(missing_docs, non_camel_case_types, non_snake_case, non_upper_case_globals, clippy::all)]
mod bindings;

use core::ffi::{CStr, c_char, c_int};
use std::ffi::CString;

use parking_lot::{Mutex, MutexGuard};

pub use bindings::*;

/// PMI-2 has no function for it; its header does.
const LONGEST_VALUE_2: usize = PMI2_MAX_VALLEN as usize;
const LONGEST_NAME: usize = 256;
/// The length of a server's own values, which may exceed that of clients' values.
const LONGEST_ATTRIBUTE: usize = 1 << 16;

type Numbers = unsafe extern "C" fn(*mut c_int) -> c_int;
type Nothing = unsafe extern "C" fn() -> c_int;
type Name = unsafe extern "C" fn(*mut c_char, c_int) -> c_int;
type Init2 = unsafe extern "C" fn(*mut c_int, *mut c_int, *mut c_int, *mut c_int) -> c_int;
type Abort = unsafe extern "C" fn(c_int, *const c_char) -> c_int;
type Put1 = unsafe extern "C" fn(*const c_char, *const c_char, *const c_char) -> c_int;
type Get1 = unsafe extern "C" fn(*const c_char, *const c_char, *mut c_char, c_int) -> c_int;
type Commit1 = unsafe extern "C" fn(*const c_char) -> c_int;
type Put2 = unsafe extern "C" fn(*const c_char, *const c_char) -> c_int;
type Get2 = unsafe extern "C" fn(*const c_char, c_int, *const c_char, *mut c_char, c_int, *mut c_int) -> c_int;
type Attribute2 = unsafe extern "C" fn(*const c_char, *mut c_char, c_int, *mut c_int) -> c_int;

// Compared with the headers' declarations; an unused constant is not linked.
const _: [Numbers; 4] = [PMI_Init, PMI_Get_rank, PMI_Get_size, PMI_KVS_Get_value_length_max];
const _: [Nothing; 4] = [PMI_Finalize, PMI_Barrier, PMI2_Finalize, PMI2_KVS_Fence];
const _: [Name; 2] = [PMI_KVS_Get_my_name, PMI2_Job_GetId];
const _: [Abort; 2] = [PMI_Abort, PMI2_Abort];
const _: Put1 = PMI_KVS_Put;
const _: Get1 = PMI_KVS_Get;
const _: Commit1 = PMI_KVS_Commit;
const _: Init2 = PMI2_Init;
const _: Put2 = PMI2_KVS_Put;
const _: Get2 = PMI2_KVS_Get;
const _: Attribute2 = PMI2_Info_GetJobAttr;

oxshmem_os::function_table! {
    /// The functions of a PMI-2 library that we call.
    struct Pmi2 of c"libpmi2.so.0", Global {
        init: Init2, c"PMI2_Init";
        finalize: Nothing, c"PMI2_Finalize";
        abort: Abort, c"PMI2_Abort";
        job_id: Name, c"PMI2_Job_GetId";
        put: Put2, c"PMI2_KVS_Put";
        fence: Nothing, c"PMI2_KVS_Fence";
        get: Get2, c"PMI2_KVS_Get";
        job_attribute: Attribute2, c"PMI2_Info_GetJobAttr";
    }
}

oxshmem_os::function_table! {
    /// The functions of a PMI-1 library that we call. Slurm's has plug-ins that expect its symbols to be global.
    struct Pmi1 of c"libpmi.so.0", Global {
        init: Numbers, c"PMI_Init";
        finalize: Nothing, c"PMI_Finalize";
        abort: Abort, c"PMI_Abort";
        rank: Numbers, c"PMI_Get_rank";
        size: Numbers, c"PMI_Get_size";
        space: Name, c"PMI_KVS_Get_my_name";
        longest_value: Numbers, c"PMI_KVS_Get_value_length_max";
        put: Put1, c"PMI_KVS_Put";
        commit: Commit1, c"PMI_KVS_Commit";
        barrier: Nothing, c"PMI_Barrier";
        get: Get1, c"PMI_KVS_Get";
    }
}

/// A process of a job, as the launcher's library knows it.
#[derive(Debug)]
pub struct Client {
    functions: Functions,
    turn: Mutex<()>,
    rank: u32,
    size: u32,
    /// The name of the job, or of its key-value space.
    job: CString,
    longest: usize,
}

#[derive(Clone, Copy, Debug)]
enum Functions {
    One(&'static Pmi1),
    Two(&'static Pmi2),
}
use Functions::{One, Two};

impl Client {
    /// Joins by the first library that is there and answers; the error says why none does.
    pub fn join() -> Result<Client, String> {
        let two = match Pmi2::open() {
            Ok(library) => Client::by_two(library).map_err(|why| format!("libpmi2.so.0: {why}")),
            Err(missing) => Err(missing.to_string()),
        };
        two.or_else(|no_two| {
            let one = match Pmi1::open() {
                Ok(library) => Client::by_one(library).map_err(|why| format!("libpmi.so.0: {why}")),
                Err(missing) => Err(missing.to_string()),
            };
            one.map_err(|no_one| format!("{no_two}; {no_one}"))
        })
    }

    fn by_two(library: &'static Pmi2) -> Result<Client, String> {
        let (mut spawned, mut size, mut rank, mut app) = (0, 0, 0, 0);
        // SAFETY: four numbers to be written.
        done(unsafe { (library.init)(&mut spawned, &mut size, &mut rank, &mut app) }, "PMI2_Init")?;
        // SAFETY: writes a text into the buffer, whose length it is told.
        let job = text(LONGEST_NAME, "PMI2_Job_GetId", |buffer, length| unsafe { (library.job_id)(buffer, length) })?;
        Client::new(Two(library), rank, size, job, LONGEST_VALUE_2)
    }

    fn by_one(library: &'static Pmi1) -> Result<Client, String> {
        let number = |function: Numbers, name: &str| {
            let mut number = 0;
            // SAFETY: a number to be written.
            done(unsafe { function(&mut number) }, name).map(|()| number)
        };
        number(library.init, "PMI_Init")?;
        let (rank, size) = (number(library.rank, "PMI_Get_rank")?, number(library.size, "PMI_Get_size")?);
        let longest = number(library.longest_value, "PMI_KVS_Get_value_length_max")?;
        // SAFETY: writes a text into the buffer, whose length it is told.
        let name =
            text(LONGEST_NAME, "PMI_KVS_Get_my_name", |buffer, length| unsafe { (library.space)(buffer, length) })?;
        Client::new(One(library), rank, size, name, usize::try_from(longest).unwrap_or(0))
    }

    fn new(functions: Functions, rank: c_int, size: c_int, job: String, longest: usize) -> Result<Client, String> {
        match (u32::try_from(rank), u32::try_from(size)) {
            (Ok(rank), Ok(size)) if rank < size && longest >= 64 => {
                Ok(Client { functions, turn: Mutex::default(), rank, size, job: c_string(&job)?, longest })
            }
            _ => Err(format!("it says process {rank} of {size}, with values of {longest} bytes")),
        }
    }

    /// The library that is used.
    pub fn library(&self) -> &'static str {
        match self.functions {
            One(_) => "libpmi.so.0",
            Two(_) => "libpmi2.so.0",
        }
    }

    /// This process's number.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// How many processes the job has.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// How many bytes a value may have.
    pub fn longest(&self) -> usize {
        self.longest - 1
    }

    /// Something the launcher knows about the job, if it does.
    pub fn attribute(&self, key: &str) -> Result<Option<String>, String> {
        let name = c_string(key)?;
        let _turn = self.turn();
        match self.functions {
            Two(library) => {
                let mut found = 0;
                let value = text(LONGEST_ATTRIBUTE, "PMI2_Info_GetJobAttr", |buffer, length| {
                    // SAFETY: a name, a buffer with its length, a number to be written.
                    unsafe { (library.job_attribute)(name.as_ptr(), buffer, length, &mut found) }
                })?;
                Ok((found != 0).then_some(value))
            }
            // A key like any other; a launcher that does not know it says so as a failure.
            One(library) => Ok(self.get_one(library, &name).ok()),
        }
    }

    /// Publishes a text; visible to others after the next fence.
    pub fn put(&self, key: &str, value: &str) -> Result<(), String> {
        let (key, value) = (c_string(key)?, c_string(value)?);
        let _turn = self.turn();
        match self.functions {
            // SAFETY: two texts that the library copies.
            Two(library) => done(unsafe { (library.put)(key.as_ptr(), value.as_ptr()) }, "PMI2_KVS_Put"),
            One(library) => {
                // SAFETY: three texts that the library copies.
                done(unsafe { (library.put)(self.job.as_ptr(), key.as_ptr(), value.as_ptr()) }, "PMI_KVS_Put")
            }
        }
    }

    /// Waits for all processes of the job.
    pub fn fence(&self) -> Result<(), String> {
        let _turn = self.turn();
        match self.functions {
            // SAFETY: the function takes no arguments; the library is initialised, because only `init` makes this value.
            Two(library) => done(unsafe { (library.fence)() }, "PMI2_KVS_Fence"),
            One(library) => {
                // SAFETY: the name that the library gave.
                done(unsafe { (library.commit)(self.job.as_ptr()) }, "PMI_KVS_Commit")?;
                // SAFETY: the function takes no arguments; the library is initialised, because only `init` makes this value.
                done(unsafe { (library.barrier)() }, "PMI_Barrier")
            }
        }
    }

    /// The value that process `from` has published, or the reason why there is none.
    pub fn get(&self, from: u32, key: &str) -> Result<String, String> {
        let key = c_string(key)?;
        let from = c_int::try_from(from).unwrap_or(-1);
        let _turn = self.turn();
        match self.functions {
            Two(library) => text(self.longest, "PMI2_KVS_Get", |buffer, length| {
                let mut written = 0;
                // SAFETY: two texts, a buffer with its length, a number to be written.
                unsafe { (library.get)(self.job.as_ptr(), from, key.as_ptr(), buffer, length, &mut written) }
            }),
            One(library) => self.get_one(library, &key),
        }
    }

    fn get_one(&self, library: &Pmi1, key: &CStr) -> Result<String, String> {
        text(self.longest, "PMI_KVS_Get", |buffer, length| {
            // SAFETY: two texts, and a buffer with its length.
            unsafe { (library.get)(self.job.as_ptr(), key.as_ptr(), buffer, length) }
        })
    }

    /// Ends the whole job. It waits for no turn: the holder may be in a fence that will never end.
    pub fn abort(&self, status: i32, message: &str) {
        let message = c_string(message).unwrap_or_default();
        // SAFETY: a number and a text. The process is gone whether the library returns or not.
        unsafe {
            match self.functions {
                // The number says that all processes of the job are meant.
                Two(library) => (library.abort)(1, message.as_ptr()),
                One(library) => (library.abort)(status, message.as_ptr()),
            }
        };
    }

    /// Leaves the job.
    pub fn finalize(&self) {
        let _turn = self.turn();
        // SAFETY: they take nothing. The process is leaving; a launcher that is gone changes nothing.
        unsafe {
            match self.functions {
                Two(library) => (library.finalize)(),
                One(library) => (library.finalize)(),
            }
        };
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock()
    }
}

fn done(status: c_int, call: &str) -> Result<(), String> {
    // Both interfaces mean the same by it.
    if status == PMI_SUCCESS { Ok(()) } else { Err(format!("{call} failed with {status}")) }
}

/// The text that a function writes into a buffer of this length.
fn text(longest: usize, call: &str, write: impl FnOnce(*mut c_char, c_int) -> c_int) -> Result<String, String> {
    let mut buffer = vec![0u8; longest + 1];
    // The last byte stays zero even if a library fills everything that it was told of.
    done(write(buffer.as_mut_ptr().cast(), c_int::try_from(longest).unwrap_or(c_int::MAX)), call)?;
    let text = CStr::from_bytes_until_nul(&buffer).map_err(|_| format!("{call} wrote no text"))?;
    Ok(text.to_string_lossy().into_owned())
}

fn c_string(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("`{}` has a zero byte", text.escape_debug()))
}
