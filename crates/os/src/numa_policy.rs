//! The memory policy of a thread: which NUMA nodes its pages come from, as `numactl` or a scheduler has chosen before the program began.

use std::ffi::c_void;
use std::ptr;

/// The most nodes that a kernel knows. It refuses a mask that is too short for its own.
const NODES: usize = 1024;
const BITS: usize = libc::c_ulong::BITS as usize;
/// Bits beside the number of a policy.
const FLAGS: libc::c_int = libc::MPOL_F_STATIC_NODES | libc::MPOL_F_RELATIVE_NODES | libc::MPOL_F_NUMA_BALANCING;

/// Whether somebody has chosen the nodes of the calling thread. Otherwise a page comes from the node of the processor that touches it
/// first.
pub fn is_chosen() -> bool {
    policy().is_some_and(|(mode, nodes)| match mode & !FLAGS {
        libc::MPOL_DEFAULT | libc::MPOL_LOCAL => false,
        // An older word for the local node.
        libc::MPOL_PREFERRED => !nodes.is_empty(),
        _ => true,
    })
}

/// The nodes from which alone the calling thread gets pages, if it has such a policy. The nodes of a relative one are not known: they count
/// from the first one that a cpuset leaves.
pub(crate) fn bound_to() -> Option<Vec<u32>> {
    let is_bound = |mode: libc::c_int| mode & !FLAGS == libc::MPOL_BIND && mode & libc::MPOL_F_RELATIVE_NODES == 0;
    policy().filter(|(mode, _)| is_bound(*mode)).map(|(_, nodes)| nodes)
}

/// The policy of the calling thread with its flags, and its nodes. `None`: the system does not tell, as in some containers.
fn policy() -> Option<(libc::c_int, Vec<u32>)> {
    let mut mode: libc::c_int = 0;
    let mut mask: [libc::c_ulong; NODES / BITS] = [0; NODES / BITS];
    let (nowhere, flags) = (ptr::null::<c_void>(), 0 as libc::c_ulong);
    // SAFETY: the kernel writes a number and so many bits, both to variables of ours. Without flags it looks at no address.
    unsafe { syscall!(syscall(libc::SYS_get_mempolicy, &mut mode, mask.as_mut_ptr(), NODES, nowhere, flags)) }.ok()?;
    let is_set = |node: &u32| mask[*node as usize / BITS] >> (*node as usize % BITS) & 1 == 1;
    Some((mode, (0..NODES as u32).filter(is_set).collect()))
}

#[cfg(test)]
mod tests {
    use oxshmem_test_folder::not_run;

    use super::*;

    /// Gives the calling thread a policy with these nodes among the first ones.
    fn set(mode: libc::c_int, nodes: libc::c_ulong) -> bool {
        // The kernel reads one bit less than the length that it gets.
        let bits = BITS + 1;
        // SAFETY: the kernel reads the bits of a variable that lives as long as the call.
        unsafe { syscall!(syscall(libc::SYS_set_mempolicy, mode, &raw const nodes, bits)) }.is_ok()
    }

    #[test]
    fn a_policy_of_the_thread_is_known_with_its_nodes() {
        // A thread of its own, which takes its policy with it.
        let seen = std::thread::spawn(|| {
            let policies = [
                (libc::MPOL_BIND, 1),
                (libc::MPOL_BIND | libc::MPOL_F_STATIC_NODES, 1),
                (libc::MPOL_BIND | libc::MPOL_F_RELATIVE_NODES, 1),
                (libc::MPOL_INTERLEAVE, 1),
                (libc::MPOL_PREFERRED, 1),
                (libc::MPOL_PREFERRED, 0),
                (libc::MPOL_LOCAL, 0),
                (libc::MPOL_DEFAULT, 0),
            ];
            policies.map(|(mode, nodes)| set(mode, nodes).then(|| (is_chosen(), bound_to())))
        });
        let seen = seen.join().expect("it only makes calls");
        if seen[0].is_none() || policy().is_none() {
            return not_run("this system has no memory policies");
        }
        let first = || Some(vec![0_u32]);
        let (chosen, not_chosen) = ((true, None), (false, None));
        let others = [chosen.clone(), chosen.clone(), chosen, not_chosen.clone(), not_chosen.clone(), not_chosen];
        let expected = [[(true, first()), (true, first())].as_slice(), &others].concat();
        assert_eq!(seen.to_vec(), expected.into_iter().map(Some).collect::<Vec<_>>());
    }
}
