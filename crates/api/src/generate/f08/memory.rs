//! The symmetric heap: routines that give a Fortran pointer of any type and rank.

use super::kinds::{FortranType, TYPES};
use super::wrapped;

/// The routines without their prefix.
pub(super) const NAMES: &[&str] = &["malloc", "calloc", "align", "malloc_with_hints", "realloc", "free"];

/// The most dimensions that an array has by the standard.
const RANKS: usize = 15;

/// A string has a length of its own, which a pointer of this kind cannot be given.
fn types() -> impl Iterator<Item = &'static FortranType> {
    TYPES.iter().filter(|element| element.name != "character")
}

/// How programs call them: for the manual.
pub(super) const USAGES: [(&str, &[&str]); 6] = [
    ("shmem_malloc", &["call shmem_malloc(array [, shape])"]),
    ("shmem_calloc", &["call shmem_calloc(array [, shape])"]),
    ("shmem_align", &["call shmem_align(alignment, array [, shape])", "    integer :: alignment"]),
    ("shmem_malloc_with_hints", &["call shmem_malloc_with_hints(array [, shape], hints)", "    integer :: hints"]),
    ("shmem_realloc", &["call shmem_realloc(array [, shape])"]),
    (
        "shmem_free",
        &[
            "call shmem_free(array)",
            "    ! in all of these:",
            "    TYPE, pointer :: array, or array(:), or of more dimensions",
            "    integer :: shape(:)",
        ],
    ),
];

/// Their interfaces, and those of the C routines.
pub(super) fn generics() -> String {
    let mut text = String::from(ROUTINES);
    for name in NAMES {
        let specifics: Vec<String> = types().map(|element| format!("shmem_{name}_{}", element.name)).collect();
        let bytes = matches!(*name, "malloc" | "free").then(|| format!("shmem_{name}_bytes"));
        let list: Vec<&str> = specifics.iter().chain(&bytes).map(String::as_str).collect();
        text += &format!("    public :: shmem_{name}\n    interface shmem_{name}\n");
        text += &wrapped("        procedure ", &list);
        text += "    end interface\n";
    }
    text
}

/// The procedures.
pub(super) fn bodies() -> String {
    let each: String = types().map(of_type).collect();
    format!("{BYTES}{each}")
}

const ROUTINES: &str = "
    integer(c_int8_t), target, save :: nothing = 0
    interface
        function c_malloc(size) bind(c, name='shmem_malloc')
            import
            integer(c_size_t), value :: size
            type(c_ptr) :: c_malloc
        end function
        function c_calloc(count, size) bind(c, name='shmem_calloc')
            import
            integer(c_size_t), value :: count, size
            type(c_ptr) :: c_calloc
        end function
        function c_align(alignment, size) bind(c, name='shmem_align')
            import
            integer(c_size_t), value :: alignment, size
            type(c_ptr) :: c_align
        end function
        function c_malloc_with_hints(size, hints) bind(c, name='shmem_malloc_with_hints')
            import
            integer(c_size_t), value :: size
            integer(c_long), value :: hints
            type(c_ptr) :: c_malloc_with_hints
        end function
        function c_realloc(ptr, size) bind(c, name='shmem_realloc')
            import
            type(c_ptr), value :: ptr
            integer(c_size_t), value :: size
            type(c_ptr) :: c_realloc
        end function
        subroutine c_free(ptr) bind(c, name='shmem_free')
            import
            type(c_ptr), value :: ptr
        end subroutine
    end interface
";

/// Memory without a type, and the number of an array's elements.
const BYTES: &str = "
    subroutine shmem_malloc_bytes(address, size)
        type(c_ptr), intent(out) :: address
        integer(c_size_t), intent(in) :: size
        address = c_malloc(size)
    end subroutine

    subroutine shmem_free_bytes(address)
        type(c_ptr), intent(inout) :: address
        call c_free(address)
        address = c_null_ptr
    end subroutine

    ! A product that overflows is a number for which no heap has room, whatever the size of an element.
    pure function elements(shape) result(answer)
        integer, intent(in), optional :: shape(:)
        integer(c_size_t) :: answer
        integer(c_size_t), parameter :: most = 2_c_size_t**58
        integer :: at
        answer = 1
        if (.not. present(shape)) return
        if (any(shape <= 0)) answer = 0
        do at = 1, size(shape)
            if (answer > most / max(shape(at), 1)) then
                answer = most
            else
                answer = answer * max(shape(at), 0)
            end if
        end do
    end function
