//! Delta debugging (Zeller and Hildebrandt's ddmin): finds a part of a list that still fails and
//! from which no single item can be omitted.

/// Returns a part of `items` that still fails and that passes without any one of its items. All
/// `items` together must fail. The search is deterministic. `fails` gets parts in their original
/// order, the empty part first, and may return false once its bound is reached.
///
/// # Errors
/// Those of `fails`.
pub fn ddmin<T: Clone, E>(
    items: Vec<T>,
    fails: &mut dyn FnMut(&[T]) -> Result<bool, E>,
) -> Result<Vec<T>, E> {
    if items.is_empty() || fails(&[])? {
        return Ok(Vec::new());
    }
    let mut left = items;
    let mut parts = 2;
    while left.len() > 1 {
        let size = left.len().div_ceil(parts);
        let chunks: Vec<Vec<T>> = left.chunks(size).map(<[T]>::to_vec).collect();
        let mut smaller = None;
        // Each part alone is tried first, then all parts except one. The second differs from the
        // first only with more than two parts.
        for chunk in &chunks {
            if fails(chunk)? {
                smaller = Some((chunk.clone(), 2));
                break;
            }
        }
        for (index, _) in chunks.iter().enumerate().filter(|_| chunks.len() > 2) {
            if smaller.is_some() {
                break;
            }
            let others = chunks.iter().enumerate().filter(|(other, _)| *other != index);
            let rest: Vec<T> = others.flat_map(|(_, chunk)| chunk.clone()).collect();
            if fails(&rest)? {
                smaller = Some((rest, (chunks.len() - 1).max(2)));
            }
        }
        match smaller {
            Some((part, next)) => (left, parts) = (part, next),
            None if size == 1 => break,
            None => parts = (chunks.len() * 2).min(left.len()),
        }
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn minimum(items: u32, fails: impl Fn(&[u32]) -> bool) -> (Vec<u32>, usize) {
        let mut asked = 0;
        let mut count = |part: &[u32]| -> Result<bool, ()> {
            asked += 1;
            Ok(fails(part))
        };
        let found = ddmin((0..items).collect(), &mut count).unwrap();
        (found, asked)
    }

    /// Exactly the needed items are found.
    #[test]
    fn needed_items_are_found_exactly() {
        for items in 1..12 {
            for needed in 0..1_u32 << items {
                let needed: Vec<u32> = (0..items).filter(|item| needed & 1 << item != 0).collect();
                let (found, _) =
                    minimum(items, |part| needed.iter().all(|item| part.contains(item)));
                assert_eq!(found, needed, "of {items}");
            }
        }
    }

    /// If a part fails although a larger part with the same items passes, still no single item of
    /// the result can be omitted.
    #[test]
    fn no_single_item_of_the_result_can_be_omitted() {
        for seed in 0..200_u64 {
            let fails = |part: &[u32]| {
                let mask = part.iter().fold(0_u64, |mask, item| mask | 1 << item);
                part.len() == 9
                    || (mask.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed).count_ones() % 3 == 0
            };
            let (found, _) = minimum(9, fails);
            assert!(found.len() == 9 || fails(&found), "{seed}: {found:?}");
            for without in 0..found.len() {
                let mut less = found.clone();
                less.remove(without);
                assert!(!fails(&less) || found.is_empty(), "{seed}: {found:?} without {without}");
            }
        }
    }

    /// One item among many takes about two questions for each halving, not one for each item.
    #[test]
    fn a_single_needed_item_is_found_in_few_tests() {
        let (found, asked) = minimum(1024, |part| part.contains(&777));
        assert_eq!(found, [777]);
        assert!(asked <= 24, "{asked} questions");
    }

    #[test]
    fn items_keep_their_order() {
        let needed = BTreeSet::from([3, 40, 41, 99]);
        let (found, _) = minimum(100, |part| needed.iter().all(|item| part.contains(item)));
        assert_eq!(found, [3, 40, 41, 99]);
    }
}
