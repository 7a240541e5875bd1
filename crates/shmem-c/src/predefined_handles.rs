//! Tells the runtime which objects the header's predefined handles point to.

unsafe extern "C" {
    safe fn oxshmem_default_context_object() -> *mut u8;
    safe fn oxshmem_team_world_object() -> *mut u8;
    safe fn oxshmem_team_shared_object() -> *mut u8;
    safe fn oxshmem_team_node_object() -> *mut u8;
}

/// Runs before any call of the library. The low number comes before the constructors of a program that contains the library, which may
/// initialise it.
#[used]
#[unsafe(link_section = ".init_array.00099")]
static ANNOUNCE: extern "C" fn() = announce;

extern "C" fn announce() {
    // SAFETY: the shim defines the four objects, zeroed, in the header's size, for the life of the process.
    unsafe {
        oxshmem_runtime::use_objects(
            oxshmem_default_context_object(),
            oxshmem_team_world_object(),
            oxshmem_team_shared_object(),
            oxshmem_team_node_object(),
        );
    }
}
