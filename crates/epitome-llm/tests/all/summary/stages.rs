//! How long conversations are parted.

use std::ops::Range;

use epitome_core::Tokens;
use epitome_llm::summary::Stages;
use proptest::prelude::*;

#[test]
fn stretches_are_smaller_where_messages_are_large() {
    let stages = Stages::default();
    let window = Tokens(200_000);
    // 0.4 of the window over the margin of 1.2.
    assert_eq!(stages.chunk(window, &[Tokens(100); 50]), Tokens(66_666));
    // Messages of a quarter of the window: the least ratio, 0.15.
    assert_eq!(stages.chunk(window, &[Tokens(50_000); 5]), Tokens(25_000));
    // 20,000 are left for the call itself; of a small window, half.
    assert_eq!(stages.one_call(window), Tokens(150_000));
    assert_eq!(stages.one_call(Tokens(8_000)), Tokens(3_333));
}

#[test]
fn what_is_too_large_is_left_out_with_what_belongs_to_it() {
    let sizes = [Tokens(10), Tokens(5), Tokens(500), Tokens(10), Tokens(10)];
    let parted = Stages::default().part(&sizes, &[0..1, 1..3, 3..4, 4..5], Tokens(20));
    assert_eq!(parted.chunks, [vec![0, 3], vec![4]]);
    assert_eq!(parted.left_out, [1, 2]);
}

fn conversations() -> impl Strategy<Value = (Vec<Tokens>, Vec<Range<usize>>)> {
    proptest::collection::vec(proptest::collection::vec(0_u64..400, 1..4), 0..40).prop_map(|atoms| {
        let mut ranges = Vec::new();
        let mut at = 0;
        for atom in &atoms {
            ranges.push(at..at + atom.len());
            at += atom.len();
        }
        (atoms.concat().into_iter().map(Tokens).collect(), ranges)
    })
}

#[test]
fn stretches_are_full_but_for_the_last_two() {
    let atoms: Vec<Range<usize>> = (0..7).map(|at| at..at + 1).collect();
    let parted = Stages::default().part(&[Tokens(10); 7], &atoms, Tokens(30));
    assert_eq!(parted.chunks, [vec![0, 1, 2], vec![3, 4], vec![5, 6]]);
}

proptest! {
    #[test]
    fn what_is_said_later_leaves_the_earlier_stretches(
        (sizes, atoms) in conversations(),
        more in proptest::collection::vec(0_u64..400, 0..20),
        most in 1_u64..2_000,
    ) {
        let before = Stages::default().part(&sizes, &atoms, Tokens(most));
        let later = (sizes.len()..sizes.len() + more.len()).map(|at| at..at + 1);
        let atoms: Vec<Range<usize>> = atoms.iter().cloned().chain(later).collect();
        let sizes: Vec<Tokens> = sizes.iter().copied().chain(more.into_iter().map(Tokens)).collect();
        let after = Stages::default().part(&sizes, &atoms, Tokens(most));
        let same = before.chunks.len().saturating_sub(2);
        prop_assert_eq!(&before.chunks[..same], &after.chunks[..same]);
    }

    #[test]
    fn stretches_hold_all_in_order_and_part_nothing((sizes, atoms) in conversations(), most in 1_u64..2_000) {
        let parted = Stages::default().part(&sizes, &atoms, Tokens(most));
        let told: Vec<usize> = parted.chunks.concat();
        prop_assert!(told.is_sorted());
        let mut all = [told, parted.left_out.clone()].concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..sizes.len()).collect::<Vec<_>>());
        for chunk in &parted.chunks {
            let size: Tokens = chunk.iter().map(|at| sizes[*at]).sum();
            prop_assert!(size <= Tokens(most) && !chunk.is_empty());
        }
        for atom in atoms {
            let holds = |chunk: &&Vec<usize>| atom.clone().any(|at| chunk.contains(&at));
            prop_assert!(parted.chunks.iter().filter(holds).count() <= 1);
        }
    }
}
