//! A layer between the disk and the file system that changes a few bytes of every crash disk before
//! its recovery.

use std::fs::OpenOptions;

use explode_runtime::base::{Blame, Mode, OptionDef, Options, StepError};
use explode_runtime::stack::{Below, Component, ComponentDef, Recovery, StackSpec};

use super::damages::{DAMAGES, Damage};
use super::go;
use crate::cases::Cx;
use crate::directed::Seen;

struct Spoil(Option<Damage>);

/// The name in the registry.
pub const NAME: &str = "spoil";

fn def() -> ComponentDef {
    ComponentDef::new(NAME, "changes a few bytes of every crash disk", |options| {
        let whose = DAMAGES.map(|(system, damage)| (system, Some(damage)));
        let damages: Vec<_> = [("nobody", None)].into_iter().chain(whose).collect();
        Ok(Box::new(Spoil(options.one_of("of", &damages)?)))
    })
    .modes([Mode::Vm])
    .on("ramdisk")
    .options([OptionDef {
        name: "of",
        about: "whose: that of a system, or nobody",
        default: "nobody",
    }])
}

impl Component for Spoil {
    fn recover(&mut self, below: &Below<'_>) -> Result<Recovery, StepError> {
        let Some(damage) = self.0 else { return Ok(Recovery::Clean) };
        let disk = OpenOptions::new().read(true).write(true).open(below.block(0)?);
        let changed = disk.and_then(|disk| {
            let changed = damage(&disk)?;
            disk.sync_all()?;
            Ok(changed)
        });
        match changed {
            Ok(1..) => Ok(Recovery::Clean),
            other => {
                Err(StepError::new(format!("nothing was damaged: {other:?}")).blame(Blame::Tool))
            }
        }
    }
}

/// Runs one file on this file system with these options, on such a layer.
pub fn seen(cx: Cx<'_>, system: &str, options: &[(&'static str, bool)], spoil: bool) -> Seen {
    let mut registry = explode::registry();
    registry.components.push(def());
    let mut plan = cx.plan(&format!("fs-sync-{system}"));
    let [disk, fs] = &plan.stack.0[..] else { panic!("two layers") };
    let own =
        options.iter().fold(fs.options.clone(), |own, (option, value)| own.with(option, *value));
    plan.stack = StackSpec::default()
        .plug(&disk.component, disk.options.clone())
        .plug(NAME, Options::none().with("of", if spoil { system } else { "nobody" }))
        .plug(&fs.component, own);
    go(Cx { registry: &registry, ..cx }, &plan, &[])
}
