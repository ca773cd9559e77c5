//! The digest for [`Checker::check_key`](super::Checker::check_key).

use std::hash::Hash;

use xxhash_rust::xxh3::Xxh3;

/// Returns a digest of 16 bytes of `read`: a tuple of everything in the checker that `check` reads.
/// It is the same in every process of a run.
pub fn digest(read: impl Hash) -> Vec<u8> {
    let mut hasher = Xxh3::new();
    read.hash(&mut hasher);
    hasher.digest128().to_le_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::digest;

    /// Journals carry digests from one process to the next, so the bytes must be those of XXH3 over
    /// the plain parts.
    #[test]
    fn a_digest_is_the_hash_of_its_parts() {
        let bytes = [1u64.to_le_bytes(), 2u64.to_le_bytes()].concat();
        assert_eq!(digest((1u64, &2u64)), xxhash_rust::xxh3::xxh3_128(&bytes).to_le_bytes());
        assert_ne!(digest((1u64, 2u64)), digest((2u64, 1u64)));
    }
}
