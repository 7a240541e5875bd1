//! Atomics that the endpoint does, where the job has decided on the network's domain (otherwise see `amo`): all of them go
//! through it, also those of a PE on itself. The endpoint is asked for each operation and type whether it can do it.

use std::ffi::{c_int, c_void};

use oxshmem_base::Error;
use oxshmem_libfabric_sys as fi;
use oxshmem_libfabric_sys::inline::*;
use oxshmem_transport::{Amo, Remote, Width};

use crate::delivery::{self, Delivery};
use crate::endpoint::{Endpoint, Issued, RemoteTarget};
use crate::engine::Engine;
use crate::library::library;
use crate::list::Selection;
use crate::objects::{Depth, Objects};
use crate::rails::choose;
use crate::slots::{SlotUse, context};

/// Whether the endpoint of this selection does all atomics itself, or why not. Nothing stays open.
pub(crate) fn available(selection: &Selection) -> Result<(), Error> {
    let selection = Selection { atomics: true, ..selection.clone() };
    let chosen = choose(library(selection.pes)?, &selection)?;
    Objects::open(chosen.first, Depth { issued: 2, kept: 0, receives: 1 }, 1)?.has_atomics()
}

/// Which of the endpoint's calls an atomic is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Nothing comes back.
    Write,
    Fetch,
    Compare,
}

const fn datatype(width: Width) -> Option<fi::fi_datatype> {
    match width {
        Width::Two => None,
        Width::Four => Some(fi::FI_UINT32),
        Width::Eight => Some(fi::FI_UINT64),
    }
}

/// libfabric's operations by the numbers of kinds ([`Amo::to_parts`]).
const OPERATIONS: [fi::fi_op; 6] =
    [fi::FI_ATOMIC_READ, fi::FI_ATOMIC_WRITE, fi::FI_SUM, fi::FI_BAND, fi::FI_BOR, fi::FI_BXOR];

/// An atomic as one of the endpoint's calls.
pub(crate) struct AtomicCall {
    pub(crate) op: fi::fi_op,
    pub(crate) form: Form,
    pub(crate) operand: u64,
    pub(crate) compare: u64,
}

impl AtomicCall {
    /// The call for an atomic; `wanted`: something is to come back.
    #[inline(always)]
    pub(crate) const fn of(amo: Amo, wanted: bool) -> Self {
        let update = if wanted { Form::Fetch } else { Form::Write };
        let (op, form, operand, compare) = match amo {
            Amo::Fetch => (fi::FI_ATOMIC_READ, Form::Fetch, 0, 0),
            // A table, and no branch for each.
            Amo::Swap(value) | Amo::Add(value) | Amo::And(value) | Amo::Or(value) | Amo::Xor(value) => {
                (OPERATIONS[amo.to_parts().0 as usize], update, value, 0)
            }
            Amo::CompareSwap { cond, value } => (fi::FI_CSWAP, Form::Compare, value, cond),
        };
        Self { op, form, operand, compare }
    }
}

const KINDS: [Amo; 7] = [
    Amo::Fetch,
    Amo::Swap(0),
    Amo::Add(0),
    Amo::And(0),
    Amo::Or(0),
    Amo::Xor(0),
    Amo::CompareSwap { cond: 0, value: 0 },
];

impl Objects {
    /// Whether there is every operation on 4 and 8 bytes, in the forms in which we use it.
    pub(crate) fn has_atomics(&self) -> Result<(), Error> {
        if !self.info.keeps_its_order() {
            return Err(self.refuses_atomics("ofi_rxd's atomics that fetch crash inside of libfabric".into()));
        }
        for width in [Width::Four, Width::Eight] {
            for amo in KINDS {
                let AtomicCall { op, form, .. } = AtomicCall::of(amo, true);
                let plain = (!matches!(amo, Amo::Fetch | Amo::CompareSwap { .. })).then_some(Form::Write);
                for form in [form].into_iter().chain(plain) {
                    self.has(width, op, form).map_err(|why| self.lacks(width, amo, &why))?;
                }
            }
        }
        Ok(())
    }

    fn has(&self, width: Width, op: fi::fi_op, form: Form) -> Result<(), String> {
        let datatype = datatype(width).ok_or("2 bytes are too short")?;
        let flags = match form {
            Form::Write => 0,
            Form::Fetch => fi::FI_FETCH_ATOMIC,
            Form::Compare => fi::FI_COMPARE_ATOMIC,
        };
        let mut attr = fi::fi_atomic_attr { count: 0, size: 0 };
        // SAFETY: the domain is open as long as `self`; the attributes live during the call.
        let code = unsafe { fi_query_atomic(self.domain(), datatype, op, &raw mut attr, flags) };
        match code {
            0 if attr.count > 0 && attr.size == width.bytes() => Ok(()),
            0 => Err(format!("it takes {} objects of {} bytes", attr.count, attr.size)),
            code => Err(self.meaning(code)),
        }
    }

