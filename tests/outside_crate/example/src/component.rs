//! A log of lines, as a component.

use std::rc::Rc;

use explode::runtime::prelude::*;

use crate::log::Log;

pub fn def() -> ComponentDef {
    ComponentDef::new("line-log", "a log of lines in one file", |options| {
        Ok(Box::new(LineLog { fsync: options.bool("fsync", true)?, surface: Surface::Child }))
    })
    .on("simfiles")
    .options([OptionDef { name: "fsync", about: "sync each line", default: "true" }])
}

struct LineLog {
    fsync: bool,
    surface: Surface,
}

impl Component for LineLog {
    fn init(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        Log::create(below.files()?)
    }

    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, StepError> {
        Ok(if Log::repair(below.files()?)? { Recovery::Repaired } else { Recovery::Clean })
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        self.surface = Surface::Engine(Rc::new(Log { files: below.files()?, fsync: self.fsync }));
        Ok(())
    }

    fn surface(&self) -> Surface {
        self.surface.clone()
    }
}
