//! Errors in a file are reported with line and column, and nothing runs.

use crate::Desk;

/// A valid file. Each case replaces one of its lines.
const FILE: &str = r#"[run]
depth = 1
[[component]]
use = "ramdisk"
size = "16MiB"
[[component]]
name = "notes"
init = "true {child}"
recover = "true"
recover_ok = [0, 1]
children = ["ramdisk"]
[checker]
name = "durable"
mutate = [
  { name = "add", steps = [ { start = ["k{n}"] }, { sh = "true", must = true }, { end = [] } ] },
]
check = "true"
"#;

/// Checks that the file with `new` in place of `old` is refused at this position, with these words.
#[track_caller]
fn refused(old: &str, new: &str, place: &str, words: &[&str]) {
    assert!(FILE.contains(old), "{old}");
    let desk = Desk::new();
    desk.write(&FILE.replace(old, new));
    let at = format!("test.toml:{place}: ");
    desk.explode("run test.toml").refused(&[&[at.as_str()], words].concat());
}

#[test]
fn files_that_are_no_toml_are_refused() {
    refused("[run]", "[run", "1:5", &[]);
    refused("depth = 1", "depth = 1\ndepth = 2", "3:1", &["duplicate"]);
    refused("depth = 1", "depth =", "2:8", &[]);
}

#[test]
fn unknown_keys() {
    refused("[run]", "[rum]", "1:2", &["unknown key of a stack file 'rum'", "did you mean 'run'?"]);
    refused(
        "depth = 1",
        "dephts = 1",
        "2:1",
        &["unknown key of run 'dephts'", "did you mean 'depth'?"],
    );
    refused("depth = 1", "crash-depth = 1", "2:1", &["did you mean 'crash_depth'?"]);
    refused("depth = 1", "stack = 'ext4'", "2:1", &["the file is the stack"]);
    refused(
        "size =",
        "sice =",
        "5:1",
        &["unknown key of component 'sice'", "did you mean 'size'?"],
    );
    refused("init =", "initt =", "8:1", &["did you mean 'init'?"]);
    refused(
        "check = \"true\"",
        "check = \"true\"\nsigs = \"true\"",
        "18:1",
        &["unknown key of checker 'sigs'", "'sig'"],
    );
    refused("steps =", "step =", "15:19", &["unknown key of mutate 'step'", "'steps'"]);
    refused("must =", "most =", "15:66", &["unknown key of steps 'most'", "did you mean 'must'?"]);
}

#[test]
fn wrong_types_and_values() {
    refused("depth = 1", "depth = \"one\"", "2:9", &["--depth", "one"]);
    refused(
        "depth = 1",
        "depth = [1]",
        "2:9",
        &["'depth' is true, false, a number or a text", "a list"],
    );
    refused(
        "depth = 1",
        "require_complete = 1",
        "2:20",
        &["'require_complete' is true or false", "here it is 1"],
    );
    refused("depth = 1", "strategy = \"dsf\"", "2:12", &["'dsf'", "dfs"]);
    refused("depth = 1", "set = \"a.b=c\"", "2:7", &["'set' is a list", "a text"]);
    refused("\"16MiB\"", "\"16 megabytes\"", "5:8", &["write it as 32MiB"]);
    refused("\"16MiB\"", "\"16MiB\"\nsectors = 8", "3:1", &["'sectors' or 'size'"]);
    refused("\"true {child}\"", "1", "8:8", &["'init' is a text"]);
    refused("\"true {child}\"", "\" \"", "8:8", &["an empty command"]);
    refused("[0, 1]", "[0, 256]", "10:18", &["256 is no exit code"]);
    refused("[0, 1]", "[0, \"1\"]", "10:18", &["'recover_ok' is a whole number"]);
    refused("recover = \"true\"\n", "", "9:1", &["'recover_ok' without 'recover'"]);
    refused(
        "recover = \"true\"",
        "recover = \"true\"\nprovides = \"files\"",
        "10:1",
        &["'provides' without 'mount'"],
    );
    refused(
        "init =",
        "mount = \"true\"\nprovides = \"disk\"\ninit =",
        "9:12",
        &["cannot provide 'disk'; use \"device\" or \"files\""],
    );
    refused("must = true", "must = 1", "15:73", &["'must' is true or false"]);
    refused("mutate = [\n", "mutate = 1\nx = [\n", "15:1", &["unknown key of checker 'x'"]);
}

