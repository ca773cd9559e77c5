//! Exit codes: one enum, one page (`docs/reference/exit-codes.md`).

/// The meaning of the exit code of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// No findings, except findings that are by design.
    Clean = 0,
    /// Findings. For `replay` the finding is reproduced.
    Findings = 1,
    /// Wrong usage, or damaged input.
    Usage = 2,
    /// A requirement is missing.
    Unsupported = 3,
    /// The tool or a component is broken.
    Broken = 4,
    /// A replay took another path, or did not reproduce the finding.
    Diverged = 5,
    /// The space was not covered, and `--require-complete` is set.
    Incomplete = 6,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> std::process::ExitCode {
        std::process::ExitCode::from(exit as u8)
    }
}
