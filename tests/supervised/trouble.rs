//! Failures of a guest's kernel: an oops, a BUG and a warning, by the tests' own module (`kmod/`).
//! Each is found, and replayed in a fresh guest.
//!
//! The module is in a script that a stack file's commands name. The script is a program of this
//! machine, which is copied to guests.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use explode_vm::{BuildOptions, Builder, Cache, KernelSource, Silent};
use libtest_mimic::Trial;
use tempfile::tempdir;

use crate::commands::{reported, run_human};
use crate::common::log::base64;
use crate::common::pasted::replays;
use crate::common::{file, guest, of_type};
use crate::trial;

/// The files of the module.
const FILES: [(&str, &[u8]); 2] =
    [("Kbuild", include_bytes!("kmod/Kbuild")), ("trouble.c", include_bytes!("kmod/trouble.c"))];

pub fn trials() -> Vec<Trial> {
    vec![trial("guests: an oops, a BUG and a warning of their kernels", kernels)]
}

fn kernels() {
    if !guest::required() {
        return;
    }
    let folder = tempdir().unwrap();
    script(&folder.path().join("trouble"), &module());
    for (word, verdict, said, place) in [
        (
            "oops",
            "kernel-oops",
            "BUG: kernel NULL pointer dereference, address: 0000000000000000",
            "trouble_write",
        ),
        ("bug", "kernel-oops", "kernel BUG at ", "/trouble.c:"),
        ("warn", "kernel-warn", "WARNING: ", "trouble_write"),
    ] {
        let run = folder.path().join(word);
        fs::create_dir(&run).unwrap();
        file(&run, "trouble.toml", stack(&folder.path().join("trouble"), word));
        let text = run_human(&run, "trouble.toml --deadline 8s", 1);
        let lines = reported(&run.join("run"));
        let [finding] = of_type(&lines, "finding")[..] else { panic!("{word}: {text}") };
        assert_eq!(
            (&finding["verdict"], &finding["replayed"]),
            (&verdict.into(), &true.into()),
            "{text}"
        );
        assert_eq!(finding["signature"], format!("trouble/{verdict}/mutate"));
        let message = finding["message"].as_str().unwrap();
        assert!(
            message.starts_with(&format!("in step mutate: {said}")) && message.contains(place),
            "{message}"
        );
        // The first state, and the one after the word without a meaning.
        let counted =
            ["states", "operations", "findings", "broken"].map(|key| &lines.last().unwrap()[key]);
        assert_eq!(counted, [2, 2, 1, 0], "{text}");
        assert_eq!(replays(&text), [verdict.to_owned()].into());
    }
}

/// Returns the module, built for the kernel of the guests.
fn module() -> Vec<u8> {
    let (cache, options) = (Cache::of_user().unwrap(), BuildOptions::of_environment().unwrap());
    let builder = Builder { cache: &cache, options: &options, progress: &Silent };
    let tree = std::env::var_os("EXPLODE_KERNEL").filter(|tree| !tree.is_empty());
    let source = tree.map_or(KernelSource::Debian, |tree| KernelSource::Tree(tree.into()));
    let module =
        builder.kernel(&source).and_then(|kernel| builder.module(&kernel, "trouble", &FILES));
    fs::read(module.unwrap_or_else(|error| panic!("{error}"))).unwrap()
}

/// Writes a script that loads the module once per guest and sends it a word.
fn script(path: &Path, module: &[u8]) {
    let text = format!(
        "#!/bin/sh\nif [ ! -e /proc/trouble ]; then\nbase64 -d >/tmp/trouble.ko \
         <<END\n{}\nEND\ninsmod /tmp/trouble.ko\nfi\n\
         printf %s \"$1\" >/proc/trouble\n",
        base64(module)
    );
    fs::write(path, text).unwrap();
    fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

/// Returns a stack file with two alternatives: a word without an effect, and this word.
fn stack(script: &Path, word: &str) -> String {
    let script = script.display();
    format!(
        r#"
[run]
depth = 1
[[component]]
use = "ramdisk"
size = "1MiB"
[checker]
name = "trouble"
mutate = [
  {{ name = "nothing", steps = [ {{ sh = "{script} nothing", must = true }} ] }},
  {{ name = "trouble", steps = [ {{ sh = "{script} {word}", must = true }} ] }},
]
check = "true"
"#
    )
}
