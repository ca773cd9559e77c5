//! The verdict and the message in a guest's console.

use explode_runtime::verdict::Verdict;
use itertools::Itertools as _;
use nix::sys::signal::Signal;

/// The number of console lines in a message.
const LINES: usize = 25;

/// The words that tell the end of a kernel, the most specific first.
const WORDS: [(&str, Verdict); 7] = [
    ("hung_task: blocked tasks", Verdict::Hang),
    ("panic_on_warn set", Verdict::KernelWarn),
    ("kernel BUG at ", Verdict::KernelOops),
    ("Oops: ", Verdict::KernelOops),
    ("BUG: ", Verdict::KernelOops),
    ("Fatal exception", Verdict::KernelOops),
    ("Kernel panic - not syncing", Verdict::KernelPanic),
];

/// The words at the first line of the message, the best first. The cause of a panic may be printed
/// after the panic.
const BEGINNINGS: [&str; 6] =
    ["WARNING: ", "kernel BUG at ", "BUG: ", "Oops: ", "INFO: task ", "Kernel panic - not syncing"];

/// The kernel's message when its first process, the agent, has died.
const AGENT_DIED: &str = "Attempted to kill init! exitcode=0x";

/// Returns how the agent ended. `None` if it did not end.
pub fn agent_died(console: &str) -> Option<String> {
    let (_, code) = console.split_once(AGENT_DIED)?;
    let code = u32::from_str_radix(code.get(..8)?, 16).ok()?;
    Some(match (code & 0x7f, code >> 8 & 0xff) {
        (0, code) => format!("the process ended with exit code {code}"),
        (signal, _) => match Signal::try_from(signal as i32) {
            Ok(signal) => format!("the process was ended by {signal}"),
            Err(_) => format!("the process was ended by signal {signal}"),
        },
    })
}

/// Returns the verdict and the kernel's message. `None` if the kernel did not end the guest.
pub fn verdict(console: &str) -> Option<(Verdict, String)> {
    // Each of these ends with a panic. Without one the kernel continues.
    console.contains("Kernel panic - not syncing").then_some(())?;
    let verdict =
        WORDS.iter().find(|(word, _)| console.contains(word)).map(|(_, verdict)| *verdict)?;
    let lines: Vec<&str> = console.lines().map(str::trim_end).collect();
    let place = |word: &&str| lines.iter().position(|line| line.contains(word));
    let first = BEGINNINGS.iter().find_map(place)?;
    let story = &lines[first..lines.len().min(first + LINES)];
    let clean =
        |line: &&str| line.chars().filter(|c| *c == '\t' || !c.is_control()).collect::<String>();
    Some((verdict, story.iter().map(clean).join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(console: &str) -> Verdict {
        let (verdict, story) = verdict(console).expect("it has ended");
        assert!(!story.contains("before"), "{story}");
        verdict
    }

    #[test]
    fn each_end_has_its_verdict() {
        let ends = [
            (
                "BUG: kernel NULL pointer dereference, address: 0\nOops: 0002\nKernel panic - not \
                 syncing: Fatal exception",
                Verdict::KernelOops,
            ),
            (
                "kernel BUG at fs/inode.c:1!\ninvalid opcode\nKernel panic - not syncing: Fatal \
                 exception",
                Verdict::KernelOops,
            ),
            (
                "WARNING: CPU: 0 PID: 1 at fs/inode.c:1\nKernel panic - not syncing: kernel: \
                 panic_on_warn set ...",
                Verdict::KernelWarn,
            ),
            (
                "INFO: task sync:9 blocked\nKernel panic - not syncing: hung_task: blocked tasks",
                Verdict::Hang,
            ),
            ("Kernel panic - not syncing: sysrq triggered crash", Verdict::KernelPanic),
            ("Kernel panic - not syncing: EXT4-fs panic from previous error", Verdict::KernelPanic),
        ];
        for (console, verdict) in ends {
            assert_eq!(of(&format!("before\r\n{console}\r\n")), verdict, "{console}");
        }
        assert_eq!(verdict("before\nWARNING: nothing\n"), None);
    }

    #[test]
    fn an_agent_that_died_is_no_panic_of_the_kernel() {
        let console = |code: &str| {
            format!("Kernel panic - not syncing: Attempted to kill init! exitcode=0x{code}\n")
        };
        assert_eq!(agent_died(&console("00000006")).unwrap(), "the process was ended by SIGABRT");
        assert_eq!(agent_died(&console("00000086")).unwrap(), "the process was ended by SIGABRT");
        assert_eq!(agent_died(&console("00000700")).unwrap(), "the process ended with exit code 7");
        assert_eq!(agent_died("Kernel panic - not syncing: else"), None);
    }
}
