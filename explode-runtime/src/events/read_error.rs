//! The errors of reading an event log.

/// An error of reading a log.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A line is invalid.
    #[error("line {line}: {message}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// The reason in words.
        message: String,
    },
    /// The log is longer than the limit.
    #[error("it has more than {most} bytes, the most that is read of a log")]
    #[expect(missing_docs, reason = "the message says what the number is")]
    TooLong { most: u64 },
    /// The log has more events than the limit.
    #[error("it has more than {most} events, the most that are read of a log")]
    #[expect(missing_docs, reason = "the message says what the number is")]
    TooManyEvents { most: u64 },
    /// A part of a binary log is invalid.
    #[error("byte {offset}: {message}")]
    Byte {
        /// The offset from the start of the log, in bytes.
        offset: u64,
        /// The reason in words.
        message: String,
    },
}
