//! Damaged stack files are read, or refused with a position in the file. No panic either way.

use clap::CommandFactory as _;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::cli::Cli;

/// A file with every kind of part.
const SOUND: &str = r#"# Notes
[run]
in = "vm"
budget = "60s"
set = ["ext4.block_size=1024"]
crash_depth = 1
replace_versions = true

[[component]]
name = "d0"
use = "ramdisk"
size = "32MiB"

[[component]]
use = "ext4"
block_size = 1024
children = ["d0"]

[[component.probe]]
symbol = "ext4_mark_iloc_dirty"
returns = "-EIO"
unlisted = true
[[component.probe]]
symbol = "should_fail_bio"
returns = -5

[[component]]
name = "notes"
init = "notes create {child}/db"
recover = "notes repair {child}/db"
recover_ok = [0, 1]

[checker]
name = "notes-durable"
mutate = [
  { name = "add", steps = [ { start = ["k{n}"] }, { sh = "notes add {path}/db k{n}" }, { end = ["k{n}"] } ] },
  { name = "sync", steps = [ { sh = "notes sync {path}/db", must = true }, { crash = ["synced"] } ] },
]
check = "notes verify {path}/db"
sig = 'notes dump "{path}/db"'
"#;

/// Values of every type, as a pattern.
const VALUE: &str = "[0-9]{1,40}|-[0-9]{1,3}|0x[0-9a-f]{1,20}|[0-9]e[0-9]{3}|true|\
    \\[\\]|\\{\\}|\"\\PC{0,8}\"|1979-05-27|nan";

fn parse(registry: &Registry, path: &str, text: &str) -> Result<StackFile, UsageError> {
    StackFile::of_text(registry, Cli::command, Path::new(path), text)
}

/// Reads a file. An error must have a line and a column of the file.
fn survives(registry: &Registry, text: &str) {
    let Err(UsageError(error)) = parse(registry, "damaged.toml", text) else { return };
    let place: Vec<&str> = error.splitn(4, ':').collect();
    let [path, line, column, message] = place[..] else { panic!("no place in '{error}'") };
    let (line, column): (usize, usize) = (line.parse().unwrap(), column.parse().unwrap());
    assert!(path == "damaged.toml" && !message.trim().is_empty(), "{error}");
    let length = text.split('\n').nth(line - 1).map(|line| line.chars().count());
    assert!(length.is_some_and(|length| (1..=length + 1).contains(&column)), "{error}");
}

fn survives_bytes(registry: &Registry, bytes: &[u8]) {
    survives(registry, &String::from_utf8_lossy(bytes));
}

#[test]
fn the_file_itself_is_sound() {
    let file = parse(&crate::registry(), "sound.toml", SOUND).unwrap();
    assert_eq!(file.stack.names(), ["d0", "ext4", "notes"]);
    assert_eq!((file.arguments.len(), file.checker().unwrap().0.as_str()), (5, "notes-durable"));
    let probes = file.stack.0[1].options.get("probe").map(ToString::to_string);
    let named = "[{returns=-EIO, symbol=ext4_mark_iloc_dirty, unlisted=true}, \
                 {returns=-5, symbol=should_fail_bio}]";
    assert_eq!(probes.as_deref(), Some(named));
}

#[test]
fn errors_in_a_probe_are_named() {
    let registry = crate::registry();
    for (old, new, message) in [
        (
            "returns = -5",
            "returns = -5000",
            "probe: 'should_fail_bio' returns '-5000'; write an error",
        ),
        ("returns = -5", "return = -5", "unknown key of a probe 'return'; did you mean 'returns'?"),
        ("returns = -5", "", "a probe needs the key 'returns'"),
        ("should_fail_bio", "ext4_mark_iloc_dirty", "probe: 'ext4_mark_iloc_dirty' is named twice"),
    ] {
        let text = SOUND.replace(old, new);
        let error = parse(&registry, "test.toml", &text).unwrap_err().to_string();
        assert!(error.starts_with("test.toml:") && error.contains(message), "{error}");
    }
}

#[test]
fn deep_nesting_is_refused() {
    let registry = crate::registry();
    for open in ["[", "{a=", "[{a=", "a."] {
        for depth in [10, 1000, 100_000] {
            survives(&registry, &format!("component = {}", open.repeat(depth)));
            survives(&registry, &format!("{}b = 1", open.repeat(depth)));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn garbage_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..400),
        text in "\\PC{0,200}") {
        let registry = crate::registry();
        survives_bytes(&registry, &bytes);
        survives(&registry, &text);
        survives_bytes(&registry, &[b"[[component]]\nuse = \"", &bytes[..], b"\"\n"].concat());
        survives(&registry, &format!("[checker]\nname = \"a\"\ncheck = '''{text}'''\n"));
    }

    #[test]
    fn damage_is_survived(at in any::<Index>(), bits in 1_u8..=255,
        one in any::<Index>(), other in any::<Index>()) {
        let registry = crate::registry();
        let mut flipped = SOUND.as_bytes().to_vec();
        flipped[at.index(SOUND.len())] ^= bits;
        survives_bytes(&registry, &flipped);
        survives(&registry, &SOUND[..at.index(SOUND.len())]);
        let (one, other) = (one.index(SOUND.len()), other.index(SOUND.len()));
        let (from, to) = (one.min(other), one.max(other));
        survives(&registry, &[&SOUND[..from], &SOUND[to..]].concat());
        survives(&registry, &[&SOUND[..to], &SOUND[from..]].concat());
    }

    /// Replaces a value by one of another type, or by one that is too large.
    #[test]
    fn other_values_are_survived(line in any::<Index>(), value in VALUE) {
        let with_value: Vec<usize> =
            (0..).zip(SOUND.lines()).filter(|(_, line)| line.contains(" = ")).map(|(at, _)| at)
                .collect();
        let changed = with_value[line.index(with_value.len())];
        let line = |(at, line): (usize, &str)| match line.split_once(" = ") {
            Some((key, _)) if at == changed => format!("{key} = {value}\n"),
            _ => format!("{line}\n"),
        };
        survives(&crate::registry(), &SOUND.lines().enumerate().map(line).collect::<String>());
    }
}
