//! The commands that a run prints, pasted into a shell.

use std::collections::BTreeSet;

use super::shell;

/// Pastes the last command of each finding of a run's text, by design or not, in a folder other
/// than that of the run. Each must reproduce its finding. The text must end with one of these
/// commands if a finding counts. Returns the verdicts.
#[track_caller]
pub fn replays(text: &str) -> BTreeSet<String> {
    pasted(text, |_| true)
}

/// Pastes the command of the first finding with each verdict. The others must have a command as
/// well.
#[track_caller]
pub fn first_replays(text: &str) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    pasted(text, |verdict| seen.insert(verdict.to_owned()))
}

#[track_caller]
fn pasted(text: &str, mut is_wanted: impl FnMut(&str) -> bool) -> BTreeSet<String> {
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = elsewhere.path();
    let is_detail = |line: &&str| line.starts_with("             ");
    let detail = |line: &str, word: &str| {
        Some(line.strip_prefix("             ")?.strip_prefix(word)?.to_owned())
    };
    let lines: Vec<&str> = text.lines().collect();
    let (mut verdicts, mut commands) = (BTreeSet::new(), Vec::new());
    for (index, head) in lines.iter().enumerate() {
        let word = head.get(..12).unwrap_or_default().trim();
        let rest: Vec<&str> = lines[index + 1..].iter().copied().take_while(is_detail).collect();
        // A finding that is reported again with its last count has no details.
        let (true, Some(last)) = (["FAIL", "by design"].contains(&word), rest.last()) else {
            continue;
        };
        let command =
            detail(last, "replay    ").unwrap_or_else(|| panic!("a command ends {head}\n{text}"));
        let bug = rest.iter().find_map(|line| detail(line, "bug       ")).expect("it has a name");
        let signature = bug.split_once("  ").expect("id and signature").1;
        let verdict = head[13..].split_once(": ").expect("verdict and message").0;
        if is_wanted(verdict) {
            let replayed = shell(folder, &command).expect(1);
            assert!(
                replayed.out.starts_with(&format!("{word:>12} {verdict}: ")),
                "{command}: {replayed:#?}"
            );
            let reproduced = format!("\n  reproduced {signature}\n");
            assert!(replayed.out.contains(&reproduced), "{command}: {replayed:#?}");
        }
        verdicts.insert(verdict.to_owned());
        if word == "FAIL" {
            commands.push(command);
        }
    }
    if let Some(first) = commands.first() {
        assert_eq!(
            lines.last().and_then(|line| detail(line, "replay    ")).as_ref(),
            Some(first),
            "{text}"
        );
    }
    verdicts
}
