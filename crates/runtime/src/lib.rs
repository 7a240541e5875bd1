//! The runtime of one PE: memory, transfers, atomics, ordering, waits, teams, collectives.
