//! The bound of a heap, in the words of errors.

use oxshmem_base::Error;
use serde::{Deserialize, Serialize};

use crate::start::job;

/// The reason for the number of bytes that the program may have.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HeapBound {
    /// `SHMEM_SYMMETRIC_SIZE`.
    User,
    /// The memory of the node, which its PEs share.
    Memory,
    /// The addresses that a process may have.
    Addresses,
    /// Another node has smaller heaps, and all heaps have the same size.
    OtherNode,
}

impl HeapBound {
    /// The name of the bound, and what to do about a heap that is full.
    pub(super) fn when_full(self) -> (&'static str, &'static str) {
        match self {
            HeapBound::User => {
                ("SHMEM_SYMMETRIC_SIZE, rounded up", "set SHMEM_SYMMETRIC_SIZE to what each PE needs, or allocate less")
            }
            HeapBound::Memory if job::pes_on_node() > 1 => {
                ("this PE's share of its node's memory", "run fewer PEs on a node, or allocate less")
            }
            HeapBound::Memory => {
                ("what this node's memory leaves to a heap", "allocate less, or run on a node with more memory")
            }
            HeapBound::Addresses => (
                "what the limit of addresses leaves to a heap",
                "raise the limit (ulimit -v; h_vmem or vmem of a scheduler): addresses cost no memory; or allocate less",
            ),
            HeapBound::OtherNode => (
                "what another node leaves to a heap",
                "give all nodes the same memory, limits and SHMEM_SYMMETRIC_SIZE, run fewer PEs on the smaller node, or \
                 allocate less",
            ),
        }
    }

    /// The error about a heap without any bytes.
    pub(super) fn without_bytes(self, call: &str) -> Error {
        let none = Error::new(format!("{call}: the symmetric heap has no bytes"));
        match self {
            HeapBound::User => {
                none.because("SHMEM_SYMMETRIC_SIZE is 0").fix("set SHMEM_SYMMETRIC_SIZE to what each PE needs in all")
            }
            HeapBound::Memory => none
                .because("the limits of this node's memory leave none for a heap")
                .fix("raise the limit of memory (ulimit, control group)"),
            HeapBound::Addresses | HeapBound::OtherNode => {
                let (bound, fix) = self.when_full();
                none.because(format!("{bound}: 0 bytes")).fix(fix)
            }
        }
    }
}
