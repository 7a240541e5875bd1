//! One process of a PMIx job, without pointers.

use core::ffi::{CStr, c_void};
use core::{fmt, mem, ptr};
use std::ffi::CString;
use std::sync::OnceLock;

use oxshmem_os::signals;

use crate::*;

/// The action when the server is gone. One process has one server.
static LOST: OnceLock<fn()> = OnceLock::new();

/// A connection to the server of this process.
pub struct Client {
    library: &'static Pmix,
    me: pmix_proc_t,
}

/// Why there is no connection.
#[derive(Debug)]
pub enum NoConnection {
    /// PMIx's library cannot be opened.
    Library(String),
    /// This call of the library has failed.
    Call(String),
}

impl fmt::Debug for Client {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PMIx {} as process {}", self.version(), self.rank())
    }
}

impl Client {
    /// Connects to the server that the environment names; the error says why that cannot be. `lost` runs, on a thread of
    /// PMIx, when the server is gone.
    pub fn connect(lost: fn()) -> Result<Client, NoConnection> {
        let library = Pmix::open().map_err(|missing| NoConnection::Library(missing.to_string()))?;
        // SAFETY: an array of characters and a number; all zeroes are a name without characters.
        let mut client = Client { library, me: unsafe { mem::zeroed() } };
        // PMIx has a thread of its own from now on.
        // SAFETY: PMIx writes one process; no information is given.
        let init = || unsafe { (library.init)(&mut client.me, ptr::null_mut(), 0) };
        let status = signals::keeping_signals(init);
        client.done(status, "PMIx_Init").map_err(NoConnection::Call)?;
        if LOST.set(lost).is_ok() {
            client.watch();
        }
        Ok(client)
    }

    /// Asks to be told when the server is gone. Servers that cannot do that have other ways to end their processes.
    fn watch(&self) {
        /// PMIx reads it later, on its own thread.
        static EVENT: pmix_status_t = PMIX_ERR_LOST_CONNECTION;
        let event = (&raw const EVENT).cast_mut();
        // SAFETY: one code in memory that stays and that PMIx only reads; both functions have the header's signatures
        // and need no data.
        unsafe {
            (self.library.register_event_handler)(
                event,
                1,
                ptr::null_mut(),
                0,
                Some(connection_lost),
                Some(registered),
                ptr::null_mut(),
            )
        };
    }

    /// Which PMIx this is: the first words of what it says about itself.
    pub fn version(&self) -> String {
        // SAFETY: PMIx gives a constant text.
        let text = unsafe { CStr::from_ptr((self.library.version)()) }.to_string_lossy();
        text.split([',', '(']).next().unwrap_or_default().trim().trim_start_matches("OpenPMIx ").to_owned()
    }

    /// This process's number.
    pub fn rank(&self) -> u32 {
        self.me.rank
    }

    /// Keeps a text for the next [`commit`](Client::commit).
    pub fn put(&self, key: &str, text: &str) -> Result<(), String> {
        let (key, text) = (c_string(key)?, c_string(text)?);
        // SAFETY: a number and a union of plain data and pointers; the members that count are set below.
        let mut value: pmix_value_t = unsafe { mem::zeroed() };
        value.type_ = PMIX_STRING as pmix_data_type_t;
        value.data.string = text.as_ptr().cast_mut();
        // SAFETY: PMIx copies the key and the value, and does not write to the text behind it.
        self.done(unsafe { (self.library.put)(PMIX_GLOBAL as pmix_scope_t, key.as_ptr(), &mut value) }, "PMIx_Put")
    }

    /// Publishes what was put.
    pub fn commit(&self) -> Result<(), String> {
        // SAFETY: the function takes no arguments and may be called before `PMIx_Init`.
        self.done(unsafe { (self.library.commit)() }, "PMIx_Commit")
    }

    /// Waits for all processes of the job and brings what they have published to every node. Without that a server asks
    /// a process's node once and remembers the answer, so that what is published later is never found.
    pub fn fence(&self) -> Result<(), String> {
        let how = [switched_on(PMIX_COLLECT_DATA)];
        // SAFETY: no processes means all of this job; the information is valid and read only.
        let status = unsafe { (self.library.fence)(ptr::null(), 0, how.as_ptr(), how.len()) };
        self.done(status, "PMIx_Fence")
    }

    /// The text that process `rank` has published, or why there is none. The server asks the process's node for it.
    pub fn text(&self, rank: u32, key: &str) -> Result<String, String> {
        self.value(rank, key, &[]).and_then(|value| value.text(key))
    }

    /// How many processes the job has. Servers tell it at the start, so no request is sent.
    pub fn job_size(&self) -> Result<u32, String> {
        self.value(PMIX_RANK_WILDCARD, name(PMIX_JOB_SIZE), &[switched_on(PMIX_OPTIONAL)])?
            .number("the size of the job")
    }