#[test]
fn invalid_components_are_refused() {
    refused(
        "use = \"ramdisk\"",
        "use = \"ramdsk\"",
        "4:7",
        &["unknown component 'ramdsk'", "did you mean 'ramdisk'?"],
    );
    refused("use = \"ramdisk\"", "use = \"commands\"", "4:7", &["unknown component 'commands'"]);
    refused("name = \"notes\"", "use = \"ext4\"", "8:1", &["'use' or shell commands", "'init'"]);
    refused("name = \"notes\"\n", "", "6:1", &["needs a 'name'"]);
    refused(
        "name = \"notes\"",
        "name = \"ramdisk\"",
        "7:1",
        &["there is a layer 'ramdisk' already"],
    );
    refused("name = \"notes\"", "name = \"a b\"", "7:1", &["the name 'a b'", "letters, digits"]);
    refused(
        "[\"ramdisk\"]",
        "[\"ramdsk\"]",
        "11:13",
        &["unknown layer below 'ramdsk'", "did you mean 'ramdisk'?"],
    );
    refused("[\"ramdisk\"]", "[\"notes\"]", "11:13", &["unknown layer below 'notes'"]);
    refused(
        "size = \"16MiB\"",
        "children = [\"notes\"]",
        "5:13",
        &["unknown layer below 'notes'", "there is no"],
    );
    refused(
        "use = \"ramdisk\"\nsize = \"16MiB\"",
        "use = \"ext4\"",
        "3:1",
        &["'ext4' stands on something", "'ramdisk'"],
    );
    refused("{child}", "{child.2}", "8:8", &["{child.2}: there are 1 children"]);
    refused("{child}", "{chlid}", "8:8", &["did you mean {child}?"]);
    refused("{child}", "{n}", "8:8", &["{n} has no meaning here"]);
}

#[test]
fn leaves_take_no_children() {
    let text = "[[component]]\nuse = \"ramdisk\"\n[[component]]\nname = \"d1\"\nuse \
                = \"ramdisk\"\nchildren = [\"ramdisk\"]\n";
    let desk = Desk::new();
    desk.write(text);
    desk.explode("run fs-sync --stack test.toml")
        .refused(&["test.toml:6:1: 'ramdisk' takes no children"]);
}

#[test]
fn invalid_checkers_are_refused() {
    refused(
        "name = \"durable\"",
        "use = \"fs-sinc\"",
        "13:7",
        &["unknown checker 'fs-sinc'", "did you mean 'fs-sync'?"],
    );
    refused(
        "name = \"durable\"",
        "use = \"fs-sync\"",
        "14:1",
        &["'use' or shell commands", "'mutate'"],
    );
    refused("name = \"durable\"\n", "", "12:1", &["needs a 'name'"]);
    refused("\"durable\"", "\"fs-sync\"", "13:1", &["there is a checker 'fs-sync' already"]);
    refused("check = \"true\"\n", "", "12:1", &["checker needs the key 'check'"]);
    refused("check = \"true\"", "check = \"true {n}\"", "17:9", &["{n} has no meaning here"]);
    refused("check = \"true\"", "check = \"true\"\nsig = 1", "18:7", &["'sig' is a text"]);
    refused("{ end = [] }", "{ sh = \"true\" }", "15:29", &["a start without an end"]);
    refused("{ start = [\"k{n}\"] }", "{ sh = \"true\" }", "15:76", &["an end without a start"]);
    refused("{ end = [] }", "{ start = [] }, { end = [] }", "15:81", &["a second start"]);
    refused("[\"k{n}\"]", "[\"k {n}\"]", "15:40", &["'k {n}'", "holds a space"]);
    refused("[\"k{n}\"]", "[\"{path}\"]", "15:40", &["{path} has no meaning here"]);
    refused("sh = \"true\", must", "crash = [], must", "15:65", &["only a step with 'sh'"]);
    refused(
        "{ end = [] }",
        "{ end = [], crash = [] }",
        "15:81",
        &["a step is one of start, sh, end, crash"],
    );
    refused("{ end = [] }", "{ }", "15:81", &["this one has 0"]);
    let twice = "{ name = \"add\", steps = [] },\n]\ncheck";
    refused("]\ncheck", twice, "16:3", &["there is an alternative 'add' already"]);
}

#[test]
fn parts_that_are_missing() {
    let desk = Desk::new();
    let whole = |text: &str, words: &[&str]| {
        desk.write(text);
        desk.explode("run test.toml").refused(words);
    };
    whole("", &["test.toml:1:1: there is no [[component]]"]);
    whole("component = []", &["there is no [[component]]"]);
    whole("component = 1", &["test.toml:1:13: 'component' is a list"]);
    whole("[component]\nuse = 'ramdisk'", &["'component' is a list"]);
    whole(
        "[[component]]\nuse = 'ramdisk'\n[checker]\nname = 'a'\ncheck = 'true'",
        &["3:1: ", "needs the key 'mutate'"],
    );
    whole(
        "[[component]]\nuse = 'ramdisk'\n[checker]\nname = 'a'\ncheck = 'true'\nmutate = []",
        &["at least one"],
    );
}
