//! The recipe of the image. `image/recipe.txt` explains its lines.

/// The text of the recipe.
pub(crate) const TEXT: &str = include_str!("../../../image/recipe.txt");

/// A line of the recipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecipeLine<'a> {
    /// A package, and the files taken from it.
    Package { name: &'a str, files: Vec<&'a str> },
    /// A package of shared libraries.
    Libraries(&'a str),
    /// The program that all applets are links to.
    Applets(&'a str),
    /// A symbolic link.
    Link { path: &'a str, target: &'a str },
    /// An empty folder.
    Folder(&'a str),
    /// A file of one line.
    Text { path: &'a str, text: &'a str },
    /// An executable file that comes with the recipe.
    Own { path: &'a str, name: &'a str },
}

impl<'a> RecipeLine<'a> {
    /// Returns the package that the line names. `None` if it names none.
    pub(crate) fn package(&self) -> Option<&'a str> {
        match self {
            RecipeLine::Package { name, .. } | RecipeLine::Libraries(name) => Some(name),
            _ => None,
        }
    }
}

/// Returns the lines of the recipe.
pub(crate) fn lines() -> Vec<RecipeLine<'static>> {
    parse(TEXT).expect("the recipe is part of this library and tested")
}

/// Parses a recipe. The error says which line is wrong.
pub(super) fn parse(text: &str) -> Result<Vec<RecipeLine<'_>>, String> {
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let content = line.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let wrong = || format!("line {} of the recipe is not understood: {line}", index + 1);
        if line.starts_with(' ') {
            let Some(RecipeLine::Package { files, .. }) = lines.last_mut() else {
                return Err(wrong());
            };
            files.push(content);
            continue;
        }
        let (word, rest) = content.split_once(' ').ok_or_else(wrong)?;
        let two = || rest.split_once(' ').ok_or_else(wrong);
        lines.push(match word {
            "package" => RecipeLine::Package { name: rest, files: Vec::new() },
            "libraries" => RecipeLine::Libraries(rest),
            "applets" => RecipeLine::Applets(rest),
            "link" => two().map(|(path, target)| RecipeLine::Link { path, target })?,
            "folder" => RecipeLine::Folder(rest),
            "text" => two().map(|(path, text)| RecipeLine::Text { path, text })?,
            "own" => two().map(|(path, name)| RecipeLine::Own { path, name })?,
            _ => return Err(wrong()),
        });
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_lines_are_distinguished() {
        let text = "# comment\npackage a\n    /bin/a\n    /bin/b\nlibraries l\nfolder /x\nlink /l \
                    x\n\ntext /y 1 2\nown /init init\n";
        assert_eq!(
            parse(text).unwrap(),
            [
                RecipeLine::Package { name: "a", files: vec!["/bin/a", "/bin/b"] },
                RecipeLine::Libraries("l"),
                RecipeLine::Folder("/x"),
                RecipeLine::Link { path: "/l", target: "x" },
                RecipeLine::Text { path: "/y", text: "1 2" },
                RecipeLine::Own { path: "/init", name: "init" },
            ]
        );
        for wrong in ["    /bin/a", "pakage a", "package", "folder /x\n    /y", "text /y"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
