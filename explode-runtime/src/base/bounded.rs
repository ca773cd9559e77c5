//! Reads files of unknown size, such as a device or a pipe that does not end, up to a limit.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use super::plain::open_plain;

/// The largest size of a trace file that is read, in bytes.
pub const MOST_TRACE_BYTES: u64 = 1 << 28;

/// Reads a file of at most `most` bytes.
///
/// # Errors
/// Returns the errors of the file system. A longer file is `FileTooLarge`, with a text for the
/// user.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read(File::open(path)?, most)
}

fn read(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let text = format!(
            "it has more than {most} bytes, the most that is read of such a file; name another one"
        );
        return Err(io::Error::new(ErrorKind::FileTooLarge, text));
    }
    Ok(bytes)
}

/// Reads a file of at most `most` bytes in a folder of explode's own, as [`open_plain`] opens it.
///
/// # Errors
/// Returns the errors of [`open_plain`] and [`read_at_most`].
pub fn read_plain_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read(open_plain(path, File::options().read(true))?, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_does_not_end_is_an_error() {
        let error = read_at_most(Path::new("/dev/zero"), 1000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert!(error.to_string().contains("more than 1000 bytes"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, [7; 1000]).unwrap();
        assert_eq!(read_at_most(&path, 1000).unwrap(), [7; 1000]);
        assert_eq!(read_at_most(&path, 999).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_plain_at_most(&path, 1000).unwrap(), [7; 1000]);
        read_plain_at_most(Path::new("/dev/zero"), 1000).unwrap_err();
    }
}
