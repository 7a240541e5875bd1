//! The arrays among the static variables, from the executable's debug information: a report names the element.
//!
//! An element is named by the type of the variable alone. The type of a call is a guess: `shmem_putmem` has none, and a call may move
//! parts of an array of another type. Blocks of the heap have no type, so they have bytes.

use std::borrow::Cow;
use std::fs::File;

use addr2line::gimli::{
    self, AttributeValue, DebuggingInformationEntry, Dwarf, DwarfSections, EndianSlice, NativeEndian, Operation,
    SectionId, Unit, UnitOffset,
};
use object::{Object, ObjectSection, ReadCache};
use oxshmem_os::program;
use oxshmem_race::ArrayShape;

type Bytes<'d> = EndianSlice<'d, NativeEndian>;
type Entry<'a, 'u, 'd> = DebuggingInformationEntry<'a, 'u, Bytes<'d>>;

/// The sections that tell variables and types.
const SECTIONS: [SectionId; 4] =
    [SectionId::DebugAbbrev, SectionId::DebugAddr, SectionId::DebugInfo, SectionId::DebugLine];
/// A type has no more names for a name, and no more arrays in an array.
const MOST: usize = 64;

/// The shape of the static array at an address of this process's executable, as far as debug information tells it.
pub(crate) fn at(address: u64) -> Option<ArrayShape> {
    let file = ReadCache::new(File::open(program::file().ok()?).ok()?);
    let object = object::File::parse(&file).ok()?;
    let sections = DwarfSections::load(|id| section(&object, id)).ok()?;
    let dwarf = sections.borrow(|section| EndianSlice::new(&section[..], NativeEndian));
    let mut units = dwarf.units();
    while let Some(header) = units.next().ok()? {
        let Ok(unit) = dwarf.unit(header) else { continue };
        if let Some(of) = type_at(&dwarf, &unit, address) {
            return shape(&unit, of);
        }
    }
    None
}

fn section<'d>(object: &object::File<'d, &'d ReadCache<File>>, id: SectionId) -> Result<Cow<'d, [u8]>, object::Error> {
    match object.section_by_name(id.name()) {
        Some(section) if SECTIONS.contains(&id) => section.uncompressed_data(),
        _ => Ok(Cow::Borrowed(&[])),
    }
}

/// The type of the variable at an address.
fn type_at<'d>(dwarf: &Dwarf<Bytes<'d>>, unit: &Unit<Bytes<'d>>, address: u64) -> Option<UnitOffset> {
    let mut entries = unit.entries();
    while let Some((_, entry)) = entries.next_dfs().ok()? {
        if entry.tag() == gimli::DW_TAG_variable && place(dwarf, unit, entry) == Some(address) {
            return type_of(unit, entry);
        }
    }
    None
}

/// The address of a static variable.
fn place<'d>(dwarf: &Dwarf<Bytes<'d>>, unit: &Unit<Bytes<'d>>, variable: &Entry<'_, '_, 'd>) -> Option<u64> {
    let location = variable.attr_value(gimli::DW_AT_location).ok()??.exprloc_value()?;
    let mut operations = location.operations(unit.encoding());
    let address = match operations.next().ok()?? {
        Operation::Address { address } => address,
        Operation::AddressIndex { index } => dwarf.address(unit, index).ok()?,
        _ => return None,
    };
    // Further operations give its place in an object that the compiler has made of several variables.
    operations.next().ok()?.is_none().then_some(address)
}

/// The type of an entry, or of the declaration that it defines.
fn type_of<'d>(unit: &Unit<Bytes<'d>>, entry: &Entry<'_, '_, 'd>) -> Option<UnitOffset> {
    reference(entry, gimli::DW_AT_type).or_else(|| {
        let declared = unit.entry(reference(entry, gimli::DW_AT_specification)?).ok()?;
        reference(&declared, gimli::DW_AT_type)
    })
}

