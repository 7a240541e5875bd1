//! Names of an array's elements, as the program writes them.

/// The shape of an array, as debug information has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayShape {
    /// The bytes of an element.
    pub element: u64,
    /// The first index of each dimension and the number of its elements, in the order of the indices.
    pub dimensions: Vec<(i64, u64)>,
    /// The first index changes fastest, and not the last one.
    pub is_fortran: bool,
}

impl ArrayShape {
    /// The elements that `bytes` bytes from the one with number `first` on touch: `data[2]`, `data[2] to data[5]`. Nothing if the
    /// array does not have them all.
    pub fn touched(&self, name: &str, first: u64, bytes: u64) -> Option<String> {
        let last = first.checked_add(bytes.checked_sub(1)?)?;
        let (begin, end) = (self.with_byte(name, first)?, self.with_byte(name, last)?);
        Some(if begin == end { begin } else { format!("{begin} to {end}") })
    }

    /// The element that has this byte of the array.
    fn with_byte(&self, name: &str, byte: u64) -> Option<String> {
        let mut rest = byte.checked_div(self.element)?;
        let mut indices = Vec::new();
        let mut index = |&(first, count): &(i64, u64)| {
            let number = rest.checked_rem(count)?;
            rest /= count;
            indices.push(first.checked_add_unsigned(number)?.to_string());
            Some(())
        };
        // The dimension whose index changes fastest comes first.
        if self.is_fortran {
            self.dimensions.iter().try_for_each(&mut index)?
        } else {
            self.dimensions.iter().rev().try_for_each(&mut index)?
        }
        if rest > 0 {
            return None;
        }
        Some(if self.is_fortran {
            format!("{name}({})", indices.join(","))
        } else {
            indices.iter().rev().fold(name.to_owned(), |name, index| format!("{name}[{index}]"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(element: u64, dimensions: &[(i64, u64)], is_fortran: bool) -> ArrayShape {
        ArrayShape { element, dimensions: dimensions.to_vec(), is_fortran }
    }

    #[test]
    fn elements_have_the_indices_of_their_language() {
        let row = shape(8, &[(0, 4)], false);
        assert_eq!(row.touched("data", 16, 8).as_deref(), Some("data[2]"));
        assert_eq!(row.touched("data", 20, 1).as_deref(), Some("data[2]"));
        assert_eq!(row.touched("data", 8, 16).as_deref(), Some("data[1] to data[2]"));
        let grid = shape(4, &[(0, 3), (0, 4)], false);
        assert_eq!(grid.touched("grid", 24, 4).as_deref(), Some("grid[1][2]"));
        let columns = shape(8, &[(1, 3), (-1, 4)], true);
        assert_eq!(columns.touched("a", 0, 8).as_deref(), Some("a(1,-1)"));
        assert_eq!(columns.touched("a", 40, 8).as_deref(), Some("a(3,0)"));
    }

    #[test]
    fn bytes_that_are_not_the_array_s_have_no_element() {
        let row = shape(8, &[(0, 4)], false);
        for (first, bytes) in [(32, 8), (24, 16), (0, 0), (u64::MAX, 8)] {
            assert_eq!(row.touched("data", first, bytes), None, "{first} {bytes}");
        }
        assert_eq!(shape(0, &[(0, 4)], false).touched("empty", 0, 1), None);
        assert_eq!(shape(8, &[(0, 0)], false).touched("empty", 0, 1), None);
    }
}
