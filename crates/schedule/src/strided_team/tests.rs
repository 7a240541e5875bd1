//! Every legal triplet and every row length, against explicit lists of PEs.

use super::*;
use std::vec;
use std::vec::Vec;

fn list(team: &Triplet) -> Vec<i64> {
    (0..i64::from(team.size)).map(|i| team.pe(i).unwrap()).collect()
}

/// Every legal split of a team with at least two members, and one per single member.
fn splits(parent: &Triplet) -> Vec<(i64, i64, i64)> {
    let n = i64::from(parent.size);
    let mut all = Vec::new();
    for start in 0..n {
        all.push((start, 5, 1));
        for stride in (-n..=n).filter(|&stride| stride != 0) {
            all.extend(
                (2..=n).take_while(|size| (0..n).contains(&(start + (size - 1) * stride))).map(|k| (start, stride, k)),
            );
        }
    }
    all
}

fn check_split(parent: &Triplet, (start, stride, size): (i64, i64, i64)) -> Triplet {
    let members = list(parent);
    let wanted: Vec<i64> = (0..size).map(|i| members[(start + i * stride * i64::from(size > 1)) as usize]).collect();
    let team = parent.split_strided(start, stride, size).unwrap();
    assert_eq!(list(&team), wanted);
    assert_eq!((team.pe(-1), team.pe(size)), (None, None));
    for pe in -2..20 {
        assert_eq!(team.number(pe), wanted.iter().position(|&q| q == pe).map(|at| at as u32));
    }
    let mut sorted = wanted;
    sorted.sort_unstable();
    assert_eq!(list(&team.in_world_order()), sorted);
    team
}

fn check_2d(parent: &Triplet) {
    let members = list(parent);
    let n = members.len();
    for xrange in 1..=n + 2 {
        for me in 0..n {
            let grid = parent.split_2d(xrange as i64, me as u32).unwrap();
            let rows: Vec<&[i64]> = members.chunks(xrange).collect();
            let row = rows.iter().find(|row| row.contains(&members[me])).unwrap();
            let column: Vec<i64> = rows.iter().filter_map(|r| r.get(me % xrange).copied()).collect();
            assert_eq!((list(&grid.row), list(&grid.column)), (row.to_vec(), column), "{parent:?} {xrange} {me}");
            assert_eq!(grid.row.number(members[me]), Some(grid.x));
            assert_eq!(grid.column.number(members[me]), Some(grid.y));
        }
    }
}

#[test]
fn str_2_3_every_split_of_every_parent_up_to_16_is_the_explicit_list() {
    for n in 1..=16 {
        let world = Triplet::world(n);
        for triplet in splits(&world) {
            let child = check_split(&world, triplet);
            for nested in splits(&child).into_iter().step_by(if n > 10 { 7 } else { 1 }) {
                check_split(&child, nested);
            }
        }
    }
}

#[test]
fn t2d_every_row_length_of_every_parent_up_to_16_is_the_explicit_grid() {
    for n in 1..=16 {
        for triplet in splits(&Triplet::world(n)) {
            check_2d(&Triplet::world(n).split_strided(triplet.0, triplet.1, triplet.2).unwrap());
        }
    }
}

#[test]
fn str_4_6_impossible_triplets_are_refused() {
    let world = Triplet::world(8);
    let (max, min) = (i64::MAX, i64::MIN);
    assert_eq!(world.split_strided(0, 1, 0), None);
    assert_eq!(world.split_strided(0, 1, -3), None);
    assert_eq!(world.split_strided(0, 1, 9), None);
    assert_eq!(world.split_strided(8, 1, 1), None);
    assert_eq!(world.split_strided(-1, 1, 2), None);
    assert_eq!(world.split_strided(0, 0, 2), None);
    assert_eq!(world.split_strided(3, 3, 3), None);
    assert_eq!(world.split_strided(2, -2, 3), None);
    assert_eq!(world.split_strided(1, max, 8), None);
    assert_eq!(world.split_strided(1, min, 2), None);
    for stride in [0, 1, -1, 100, max, min] {
        assert_eq!(world.split_strided(7, stride, 1), Some(Triplet { start: 7, stride: 1, size: 1 }));
    }
    for n in 1..=8 {
        let legal = splits(&Triplet::world(n));
        let tried = (-2..10).flat_map(|a| (-10..10).flat_map(move |b| (-1..10).map(move |c| (a, b, c))));
        for (start, stride, size) in tried.filter(|&(_, stride, size)| stride != 0 && size != 1) {
            let accepted = Triplet::world(n).split_strided(start, stride, size).is_some();
            assert_eq!(accepted, legal.contains(&(start, stride, size)), "{n}: {start} {stride} {size}");
        }
    }
}

