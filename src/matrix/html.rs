//! The matrix as a self-contained HTML page.

use explode_runtime::report::{Paste, escaped};

use super::attribution::{AttributedFinding, SafetySummary};
use super::cell::{Cell, CellOutcome};
use super::grid::Grid;
use super::{paper, text};

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem;max-width:90rem}\
    table{border-collapse:collapse}\
th,td{border:1px solid #ccc;padding:.3rem .6rem;text-align:left;vertical-align:top}td \
small{display:block;color:#555}\
.pass{background:#dcf5dc}.by_design{background:#fdf3cf}.bug{background:#fbd9d5}\
    .inconclusive,.not_run,.broken{background:#e8e8ee}\
code{font-size:13px}li code{white-space:pre-wrap}";

/// Returns the whole page.
pub fn page(
    grid: &Grid,
    cells: &[Cell],
    faults: &[AttributedFinding],
    safe: &[SafetySummary],
    paste: &Paste,
) -> String {
    let mut body = String::from("<h1>explode matrix</h1>\n<table>\n<tr><th></th>");
    for check in &grid.checks {
        body += &format!("<th title=\"{}\">{}</th>", escape(&check.about), escape(&check.name));
    }
    body += "</tr>\n";
    for system in &grid.systems {
        body += &format!("<tr><th>{}</th>", escape(&system.name));
        for check in &grid.checks {
            let cell =
                cells.iter().find(|cell| cell.system == system.name && cell.check == check.name);
            body += &data(cell, paper::failed(&system.name, &check.name));
        }
        body += "</tr>\n";
    }
    body += "</table>\n";
    body += &list("Found", faults.iter().map(text::fault));
    body += &list("Ways to make things durable", safe.iter().map(text::describe_safety));
    body += &list("In 2006 (Linux 2.6.11, the paper's Table 2)", paper::lines(grid));
    let bugs = cells.iter().flat_map(|cell| cell.bugs().map(move |bug| (cell, bug)));
    let bugs = bugs.map(|(cell, bug)| {
        format!("{}; {}", text::bug_text(cell, bug), text::replay(grid, cell, bug, paste))
    });
    body += &list("Bugs", bugs);
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>explode \
         matrix</title>\n<style>{STYLE}</style>\n{body}</html>\n"
    )
}

/// Returns one cell, with the paper's result in small print.
fn data(cell: Option<&Cell>, failed: Option<bool>) -> String {
    let outcome = cell.map_or(CellOutcome::NotRun, |cell| cell.outcome);
    let mut small = Vec::new();
    if let Some(cell) = cell {
        small.extend(cell.why.as_deref().map(text::first_line));
        small.extend(cell.findings.iter().map(|finding| finding.signature.clone()));
        small.extend(cell.summary.is_some().then(|| text::counts(cell)));
    }
    small
        .extend(failed.map(|failed| if failed { "2006: failed" } else { "2006: held" }.to_owned()));
    let small: String =
        small.iter().map(|line| format!("<small>{}</small>", escape(line))).collect();
    format!("<td class=\"{}\">{}{small}</td>", outcome.key(), text::word(cell))
}

fn list(head: &str, lines: impl IntoIterator<Item = String>) -> String {
    let items: String = lines
        .into_iter()
        .map(|line| format!("<li><code>{}</code></li>\n", escape(&line)))
        .collect();
    if items.is_empty() {
        items
    } else {
        format!("<h2>{}</h2>\n<ul>\n{items}</ul>\n", escape(head))
    }
}

fn escape(text: &str) -> String {
    escaped(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn text_of_a_system_is_escaped_in_html() {
        assert_eq!(escape("\x1b[31m"), "\\u001b[31m");
        assert_eq!(escape("<b>\"a\" & b</b>"), "&lt;b&gt;&quot;a&quot; &amp; b&lt;/b&gt;");
    }
}
