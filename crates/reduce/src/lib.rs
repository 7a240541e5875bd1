//! Reduction operators and kernels for every type, picked for the processor at run time.
