//! The identity of a check.

use explode_ramdisk::Identity;
use xxhash_rust::xxh3::Xxh3;

use crate::crash::Epoch;

/// Returns the key of a check (fault-model.md, section 6).
pub fn key(image: Identity, epoch: Epoch, args: &[String], rest: &[u8]) -> u128 {
    let mut hasher = Xxh3::new();
    hasher.update(&image.0.to_le_bytes());
    hasher.update(epoch.as_str().as_bytes());
    for arg in args {
        hasher.update(&(arg.len() as u64).to_le_bytes());
        hasher.update(arg.as_bytes());
    }
    hasher.update(&u64::MAX.to_le_bytes());
    hasher.update(rest);
    hasher.digest128()
}

/// Returns the key of a check that gets the epoch `judged_as` for a disk of epoch `epoch`.
pub(super) fn key_of_judged(
    image: Identity,
    epoch: Epoch,
    judged_as: Epoch,
    args: &[String],
    rest: &[u8],
) -> u128 {
    match (epoch, judged_as) {
        (Epoch::Soft, Epoch::InBetween) => {
            key(image, epoch, args, &[rest, b"told in-between"].concat())
        }
        _ => key(image, epoch, args, rest),
    }
}
