//! How a line for a person is laid out: a status word, right-aligned, and text; below it details, each with a word of its own. The
//! second line of a text begins where its first does.

/// Columns of the status word.
pub(super) const WORD: usize = 12;
/// Columns before the text of a detail.
const DETAIL: usize = WORD + 11;

/// A line with a status word.
pub fn status_line(word: &str, text: &str) -> String {
    format!("{word:>WORD$} {}", text.replace('\n', &format!("\n{:WORD$} ", "")))
}

/// A detail of the line before.
pub fn detail_line(word: &str, text: &str) -> String {
    format!("{:WORD$} {word:<9} {}", "", text.replace('\n', &format!("\n{:DETAIL$}", "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_several_lines_stand_below_each_other() {
        assert_eq!(status_line("FAIL", "one\ntwo"), "        FAIL one\n             two");
        assert_eq!(detail_line("bug", "one\ntwo"), "             bug       one\n                       two");
    }
}
