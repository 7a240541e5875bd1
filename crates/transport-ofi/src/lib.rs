//! The provider over libfabric.
//!
//! libfabric is opened at run time. [`PROVIDER`] says what it has here, and makes endpoints of one offer. The demands that an entry
//! of libfabric's list makes are obeyed; its name decides only which of several is taken, and what a card does for it.
//!
//! * `list` asks libfabric, `info` reads an entry of its list, `preference` and `rails` take the best ones, `devices` asks the kernel.
//! * `objects` has the objects of one endpoint, `slots` the slots of its operations, `registered` our memory there, `peers` the
//!   other PEs and their memory (`windows`); `delivery` says when a put is complete.
//! * `endpoint` issues operations and takes completions. It knows nothing of what is above it: messages are what it returns.
//! * `engine` has the endpoints of all rails and hears the messages; an `outbox` has those that could not go yet; `connect` makes
//!   acquaintance, `striping` deals long transfers to all rails, `atomic` issues atomics, `lane` all operations of one context.
//! * `progress` is the lock, the callers and the thread, and `sleep` what these sleep on; `amo` hands atomics to the software
//!   above, unless the endpoint does those of the job.
//!
//! # What is demanded, and how it is met
//!
//! | an entry says | so |
//! |---|---|
//! | `FI_MR_VIRT_ADDR` | peers name a byte by its address here, otherwise by its distance from the registration's beginning |
//! | `FI_MR_PROV_KEY` | keys travel in the address; otherwise they are ours and travel there too |
//! | `FI_MR_ALLOCATED` | [`PINS`](oxshmem_transport::Features::PINS): the heap is registered as it grows; peers ask for windows that came later |
//! | `FI_MR_ENDPOINT` | a registration is bound to the endpoint and enabled before its key is read |
//! | `FI_MR_LOCAL` | local memory has a descriptor: that of its region, of the operation's own bytes, or of a registration for this operation; what cannot be registered is copied |
//! | no `FI_DELIVERY_COMPLETE`, or a target whose software would have to send it | a completed put is read back (`FI_ORDER_RAW`) before it counts, and is no longer than `max_order_raw_size`; the answer to a message behind it (`FI_ORDER_SAW`) does as well; where the endpoint has the flag, a put that the program waits for by itself has it |
//! | `FI_ORDER_WAW` up to the longest message | a fence between puts is free; otherwise it waits |
//! | `FI_ORDER_SAW`, `FI_ORDER_SAS` as well | a signal is sent right behind its data; otherwise the data is waited for. The messages of the runtime's own lane are acknowledged now and then, and those of programs where software moves the data and the thread can be woken |
//! | all of `FI_ATOMIC_READ`, `FI_ATOMIC_WRITE`, `FI_SUM`, `FI_BAND`, `FI_BOR`, `FI_BXOR`, `FI_CSWAP` on 4 and 8 bytes | the job may leave its atomics to the endpoint (`SHMEM_AMO=network`) |
//! | `FI_ORDER_WAW`, `FI_ORDER_RAR`, `FI_ORDER_RAW` and `FI_ORDER_WAR` up to the longest message | a fence between puts and such atomics is free; otherwise it waits |
//! | the protocol of `ofi_rxd` | it promises orders that it does not keep: a fence waits, every put says by itself when it is complete, and no more is under way to a peer than its window of datagrams takes |
//! | `inject_size` | puts so short are free on return: with `FI_INJECT`, or without a completion where they are read back; a call whose source must be free copies up to a page. A provider that refuses such a put (EFA reports the size of messages) gets copied ones from then on |
//! | `max_msg_size`, queue sizes | longer transfers are split, no more is issued than the endpoint allows |
//! | `FI_CONTEXT`, `FI_CONTEXT2` | every operation has its own place, which the provider may write to |
//! | `FI_PROGRESS_MANUAL` | callers and the thread move the endpoint on |
//!
//! # Slingshot
//!
//! The provider `cxi` has not been tried by us; what it is known to demand is exercised by tests over a provider made of
//! the same tables (`mock`). It wants `FI_MR_ENDPOINT` and `FI_MR_ALLOCATED`, with keys of its own (`FI_MR_PROV_KEY`) or
//! ours; addresses are distances (no `FI_MR_VIRT_ADDR`). Its inject size is 192 bytes. It orders messages among each other
//! (`FI_ORDER_SAS`) and puts among each other (`FI_ORDER_WAW`), but no message behind a put (no `FI_ORDER_SAW`) and no get
//! behind a put (no `FI_ORDER_RAW`), so a fence waits for completions. While a card recovers from a flood of messages (its flow
//! control), `fi_recv` answers `FI_EAGAIN`, and the endpoint keeps the slot until later. Older versions of `cxi` refuse to put from
//! memory that may only be read; such a source is copied. A job may use its card only if the launcher has made a VNI for it and
//! says so in `SLINGSHOT_VNIS`, `SLINGSHOT_SVC_IDS` and `SLINGSHOT_DEVICES`; where these are missing and a card is there, the
//! error says which option of the launcher makes them.
#![cfg_attr(test, allow(non_snake_case, reason = "tests carry the number of the fault"))]

mod address;
mod amo;
mod atomic;
mod backoff;
mod connect;
mod contacts;
mod delivery;
mod devices;
mod endpoint;
mod engine;
mod info;
mod lane;
mod lane_state;
mod library;
mod list;
mod message;
#[cfg(test)]
mod mock;
mod objects;
mod outbox;
mod peers;
mod preference;
mod progress;
mod provider;
mod rails;
mod registered;
mod room;
mod sleep;
mod slots;
mod striping;
mod windows;

pub use provider::PROVIDER;
