//! The system itself: a log of lines, all in one file.

use std::rc::Rc;

use explode::runtime::prelude::{Files, OpenFlags, StepError};

const PATH: &str = "/log";

pub struct Log {
    pub files: Rc<dyn Files>,
    pub fsync: bool,
}

impl Log {
    /// Creates an empty log.
    pub fn create(files: Rc<dyn Files>) -> Result<(), StepError> {
        let log = files.open(PATH, OpenFlags::CREATE)?;
        files.fsync(log)?;
        files.close(log)?;
        Ok(files.sync_dir("/")?)
    }

    /// Appends a line. The line is durable when this returns.
    pub fn append(&self, line: &str) -> Result<(), StepError> {
        let log = self.files.open(PATH, OpenFlags::EXISTING)?;
        self.files.pwrite(log, self.files.fstat(log)?.size, format!("{line}\n").as_bytes())?;
        if self.fsync {
            self.files.fsync(log)?;
        }
        Ok(self.files.close(log)?)
    }

    pub fn lines(&self) -> Result<Vec<String>, StepError> {
        let text = String::from_utf8(self.files.read_file(PATH)?).map_err(StepError::new)?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Repairs the log after a crash: unwritten bytes read as zeroes, and the line before them may
    /// lack its end. Returns true if there was something to cut.
    pub fn repair(files: Rc<dyn Files>) -> Result<bool, StepError> {
        let text = files.read_file(PATH)?;
        let written = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        let whole =
            text[..written].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        if whole < text.len() {
            let log = files.open(PATH, OpenFlags::EXISTING)?;
            files.ftruncate(log, whole as u64)?;
            files.fsync(log)?;
            files.close(log)?;
        }
        Ok(whole < text.len())
    }
}