    /// The name of the host of process `rank`, without a request.
    pub fn host(&self, rank: u32) -> Result<String, String> {
        self.value(rank, name(PMIX_HOSTNAME), &[switched_on(PMIX_OPTIONAL)])?.text("the name of a host")
    }

    fn value(&self, rank: u32, key: &str, how: &[pmix_info_t]) -> Result<Value, String> {
        let key = c_string(key)?;
        let whose = pmix_proc_t { rank, ..self.me };
        let mut value = ptr::null_mut();
        // SAFETY: a process of this job, a key, valid information, and a place for the answer.
        let status = unsafe { (self.library.get)(&whose, key.as_ptr(), how.as_ptr(), how.len(), &mut value) };
        self.done(status, "PMIx_Get")?;
        if value.is_null() {
            Err("PMIx_Get gave no value".into())
        } else {
            // SAFETY: after success PMIx has made the value for the caller, who frees it.
            Ok(Value(unsafe { &mut *value }))
        }
    }

    /// Ends all processes of the job.
    pub fn abort(&self, status: i32, message: &str) {
        let message = c_string(message).unwrap_or_default();
        // SAFETY: no processes means all of this job. If it fails there is nobody left to tell.
        unsafe { (self.library.abort)(status, message.as_ptr(), ptr::null_mut(), 0) };
    }

    /// Leaves the job.
    pub fn finalize(&self) {
        // SAFETY: no information is allowed. The process is leaving; a server that is gone changes nothing.
        unsafe { (self.library.finalize)(ptr::null(), 0) };
    }

    fn done(&self, status: pmix_status_t, call: &str) -> Result<(), String> {
        if status == PMIX_SUCCESS as pmix_status_t {
            return Ok(());
        }
        // SAFETY: PMIx has a constant text for every number.
        let why = unsafe { CStr::from_ptr((self.library.error_string)(status)) };
        Err(format!("{call}: {} ({status})", why.to_string_lossy()))
    }
}

/// A value that PMIx has allocated for us.
struct Value(&'static mut pmix_value_t);

impl Value {
    fn is(&self, what: u32) -> bool {
        u32::from(self.0.type_) == what
    }

    fn text(&self, key: &str) -> Result<String, String> {
        // SAFETY: the type says which member of the union counts, and a text ends in a zero byte.
        if self.is(PMIX_STRING) && unsafe { !self.0.data.string.is_null() } {
            // SAFETY: a text ends in a zero byte; the copy is made while the value lives.
            Ok(unsafe { CStr::from_ptr(self.0.data.string) }.to_string_lossy().into_owned())
        } else {
            Err(format!("{key} is no text but of type {}", self.0.type_))
        }
    }

    fn number(&self, key: &str) -> Result<u32, String> {
        if self.is(PMIX_UINT32) {
            // SAFETY: the type says which member of the union counts.
            Ok(unsafe { self.0.data.uint32 })
        } else {
            Err(format!("{key} is no number but of type {}", self.0.type_))
        }
    }
}

/// The information that something is to be so: for a fence `PMIX_COLLECT_DATA`, and for a question `PMIX_OPTIONAL`, to look
/// in this process alone.
fn switched_on(what: &'static [u8]) -> pmix_info_t {
    // SAFETY: characters, a number, and a value; all zeroes are an information without a name.
    let mut info: pmix_info_t = unsafe { mem::zeroed() };
    for (place, byte) in info.key.iter_mut().zip(what) {
        // Characters have a sign on some targets only.
        *place = *byte as core::ffi::c_char;
    }
    info.value.type_ = PMIX_BOOL as pmix_data_type_t;
    info.value.data.flag = true;
    info
}

impl Drop for Value {
    fn drop(&mut self) {
        // SAFETY: PMIx allocates values and their texts with malloc and leaves both to the caller, as its own
        // PMIX_VALUE_RELEASE does; values of other types are not asked for, and at worst something small stays.
        unsafe {
            if self.is(PMIX_STRING) {
                libc::free(self.0.data.string.cast());
            }
            libc::free(ptr::from_mut(self.0).cast());
        }
    }
}

fn c_string(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|_| format!("`{}` has a zero byte", text.escape_debug()))
}

unsafe extern "C" fn connection_lost(
    _handler: usize,
    _event: pmix_status_t,
    _source: *const pmix_proc_t,
    _info: *mut pmix_info_t,
    _ninfo: usize,
    _results: *mut pmix_info_t,
    _nresults: usize,
    _answer: pmix_event_notification_cbfunc_fn_t,
    _data: *mut c_void,
) {
    if let Some(lost) = LOST.get() {
        lost();
    }
}

unsafe extern "C" fn registered(_status: pmix_status_t, _handler: usize, _data: *mut c_void) {}

/// A name that the headers define.
fn name(text: &'static [u8]) -> &'static str {
    CStr::from_bytes_until_nul(text).ok().and_then(|text| text.to_str().ok()).unwrap_or_default()
}
