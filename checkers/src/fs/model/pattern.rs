//! The data that is written into files. Every 16 bytes contain their origin, so that a wrong block
//! shows which write it comes from.
//!
//! Sector 8 of the third write to `/a` contains `a00003+00000008` and a line feed, repeated. No
//! byte is zero, so a zero in a file was never written.

use explode_ramdisk::SECTOR_BYTES;

/// The number of bytes of one copy of the origin.
pub const CELL: usize = 16;

/// Returns the bytes from `at` on of the `version`th write to a file.
pub fn pattern(file: char, version: u32, at: usize, len: usize) -> Vec<u8> {
    let sectors = at / SECTOR_BYTES..(at + len).div_ceil(SECTOR_BYTES);
    let mut bytes = Vec::with_capacity(sectors.len() * SECTOR_BYTES);
    for sector in sectors {
        let cell = format!("{file}{version:05}+{sector:08}\n");
        (0..SECTOR_BYTES / CELL).for_each(|_| bytes.extend_from_slice(cell.as_bytes()));
    }
    bytes.truncate(at % SECTOR_BYTES + len);
    bytes.drain(..at % SECTOR_BYTES);
    bytes
}

/// Returns the version of the write that a cell comes from, and the sector in it.
pub fn origin(cell: &[u8]) -> Option<(u32, u64)> {
    parse(cell.get(..CELL)).map(|(_, version, sector)| (version, sector))
}

/// The kind of bytes found in place of the expected ones.
#[derive(Debug, PartialEq, Eq)]
pub enum FoundBytes {
    /// Zeroes up to the end of the sector.
    Zeroes,
    /// The bytes of an earlier write.
    Older,
    /// Any other bytes.
    Other,
}

/// Compares the bytes found from byte `at` on with the `expected` ones. Both have the same length.
pub fn compare(found: &[u8], expected: &[u8], at: usize) -> FoundBytes {
    let sector = found.len().min(SECTOR_BYTES - at % SECTOR_BYTES);
    if found[..sector].iter().all(|byte| *byte == 0) {
        return FoundBytes::Zeroes;
    }
    // The first whole cell.
    let cell = (CELL - at % CELL) % CELL;
    match (parse(found.get(cell..cell + CELL)), parse(expected.get(cell..cell + CELL))) {
        (Some((file, version, sector)), Some((wanted_file, wanted_version, wanted_sector)))
            if (file, sector) == (wanted_file, wanted_sector) && version < wanted_version =>
        {
            FoundBytes::Older
        }
        _ => FoundBytes::Other,
    }
}

/// Returns the file, version and sector of a cell. `None` if the bytes are not a cell.
fn parse(cell: Option<&[u8]>) -> Option<(char, u32, u64)> {
    let (head, sector) = std::str::from_utf8(cell?).ok()?.strip_suffix('\n')?.split_once('+')?;
    let file = head.chars().next()?;
    Some((file, head.strip_prefix(file)?.parse().ok()?, sector.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_of_the_pattern_names_its_write() {
        let whole = pattern('a', 3, 0, 8192);
        assert_eq!(&whole[8 * 512..8 * 512 + 16], b"a00003+00000008\n");
        assert_eq!(
            pattern('a', 3, 1000, 3000),
            whole[1000..4000],
            "wherever a write begins and ends"
        );
        assert!(!whole.contains(&0));
    }

    #[test]
    fn a_wrong_block_is_reported_with_its_origin() {
        let wanted = pattern('a', 3, 1000, 2000);
        let found = |other: &[u8]| compare(other, &wanted, 1000);
        assert_eq!(found(&[0; 2000]), FoundBytes::Zeroes);
        assert_eq!(found(&pattern('a', 2, 1000, 2000)), FoundBytes::Older);
        assert_eq!(found(&pattern('a', 4, 1000, 2000)), FoundBytes::Other, "from the future");
        assert_eq!(found(&pattern('b', 2, 1000, 2000)), FoundBytes::Other, "another file's");
        assert_eq!(
            found(&pattern('a', 2, 4096 + 1000, 2000)),
            FoundBytes::Other,
            "another place's"
        );
        assert_eq!(found(&[7; 2000]), FoundBytes::Other);
        let mut half = pattern('a', 3, 1000, 2000);
        half[..20].fill(0);
        assert_eq!(found(&half), FoundBytes::Other, "a few zeroes are not a lost sector");
    }
}
