//! Types, constants, and the procedures that are written by hand: what handles are, and defaults of arguments.
//!
//! A handle is an integer: the predefined ones have the numbers of `shmemx`, so that they can be constants, and all others
//! are the addresses that C has.

use super::procedure::Holder;
use crate::constants::{FORTRAN_TEAMS, GROUPS};

/// The number of `SHMEM_CTX_DEFAULT`.
const CONTEXT_DEFAULT: i64 = 1;

/// The constants of the header, as numbers of the default kind.
pub(super) fn constants() -> String {
    let all = GROUPS.iter().flat_map(|group| group.constants);
    all.map(|(name, value)| (constant(name), in_fortran(value)))
        .map(|(name, value)| {
            if value.starts_with('\'') {
                format!("    character(*), parameter, public :: {name} = {value}\n")
            } else {
                format!("    integer, parameter, public :: {name} = {value}\n")
            }
        })
        .collect()
}

/// The name of a constant. Fortran does not tell `SHMEM_SIGNAL_SET` from `shmem_signal_set`, so what a put's signal does has a
/// shorter name.
pub(in crate::generate) fn constant(name: &str) -> String {
    match name {
        "SIGNAL_SET" => "SHMEM_SIG_SET".into(),
        "SIGNAL_ADD" => "SHMEM_SIG_ADD".into(),
        name => format!("SHMEM_{name}"),
    }
}

/// Its value: `(1L << 2)` is 4, and texts have Fortran's quotes.
pub(in crate::generate) fn in_fortran(value: &str) -> String {
    match value.trim_matches(['(', ')']).split_once("L << ") {
        Some(shifted) => {
            let [bits, by] = [shifted.0, shifted.1].map(|text| text.parse::<u32>().expect("the table has numbers"));
            (bits << by).to_string()
        }
        None => value.replace('"', "'"),
    }
}

/// The types, with what `bindings` says of each.
pub(super) fn types(bindings: impl Fn(Holder) -> String) -> String {
    let holders = [("shmem_ctx", Holder::Context), ("shmem_team", Holder::Team), ("shmem_req", Holder::Request)];
    let mut text = String::from(CONFIGURATIONS);
    for (name, holder) in holders {
        text += &format!("\n    type, public :: {name}\n        integer(c_intptr_t) :: handle = 0\n    contains\n");
        if holder != Holder::Request {
            text += &format!("        procedure :: to_c => {name}_to_c\n");
        }
        text += &bindings(holder);
        text += "    end type\n";
    }
    let teams = FORTRAN_TEAMS.into_iter().chain([("INVALID", 0)]);
    let teams = teams.map(|(name, number)| predefined("team", "TEAM", name, number));
    let contexts = [("INVALID", 0), ("DEFAULT", CONTEXT_DEFAULT)];
    let contexts = contexts.map(|(name, number)| predefined("ctx", "CTX", name, number));
    text += &format!("\n{}", teams.chain(contexts).collect::<String>());
    text + &predefined("req", "REQ", "INVALID", 0)
}

fn predefined(kind: &str, group: &str, name: &str, number: i64) -> String {
    format!("    type(shmem_{kind}), parameter, public :: SHMEM_{group}_{name} = shmem_{kind}({number})\n")
}

const CONFIGURATIONS: &str = "
    type, bind(c), public :: shmem_team_config
        integer(c_int) :: num_contexts = 0
    end type
    type, bind(c), public :: shmem_ctx_session_config
        integer(c_size_t) :: total_ops = 0
    end type
";

/// The teams that have an object in C: its name, and the number of the handle.
fn team_objects() -> impl Iterator<Item = (String, i64)> {
    let objects = FORTRAN_TEAMS.into_iter().filter(|&(_, number)| number != 0);
    objects.map(|(name, number)| (format!("oxshmem_team_{}", name.to_lowercase()), number))
}

/// The objects whose addresses are C's predefined handles.
pub(super) fn objects() -> String {
    let names = [String::from("oxshmem_context_default")].into_iter().chain(team_objects().map(|(name, _)| name));
    let declared = |name| format!("        subroutine {name}() bind(c)\n        end subroutine\n");
    let objects: String = names.map(declared).collect();
    format!(
        "
    ! A variable that is bound to a name of C would be one more definition of it. A procedure never is, and the linker does not
    ! ask what lies at the address.
    interface
{objects}    end interface

"
    )
}

