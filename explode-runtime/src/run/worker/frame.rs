//! Messages on a stream: the length in 4 bytes, little-endian, then the message in postcard's form.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use nix::errno::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A message is at most this long. Nobody allocates by what a length says: memory grows with what has come.
pub const FRAME_MAX: usize = 1 << 30;

/// So many bytes are read at once.
const READ_BYTES: usize = 1 << 16;

/// A message as it goes over the wire.
///
/// # Errors
/// It is longer than [`FRAME_MAX`].
pub fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut frame = postcard::to_extend(message, vec![0; 4]).map_err(io::Error::other)?;
    let length = frame.len() - 4;
    if length > FRAME_MAX {
        return Err(io::Error::other(format!("a message of {length} bytes is too long")));
    }
    frame[..4].copy_from_slice(&(length as u32).to_le_bytes());
    Ok(frame)
}

/// Takes messages out of what has come.
#[derive(Debug, Default)]
pub struct FrameReader {
    bytes: Vec<u8>,
    /// What lies before this is taken.
    at: usize,
}

impl FrameReader {
    /// More has come.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..std::mem::take(&mut self.at));
        self.bytes.extend_from_slice(bytes);
    }

    /// Reads what is there, and waits if nothing is. False: the other side has ended.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn fill(&mut self, from: BorrowedFd<'_>) -> io::Result<bool> {
        let mut bytes = [0; READ_BYTES];
        loop {
            match nix::unistd::read(from, &mut bytes) {
                Ok(0) => return Ok(false),
                Ok(more) => {
                    self.push(&bytes[..more]);
                    return Ok(true);
                }
                Err(Errno::EINTR) => {}
                Err(errno) => {
                    let fd = from.as_raw_fd();
                    return Err(io::Error::other(format!("reading stream {fd}: {}", errno.desc())));
                }
            }
        }
    }

    /// The next message, if all of it has come.
    ///
    /// # Errors
    /// It is none; the stream is worth nothing from here on.
    pub fn take<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let nonsense = |why: &dyn std::fmt::Display| {
            io::Error::new(io::ErrorKind::InvalidData, format!("what came is no message: {why}"))
        };
        let bytes = &self.bytes[self.at..];
        let Some((length, rest)) = bytes.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length) as usize;
        if length > FRAME_MAX {
            return Err(nonsense(&format_args!("its length is {length}")));
        }
        let Some(message) = rest.get(..length) else { return Ok(None) };
        let (message, left) = postcard::take_from_bytes(message).map_err(|error| nonsense(&error))?;
        if !left.is_empty() {
            return Err(nonsense(&format_args!("{} bytes are left", left.len())));
        }
        self.at += 4 + length;
        Ok(Some(message))
    }
}
