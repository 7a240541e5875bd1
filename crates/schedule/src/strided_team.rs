//! Team membership as arithmetic: which PEs a team has, and what its members' numbers are, without lists or messages.
//!
//! A team is a [`Triplet`] over the world (or over a node's list of PEs). Strided splits and grids of a triplet are
//! triplets again. Everything is computed in integers wide enough for any argument.

/// The PEs `start`, `start + stride`, …; `size` of them, at least one. A stride below zero numbers them backwards; a
/// team of one PE always has stride 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Triplet {
    /// Member 0.
    pub start: i64,
    /// From one member to the next, not 0.
    pub stride: i64,
    /// Members.
    pub size: u32,
}

impl Triplet {
    /// All PEs of a job.
    pub const fn world(size: u32) -> Self {
        Self { start: 0, stride: 1, size }
    }

    /// The PE that is member `number`.
    pub const fn pe(&self, number: i64) -> Option<i64> {
        if number < 0 || number >= self.size as i64 { None } else { Some(self.start + number * self.stride) }
    }

    /// The number of `pe` in the team.
    pub const fn number(&self, pe: i64) -> Option<u32> {
        let distance = pe - self.start;
        let number = distance / self.stride;
        let member = distance % self.stride == 0 && number >= 0 && number < self.size as i64;
        if member { Some(number as u32) } else { None }
    }

    /// The members `start`, `start + stride`, … of this team, `size` of them, as a team. With one member the stride is
    /// never applied, whatever it is. `None` if there is no member, or one is not in this team: numbers do not wrap around.
    pub fn split_strided(&self, start: i64, stride: i64, size: i64) -> Option<Self> {
        let first = self.pe(start)?;
        if size == 1 {
            return Some(Self { start: first, stride: 1, size: 1 });
        }
        if stride == 0 || size < 1 || size > i64::from(self.size) {
            return None;
        }
        let last = i128::from(start) + i128::from(size - 1) * i128::from(stride);
        if last < 0 || last >= i128::from(self.size) {
            return None;
        }
        // The last member is in the parent, so the stride is below the parent's size and the product is a distance.
        Some(Self { start: first, stride: stride * self.stride, size: size as u32 })
    }

    /// The same members numbered by rising PE number: how the Cray form of the split orders a team.
    pub const fn in_world_order(&self) -> Self {
        let last = self.start + (self.size as i64 - 1) * self.stride;
        if self.stride < 0 { Self { start: last, stride: -self.stride, size: self.size } } else { *self }
    }

    /// The two teams of member `me` in a grid with rows of `xrange` members; the last row may be short. `None` if
    /// `xrange` is below 1 or there is no such member.
    pub fn split_2d(&self, xrange: i64, me: u32) -> Option<Grid2d> {
        let (size, me) = (i64::from(self.size), i64::from(me));
        if xrange < 1 || me >= size {
            return None;
        }
        let xrange = xrange.min(size);
        let (x, y) = (me % xrange, me / xrange);
        let team = |start, stride, size| self.split_strided(start, stride, size);
        Some(Grid2d {
            row: team(y * xrange, 1, xrange.min(size - y * xrange))?,
            column: team(x, xrange, (size - x + xrange - 1) / xrange)?,
            x: x as u32,
            y: y as u32,
        })
    }

    /// The team along axis `axis` of member `me` in a full grid with the given extents, the first axis fastest. `None`
    /// for members beyond the grid, and if there is no such axis or no such grid in this team.
    pub fn split_axis(&self, extents: &[i64], axis: usize, me: u32) -> Option<Self> {
        let mut volume = 1i64;
        let mut reach = 1;
        for (i, &extent) in extents.iter().enumerate() {
            if extent < 1 {
                return None;
            }
            if i == axis {
                reach = volume;
            }
            volume = volume.checked_mul(extent).filter(|&places| places <= i64::from(self.size))?;
        }
        let &extent = extents.get(axis)?;
        let me = i64::from(me);
        if me >= volume {
            return None;
        }
        let at = me / reach % extent;
        self.split_strided(me - at * reach, reach, extent)
    }
}

/// A member's place in a two-dimensional grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid2d {
    /// All members with the same `y`: the x-axis team, in which this member has number `x`.
    pub row: Triplet,
    /// All members with the same `x`: the y-axis team, in which this member has number `y`.
    pub column: Triplet,
    /// The place in the row.
    pub x: u32,
    /// The place in the column.
    pub y: u32,
}

#[cfg(test)]
mod tests;
