//! Commands that a user pastes into a shell, in any folder.

use std::path::{Path, PathBuf};

use crate::base::{Mode, NamedProgram, Options, programs_of, quoted};
use crate::stack::{StackSpec, is_of_commands};

/// Commands of this program about a file or folder, for a shell in any folder.
#[derive(Clone, Debug)]
pub struct Paste {
    program: String,
    /// The folder in which the command has to run. `None` if any folder will do.
    folder: Option<PathBuf>,
}

impl Paste {
    /// Returns commands of `program`, a name that the shell finds in any folder.
    pub fn new(program: &str) -> Paste {
        Paste { program: quoted(program), folder: None }
    }

    /// Returns commands that first change to the working folder of this process, if necessary.
    ///
    /// It is necessary if the plan with these parts has shell commands that depend on the folder.
    /// On this machine any shell command does. In a guest only those do that name a program by a
    /// relative path.
    #[must_use = "this returns the commands"]
    pub fn for_plan(&self, mode: Mode, stack: &StackSpec, checker_options: &Options) -> Paste {
        let layers = stack.0.iter().filter(|layer| layer.has_commands());
        let checker = is_of_commands(checker_options).then_some(checker_options);
        let mut commands = layers.map(|layer| &layer.options).chain(checker);
        let is_relative =
            |program: NamedProgram| program.name.contains('/') && !program.name.starts_with('/');
        let has_paths = match mode {
            Mode::Mem | Mode::Here => commands.next().is_some(),
            Mode::Vm => commands.flat_map(programs_of).any(is_relative),
        };
        Paste { folder: has_paths.then(|| std::env::current_dir().ok()).flatten(), ..self.clone() }
    }

    /// Returns a command with these words about a file or folder.
    pub fn command(&self, words: &str, path: &str) -> String {
        let command = format!("{} {words} {}", self.program, quoted(&absolute(path)));
        match &self.folder {
            Some(folder) => format!("cd {} && {command}", quoted(&folder.display().to_string())),
            None => command,
        }
    }
}

/// Returns the path from the root, without resolving symbolic links. Without a working folder the
/// path is unchanged.
pub fn absolute(path: &str) -> String {
    std::path::absolute(Path::new(path))
        .map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_absolute_and_quoted() {
        let folder = std::env::current_dir().unwrap().display().to_string();
        let paste = Paste::new("/opt/it's here/explode");
        assert_eq!(
            paste.command("replay", "-n/a b.json"),
            format!(r"'/opt/it'\''s here/explode' replay '{folder}/-n/a b.json'")
        );
        assert_eq!(Paste::new("explode").command("show", "/a/./b.json"), "explode show /a/b.json");
    }
}
