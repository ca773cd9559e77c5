//! The limits of reading a log, so that a log that does not end cannot fill the memory.

use std::io::{BufRead, Read};

use super::read_error::ReadError;

/// The largest log that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLimits {
    /// The largest length, in bytes.
    pub bytes: u64,
    /// The largest number of events. An entry of dm-log-writes is two events.
    pub events: u64,
}

impl Default for LogLimits {
    fn default() -> LogLimits {
        LogLimits { bytes: 1 << 30, events: 2_000_000 }
    }
}

/// The longest line that is read, in bytes: base64 of 48 MiB, more than a request has.
pub(super) const MOST_LINE_BYTES: u64 = 1 << 26;

impl LogLimits {
    /// Returns an error if a log has more events.
    pub(super) fn check_events(self, events: usize) -> Result<(), ReadError> {
        let most = self.events;
        if events as u64 > most { Err(ReadError::TooManyEvents { most }) } else { Ok(()) }
    }
}

/// A log that counts the bytes that are read from it.
pub(super) struct Counted<R> {
    input: R,
    limits: LogLimits,
    read: u64,
}

impl<R> Counted<R> {
    pub fn new(input: R, limits: LogLimits) -> Counted<R> {
        Counted { input, limits, read: 0 }
    }

    fn count(&mut self, bytes: usize) -> Result<(), ReadError> {
        self.read += bytes as u64;
        let most = self.limits.bytes;
        if self.read > most { Err(ReadError::TooLong { most }) } else { Ok(()) }
    }
}

impl<R: BufRead> Counted<R> {
    /// Reads a line without its end. `None` at the end of the log. Of a line that is too long, one
    /// byte more than the limit is returned.
    pub fn line(&mut self) -> Result<Option<Vec<u8>>, ReadError> {
        let mut text = Vec::new();
        let left = (self.limits.bytes - self.read).saturating_add(1);
        self.input.by_ref().take(left.min(MOST_LINE_BYTES + 1)).read_until(b'\n', &mut text)?;
        self.count(text.len())?;
        if text.last() == Some(&b'\n') {
            text.pop();
        } else if text.is_empty() {
            return Ok(None);
        }
        Ok(Some(text))
    }
}

impl<R: Read> Counted<R> {
    /// Fills a buffer. Returns false if the log ends before.
    pub fn fill(&mut self, buf: &mut [u8]) -> Result<bool, ReadError> {
        self.count(buf.len())?;
        match self.input.read_exact(buf) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads `len` bytes. `None` if the log ends before. Memory grows with the bytes that are
    /// there, not with `len`.
    pub fn data(&mut self, len: u64) -> Result<Option<Vec<u8>>, ReadError> {
        let mut data = Vec::new();
        let left = (self.limits.bytes - self.read).saturating_add(1);
        self.input.by_ref().take(len.min(left)).read_to_end(&mut data)?;
        self.count(data.len())?;
        Ok((data.len() as u64 == len).then_some(data))
    }
}
