//! The names of the files and folders in a run folder.

/// The file of all messages. The process that adds to it holds its lock.
pub(super) const MESSAGES: &str = "run.jsonl";
/// The file of the journal.
pub(super) const JOURNAL: &str = "journal";
/// The folder of the traces.
pub(super) const TRACES: &str = "traces";
/// The file of the plan's tag, if the plan has commands.
pub(super) const TAG: &str = "tag";
/// All names that a run uses in its folder.
pub const OWN_NAMES: [&str; 4] = [MESSAGES, JOURNAL, TRACES, TAG];
