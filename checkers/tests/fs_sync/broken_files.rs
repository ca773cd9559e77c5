//! Tests with a repair that breaks files after each crash: damage to promised data is reported, and
//! no other damage.

use std::rc::Rc;

use explode_ramdisk::files::{FileKind, Files, OpenFlags, Result as FilesResult};
use explode_runtime::base::{Mode, OptionDef, Options, StepError};
use explode_runtime::stack::{Below, Component, ComponentDef, Recovery, Surface};

use crate::{Ran, plan, registry, run};

pub fn repair_def() -> ComponentDef {
    ComponentDef::new("repair", "breaks the files below it", |options| {
        Ok(Box::new(Repair { how: options.text("how", "nothing")?, files: None }))
    })
    .modes([Mode::Mem])
    .options([OptionDef { name: "how", about: "what is done to them", default: "nothing" }])
}

struct Repair {
    how: String,
    files: Option<Rc<dyn Files>>,
}

impl Component for Repair {
    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, StepError> {
        repair(&self.how, below.files()?.as_ref()).map_err(StepError::from)?;
        Ok(Recovery::Repaired)
    }
    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.files = Some(below.files()?);
        Ok(())
    }
    fn surface(&self) -> Surface {
        self.files.clone().map_or(Surface::Child, Surface::Files)
    }
}

/// Overwrites bytes of a file, if it has a byte there.
fn overwrite(files: &dyn Files, path: &str, at: u64, bytes: &[u8]) -> FilesResult<()> {
    match files.stat(path) {
        Ok(stat) if stat.kind == FileKind::File && stat.size > at => {
            let fd = files.open(path, OpenFlags::EXISTING)?;
            files.pwrite(fd, at, bytes)?;
            files.close(fd)
        }
        _ => Ok(()),
    }
}

fn resize(files: &dyn Files, path: &str, size: impl FnOnce(u64) -> u64) -> FilesResult<()> {
    let Ok(stat) = files.stat(path) else { return Ok(()) };
    let fd = files.open(path, OpenFlags::EXISTING)?;
    files.ftruncate(fd, size(stat.size))?;
    files.close(fd)
}

fn create(files: &dyn Files, path: &str) -> FilesResult<()> {
    files.close(files.open(path, OpenFlags::CREATE)?)
}

/// Returns true if `path` exists.
fn there(files: &dyn Files, path: &str) -> bool {
    files.stat(path).is_ok()
}

fn repair(how: &str, files: &dyn Files) -> FilesResult<()> {
    let cell = |text: &str| text.repeat(32).into_bytes();
    match how {
        "adds what nobody asked for" => {
            files.mkdir("/lost+found")?;
            create(files, "/lost+found/#12")?;
            if there(files, "/d") {
                create(files, "/d/other")?;
            }
            create(files, "/other")
        }
        "adds a name and empties what is there" => {
            create(files, "/0")?;
            resize(files, "/a", |_| 0)
        }
        "changes the mode of /a" if there(files, "/a") => files.chmod("/a", 0o111),
        "empties /a" => resize(files, "/a", |_| 0),
        "cuts /b" => resize(files, "/b", |size| size.saturating_sub(1)),
        "lengthens /b" => resize(files, "/b", |size| size + 1),
        "zeroes a sector of /b" => overwrite(files, "/b", 5120, &[0; 512]),
        "zeroes a word of /b" => overwrite(files, "/b", 5120, &[0; 4]),
        "fills the hole of /a" => overwrite(files, "/a", 8192, &[1]),
        "puts /b into /a" => overwrite(files, "/a", 0, &cell("b00001+00000000\n")),
        "puts the first /a back" => overwrite(files, "/a", 0, &cell("a00001+00000000\n")),
        "removes /d/c" if there(files, "/d/c") => files.unlink("/d/c"),
        "makes /a again" => create(files, "/a"),
        "makes /a a directory" => {
            if there(files, "/a") {
                files.unlink("/a")?;
            }
            files.mkdir("/a")
        }
        "makes /d a file" if there(files, "/d") => {
            if there(files, "/d/c") {
                files.unlink("/d/c")?;
            }
            files.rmdir("/d")?;
            create(files, "/d")
        }
        _ => Ok(()),
    }
}

/// Runs with this repair to this depth.
fn broken(how: &str, depth: u32) -> Ran {
    let mut registry = registry();
    registry.components.push(repair_def());
    let mut plan = plan(&registry, "fs-sync", depth);
    plan.stack = plan.stack.plug("repair", Options::none().with("how", how));
    // The repair must break the files only once.
    plan.settings.crash_depth = 0;
    run(&registry, &plan)
}

