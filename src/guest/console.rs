//! What a kernel says when it has had enough.

use explode_runtime::check::Verdict;

/// So many lines go into a message.
const LINES: usize = 25;

/// Words that say what has happened, the most telling first.
const WORDS: [(&str, Verdict); 7] = [
    ("hung_task: blocked tasks", Verdict::Hang),
    ("panic_on_warn set", Verdict::KernelWarn),
    ("kernel BUG at ", Verdict::KernelOops),
    ("Oops: ", Verdict::KernelOops),
    ("BUG: ", Verdict::KernelOops),
    ("Fatal exception", Verdict::KernelOops),
    ("Kernel panic - not syncing", Verdict::KernelPanic),
];

/// Where the story begins.
const BEGINNINGS: [&str; 6] =
    ["WARNING: ", "kernel BUG at ", "BUG: ", "Oops: ", "INFO: task ", "Kernel panic - not syncing"];

/// What the guest's console says of its end, if the kernel has ended it, with its words.
pub fn verdict(console: &str) -> Option<(Verdict, String)> {
    // A panic is the last word in all of them: without it the kernel goes on.
    console.contains("Kernel panic - not syncing").then_some(())?;
    let verdict = WORDS.iter().find(|(word, _)| console.contains(word)).map(|(_, verdict)| *verdict)?;
    let lines: Vec<&str> = console.lines().map(str::trim_end).collect();
    let first = lines.iter().position(|line| BEGINNINGS.iter().any(|word| line.contains(word)))?;
    let story = &lines[first..lines.len().min(first + LINES)];
    let clean = |line: &&str| line.chars().filter(|c| *c == '\t' || !c.is_control()).collect::<String>();
    Some((verdict, story.iter().map(clean).collect::<Vec<_>>().join("\n")))
}
