//! The cold end of every call: what to say when it cannot be carried out, and how to end the job.

mod not_symmetric;

use core::ffi::c_int;
use core::sync::atomic::Ordering::Relaxed;
use std::io::Write;
use std::time::Duration;

use oxshmem_base::Error;
use oxshmem_base::call_site::CallSite;
use oxshmem_os::{cpp, faults, limits, memory};

use crate::diagnosis::{backtrace, program_line, remedy, variables};
use crate::memory::control::ControlBlock;
use crate::memory::direct::FAST;
use crate::start::{job, state};
use crate::transfers::length;

pub(crate) use not_symmetric::not_symmetric;

/// Says what happened, once for the job's PEs of this node, and ends the job.
#[cold]
#[inline(never)]
pub(crate) fn fail(error: &Error) -> ! {
    if !first_to_speak() {
        // The first PE is about to print and to end the job; our message would most likely be the same.
        std::thread::sleep(SPEAKING);
        job::abort(1, "");
    }
    let message = match job::identity() {
        Some((pe, pes)) if job::is_forked_child() => format!("oxshmem: a child of PE {pe} of {pes}: {error}"),
        Some((pe, pes)) => format!("oxshmem: PE {pe} of {pes}: {error}"),
        None => format!("oxshmem: {error}"),
    };
    // The stack may be what the program has overwritten.
    let place = faults::ending_with(&message, place);
    job::abort(1, &(message + &place))
}

/// A look at debug information may take dozens of MiB of large programs.
const LOOKING_UP: u64 = 128 << 20;

/// Whether there is memory for that. A PE that lacks it would be killed, or hang in the C library, before its message is printed.
fn can_look_up() -> bool {
    memory::addresses_left().is_none_or(|left| left > LOOKING_UP) && limits::tightest().free > LOOKING_UP
}

/// Where the program has called: what its language says, and the stack if it is wanted or if the language says nothing.
pub(crate) fn place() -> String {
    let line = program_line::asked().map_or_else(String::new, |line| format!("\n  called from: {line}"));
    if !can_look_up() {
        return line;
    }
    let known = line + &backtrace::wanted();
    if !known.is_empty() {
        return known;
    }
    CallSite::here().place(cpp::in_source).map_or_else(String::new, |place| format!("\n  called from: {place}"))
}

fn first_to_speak() -> bool {
    !state::is_open() || ControlBlock::of(0).spoken.swap(1, Relaxed) == 0
}

/// The library is not in use.
#[cold]
pub(crate) fn not_initialised(call: &str) -> ! {
    if job::is_forked_child() {
        fail(&forked(call));
    }
    let (why, fix) = if state::has_begun_a_life() {
        ("the last shmem_finalize came before this call", "make the call before it")
    } else {
        ("neither shmem_init nor shmem_init_thread was called", "call shmem_init first")
    };
    fail(&Error::new(format!("{call}: the library is not initialised")).because(why).fix(fix))
}

/// A call in the child of a fork.
#[cold]
pub(crate) fn forked(call: &str) -> Error {
    Error::new(format!("{call}: this process was forked by a PE and is no PE itself"))
        .because("the connections, the memory of other PEs and the place in the job belong to its parent")
        .fix("make the calls of OpenSHMEM in the process that called shmem_init; a child may use its own memory and exec")
}

/// A call in the child of a fork that does nothing for the job: says so, and returns.
#[cold]
pub(crate) fn ignored_in_child(call: &str) {
    if let Some((pe, pes)) = job::identity() {
        note(&format!("a child of PE {pe} of {pes}: {}", forked(call)));
    }
}

/// Prints a message in one piece: lines of several PEs do not mix, and the launcher recognises equal ones.
#[cold]
pub(crate) fn note(message: &str) {
    // If the write fails, the process goes on.
    let _ = std::io::stderr().write_all(format!("oxshmem: {message}\n").as_bytes());
}

/// A PE number that the team of the context does not have.
#[cold]
pub(crate) fn no_such_pe(call: &str, pe: c_int, size: u32) -> ! {
    fail(&or_more_pes(
        Error::new(format!("{call}: PE {pe} does not exist"))
            .because(format!("the job, or the team of the context, has the PEs 0 to {}", size.saturating_sub(1)))
            .fix(remedy::no_such_pe(call, pe)),
    ))
}