/// The entry of the same unit that an attribute names.
fn reference(entry: &Entry<'_, '_, '_>, name: gimli::DwAt) -> Option<UnitOffset> {
    match entry.attr_value(name).ok()?? {
        AttributeValue::UnitRef(of) => Some(of),
        _ => None,
    }
}

/// The shape of a type, if it is that of an array.
fn shape(unit: &Unit<Bytes<'_>>, of: UnitOffset) -> Option<ArrayShape> {
    let is_fortran = is_fortran(unit);
    let (mut of, mut dimensions) = (without_names(unit, of)?, Vec::new());
    // A name for an array may be the type of another array's elements.
    for _ in 0..MOST {
        let entry = unit.entry(of).ok()?;
        if entry.tag() != gimli::DW_TAG_array_type {
            break;
        }
        dimensions.extend(dimensions_of(unit, of, i64::from(is_fortran))?);
        of = without_names(unit, type_of(unit, &entry)?)?;
    }
    let element = size(unit, of)?;
    (!dimensions.is_empty()).then_some(ArrayShape { element, dimensions, is_fortran })
}

/// The type that names and qualifiers stand for.
fn without_names(unit: &Unit<Bytes<'_>>, mut of: UnitOffset) -> Option<UnitOffset> {
    for _ in 0..MOST {
        let entry = unit.entry(of).ok()?;
        match entry.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => of = type_of(unit, &entry)?,
            _ => return Some(of),
        }
    }
    None
}

/// The first index and the number of elements of each dimension. `first`: the index where a dimension does not tell it.
fn dimensions_of(unit: &Unit<Bytes<'_>>, array: UnitOffset, first: i64) -> Option<Vec<(i64, u64)>> {
    let mut tree = unit.entries_tree(Some(array)).ok()?;
    let mut children = tree.root().ok()?.children();
    let mut dimensions = Vec::new();
    while let Some(child) = children.next().ok()? {
        let entry = child.entry();
        if entry.tag() != gimli::DW_TAG_subrange_type {
            continue;
        }
        let first = match entry.attr_value(gimli::DW_AT_lower_bound).ok()? {
            Some(value) => number(&value)?,
            None => first,
        };
        let count = match entry.attr_value(gimli::DW_AT_count).ok()? {
            Some(value) => number(&value)?,
            None => {
                let last = number(&entry.attr_value(gimli::DW_AT_upper_bound).ok()??)?;
                last.checked_sub(first)?.checked_add(1)?
            }
        };
        dimensions.push((first, u64::try_from(count).ok()?));
    }
    Some(dimensions)
}

/// A bound that is no expression.
fn number(value: &AttributeValue<Bytes<'_>>) -> Option<i64> {
    match value {
        AttributeValue::Sdata(number) => Some(*number),
        _ => i64::try_from(value.udata_value()?).ok(),
    }
}

/// The bytes of a type.
fn size(unit: &Unit<Bytes<'_>>, of: UnitOffset) -> Option<u64> {
    let entry = unit.entry(of).ok()?;
    match entry.attr_value(gimli::DW_AT_byte_size).ok()? {
        Some(bytes) => bytes.udata_value(),
        None if entry.tag() == gimli::DW_TAG_pointer_type => Some(unit.encoding().address_size.into()),
        None => None,
    }
}

fn is_fortran(unit: &Unit<Bytes<'_>>) -> bool {
    let mut entries = unit.entries();
    let root = entries.next_dfs().ok().flatten();
    let language = root.and_then(|(_, root)| root.attr_value(gimli::DW_AT_language).ok().flatten());
    let Some(AttributeValue::Language(language)) = language else { return false };
    [
        gimli::DW_LANG_Fortran77,
        gimli::DW_LANG_Fortran90,
        gimli::DW_LANG_Fortran95,
        gimli::DW_LANG_Fortran03,
        gimli::DW_LANG_Fortran08,
        gimli::DW_LANG_Fortran18,
    ]
    .contains(&language)
}
