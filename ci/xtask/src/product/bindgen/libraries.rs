//! The parts that we use of each library that is opened at run time. A new library is a new row here and a crate in `sys/`.

/// A library and what we use of it.
#[derive(Debug)]
#[cfg_attr(not(feature = "printers"), expect(dead_code, reason = "the generator reads what the check does not"))]
pub(super) struct BoundLibrary {
    /// Its name on the command line.
    pub(super) name: &'static str,
    /// The crate's folder in `sys/`.
    pub(super) folder: &'static str,
    pub(super) headers: &'static [&'static str],
    pub(super) pkg_config: &'static str,
    /// The Debian package that has the headers.
    pub(super) package: &'static str,
    /// Types that are used, as regular expressions; what they contain comes with them.
    pub(super) types: &'static [&'static str],
    /// Functions whose declarations the function table is compared with.
    pub(super) functions: &'static [&'static str],
    /// Constants and values of enumerations that are used.
    pub(super) constants: &'static [&'static str],
    /// Types whose members are not used.
    pub(super) opaque: &'static [&'static str],
    /// The types of macros, by the first prefix that fits; others get the smallest type that holds them.
    pub(super) macros: &'static [(&'static str, Macro)],
}

/// The type of a macro's value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Macro {
    Int,
    U32,
    U64,
}

pub(super) const LIBRARIES: &[BoundLibrary] = &[LIBFABRIC, UCX, HWLOC, PMIX, PMI];

const LIBFABRIC: BoundLibrary = BoundLibrary {
    name: "libfabric",
    folder: "libfabric-sys",
    headers: &[
        "rdma/fabric.h",
        "rdma/fi_domain.h",
        "rdma/fi_endpoint.h",
        "rdma/fi_cm.h",
        "rdma/fi_rma.h",
        "rdma/fi_atomic.h",
        "rdma/fi_eq.h",
        "rdma/fi_errno.h",
    ],
    pkg_config: "libfabric",
    package: "libfabric-dev",
    types: &[
        "fi_info",
        "fi_ops_(fabric|domain|av|cq|cntr|ep|cm|msg|rma|atomic|mr)",
        "fi_(av|cq|cntr|mr)_attr",
        "fi_cq_(entry|msg_entry|err_entry)",
        "fi_msg(_rma|_atomic)?",
        "fi_context2",
        "fi_atomic_attr",
        "fi_(cq_format|wait_obj|cq_wait_cond|datatype|op|ep_type|av_type|progress|threading|resource_mgmt)",
        "fid_nic|fi_device_attr|fi_link_attr",
    ],
    functions: &["fi_(getinfo|freeinfo|dupinfo|fabric|strerror|version)"],
    constants: &[
        "FI_(MSG|RMA|ATOMIC|READ|WRITE|RECV|SEND|REMOTE_READ|REMOTE_WRITE|LOCAL_COMM|REMOTE_COMM)",
        "FI_(INJECT|COMPLETION|TRANSMIT_COMPLETE|DELIVERY_COMPLETE|SELECTIVE_COMPLETION|CONTEXT|CONTEXT2|TRANSMIT)",
        "FI_ORDER_(RAR|RAW|WAR|WAW|SAW|SAS)",
        "FI_MR_(LOCAL|VIRT_ADDR|ALLOCATED|PROV_KEY|ENDPOINT)",
        "FI_E(AGAIN|AVAIL|NODATA|NOSYS|INVAL|NOMEM|TOOSMALL|CANCELED|NOKEY|OPNOTSUPP)",
        "FI_EP_RDM|FI_AV_(MAP|TABLE|UNSPEC)|FI_PROGRESS_(AUTO|MANUAL|UNSPEC)|FI_THREAD_(SAFE|DOMAIN|UNSPEC|COMPLETION)",
        "FI_CQ_FORMAT_(CONTEXT|MSG|DATA)|FI_WAIT_(NONE|FD|UNSPEC)|FI_CQ_COND_NONE|FI_RM_(ENABLED|DISABLED|UNSPEC)",
        "FI_(U?INT(8|16|32|64)|SUM|MIN|MAX|BOR|BAND|BXOR|ATOMIC_(READ|WRITE)|CSWAP)",
        "FI_(ENABLE|GETWAIT|ALIAS|GETOPSFLAG|SETOPSFLAG)",
        "FI_(FETCH_ATOMIC|COMPARE_ATOMIC)",
    ],
    opaque: &["fi_(wait|poll|eq|av_set|collective)_attr", "fid_(wait|poll|eq|pep|stx|mc|av_set)", "fi_eq_err_entry"],
    macros: &[("FI_MR_", Macro::Int), ("FI_E", Macro::Int), ("FI_", Macro::U64)],
};

