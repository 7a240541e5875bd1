use super::*;

fn list(pes: &[u32]) -> Members {
    Members::of(pes.into())
}

#[test]
fn a_subset_has_the_members_that_the_part_names() {
    for pes in [&[1, 3, 5, 7, 9, 11][..], &[11, 9, 7, 5, 3, 1], &[0, 1, 3, 8, 2, 5]] {
        let team = TeamState::at(list(pes), 6, 0, 0, 0, 0);
        for part in [(0, 1, 6), (1, 2, 3), (5, -2, 3), (4, 1, 1), (5, 1, 1)] {
            let (start, stride, size) = part;
            let subset = team.subset(&Triplet { start, stride, size });
            let expected: Vec<u32> = (0..i64::from(size)).map(|i| pes[(start + i * stride) as usize]).collect();
            assert_eq!((0..size).map(|i| subset.world(i)).collect::<Vec<_>>(), expected, "{part:?} of {pes:?}");
        }
    }
}

#[test]
fn the_greatest_number_of_a_team_is_that_of_the_kind_with_most_calls() {
    let team = || TeamState::at(Members::Triplet { start: 0, stride: 1 }, 1, 0, 0, 0, 5);
    assert_eq!(team().greatest_number(), 5);
    assert_eq!(team().after(1 << 33, 7).greatest_number(), 1 << 33);
    assert_eq!(team().after(7, u64::from(u32::MAX) + 1).greatest_number(), 1 << 32);
}
