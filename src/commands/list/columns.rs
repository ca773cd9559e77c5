//! Lines in columns: headings, each followed by rows of a name, a word and a text.

/// The number of spaces before a row and between two columns.
const GAP: usize = 2;

/// A row of three columns.
pub(super) struct Row {
    /// The depth of the name's indentation, in units of [`GAP`].
    pub indent: usize,
    pub name: String,
    pub word: String,
    /// The text of the row, broken into lines if it does not fit.
    pub text: String,
}

/// Returns the titles of the columns and the lines of all parts that have rows. Columns are as wide
/// as their longest entry. Texts are broken to fit lines of `width` columns.
pub(super) fn rows(titles: [&str; 3], parts: &[(String, Vec<Row>)], width: usize) -> Vec<String> {
    let all = || parts.iter().flat_map(|(_, rows)| rows);
    let name = all().map(|row| row.indent * GAP + row.name.len()).max().unwrap_or_default();
    let word = all().map(|row| row.word.len()).max().unwrap_or_default().max(titles[1].len());
    let before = GAP + name + GAP + word + GAP;
    let [first, second, third] = titles;
    let mut lines =
        vec![format!("{first:<name$}{:GAP$}{:GAP$}{second:<word$}{:GAP$}{third}", "", "", "")];
    for (heading, rows) in parts.iter().filter(|(_, rows)| !rows.is_empty()) {
        lines.push(heading.clone());
        for row in rows {
            let own = format!("{:indent$}{}", "", row.name, indent = row.indent * GAP);
            let mut head = format!("{:GAP$}{own:<name$}{:GAP$}{:<word$}", "", "", row.word);
            for text in broken(&row.text, width.saturating_sub(before)) {
                lines.push(format!("{head}{:GAP$}{text}", ""));
                head = " ".repeat(before - GAP);
            }
        }
    }
    lines
}

/// Breaks a text into lines of this width. A longer word gets its own line.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().expect("there is a line from the start");
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(indent: usize, name: &str, word: &str, text: &str) -> Row {
        Row { indent, name: name.to_owned(), word: word.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn columns_stand_below_each_other() {
        let first = vec![row(0, "a", "lost", "what it shows"), row(1, "a+b", "", "more")];
        let parts = vec![
            ("First".to_owned(), first),
            ("None".to_owned(), Vec::new()),
            ("Second".to_owned(), vec![row(0, "abc", "ok", "")]),
        ];
        let expected = [
            "N        W     T",
            "First",
            "  a      lost  what it shows",
            "    a+b        more",
            "Second",
            "  abc    ok    ",
        ];
        assert_eq!(rows(["N", "W", "T"], &parts, 100), expected);
    }

    #[test]
    fn a_long_text_has_several_lines() {
        assert_eq!(broken("one two three", 7), ["one two", "three"]);
        assert_eq!(broken("longer-than-this one", 7), ["longer-than-this", "one"]);
        let parts = [("A".to_owned(), vec![row(0, "n", "w", &"word ".repeat(30))])];
        let lines = rows(["N", "W", "T"], &parts, 100);
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|line| line.len() <= 100));
        assert_eq!(lines[3].find("word"), lines[2].find("word"));
    }
}