const UCX: BoundLibrary = BoundLibrary {
    name: "ucx",
    folder: "ucx-sys",
    headers: &["ucp/api/ucp.h"],
    pkg_config: "ucx",
    package: "libucx-dev",
    types: &[
        "ucp_(params|worker_params|worker_attr|ep_params|mem_map_params|request_param|lib_attr|dt_iov)_t",
        "ucp_am_(handler|recv)_param_t",
        "ucp_err_handler",
        "ucs_status_t",
        "ucp_(params|worker_params|worker_attr|ep_params|mem_map_params|lib_attr|am_handler_param)_field",
        "ucp_feature|ucp_am_cb_flags|ucp_send_am_flags|ucp_am_recv_attr_t|ucp_op_attr_t|ucp_ep_close_flags_t|ucp_atomic_op_t",
    ],
    functions: &[
        "ucp_(lib_query|get_version_string|init_version|cleanup)",
        "ucp_config_(read|modify|release)",
        "ucp_worker_(create|destroy|query|release_address|progress|get_efd|arm|signal|flush_nbx|set_am_recv_handler)",
        "ucp_ep_(create|close_nbx|rkey_unpack)",
        "ucp_rkey_(pack|buffer_release|destroy)",
        "ucp_mem_(map|unmap)",
        "ucp_(put|get|atomic_op|am_send|am_recv_data)_nbx",
        "ucp_am_data_release",
        "ucp_request_(check_status|free)",
        "ucs_status_string",
    ],
    constants: &["UCP_API_(MAJOR|MINOR)"],
    opaque: &[],
    macros: &[("UCP_", Macro::U32)],
};

const HWLOC: BoundLibrary = BoundLibrary {
    name: "hwloc2",
    folder: "hwloc2-sys",
    headers: &["hwloc.h"],
    pkg_config: "hwloc",
    package: "libhwloc-dev",
    types: &["hwloc_(obj|distances_s|topology_flags_e|topology_components_flag_e|distances_kind_e)"],
    functions: &[
        "hwloc_get_(api_version|type_depth|nbobjs_by_depth|obj_by_depth)",
        "hwloc_topology_(init|load|destroy)",
        "hwloc_topology_set_(xmlbuffer|synthetic|components|flags|type_filter|io_types_filter)",
        "hwloc_bitmap_next",
        "hwloc_distances_(get_by_type|release)",
    ],
    constants: &[
        "HWLOC_API_VERSION",
        "HWLOC_OBJ_(PACKAGE|NUMANODE|L[123]CACHE|L1ICACHE|CORE|PU|MISC|PCI_DEVICE|OS_DEVICE)",
        "HWLOC_OBJ_OSDEV_(NETWORK|OPENFABRICS)",
        "HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED",
        "HWLOC_TYPE_FILTER_KEEP_(NONE|IMPORTANT)",
        "HWLOC_DISTANCES_KIND_(FROM_OS|MEANS_LATENCY)",
    ],
    opaque: &["hwloc_obj_attr_u_hwloc_(cache|group|bridge)_attr_s"],
    macros: &[("HWLOC_", Macro::U32)],
};

const PMIX: BoundLibrary = BoundLibrary {
    name: "pmix",
    folder: "pmix-sys",
    headers: &["pmix.h"],
    pkg_config: "pmix",
    package: "libpmix-dev",
    types: &["pmix_(proc|value|info|status|scope|rank|data_type)_t"],
    functions: &["PMIx_(Init|Finalize|Abort|Put|Commit|Fence|Get|Error_string|Get_version|Register_event_handler)"],
    constants: &[
        "PMIX_(SUCCESS|ERR_LOST_CONNECTION|STRING|UINT32|BOOL|GLOBAL|OPTIONAL|COLLECT_DATA|JOB_SIZE|HOSTNAME)",
    ],
    // Values point to many things that we never look at.
    opaque: &[
        "pmix_(proc_info|data_array|coord|topology|cpuset|geometry|device_distance|endpoint|regattr|data_buffer)",
        "pmix_(proc_stats|(disk|net|node)_stats_t)",
    ],
    macros: &[("PMIX_SUCCESS", Macro::Int), ("PMIX_ERR", Macro::Int), ("PMIX_", Macro::U32)],
};

/// Slurm's headers stand for all: MPICH's and Cray's declare the same functions.
const PMI: BoundLibrary = BoundLibrary {
    name: "pmi",
    folder: "pmi-sys",
    headers: &["slurm/pmi.h", "slurm/pmi2.h"],
    pkg_config: "pmi",
    package: "libpmi0-dev, libpmi2-0-dev",
    types: &[],
    functions: &[
        "PMI_(Init|Finalize|Abort|Get_rank|Get_size|Barrier)",
        "PMI_KVS_(Get_my_name|Get_value_length_max|Put|Commit|Get)",
        "PMI2_(Init|Finalize|Abort|Job_GetId|KVS_Put|KVS_Fence|KVS_Get|Info_GetJobAttr)",
    ],
    constants: &["PMI_SUCCESS", "PMI2_MAX_VALLEN"],
    opaque: &[],
    macros: &[("PMI", Macro::Int)],
};