/// How programs call the procedures here that have a page of the manual.
pub(super) const USAGES: [(&str, &[&str]); 3] = [
    ("shmem_info_get_name", &["call shmem_info_get_name(name)", "    character(*) :: name"]),
    (
        "shmemx_team_split",
        &[
            "call shmemx_team_split(parent_team, color, key, newteam)",
            "    type(shmem_team) :: parent_team",
            "    integer :: color",
            "    integer :: key",
            "    type(shmem_team) :: newteam",
        ],
    ),
    (
        "shmemx_team_split_strided",
        &[
            "call shmemx_team_split_strided(parent_team, PE_start, PE_stride, &",
            "        PE_size, newteam)",
            "    type(shmem_team) :: parent_team",
            "    integer :: PE_start",
            "    integer :: PE_stride",
            "    integer :: PE_size",
            "    type(shmem_team) :: newteam",
        ],
    ),
];

/// Generics of the procedures in [`BODIES`], and Cray's splits: by colour, and the one that the members alone call.
pub(super) const INTERFACES: &str = "
    public :: operator(==), operator(/=), shmem_info_get_name, shmemx_team_split, shmemx_team_split_strided
    integer, parameter, public :: SHMEM_COLOR_UNDEFINED = -1
    ! Routines of the module shmemx, whose handles are the integers in these types.
    interface
        subroutine shmemx_team_split(parent_team, color, key, newteam)
            import
            type(shmem_team), intent(in) :: parent_team
            integer, intent(in) :: color, key
            type(shmem_team), intent(inout) :: newteam
        end subroutine
        subroutine shmemx_team_split_strided(parent_team, PE_start, PE_stride, PE_size, newteam)
            import
            type(shmem_team), intent(in) :: parent_team
            integer, intent(in) :: PE_start, PE_stride, PE_size
            type(shmem_team), intent(inout) :: newteam
        end subroutine
    end interface
    interface operator(==)
        procedure same_team, same_context
    end interface
    interface operator(/=)
        procedure other_team, other_context
    end interface
";

/// The functions that find C's handle for one of Fortran's: the address of a predefined object, or the handle itself.
pub(super) fn addresses() -> String {
    let case = |(object, number)| {
        format!("        case ({number})\n            address = transfer(c_funloc({object}), address)\n")
    };
    let cases: String = team_objects().map(case).collect();
    format!(
        "
    function shmem_team_address(team) result(address)
        class(shmem_team), intent(in) :: team
        integer(c_intptr_t) :: address
        select case (team%handle)
{cases}        case default
            address = team%handle
        end select
    end function

    function shmem_ctx_address(ctx) result(address)
        class(shmem_ctx), intent(in) :: ctx
        integer(c_intptr_t) :: address
        address = ctx%handle
        if (address == {CONTEXT_DEFAULT}) address = transfer(c_funloc(oxshmem_context_default), address)
    end function
"
    )
}

