//! Write-back settings: only data that a call requests is written.
//!
//! After the flusher has written the requested data, it continues if the dirty data of a device
//! exceeds the device's share of the limit. By default the share depends on the recent writes to
//! the device compared with those to all others. It is zero in a guest that has just booted, and
//! depends on time later. Each device therefore gets a fixed minimum share (EX-83).

use std::path::Path;
use std::{fs, io};

use libc::EINVAL;

/// The minimum share of a device in percent of the limit: several MiB in a guest. All shares
/// together must be less than 100.
const SHARE: &str = "1";

/// Gives the block device with this name (`rdd0`) its share.
///
/// # Errors
/// The process is not root, or there are too many devices.
pub(crate) fn keep_share(device: &str) -> io::Result<()> {
    let path = format!("/sys/block/{device}/bdi/min_ratio");
    fs::write(&path, SHARE).map_err(|error| refused(&path, &error))
}

/// Returns the error for a share that was rejected.
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

/// Gives a share to all existing devices that consist of others (md, dm).
///
/// # Errors
/// Those of [`keep_share`].
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
    fn too_many_disks_are_named_in_the_error() {
        let message_of =
            |number| refused("min_ratio", &io::Error::from_raw_os_error(number)).to_string();
        assert!(
            message_of(EINVAL).ends_with("use a stack of fewer disks"),
            "{}",
            message_of(EINVAL)
        );
        assert_eq!(message_of(libc::EACCES), "min_ratio: Permission denied (os error 13)");
    }
}
