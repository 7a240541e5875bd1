//! Team membership as arithmetic: which PEs a team has, and what its members' numbers are, without lists or messages.
//!
//! A team is a [`Triplet`] over the world (or over a node's list of PEs). Strided splits and grids of a triplet are
//! triplets again. Everything is computed in integers wide enough for any argument.

use core::fmt;

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

/// Why a triplet cannot be a team of its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadTriplet {
    /// Fewer than one member, or more than the parent has.
    Size {
        /// The size asked for.
        size: i64,
        /// The parent's.
        parent: u32,
    },
    /// The first member is not in the parent.
    Start {
        /// The start asked for.
        start: i64,
        /// The parent's size.
        parent: u32,
    },
    /// The stride is 0 and there are several members.
    Stride {
        /// The size asked for.
        size: i64,
    },
    /// The last member is not in the parent; numbers do not wrap around.
    Last {
        /// Its number in the parent, were there such a PE.
        last: i128,
        /// The parent's size.
        parent: u32,
    },
}

impl fmt::Display for BadTriplet {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Size { size, parent } => write!(f, "size {size}: a team of this parent has 1 to {parent} PEs"),
            Self::Start { start, parent } => {
                write!(f, "start {start}: the parent's PEs are 0 to {}", parent - 1)
            }
            Self::Stride { size } => write!(f, "stride 0: the {size} members would be one PE"),
            Self::Last { last, parent } => {
                write!(f, "the last member would be PE {last}: the parent's PEs are 0 to {}", parent - 1)
            }
        }
    }
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
    /// never applied, whatever it is.
    pub fn split_strided(&self, start: i64, stride: i64, size: i64) -> Result<Self, BadTriplet> {
        let parent = self.size;
        if size < 1 || size > i64::from(parent) {
            return Err(BadTriplet::Size { size, parent });
        }
        let first = self.pe(start).ok_or(BadTriplet::Start { start, parent })?;
        if size == 1 {
            return Ok(Self { start: first, stride: 1, size: 1 });
        }
        if stride == 0 {
            return Err(BadTriplet::Stride { size });
        }
        let last = i128::from(start) + i128::from(size - 1) * i128::from(stride);
        if last < 0 || last >= i128::from(parent) {
            return Err(BadTriplet::Last { last, parent });
        }
        // The last member is in the parent, so the stride is below the parent's size and the product is a distance.
        Ok(Self { start: first, stride: stride * self.stride, size: size as u32 })
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
        let team = |start, stride, size| self.split_strided(start, stride, size).ok();
        Some(Grid2d {
            row: team(y * xrange, 1, xrange.min(size - y * xrange))?,
            column: team(x, xrange, (size - x + xrange - 1) / xrange)?,
            x: x as u32,
            y: y as u32,
        })
    }

    /// The team along axis `axis` of member `me` in a full grid with the given extents, the first axis fastest. `None`
    /// for members beyond the grid.
    pub fn split_axis(&self, extents: &[i64], axis: usize, me: u32) -> Result<Option<Self>, BadGrid> {
        let mut volume = 1i64;
        let mut reach = 1;
        for (i, &extent) in extents.iter().enumerate() {
            if extent < 1 {
                return Err(BadGrid::Extent { axis: i, extent });
            }
            if i == axis {
                reach = volume;
            }
            volume = volume
                .checked_mul(extent)
                .filter(|&v| v <= i64::from(self.size))
                .ok_or(BadGrid::Volume { axis: i, parent: self.size })?;
        }
        let &extent = extents.get(axis).ok_or(BadGrid::Axis { axis, axes: extents.len() })?;
        let me = i64::from(me);
        if me >= volume {
            return Ok(None);
        }
        let at = me / reach % extent;
        Ok(self.split_strided(me - at * reach, reach, extent).ok())
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

/// Why extents are no grid of a team.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadGrid {
    /// An extent below 1.
    Extent {
        /// The axis.
        axis: usize,
        /// Its extent.
        extent: i64,
    },
    /// More places than PEs.
    Volume {
        /// The axis with which the places exceed the PEs.
        axis: usize,
        /// The PEs.
        parent: u32,
    },
    /// No such axis.
    Axis {
        /// The axis asked for.
        axis: usize,
        /// The axes there are.
        axes: usize,
    },
}

impl fmt::Display for BadGrid {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Extent { axis, extent } => {
                write!(f, "axis {axis} has extent {extent}: it must be at least 1")
            }
            Self::Volume { axis, parent } => {
                write!(f, "with axis {axis} the grid has more places than the {parent} PEs of the parent")
            }
            Self::Axis { axis, axes } => write!(f, "axis {axis}: the grid has {axes}"),
        }
    }
}

#[cfg(test)]
mod tests;
