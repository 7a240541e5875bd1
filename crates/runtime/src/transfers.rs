//! Loads and stores of other PEs' memory. `memory::direct` has the arithmetic of the node, [`indirect`] everything that it does not
//! settle; [`length`] has the sizes of calls in bytes, and [`range`] looks at where they lie; [`element`] and [`atomic`] are the accesses themselves.

pub(crate) mod atomic;
pub(crate) mod cache;
pub(crate) mod element;
pub(crate) mod indirect;
pub(crate) mod length;
pub(crate) mod range;