/// More for a job of one PE: a program that was started without a launcher has no others.
fn or_more_pes(error: Error) -> Error {
    match job::identity() {
        Some((_, 1)) => error.also_fix(remedy::MORE_PES),
        _ => error,
    }
}

/// A handle that stands for nothing.
#[cold]
pub(crate) fn invalid_handle(call: &str, argument: &str, invalid: &str) -> ! {
    fail(
        &Error::new(format!("{call}: {argument} is {invalid}, the invalid handle"))
            .because(
                "the call that should have made it failed, or this PE is not a member, or the handle was destroyed, or the variable \
                 was never set",
            )
            .fix(remedy::handle(format!("compare the handle with {invalid} before using it"), invalid.contains("TEAM"))),
    )
}

/// An argument whose value the call does not know.
#[cold]
pub(crate) fn bad_argument(call: &str, argument: &str, value: i64, allowed: &str) -> ! {
    let error = Error::new(format!("{call}: {argument} is {value}"))
        .because(format!("the values that {argument} may have are {allowed}"))
        .fix(remedy::bad_argument(call));
    fail(&if argument.starts_with("PE_") { or_more_pes(error) } else { error });
}

/// The first PE, the stride and the number of PEs of a set, each possible, name a PE that is not there. `values` has all three.
#[cold]
pub(crate) fn do_not_fit(call: &str, stride: &str, values: &str, last: i64, pes: i64) -> ! {
    fail(
        &Error::new(format!("{call}: PE_start, {stride} and PE_size do not fit together"))
            .because(format!("with {values} the last member would be PE {last}, and the PEs are 0 to {}", pes - 1))
            .fix("correct one of them, on all PEs alike"),
    )
}

/// The time that the reporting PE has to look up its stack: seconds where files have much debug information.
const SPEAKING: Duration = Duration::from_secs(30);

/// The time that the launcher has to learn how a PE has ended, before another PE reports it as gone.
const HEARING: Duration = Duration::from_millis(200);

/// A team member ended, so that the call can never return.
#[cold]
pub(crate) fn peer_gone(call: &str, gone: u32) -> ! {
    fail_without(call, gone, "this call waits for it")
}

/// A PE ended, so that a test that is repeated can never succeed.
#[cold]
pub(crate) fn tested_peer_gone(call: &str, gone: u32) -> ! {
    fail_without(call, gone, "no other PE can do what this call tests for")
}

fn fail_without(call: &str, gone: u32, consequence: &str) -> ! {
    // If it ends with a status, the job ends with that one, and not with this message.
    std::thread::sleep(HEARING);
    fail(
        &Error::new(format!("{call}: PE {gone} has ended without shmem_finalize, and {consequence}"))
            .because(format!("PE {gone} left main, its process ended, or it became another program, while other PEs were still communicating"))
            .fix("let every PE call shmem_finalize, or shmem_global_exit to end the job early"),
    )
}

/// A handle whose object is not there, although the library is initialised. Below `SHMEM_CHECK=2` the reason is not known.
#[cold]
pub(crate) fn dead_handle(call: &str, argument: &str, noun: &str, handle: usize) -> ! {
    if !state::is_open() {
        not_initialised(call);
    }
    fail(
        &Error::new(format!("{call}: {argument} is {handle:#x}, which stands for no {noun}"))
            .because(format!(
                "the {noun} was destroyed, or its memory was overwritten, or no call has made this handle"
            ))
            .fix(remedy::handle(
                format!("run the program with SHMEM_CHECK=2, which names the call that destroyed the {noun}"),
                noun == "team",
            )),
    )
}

/// An argument that is NULL where the call reads or writes.
#[cold]
pub(crate) fn null(call: &str, argument: &str) -> ! {
    fail(
        &Error::new(format!("{call}: {argument} is NULL"))
            .because("the call reads or writes what the argument points to")
            .fix(format!("pass the address of a variable or an array for {argument}")),
    )
}