#[test]
fn t2d_1_2_row_lengths_below_one_are_refused_and_large_ones_cut() {
    let world = Triplet::world(5);
    assert_eq!(world.split_2d(0, 0), None);
    assert_eq!(world.split_2d(-1, 0), None);
    assert_eq!(world.split_2d(1, 5), None);
    assert_eq!(world.split_2d(i64::MAX, 3).unwrap().row, world);
}

#[test]
fn t2d_9_three_axes_of_twelve_pes() {
    let world = Triplet::world(12);
    let (mut x_teams, mut y_teams, mut z_teams) = (vec![], vec![], vec![]);
    for me in 0..12u32 {
        let first = world.split_2d(3, me).unwrap();
        let second = first.column.split_2d(2, first.y).unwrap();
        assert_eq!((first.x, second.x, second.y), (me % 3, me / 3 % 2, me / 6));
        for (axis, nested) in [first.row, second.row, second.column].into_iter().enumerate() {
            assert_eq!(world.split_axis(&[3, 2, 2], axis, me), Some(nested));
        }
        x_teams.push(list(&first.row));
        y_teams.push(list(&second.row));
        z_teams.push(list(&second.column));
    }
    for (teams, count) in [(&mut x_teams, 4), (&mut y_teams, 6), (&mut z_teams, 6)] {
        teams.sort();
        teams.dedup();
        assert_eq!(teams.len(), count);
    }
    assert_eq!(y_teams, [[0, 3], [1, 4], [2, 5], [6, 9], [7, 10], [8, 11]]);
    assert_eq!(z_teams, [[0, 6], [1, 7], [2, 8], [3, 9], [4, 10], [5, 11]]);
}

#[test]
fn grids_of_any_dimension_are_full_and_leave_the_rest_out() {
    let world = Triplet::world(16);
    for extents in [&[16][..], &[4, 3], &[2, 3, 2], &[2, 2, 2, 2], &[1, 1, 5], &[1, 15, 1]] {
        let volume: i64 = extents.iter().product();
        for me in 0..16u32 {
            for axis in 0..extents.len() {
                let reach: i64 = extents[..axis].iter().product();
                let team = world.split_axis(extents, axis, me);
                let mine = i64::from(me);
                let wanted = (mine < volume).then(|| {
                    let first = mine - mine / reach % extents[axis] * reach;
                    (0..extents[axis]).map(|i| first + i * reach).collect::<Vec<i64>>()
                });
                assert_eq!(team.map(|team| list(&team)), wanted);
            }
        }
    }
    assert_eq!(world.split_axis(&[4, 0], 0, 0), None);
    assert_eq!(world.split_axis(&[4, 5], 0, 0), None);
    assert_eq!(world.split_axis(&[i64::MAX, i64::MAX], 0, 0), None);
    assert_eq!(world.split_axis(&[4, 4], 2, 0), None);
}

#[test]
fn vnd_3_the_cray_order_differs_for_a_reversed_parent() {
    let reversed = Triplet::world(8).split_strided(7, -1, 8).unwrap();
    let standard = reversed.split_strided(1, 2, 3).unwrap();
    assert_eq!(list(&standard), [6, 4, 2]);
    assert_eq!(list(&standard.in_world_order()), [2, 4, 6]);
}
