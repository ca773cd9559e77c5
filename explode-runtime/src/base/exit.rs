//! Exit codes: one enum, one page (`docs/reference/exit-codes.md`).

/// What the exit code of the command line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Nothing found; what is by design counts as nothing.
    Clean = 0,
    /// Findings; for `replay`, the finding is reproduced.
    Findings = 1,
    /// Wrong usage, or damaged input.
    Usage = 2,
    /// A requirement is missing.
    Unsupported = 3,
    /// The tool or a component is broken.
    Broken = 4,
    /// A replay took another path, or did not reproduce.
    Diverged = 5,
    /// The space was not covered, and `--require-complete` was given.
    Incomplete = 6,
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> std::process::ExitCode {
        std::process::ExitCode::from(exit as u8)
    }
}
