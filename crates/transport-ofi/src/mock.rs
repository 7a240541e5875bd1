//! A network behind libfabric's own tables, in one process: it demands what Slingshot's and other cards' providers demand,
//! refuses what they would refuse, and completes in the worst order that it has promised. The suite of all providers runs
//! over it without a network.

mod atomic;
mod calls;
mod entries;
mod nature;
mod objects;
mod tests;
mod world;