";

/// The procedures of one type. A pointer stays without a target where the heap has no room. An array without elements has the target
/// `nothing`, which is never freed.
fn of_type(&FortranType { name, declaration, .. }: &FortranType) -> String {
    let array = |intent: &str| format!("        {declaration}, pointer, intent({intent}) :: array(..)\n");
    let shape = "        integer, intent(in), optional :: shape(:)\n";
    let size = format!("storage_size(unit_{name}, c_size_t) / 8");
    let unit = format!("        {declaration} :: unit_{name}\n");
    let allocates = |routine: &str, before: &str, behind: &str, more: &str, call: &str| {
        format!(
            "\n    subroutine shmem_{routine}_{name}({before}array, shape{behind})\n{more}{}{shape}{unit}        \
             call point_{name}({call}, array, shape)\n    end subroutine\n",
            array("out")
        )
    };
    let bytes = format!("elements(shape) * ({size})");
    let alignment = "        integer, intent(in) :: alignment\n";
    let hints = "        integer, intent(in) :: hints\n";
    let mut text = allocates("malloc", "", "", "", &format!("c_malloc({bytes})"));
    text += &allocates("calloc", "", "", "", &format!("c_calloc(elements(shape), {size})"));
    text += &allocates(
        "align",
        "alignment, ",
        "",
        alignment,
        &format!("c_align(int(alignment, c_size_t), &\n            {bytes})"),
    );
    text += &allocates(
        "malloc_with_hints",
        "",
        ", hints",
        hints,
        &format!("c_malloc_with_hints({bytes}, &\n            int(hints, c_long))"),
    );
    text += &format!(
        "\n    subroutine shmem_realloc_{name}(array, shape)\n{}{shape}{unit}        call point_{name}(c_realloc(target_{name}(array), \
         &\n            {bytes}), array, shape)\n    end subroutine\n",
        array("inout")
    );
    text += &format!(
        "\n    subroutine shmem_free_{name}(array)\n{}        call c_free(target_{name}(array))\n        select rank (array)\n{}        \
         end select\n    end subroutine\n",
        array("inout"),
        ranks(|_| "array => null()".into())
    );
    text += &format!(
        "\n    function target_{name}(array) result(address)\n        {declaration}, pointer, intent(in) :: array(..)\n        \
         type(c_ptr) :: address\n        address = c_null_ptr\n        select rank (array)\n{}        end select\n    end function\n",
        ranks(|rank| {
            let exists = if rank == 0 { "" } else { "if (size(array, kind=c_size_t) > 0) " };
            format!("if (associated(array)) then\n                {exists}address = c_loc(array)\n            end if")
        })
    );
    text += &format!(
        "\n    subroutine point_{name}(address, array, shape)\n        type(c_ptr), intent(in) :: address\n{}{shape}        \
         integer :: dimensions\n        dimensions = 0\n        if (present(shape)) dimensions = size(shape)\n        \
         if (dimensions /= rank(array)) error stop &\n            \
         'the shape of a symmetric array needs one extent for each dimension of its pointer, as [3, 4] for u(:, :)'\n        \
         select rank (array)\n{}        end select\n    end subroutine\n",
        array("out"),
        ranks(|rank| {
            let shape = if rank == 0 { "" } else { ", shape" };
            let empty = match rank {
                0 => String::new(),
                _ => "\n            if (.not. c_associated(address) .and. elements(shape) == 0) &\n                \
                      call c_f_pointer(c_loc(nothing), array, shape)"
                    .into(),
            };
            format!(
                "array => null()\n            if (c_associated(address)) call c_f_pointer(address, array{shape}){empty}"
            )
        })
    );
    text
}

/// One statement for every rank.
fn ranks(statement: impl Fn(usize) -> String) -> String {
    (0..=RANKS).map(|rank| format!("        rank ({rank})\n            {}\n", statement(rank))).collect()
}