#[track_caller]
fn expect_findings(how: &str, depth: u32, expected: &[(&str, &str)]) {
    let ran = broken(how, depth);
    let found: Vec<_> =
        ran.findings.iter().map(|(signature, text)| (&**signature, &**text)).collect();
    assert_eq!(found, expected, "{how}");
}

#[test]
fn nothing_is_reported_that_was_not_promised() {
    for how in ["nothing", "adds what nobody asked for"] {
        assert_eq!(broken(how, 3).signatures(), [""; 0], "{how}");
    }
}

#[test]
fn sizes() {
    expect_findings(
        "empties /a",
        2,
        &[
            ("lost/partly-synced-by-fdatasync", "/a has 0 bytes, not 4096"),
            ("lost/partly-synced-by-fsync", "/a has 0 bytes, not 4096"),
            ("lost/synced-by-fsync", "/a has 0 bytes, not 4096"),
            ("lost/synced-by-sync", "/a has 0 bytes, not 4096"),
        ],
    );
    // A rename that is not synced can leave both names. Then the truncated /b is also found as /a.
    expect_findings(
        "cuts /b",
        2,
        &[
            ("lost/partly-synced-by-fdatasync", "/b has 4095 bytes, not 4096"),
            ("lost/partly-synced-by-fsync", "/a has 4095 bytes, not 4096"),
            ("lost/synced-by-fsync", "/b has 8191 bytes, not 8192"),
            ("lost/synced-by-sync", "/b has 8191 bytes, not 8192"),
        ],
    );
    expect_findings(
        "lengthens /b",
        2,
        &[
            ("corrupt/partly-synced-by-fdatasync", "/b has 4097 bytes, not 4096"),
            ("corrupt/partly-synced-by-fsync", "/a has 4097 bytes, not 4096"),
            ("corrupt/synced-by-fsync", "/b has 8193 bytes, not 8192"),
            ("corrupt/synced-by-sync", "/b has 8193 bytes, not 8192"),
        ],
    );
}

#[test]
fn contents() {
    let zeroes = "/b has at byte 5120 zeroes, not \"b00001+00000010\\n\"";
    expect_findings(
        "zeroes a sector of /b",
        2,
        &[("lost/synced-by-fsync", zeroes), ("lost/synced-by-sync", zeroes)],
    );
    let word =
        "/b has at byte 5120 \"\\x00\\x00\\x00\\x0001+00000010\\n\", not \"b00001+00000010\\n\"";
    expect_findings(
        "zeroes a word of /b",
        2,
        &[("corrupt/synced-by-fsync", word), ("corrupt/synced-by-sync", word)],
    );
    let hole = format!("/a has at byte 8192 \"\\x01{}\", not zeroes", "\\x00".repeat(15));
    expect_findings("fills the hole of /a", 2, &[("corrupt/synced-by-fsync", &hole)]);
    let other = "/a has at byte 0 \"b00001+00000000\\n\", not \"a00001+00000000\\n\"";
    expect_findings(
        "puts /b into /a",
        2,
        &[
            ("corrupt/partly-synced-by-fdatasync", other),
            ("corrupt/partly-synced-by-fsync", other),
            ("corrupt/synced-by-fsync", other),
            ("corrupt/synced-by-sync", other),
        ],
    );
    expect_findings(
        "puts the first /a back",
        2,
        &[
            ("corrupt/synced-by-fsync", "/a has at byte 0 \"a00001+00000000\\n\", not zeroes"),
            (
                "lost/synced-by-fsync",
                "/a has at byte 0 an older version, \"a00001+00000000\\n\", \
                 not \"a00002+00000000\\n\"",
            ),
        ],
    );
}

#[test]
fn names() {
    expect_findings(
        "removes /d/c",
        2,
        &[("lost/synced-by-sync", "/d/c is gone"), ("lost/synced-directory", "/d/c is gone")],
    );
    expect_findings(
        "makes /a again",
        3,
        &[
            ("lost/partly-synced-by-fdatasync", "/a has 0 bytes, not 4096"),
            ("lost/partly-synced-by-fsync", "/a has 0 bytes, not 4096"),
            ("lost/partly-synced-by-sync", "/a has 0 bytes, not 4096"),
            ("resurrected/synced-by-sync", "/a was taken away for good, and is there"),
            ("resurrected/synced-directory", "/a was taken away for good, and is there"),
        ],
    );
    expect_findings(
        "makes /a a directory",
        2,
        &[
            ("corrupt/partly-synced-by-fdatasync", "/a is a directory"),
            ("corrupt/partly-synced-by-fsync", "/a is a directory"),
            ("corrupt/synced-by-sync", "/a is a directory"),
            ("corrupt/synced-directory", "/a is a directory"),
        ],
    );
    expect_findings(
        "makes /d a file",
        2,
        &[("corrupt/synced-by-sync", "/d is a file"), ("corrupt/synced-directory", "/d is a file")],
    );
}
