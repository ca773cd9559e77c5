//! The output files that options name. They are checked before anything is run, so that no work is
//! lost.

use std::path::{Path, PathBuf};

use explode_runtime::base::{Exit, Output, UsageError, is_not_plain};

/// The output files of one command. No two of them are the same file, and none is a file that the
/// command reads.
#[derive(Debug, Default)]
pub struct Outputs<'a> {
    /// The folder that the command creates or fills.
    folder: Option<&'a Path>,
    /// The names that the command itself uses in that folder.
    own: &'static [&'static str],
    inputs: Vec<&'a Path>,
    /// The plain files that options have named so far.
    taken: Vec<(&'static str, PathBuf)>,
}

impl<'a> Outputs<'a> {
    /// Returns the outputs of a command that reads these files.
    pub fn beside(inputs: impl IntoIterator<Item = &'a Path>) -> Outputs<'a> {
        Outputs { inputs: inputs.into_iter().collect(), ..Outputs::default() }
    }

    /// Adds the names that the command uses in this folder.
    pub fn with_folder(
        self,
        folder: Option<&'a Path>,
        own: &'static [&'static str],
    ) -> Outputs<'a> {
        Outputs { folder, own, ..self }
    }

    /// Checks the path that an option names. `None` if it names none.
    ///
    /// # Errors
    /// The path cannot be written; another option names it; the command reads it, or writes it
    /// anyway.
    pub fn of_option(
        &mut self,
        option: &'static str,
        path: Option<&'a Path>,
    ) -> Result<Option<(&'a Path, Output)>, UsageError> {
        let Some(path) = path else { return Ok(None) };
        let refused = |why: String| UsageError(format!("{option} {}: {why}", path.display()));
        let output = match self.folder {
            Some(folder) => Output::at_or_in(path, folder),
            None => Output::at(path),
        };
        let output = output.map_err(|unfit| refused(unfit.to_string()))?;
        if let Some(file) = output.file() {
            self.check(option, file).map_err(refused)?;
            self.taken.push((option, file.to_owned()));
        }
        Ok(Some((path, output)))
    }

    fn check(&self, option: &str, file: &Path) -> Result<(), String> {
        if let Some(input) = self.inputs.iter().find(|input| is_file(input, file)) {
            return Err(format!("this is {}, which is read; name another file", input.display()));
        }
        if let Some((other, _)) = self.taken.iter().find(|(_, taken)| taken == file) {
            return Err(format!("{other} names the same file; name another one with {option}"));
        }
        let own = |folder: &Path| self.own.iter().any(|name| file == folder.join(name));
        let absolute = self.folder.and_then(|folder| std::path::absolute(folder).ok());
        let canonical = self.folder.and_then(|folder| folder.canonicalize().ok());
        if [absolute, canonical].into_iter().flatten().any(|folder| own(&folder)) {
            return Err(
                "explode itself writes a file of this name there; name another file".to_owned()
            );
        }
        Ok(())
    }
}

/// Returns true if the path is a name of the file, whose path has no links.
pub fn is_file(path: &Path, file: &Path) -> bool {
    path.canonicalize().is_ok_and(|path| path == file)
}

/// Returns the exit code for an output file that could not be written.
pub fn exit(error: &std::io::Error) -> Exit {
    if is_not_plain(error) { Exit::Usage } else { Exit::Broken }
}
