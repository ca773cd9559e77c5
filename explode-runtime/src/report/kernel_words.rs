//! Shortens the output of a kernel that ended to one line for people: the event and its place,
//! without registers and stacks.

/// The words that mark the line with the event.
const WORDS: [&str; 6] =
    ["WARNING: ", "kernel BUG at ", "BUG: ", "Oops: ", "INFO: task ", "Kernel panic - not syncing"];
/// The beginnings of lines in a dump. A text without such a line is not a dump.
const DUMP: [&str; 3] = ["RIP: ", "CPU: ", "Call Trace:"];

/// A text in which a kernel's dump is shortened to one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    /// The text without the rest of the dump.
    pub text: String,
    /// The number of lines of the dump that are omitted.
    pub hidden: usize,
}

/// Shortens a text that contains the output of a kernel that ended. Any other text is unchanged.
pub fn brief(text: &str) -> Brief {
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|line| WORDS.iter().any(|word| line.contains(word)));
    let is_dump = |line: &&&str| DUMP.iter().any(|word| line.starts_with(word));
    let Some(first) = first.filter(|first| lines[*first + 1..].iter().any(|line| is_dump(&line)))
    else {
        return Brief { text: text.to_owned(), hidden: 0 };
    };
    let mut short = lines[..=first].join("\n");
    if let Some(function) = lines[first + 1..].iter().find_map(|line| function_of(line))
        && !short.contains(function)
    {
        short += &format!(" in {function}");
    }
    // Text that explode has added follows the last line of the dump.
    if let Some((_, after)) = lines[first + 1..].iter().find_map(|line| line.split_once("; ")) {
        short += &format!("; {after}");
    }
    Brief { text: short, hidden: lines.len() - first - 1 }
}

/// Returns the function in a line with the instruction pointer, such as
/// `RIP: 0010:hfs_find+0x10/0x20 [hfs]`. `None` for other lines.
fn function_of(line: &str) -> Option<&str> {
    let place = line.strip_prefix("RIP: ")?;
    let place = place.split_once(':').map_or(place, |(_segment, place)| place);
    place.split(['+', ' ']).next().filter(|name| !name.is_empty() && !name.starts_with("0x"))
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, HumanWriter, Message};
    use super::*;

    fn short(text: &str) -> (String, usize) {
        let Brief { text, hidden } = brief(text);
        (text, hidden)
    }

    #[test]
    fn a_warning_is_one_line_with_its_place() {
        let warning = "in step finish: WARNING: CPU: 0 PID: 1 at fs/buffer.c:1181 \
                       mark_buffer_dirty+0x63/0xa0\n\
                       Modules linked in: hfs(O)\nRIP: 0010:mark_buffer_dirty+0x63/0xa0\nRAX: \
                       1\nCall Trace:\n hfs_put_super+0x24/0x30 [hfs]";
        let line = "in step finish: WARNING: CPU: 0 PID: 1 at fs/buffer.c:1181 \
                    mark_buffer_dirty+0x63/0xa0";
        assert_eq!(short(warning), (line.to_owned(), 5));
        let repeated = format!("{warning}; the unit is repeated");
        assert_eq!(short(&repeated), (format!("{line}; the unit is repeated"), 5));
    }

    #[test]
    fn an_oops_has_its_function() {
        let oops = "in step mount: Oops: divide error: 0000 [#1] SMP\nCPU: 0 PID: 1\nRIP: \
                    0010:journal_init+0xd0f/0x1810 [reiserfs]\nCode: f7";
        assert_eq!(
            short(oops),
            ("in step mount: Oops: divide error: 0000 [#1] SMP in journal_init".to_owned(), 3)
        );
        let unknown = "BUG: unable to handle page fault\nRIP: 0010:0x0\nCode: bad";
        assert_eq!(short(unknown), ("BUG: unable to handle page fault".to_owned(), 2));
    }

    #[test]
    fn a_finding_is_one_line_of_text_and_whole_in_json() {
        let message = "in step mount: WARNING: CPU: 0 PID: 1 at fs/a.c:1 f+0x1/0x2\nRIP: \
                       0010:f+0x1/0x2\nRAX: 1";
        let finding: Finding = serde_json::from_value(serde_json::json!({
            "id": "0", "verdict": "kernel-warn", "by_design": false, "message": message,
            "epoch": null,
            "signature": "c/kernel-warn/mount", "count": 1, "trace": "t.json", "replayed": true,
        }))
        .unwrap();
        let json = serde_json::to_value(Message::Finding(finding.clone())).unwrap();
        assert_eq!(json["message"], message);
        let mut out = Vec::new();
        HumanWriter::new(&mut out, false, "explode").message(&Message::Finding(finding)).unwrap();
        let out = String::from_utf8(out).unwrap();
        let line =
            "FAIL kernel-warn: in step mount: WARNING: CPU: 0 PID: 1 at fs/a.c:1 f+0x1/0x2\n";
        assert!(out.contains(line), "{out}");
        assert!(out.contains("more      2 lines of the kernel: explode show --all /"), "{out}");
        assert!(!out.contains("RAX"), "{out}");
    }

    #[test]
    fn other_texts_are_unchanged() {
        for text in ["one\ntwo", "BUG: of a program\nits second line", "WARNING: alone"] {
            assert_eq!(short(text), (text.to_owned(), 0));
        }
    }
}
