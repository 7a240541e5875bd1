//! The operating system: shared memory, static data, futexes, processors, descriptors.