    fn lacks(&self, width: Width, amo: Amo, why: &str) -> Error {
        self.refuses_atomics(format!("{amo:?} on {} bytes: {why}", width.bytes()))
    }

    fn refuses_atomics(&self, why: String) -> Error {
        let info = &self.info;
        Error::new(format!("libfabric's provider {} on {} lacks an atomic", info.provider(), info.domain_name()))
            .because(why)
            .fix("leave SHMEM_AMO out: the target's processor does them then")
    }
}

/// The layout of an operation's own bytes: first what is fetched, as for a get.
pub(crate) const OPERAND: usize = 8;
pub(crate) const COMPARE: usize = 16;

impl Engine {
    /// Issues an atomic; the old value goes to `old` unless that is null.
    ///
    /// # Safety
    /// As for `Lane::amo`.
    pub(crate) unsafe fn atomic(&mut self, account: u32, to: Remote, width: Width, amo: Amo, old: *mut u8) -> Issued {
        let n = width.bytes();
        let Some(datatype) = datatype(width) else {
            return Err(Error::new(format!("an atomic on {n} bytes of PE {} has come to the network", to.pe))
                .because("its atomics have 4 or 8 bytes")
                .into());
        };
        let target = self.reach(to, n)?;
        // SAFETY: `old` is null or writable until completion, by the caller's promise.
        unsafe { self.first.atomic(account, to, target, (datatype, n), amo, old) }
    }
}

impl Endpoint {
    /// Issues an atomic on an object of this type and length.
    ///
    /// # Safety
    /// `old` is null or has room for the object until completion.
    unsafe fn atomic(
        &mut self,
        account: u32,
        to: Remote,
        RemoteTarget { peer, found }: RemoteTarget,
        (datatype, n): (fi::fi_datatype, usize),
        amo: Amo,
        old: *mut u8,
    ) -> Issued {
        let Some(found) = found.filter(|_| to.offset.is_multiple_of(n as u64)) else {
            return Err(self.out_of_range(to, n).into());
        };
        self.find_window(to.pe, true, n)?;
        let slot = self.take(SlotUse::Get { account, pe: to.pe, dest: old, n })?;
        // Where completions do not say that an update has been done, a fetched value does.
        let wanted = !old.is_null() || self.objects.info.delivery == Delivery::ReadBack;
        let AtomicCall { op, form, operand: value, compare: cond } = AtomicCall::of(amo, wanted);
        // SAFETY: the slot was just taken; its room is longer than the three words, which are aligned in it.
        let [result, operand, compare] = unsafe {
            let room = self.slots.room(slot);
            room.add(OPERAND).cast::<u64>().write(value);
            room.add(COMPARE).cast::<u64>().write(cond);
            [0, OPERAND, COMPARE].map(|at| room.add(at).cast::<c_void>())
        };
        let mut desc = self.room_descriptor();
        let (mut result_desc, mut compare_desc) = (desc, desc);
        let from = fi::fi_ioc { addr: operand, count: 1 };
        let target = fi::fi_rma_ioc { addr: found.address, count: 1, key: found.key };
        let message = fi::fi_msg_atomic {
            msg_iov: &raw const from,
            desc: &raw mut desc,
            iov_count: 1,
            addr: peer,
            rma_iov: &raw const target,
            rma_iov_count: 1,
            datatype,
            op,
            context: context(slot),
            data: 0,
        };
        let mut into = fi::fi_ioc { addr: result, count: 1 };
        let with = fi::fi_ioc { addr: compare, count: 1 };
        let (ep, message) = (self.objects.ep(), &raw const message);
        // SAFETY: the endpoint is open; operands and result are the slot's own until the completion.
        let code = unsafe {
            match form {
                Form::Write => fi_atomicmsg(ep, message, delivery::COMPLETE),
                Form::Fetch => {
                    fi_fetch_atomicmsg(ep, message, &raw mut into, &raw mut result_desc, 1, fi::FI_COMPLETION)
                }
                Form::Compare => fi_compare_atomicmsg(
                    ep,
                    message,
                    &raw const with,
                    &raw mut compare_desc,
                    1,
                    &raw mut into,
                    &raw mut result_desc,
                    1,
                    fi::FI_COMPLETION,
                ),
            }
        };
        self.posted(account, to.pe, slot, code as c_int)
    }
}
