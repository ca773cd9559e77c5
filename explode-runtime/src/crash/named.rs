//! Disks by the names of the pieces that they have kept, as traces have them.
//!
//! A name says device, first sector and version, and not where the piece ends: two ranges of a
//! device that begin at the same sector (a long request and a short one, with `--atom request`)
//! have the same names. All readings of such names are tried, up to [`READINGS`]; the identity of
//! the image tells them apart.

use itertools::Itertools as _;

use super::piece::{KeptPiece, PieceId};

/// So many readings of ambiguous names are tried.
const READINGS: usize = 1 << 12;

/// Pieces as a trace names them.
pub fn names(kept: &[KeptPiece]) -> Vec<PieceId> {
    kept.iter().map(|piece| (piece.dev, piece.sector, piece.version)).collect()
}

/// One of each table, in all combinations, the last table's changing fastest; no more than
/// [`READINGS`] of them.
pub(super) fn product<T>(tables: &[Vec<T>]) -> impl Iterator<Item = Vec<&T>> {
    tables.iter().map(|table| table.iter()).multi_cartesian_product().take(READINGS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_has_all_combinations_in_order() {
        let tables = [vec!['a', 'b'], vec!['c'], vec!['d', 'e', 'f']];
        let all: Vec<String> =
            product(&tables).map(|chosen| chosen.into_iter().collect()).collect();
        assert_eq!(all, ["acd", "ace", "acf", "bcd", "bce", "bcf"]);
        assert_eq!(product::<char>(&[]).count(), 1);
        assert_eq!(product(&[vec!['a'], vec![]]).count(), 0);
    }
}
