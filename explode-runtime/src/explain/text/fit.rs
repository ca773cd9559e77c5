//! Fits a story on one screen by omitting lines of its parts.

use std::collections::BTreeSet;

use crate::report::Line;

/// The number of lines of a screen.
pub(super) const SCREEN: usize = 40;

/// The minimum number of lines that are shown of a part, if it has them.
const FEWEST: usize = 3;

/// A part of a story.
pub(super) struct Part {
    lines: Vec<Line>,
    /// The indexes of the lines that are omitted last.
    wanted: Vec<usize>,
    /// True if lines may be omitted.
    shrinks: bool,
}

impl Part {
    /// Returns a part that is shown whole.
    pub fn whole(lines: Vec<Line>) -> Part {
        Part { lines, wanted: Vec::new(), shrinks: false }
    }

    /// Returns a part whose first lines may be omitted. The lines in `wanted` are omitted last.
    pub fn list(lines: Vec<Line>, wanted: Vec<usize>) -> Part {
        Part { lines, wanted, shrinks: true }
    }

    fn rows(&self) -> usize {
        self.lines.iter().map(Line::rows).sum()
    }
}

/// Returns the lines that fit and the number of those that do not.
pub(super) fn fit(parts: Vec<Part>, screen: usize) -> (Vec<Line>, usize) {
    let fixed: usize = parts.iter().filter(|part| !part.shrinks).map(Part::rows).sum();
    let wants: Vec<usize> =
        parts.iter().map(|part| if part.shrinks { part.lines.len() } else { 0 }).collect();
    let shares = shares(&wants, screen.saturating_sub(fixed));
    let mut left_out = 0;
    let mut shown = Vec::new();
    for (part, share) in parts.into_iter().zip(shares) {
        let (lines, gone) = if part.shrinks { cut(part, share) } else { (part.lines, 0) };
        shown.extend(lines);
        left_out += gone;
    }
    (shown, left_out)
}

/// Returns the number of lines of each part. All parts get one more line in turn, until each has
/// enough or no lines are left.
fn shares(wants: &[usize], lines: usize) -> Vec<usize> {
    let mut shares: Vec<usize> = wants.iter().map(|want| (*want).min(FEWEST)).collect();
    let mut left = lines.saturating_sub(shares.iter().sum());
    while left > 0 && shares != wants {
        for (share, want) in shares.iter_mut().zip(wants) {
            if left > 0 && *share < *want {
                *share += 1;
                left -= 1;
            }
        }
    }
    shares
}

/// Returns the last lines of a part and the wanted ones, with a line for each gap, and the number
/// of omitted lines.
fn cut(part: Part, share: usize) -> (Vec<Line>, usize) {
    let Part { lines, wanted, .. } = part;
    let total = lines.len();
    if total <= share {
        return (lines, 0);
    }
    // A line about a gap may precede each wanted line.
    let mut shown: BTreeSet<usize> = wanted.into_iter().take(share.saturating_sub(1) / 2).collect();
    let rows = |shown: &BTreeSet<usize>| {
        let starts = shown.iter().filter(|at| **at > 0 && !shown.contains(&(**at - 1))).count();
        shown.len() + starts + usize::from(!shown.contains(&(total - 1)))
    };
    for at in (0..total).rev() {
        shown.insert(at);
        if rows(&shown) > share {
            shown.remove(&at);
            break;
        }
    }
    let mut result = Vec::new();
    let mut next = 0;
    for (at, line) in lines.into_iter().enumerate() {
        if !shown.contains(&at) {
            continue;
        }
        if at > next {
            result.push(missing(at - next));
        }
        result.push(line);
        next = at + 1;
    }
    if next < total {
        result.push(missing(total - next));
    }
    (result, total - shown.len())
}

fn missing(lines: usize) -> Line {
    Line::detail("", &format!("({lines} more {})", if lines == 1 { "line" } else { "lines" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(from: usize, to: usize) -> Vec<Line> {
        (from..to).map(|number| Line::detail("", &number.to_string())).collect()
    }

    fn texts(lines: &[Line]) -> Vec<String> {
        lines.iter().map(|line| line.plain().trim().to_owned()).collect()
    }

    #[test]
    fn a_text_that_fits_is_shown_whole() {
        let parts = vec![Part::whole(lines(0, 3)), Part::list(lines(3, 10), Vec::new())];
        let (shown, left_out) = fit(parts, 10);
        assert_eq!((shown, left_out), (lines(0, 10), 0));
    }

    #[test]
    fn the_last_lines_and_the_wanted_ones_stay() {
        let (shown, left_out) = fit(vec![Part::list(lines(0, 20), vec![4])], 7);
        assert_eq!(
            texts(&shown),
            ["(4 more lines)", "4", "(11 more lines)", "16", "17", "18", "19"]
        );
        assert_eq!(left_out, 15);
    }

    #[test]
    fn parts_share_the_available_lines() {
        let part = |count| Part::list(lines(0, count), Vec::new());
        let (shown, left_out) = fit(vec![part(100), part(4), part(100)], 24);
        assert_eq!((shown.len(), left_out), (24, 91 + 91));
        assert_eq!(shares(&[5, 0, 9], 6), [3, 0, 3]);
        assert_eq!(shares(&[5, 0, 9], 11), [5, 0, 6]);
    }
}