/// An array that wraps around the address space.
#[cold]
pub(crate) fn too_long(call: &str, argument: &str, address: usize) -> ! {
    fail(
        &Error::new(format!("{call}: {argument} at {address:#x} reaches beyond the address space"))
            .because("its count, stride or offset, multiplied by the size of an element, leads round the address space")
            .fix(
                "check how the program computes the count, the stride or the offset: it is negative, or has overflowed",
            ),
    )
}

/// A number of elements that is negative, in an argument whose type has no sign.
#[cold]
pub(crate) fn negative(call: &str, argument: &str, count: usize) -> ! {
    fail(
        &Error::new(format!("{call}: {argument} is {count}, more than half of all addresses"))
            .because(format!("as a signed number it is {}", count as isize))
            .fix(format!("check how the program computes {argument}: it is negative, or has overflowed")),
    )
}

/// An array of more bytes than there are addresses, by a negative number of elements or by a product that overflows.
#[cold]
pub(crate) fn longer_than_memory(call: &str, argument: &str, address: usize, bytes: usize) -> ! {
    if length::is_negative_count(bytes) {
        negative(call, count_name(call), bytes);
    }
    too_long(call, argument, address)
}

/// The argument of a call that counts elements.
fn count_name(call: &str) -> &'static str {
    let call = call.to_ascii_lowercase();
    if !call.starts_with("shmem") {
        "number of elements"
    } else if ["reduce", "to_all"].iter().any(|part| call.contains(part)) {
        "nreduce"
    } else {
        "nelems"
    }
}

/// The remedy where the members, `all`, pass different lengths to a collective. Every fcollect has a collect beside it.
pub(crate) fn equal_lengths(call: &str, all: &str) -> String {
    let same = format!("pass the same {} on {all}", count_name(call));
    let other = call.replace("fcollect", "collect").replace("FCOLLECT", "COLLECT");
    if other == call { same } else { format!("{same}, or call {other}, whose lengths may differ") }
}

/// An atomic on an address that its type cannot have.
#[cold]
pub(crate) fn misaligned(call: &str, address: usize, align: usize) -> ! {
    fail(
        &Error::new(format!("{call}: {address:#x} is not a multiple of {align}"))
            .because(format!("an atomic of {align} bytes needs an object that is aligned to its size"))
            .fix("align the object"),
    )
}

/// At `SHMEM_CHECK=3`: ends the job if a write has hit what guards the blocks of this PE's heap.
pub(crate) fn check_guards(call: &'static str) {
    let Some(life) = state::current().filter(|life| life.settings.check >= 3) else { return };
    let damage = life.heap.lock().damage(call);
    if let Some(error) = damage {
        fail(&remedy::words(call).into_iter().fold(error, Error::also_fix));
    }
}

/// At `SHMEM_CHECK=2`: the object must lie inside one allocated block.
pub(crate) fn check_block(call: &'static str, address: usize, bytes: usize) {
    let Some(life) = state::current().filter(|_| state::is_checked()) else { return };
    let (start, _) = FAST.heap.own();
    let offset = (address - start) as u64;
    let heap = life.heap.lock();
    let (problem, is_freed) = (heap.outside_block(offset, bytes as u64), heap.is_freed(offset));
    drop(heap);
    if let Some(why) = problem {
        let (what, fix) = if is_freed {
            ("lie in a block that was freed", "make the transfer before the block is freed, or allocate it again")
        } else {
            ("are not inside one allocated block", remedy::beyond_block(call))
        };
        fail(&Error::new(format!("{call}: {bytes} bytes at {address:#x} {what}")).because(why).fix(fix));
    }
}

/// At `SHMEM_CHECK=2`: an object must lie inside one variable of the program.
pub(crate) fn check_variable(call: &'static str, address: usize, bytes: usize) {
    if !state::is_checked() {
        return;
    }
    if let Some(why) = variables::beyond(address, bytes) {
        fail(
            &Error::new(format!("{call}: {bytes} bytes at {address:#x} are not inside one variable"))
                .because(why)
                .fix(remedy::beyond_variable(call)),
        );
    }
}
