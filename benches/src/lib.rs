//! Measures each operation beside the limit of the machine, in one run.
