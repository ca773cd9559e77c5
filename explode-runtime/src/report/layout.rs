//! The layout of lines for a person: a right-aligned status word and a text, then indented details,
//! each with its own word. Further lines of a text begin in the column of its first line. A text
//! cannot imitate another line: control characters are escaped ([`one_line`]), and its further
//! lines have no columns.

use anstyle::{AnsiColor, Style};

use super::escape::one_line;

/// The width of the status word, in columns.
const WORD: usize = 12;
/// The number of columns before the text of a detail.
const DETAIL: usize = WORD + 11;

/// Returns a line with a status word.
pub fn status_line(word: &str, text: &str) -> String {
    format!("{:>WORD$} {}", one_line(word), laid_out(text, WORD + 1))
}

/// Returns a detail of the line before.
pub fn detail_line(word: &str, text: &str) -> String {
    format!("{:WORD$} {:<9} {}", "", one_line(word), laid_out(text, DETAIL))
}

/// A line for a person, with a colour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    word: String,
    text: String,
    is_detail: bool,
    colour: Colour,
}

/// The colour of a line's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// The colour of success.
    Green,
    /// The colour of an error.
    Red,
    /// The colour of a warning.
    Yellow,
    /// The default colour.
    Plain,
}

impl Colour {
    fn style(self) -> Style {
        let bold = |colour: AnsiColor| colour.on_default().bold();
        match self {
            Colour::Green => bold(AnsiColor::Green),
            Colour::Red => bold(AnsiColor::Red),
            Colour::Yellow => bold(AnsiColor::Yellow),
            Colour::Plain => Style::new(),
        }
    }
}

impl Line {
    /// Returns a line with a status word.
    pub fn status(word: &str, text: &str) -> Line {
        let (word, text) = (word.to_owned(), text.to_owned());
        Line { word, text, is_detail: false, colour: Colour::Plain }
    }

    /// Returns a detail of the line before.
    pub fn detail(word: &str, text: &str) -> Line {
        Line { is_detail: true, ..Line::status(word, text) }
    }

    /// Returns the line with this colour.
    #[must_use = "this returns the line"]
    pub fn coloured(self, colour: Colour) -> Line {
        Line { colour, ..self }
    }

    /// Returns the number of rows of a screen that the line needs, if no row is too long.
    pub fn rows(&self) -> usize {
        self.text.split('\n').count()
    }

    /// Returns the line without colour.
    pub fn plain(&self) -> String {
        let layout = if self.is_detail { detail_line } else { status_line };
        layout(&self.word, &self.text)
    }

    /// Returns the line for a terminal. Its word has a colour if `colour` is true.
    pub fn shown(&self, colour: bool) -> String {
        let (plain, word) = (self.plain(), one_line(&self.word));
        if !colour || word.is_empty() || self.colour == Colour::Plain {
            return plain;
        }
        let style = self.colour.style();
        plain.replacen(&*word, &format!("{style}{word}{style:#}"), 1)
    }
}

/// Indents further lines of a text to this column. In them consecutive spaces become one, because
/// such a line could otherwise look like a detail.
fn laid_out(text: &str, column: usize) -> String {
    let mut lines = text.split('\n').map(one_line);
    let mut laid_out = lines.next().unwrap_or_default().into_owned();
    for line in lines {
        laid_out.push_str(&format!("\n{:column$}", ""));
        let mut before = None;
        laid_out.extend(
            line.chars().filter(|letter| before.replace(*letter) != Some(' ') || *letter != ' '),
        );
    }
    laid_out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_several_lines_stand_below_each_other() {
        assert_eq!(status_line("FAIL", "one\ntwo"), "        FAIL one\n             two");
        assert_eq!(
            detail_line("bug", "one\ntwo"),
            "             bug       one\n                       two"
        );
    }

    #[test]
    fn a_text_cannot_imitate_a_line() {
        let evil = "gone\nreplay    evil\n\tx\x1b[2A\r";
        let line =
            "        FAIL gone\n             replay evil\n             \\tx\\u001b[2A\\u000d";
        assert_eq!(status_line("FAIL", evil), line);
        assert_eq!(detail_line("a\nb", ""), "             a\\nb      ");
    }
}
