//! A log of lines, all in one file, as a component.

use std::rc::Rc;

use explode::ramdisk::files::{Files, OpenFlags};
use explode::runtime::base::{Fault, Mode, OptionDef};
use explode::runtime::stack::{Below, Component, ComponentDef, Recovery, Surface};

pub const DEF: ComponentDef = ComponentDef {
    name: "line-log",
    about: "a log of lines in one file",
    modes: &[Mode::Mem, Mode::Vm, Mode::Here],
    on: Some("simfiles"),
    options: &[OptionDef { name: "fsync", about: "sync each line: true, or false, a bug", default: "true" }],
    build: |options| Ok(Box::new(LineLog { fsync: options.bool("fsync", true)?, log: None })),
    ..ComponentDef::BASE
};

struct LineLog {
    fsync: bool,
    log: Option<Rc<Log>>,
}

impl Component for LineLog {
    fn init(&mut self, below: &Below<'_>) -> Result<(), Fault> {
        let files = below.files()?;
        let log = files.open(PATH, OpenFlags::CREATE)?;
        files.fsync(log)?;
        files.close(log)?;
        Ok(files.sync_dir("/")?)
    }

    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, Fault> {
        let torn = Log { files: below.files()?, fsync: true }.cut_tail()?;
        Ok(if torn { Recovery::Repaired } else { Recovery::Clean })
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), Fault> {
        self.log = Some(Rc::new(Log { files: below.files()?, fsync: self.fsync }));
        Ok(())
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), Fault> {
        self.log = None;
        Ok(())
    }

    fn surface(&self) -> Surface {
        self.log.as_ref().map_or(Surface::Child, |log| Surface::Engine(Rc::clone(log) as _))
    }
}

const PATH: &str = "/log";

/// The system itself: when `append` returns, the line is durable.
pub struct Log {
    files: Rc<dyn Files>,
    fsync: bool,
}

impl Log {
    pub fn append(&self, line: &str) -> Result<(), Fault> {
        let log = self.files.open(PATH, OpenFlags::EXISTING)?;
        self.files.pwrite(log, self.files.fstat(log)?.size, format!("{line}\n").as_bytes())?;
        if self.fsync {
            self.files.fsync(log)?;
        }
        Ok(self.files.close(log)?)
    }

    pub fn lines(&self) -> Result<Vec<String>, Fault> {
        let text = String::from_utf8(self.files.read_file(PATH)?).map_err(Fault::new)?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// After a crash: what was never written reads as zeroes, and the line before it may lack its end.
    fn cut_tail(&self) -> Result<bool, Fault> {
        let text = self.files.read_file(PATH)?;
        let written = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        let whole = text[..written].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            let log = self.files.open(PATH, OpenFlags::EXISTING)?;
            self.files.ftruncate(log, whole as u64)?;
            self.files.fsync(log)?;
            self.files.close(log)?;
        }
        Ok(whole < text.len())
    }
}