/// Procedures that the table does not describe.
pub(super) const BODIES: &str = "
    ! The handle for a routine of C.
    function shmem_team_to_c(team) result(handle)
        class(shmem_team), intent(in) :: team
        type(c_ptr) :: handle
        handle = transfer(shmem_team_address(team), handle)
    end function

    function shmem_ctx_to_c(ctx) result(handle)
        class(shmem_ctx), intent(in) :: ctx
        type(c_ptr) :: handle
        handle = transfer(shmem_ctx_address(ctx), handle)
    end function

    ! A predefined team that came from C has an address, too.
    function same_team(one, other) result(answer)
        type(shmem_team), intent(in) :: one, other
        logical :: answer
        answer = shmem_team_address(one) == shmem_team_address(other)
    end function

    function other_team(one, other) result(answer)
        type(shmem_team), intent(in) :: one, other
        logical :: answer
        answer = .not. same_team(one, other)
    end function

    function same_context(one, other) result(answer)
        type(shmem_ctx), intent(in) :: one, other
        logical :: answer
        answer = shmem_ctx_address(one) == shmem_ctx_address(other)
    end function

    function other_context(one, other) result(answer)
        type(shmem_ctx), intent(in) :: one, other
        logical :: answer
        answer = .not. same_context(one, other)
    end function

    ! Ends the job: the elements of an argument must follow each other in memory. Those of u(2:5, 3:3) do, though gfortran's
    ! is_contiguous denies it, and so it does for a section without elements.
    subroutine lies_apart(routine, argument, array)
        character(len=*), intent(in) :: routine, argument
        type(*), intent(in) :: array(..)
        interface
            function lie_together(array, dimensions) bind(c, name='oxshmem_lie_together')
                import
                type(*), intent(in) :: array(..)
                integer(c_int), value :: dimensions
                integer(c_int) :: lie_together
            end function
            subroutine end_job(routine, argument) bind(c, name='oxshmem_lies_apart')
                import
                character(kind=c_char), intent(in) :: routine(*), argument(*)
            end subroutine
        end interface
        if (lie_together(array, rank(array)) /= 0) return
        call end_job(routine // c_null_char, argument // c_null_char)
    end subroutine

    ! An array that does not decide the number of elements is as long, as far as its length is known: from SHMEM_CHECK=2 on a
    ! shorter one ends the job.
    subroutine check_length(routine, argument, deciding, count, has, needs)
        character(len=*), intent(in) :: routine, argument, deciding, count
        integer(c_size_t), intent(in) :: has, needs
        interface
            subroutine too_short(routine, argument, deciding, count, has, needs) bind(c, name='oxshmem_too_short')
                import
                character(kind=c_char), intent(in) :: routine(*), argument(*), deciding(*), count(*)
                integer(c_size_t), value :: has, needs
            end subroutine
        end interface
        if (has < 0 .or. has >= needs) return
        call too_short(routine // c_null_char, argument // c_null_char, deciding // c_null_char, count // c_null_char, &
            has, needs)
    end subroutine

    ! A call without a number of elements has an array whose number is known. One whose last dimension is * has none, and
    ! its size is negative.
    subroutine check_number(routine, deciding, count, has)
        character(len=*), intent(in) :: routine, deciding, count
        integer(c_size_t), intent(in) :: has
        interface
            subroutine no_number(routine, deciding, count) bind(c, name='oxshmem_no_number')
                import
                character(kind=c_char), intent(in) :: routine(*), deciding(*), count(*)
            end subroutine
        end interface
        if (has >= 0) return
        call no_number(routine // c_null_char, deciding // c_null_char, count // c_null_char)
    end subroutine

    ! An exchange without a number of elements has an equal part of the array for each PE: from SHMEM_CHECK=2 on elements
    ! that are left over end the job.
    subroutine check_parts(routine, deciding, count, has, pes)
        character(len=*), intent(in) :: routine, deciding, count
        integer(c_size_t), intent(in) :: has
        integer(c_int), intent(in) :: pes
        interface
            subroutine left_over(routine, deciding, count, has, pes) bind(c, name='oxshmem_left_over')
                import
                character(kind=c_char), intent(in) :: routine(*), deciding(*), count(*)
                integer(c_size_t), value :: has, pes
            end subroutine
        end interface
        call check_number(routine, deciding, count, has)
        if (pes < 1) return
        if (mod(has, int(pes, c_size_t)) == 0) return
        call left_over(routine // c_null_char, deciding // c_null_char, count // c_null_char, has, int(pes, c_size_t))
    end subroutine

    ! The number of strings of another length for which an array of strings has room; below zero where it is not known, and for
    ! strings without characters.
    pure function strings_in(strings, length, wanted) result(answer)
        integer(c_size_t), intent(in) :: strings, length, wanted
        integer(c_size_t) :: answer
        answer = -1
        if (strings >= 0 .and. wanted > 0) answer = strings * length / wanted
    end function

    ! The number of elements: the program's, or all.
    pure function count_of(given, all) result(answer)
        integer, intent(in), optional :: given
        integer(c_size_t), intent(in) :: all
        integer(c_size_t) :: answer
        answer = all
        if (present(given)) answer = given
    end function

    ! The fields of a configuration that count: the program's, or the only one of a configuration that is there.
    pure function mask_of(given, there) result(answer)
        integer, intent(in), optional :: given
        logical, intent(in) :: there
        integer(c_long) :: answer
        answer = merge(1_c_long, 0_c_long, there)
        if (present(given)) answer = given
    end function

    subroutine shmem_info_get_name(name)
        character(len=*), intent(out) :: name
        character(kind=c_char) :: text(SHMEM_MAX_NAME_LEN)
        integer :: at
        interface
            subroutine routine(text) bind(c, name='shmem_info_get_name')
                import
                character(kind=c_char), intent(out) :: text(*)
            end subroutine
        end interface
        call routine(text)
        name = ''
        do at = 1, min(len(name), SHMEM_MAX_NAME_LEN)
            if (text(at) == c_null_char) exit
            name(at:at) = text(at)
        end do
    end subroutine
";
