//! The blocks of code on a page, and the commands in them.
//!
//! A block marked `sh` contains commands. A block marked `console` contains commands after `$ `,
//! each followed by its output. A command ends with its line, unless the line ends with a backslash
//! or the next one is indented or closes a loop.

/// A block of code.
#[derive(Debug)]
pub struct Block<'a> {
    /// The line of the page at which it begins, from 1.
    pub line: usize,
    pub language: &'a str,
    pub lines: Vec<&'a str>,
}

/// A command of a page.
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    /// The line of the page at which it begins, from 1.
    pub line: usize,
    /// The command, without the comment after it.
    pub text: String,
    /// The text of the comment after it. Empty without a comment.
    pub comment: String,
    /// The output that the page shows. `None` in a block marked `sh`.
    pub shown: Option<Vec<String>>,
}

impl Block<'_> {
    /// Returns the text, each line with its end.
    pub fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// Returns the commands. A block in another language has none.
    pub fn commands(&self) -> Vec<Command> {
        let mut commands: Vec<Command> = Vec::new();
        for (at, line) in self.lines.iter().enumerate() {
            let line_number = self.line + 1 + at;
            match self.language {
                "console" => match (line.strip_prefix("$ "), commands.last_mut()) {
                    (Some(command), _) => {
                        let shown = Some(Vec::new());
                        commands.push(Command { shown, ..Command::new(line_number, command) });
                    }
                    (None, Some(last)) => {
                        last.shown.get_or_insert_default().push((*line).to_owned());
                    }
                    (None, None) => panic!("line {line_number}: output without a command"),
                },
                "sh" if line.trim().is_empty() || line.starts_with('#') => {}
                "sh" => match commands.last_mut().filter(|last| last.goes_on_with(line)) {
                    Some(last) => last.text = format!("{}\n{line}", last.text),
                    None => commands.push(Command::new(line_number, line)),
                },
                _ => {}
            }
        }
        commands
    }
}

impl Command {
    fn new(line: usize, text: &str) -> Command {
        let (text, comment) = text.split_once(" # ").unwrap_or((text, ""));
        let (text, comment) = (text.trim_end().to_owned(), comment.trim().to_owned());
        Command { line, text, comment, shown: None }
    }

    fn goes_on_with(&self, line: &str) -> bool {
        self.text.ends_with('\\') || line.starts_with(' ') || line == "done"
    }
}

/// Returns the blocks of code of a page.
pub fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block<'_>> = None;
    for (at, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(language), None) => {
                open = Some(Block { line: at + 1, language, lines: Vec::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.lines.push(line),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a block of code has no end: {open:?}");
    blocks
}

/// Returns the commands of a page, in order.
pub fn commands(page: &str) -> Vec<Command> {
    blocks(page).iter().flat_map(Block::commands).collect()
}
