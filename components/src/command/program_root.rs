//! The root that the commands of simulated files see in this process, if it is not that of this
//! machine.

use std::path::PathBuf;
use std::sync::OnceLock;

static ROOT: OnceLock<ProgramRoot> = OnceLock::new();

/// A root file system for commands on simulated files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramRoot {
    /// The folder with its files.
    pub folder: PathBuf,
    /// The names and versions of its packages, if they are known.
    pub packages: Vec<(String, String)>,
}

/// Sets the root of all stacks of this process. Only the first call has an effect.
pub fn set_program_root(root: ProgramRoot) {
    ROOT.get_or_init(|| root);
}

/// The folders of programs in a root.
const FOLDERS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Returns the environment of a command on simulated files. The programs of the root are found
/// after those of this machine that are shown in it.
pub(super) fn environment() -> Vec<(String, String)> {
    let mut environment = explode_fuse::environment();
    if program_root().is_some() {
        let paths = environment.iter_mut().filter(|(name, _)| name == "PATH");
        paths.for_each(|(_, path)| *path = format!("{path}:{FOLDERS}"));
    }
    environment
}

/// Returns the root of this process. `None` for that of this machine.
pub(super) fn program_root() -> Option<&'static ProgramRoot> {
    ROOT.get()
}
