//! The errors of reading an event log.

/// A log that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file itself.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// A line of it, from 1.
    #[error("line {line}: {message}")]
    Line {
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
    /// It does not end within the limit.
    #[error("it has more than {most} bytes, the most that is read of a log")]
    #[expect(missing_docs, reason = "the message says what the number is")]
    TooLong { most: u64 },
    /// It has too many events.
    #[error("it has more than {most} events, the most that are read of a log")]
    #[expect(missing_docs, reason = "the message says what the number is")]
    TooManyEvents { most: u64 },
    /// A byte of it, in a binary log.
    #[error("byte {offset}: {message}")]
    Byte {
        /// Offset from the beginning.
        offset: u64,
        /// What is wrong there.
        message: String,
    },
}
