//! Folds equal rows of a story into one with a count.

use explode_ramdisk::files::CallText;

/// The fate of the effect of a call or an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The whole effect is on the disk.
    Kept,
    /// No part of the effect is on the disk.
    Lost,
    /// A part of the effect is on the disk.
    Partly,
}

impl Fate {
    pub fn word(self) -> &'static str {
        match self {
            Fate::Kept => "kept",
            Fate::Lost => "lost",
            Fate::Partly => "partly",
        }
    }

    /// Returns the fate of several ranges, each kept (`true`) or lost. `None` without any.
    pub fn of(kept: impl IntoIterator<Item = bool>) -> Option<Fate> {
        kept.into_iter().fold(None, |fate, kept| {
            let own = if kept { Fate::Kept } else { Fate::Lost };
            Some(if fate.is_none_or(|fate| fate == own) { own } else { Fate::Partly })
        })
    }
}

/// A row of the calls and events before a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The number of calls that enclose it.
    pub depth: usize,
    /// The fate of its effect. `None` if nothing of it was pending.
    pub fate: Option<Fate>,
    pub words: CallText,
    /// The number of calls or events in the row.
    pub times: u64,
    /// An additional note.
    pub note: Option<String>,
}

impl Row {
    pub fn text(&self) -> String {
        let mut text = format!("{:1$}{2}", "", 2 * self.depth, self.words);
        if self.times > 1 {
            text += &format!(" ({} times)", self.times);
        }
        self.note.iter().for_each(|note| text += &format!("  <- {note}"));
        text
    }

    /// Adds the next row to this one if they have the same text, or if the next one continues the
    /// range of this one. Returns true if the row was added.
    fn takes(&mut self, next: &Row) -> bool {
        let alike = (self.depth, self.fate, &self.words.head, &self.words.tail, &self.note)
            == (next.depth, next.fate, &next.words.head, &next.words.tail, &None);
        if !alike || self.note.is_some() || next.note.is_some() {
            return false;
        }
        let span = match (self.words.span, next.words.span) {
            (own, other) if own == other => own,
            (Some((first, count)), Some((at, more))) if first + count == at => {
                Some((first, count + more))
            }
            _ => return false,
        };
        self.words.span = span;
        self.times += next.times;
        true
    }
}

/// The maximum number of different rows in a repeated sequence.
const LONGEST: usize = 6;

/// Returns the rows with repetitions folded.
pub(super) fn fold(rows: Vec<Row>) -> Vec<Row> {
    let mut folded: Vec<Row> = Vec::new();
    for row in rows {
        if !folded.last_mut().is_some_and(|last| last.takes(&row)) {
            folded.push(row);
        }
    }
    fold_turns(folded)
}

/// Folds repeated sequences of rows: of `a b a b a b` the first two rows stay, followed by a row
/// with the number of repetitions.
fn fold_turns(rows: Vec<Row>) -> Vec<Row> {
    let mut folded = Vec::new();
    let mut at = 0;
    while at < rows.len() {
        let rest = &rows[at..];
        let repeats = |length: usize| {
            let (turn, after) = rest.split_at_checked(length)?;
            let more = after.chunks_exact(length).take_while(|chunk| *chunk == turn).count();
            let worth = more * length > 2 && turn.iter().all(|row| row.note.is_none());
            worth.then_some((length, more))
        };
        match (2..=LONGEST).find_map(repeats) {
            Some((length, more)) => {
                folded.extend(rest[..length].iter().cloned());
                let depth = rest[..length].iter().map(|row| row.depth).min().unwrap_or_default();
                let words = CallText::bare(&format!("(the last {length} lines {more} times more)"));
                let fate = None;
                folded.push(Row { depth, fate, words, times: 1, note: None });
                at += length * (more + 1);
            }
            None => {
                folded.push(rest[0].clone());
                at += 1;
            }
        }
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(head: &str, span: Option<(u64, u64)>) -> Row {
        let words = CallText { span, ..CallText::bare(head) };
        Row { depth: 0, fate: None, words, times: 1, note: None }
    }

    fn texts(rows: Vec<Row>) -> Vec<String> {
        fold(rows).iter().map(Row::text).collect()
    }

    #[test]
    fn equal_and_adjoining_rows_are_one() {
        let write = |at| row("pwrite /a", Some((at, 512)));
        assert_eq!(texts(vec![write(0), write(512), write(1024)]), ["pwrite /a 0+1536 (3 times)"]);
        assert_eq!(texts(vec![write(0), write(0)]), ["pwrite /a 0+512 (2 times)"]);
        assert_eq!(texts(vec![write(0), write(4096)]), ["pwrite /a 0+512", "pwrite /a 4096+512"]);
        let lost = Row { fate: Some(Fate::Lost), ..write(512) };
        assert_eq!(texts(vec![write(0), lost]).len(), 2);
    }

    #[test]
    fn alternating_rows_are_shown_once() {
        let turn = || [row("write", Some((8, 8))), row("flush", None)];
        let rows: Vec<Row> = (0..5).flat_map(|_| turn()).chain([row("sync", None)]).collect();
        assert_eq!(texts(rows), ["write 8+8", "flush", "(the last 2 lines 4 times more)", "sync"]);
    }

    #[test]
    fn a_row_with_a_note_stays_by_itself() {
        let critical = Row { note: Some("critical".to_owned()), ..row("fsync /a", None) };
        let rows = vec![row("fsync /a", None), critical, row("fsync /a", None)];
        assert_eq!(texts(rows), ["fsync /a", "fsync /a  <- critical", "fsync /a"]);
    }
}
