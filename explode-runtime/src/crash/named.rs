//! Disks by the names of the pieces that they have kept, as traces record them.
//!
//! A name consists of device, first sector and version. It does not contain the end of the piece,
//! so two ranges of a device that begin at the same sector (a long request and a short one, with
//! `--atom request`) have the same names. All readings of such names are tried, up to [`READINGS`].
//! The identity of the image distinguishes them.

use itertools::Itertools as _;

use super::piece::{KeptPiece, PieceName};

/// The largest number of readings of ambiguous names that are tried.
const READINGS: usize = 1 << 12;

/// Returns the names of pieces, as traces record them.
pub fn names(kept: &[KeptPiece]) -> Vec<PieceName> {
    kept.iter().map(|piece| (piece.dev, piece.sector, piece.version)).collect()
}

/// Returns all combinations of one element of each table, at most [`READINGS`]. The last table's
/// element changes fastest.
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
