//! Write-back: only what a call asks for is written.
//!
//! Whenever the kernel's thread has written what it was asked for it goes on if more of a device is
//! dirty than the device's share of the limit, and that share follows how much was lately written
//! to it, compared with all others: in a guest that has just booted it is nothing, and later it
//! depends on the time. So each device has a share of its own that does not (EX-83).

use std::path::Path;
use std::{fs, io};

use libc::EINVAL;

/// The least share of a device, in percent of the limit: several MiB in a guest. All shares
/// together are less than 100.
const SHARE: &str = "1";

/// Gives the block device of that name (`rdd0`) its share.
///
/// # Errors
/// Not root, or there are too many.
pub(crate) fn keep_share(device: &str) -> io::Result<()> {
    let path = format!("/sys/block/{device}/bdi/min_ratio");
    fs::write(&path, SHARE).map_err(|error| refused(&path, &error))
}

/// A share that was refused.
fn refused(path: &str, error: &io::Error) -> io::Error {
    let text = match error.raw_os_error() {
        Some(EINVAL) => format!(
            "{path}: all devices have their share of write-back already, one percent for each of \
             at most 99; a stack's disks count \
             twice, for there is another set for crash disks: use a stack of fewer disks"
        ),
        _ => format!("{path}: {error}"),
    };
    io::Error::new(error.kind(), text)
}

/// Does so for all that stand above others (md, dm), and are there by now.
///
/// # Errors
/// As [`keep_share`].
pub(crate) fn keep_shares_above() -> io::Result<()> {
    for entry in fs::read_dir("/sys/block")? {
        let name = entry?.file_name();
        let stands_on_others = |name: &str| {
            let below = fs::read_dir(Path::new("/sys/block").join(name).join("slaves"));
            below.is_ok_and(|mut below| below.next().is_some())
        };
        if let Some(name) = name.to_str().filter(|name| stands_on_others(name)) {
            keep_share(name)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_disks_are_told_so() {
        let said = |number| refused("min_ratio", &io::Error::from_raw_os_error(number)).to_string();
        assert!(said(EINVAL).ends_with("use a stack of fewer disks"), "{}", said(EINVAL));
        assert_eq!(said(libc::EACCES), "min_ratio: Permission denied (os error 13)");
    }
}
