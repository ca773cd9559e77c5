//! An array of the kernel's driver md: levels 0, 1, 4, 5, 6 and 10 (EX-34, EX-110).
//!
//! `mdadm --create` makes it once. After that it is assembled and stopped [through
//! sysfs](super::sysfs). After a crash the kernel decides what it does with the members, as for an
//! administrator who assembles the array: a resync if the array was not clean. If a disk has failed
//! or was away, the array starts without it even if it was not clean, as with `mdadm --assemble
//! --force`.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use explode_kernel::yield_to_others;
use explode_runtime::base::{Blame, Mode, OptionDef, Options, StepError, UsageError};
use explode_runtime::stack::{
    Abilities, Below, Component, ComponentDef, ComponentMaker, Facts, StackSpec, Surface,
};

use super::sysfs::{AssembledArray, Start};
use crate::tool::Tool;

/// The name in the registry.
pub const NAME: &str = "md";

/// The definition for the registry.
pub fn def() -> ComponentDef {
    ComponentDef::of_maker(NAME, "an array of disks of the kernel (mdadm(8))", build)
        // A worker that is killed on this machine would leave an array on the disks.
        .modes([Mode::Vm])
        .on("ramdisk")
        .options([
            OptionDef { name: "level", about: "0, 1, 4, 5, 6 or 10", default: "1" },
            OptionDef {
                name: "chunk",
                about: "bytes on one disk before the next; not for level 1",
                default: "65536",
            },
            OptionDef {
                name: "policy",
                about: "what keeps the disks consistent: resync, bitmap, ppl (level 5), journal \
                        (levels 4, 5, 6; the last child is the journal)",
                default: "resync",
            },
            OptionDef {
                name: "resync",
                about: "held (it never goes on), done (mounting waits for its end)",
                default: "held",
            },
            OptionDef {
                name: "stale",
                about: "a member that was away: left-out, added (and then the others fail)",
                default: "left-out",
            },
        ])
}

/// A level of mdadm(8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Level {
    number: u64,
    /// The least number of members.
    least: usize,
    /// The number of members that every array of this level can do without.
    can_lose: usize,
    /// The driver that a guest loads. `None` if it is in the kernel.
    driver: Option<&'static str>,
}

const LEVELS: [Level; 6] = [
    Level { number: 0, least: 2, can_lose: 0, driver: Some("raid0") },
    Level { number: 1, least: 1, can_lose: 1, driver: None },
    Level { number: 4, least: 3, can_lose: 1, driver: Some("raid456") },
    Level { number: 5, least: 3, can_lose: 1, driver: Some("raid456") },
    Level { number: 6, least: 4, can_lose: 2, driver: Some("raid456") },
    Level { number: 10, least: 2, can_lose: 1, driver: Some("raid10") },
];

impl Level {
    fn of(options: &Options) -> Result<Level, UsageError> {
        let number = options.int("level", 1)?;
        LEVELS.into_iter().find(|level| level.number == number).ok_or_else(|| {
            UsageError(format!("level of {number}; use one of 0, 1, 4, 5, 6 and 10"))
        })
    }

    /// Checks that arrays of this level can have the policy.
    ///
    /// # Errors
    /// They cannot. The text says what to do.
    fn check(self, policy: Policy) -> Result<(), String> {
        let (name, others) = match policy {
            Policy::Resync => return Ok(()),
            Policy::Bitmap => ("bitmap", "1, 4, 5, 6 and 10"),
            Policy::PartialParityLog => ("ppl", "5"),
            Policy::Journal => ("journal", "4, 5 and 6"),
        };
        let number = self.number;
        if others.split([',', ' ']).any(|other| other == number.to_string()) {
            return Ok(());
        }
        Err(format!("level {number} has no policy '{name}'; use it with level {others}"))
    }
}

/// A policy of mdadm(8), `--consistency-policy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Policy {
    Resync,
    Bitmap,
    PartialParityLog,
    Journal,
}

/// The options of an array.
#[derive(Clone, Copy, Debug)]
struct ArrayOptions {
    level: Level,
    chunk: u64,
    policy: Policy,
    is_resync_held: bool,
    /// True if a member that was away is added again, and the array must then do with it.
    is_stale_added: bool,
}

fn build(options: &Options) -> Result<ComponentMaker, UsageError> {
    let level = Level::of(options)?;
    let chunk = options.int("chunk", 65536)?;
    if !chunk.is_power_of_two() || chunk < 4096 {
        return Err(UsageError(format!("chunk of {chunk}; use a power of two from 4096 on")));
    }
    let policies = [
        ("resync", Policy::Resync),
        ("bitmap", Policy::Bitmap),
        ("ppl", Policy::PartialParityLog),
        ("journal", Policy::Journal),
    ];
    let policy = options.one_of("policy", &policies)?;
    // A stack file's options are also checked one by one. Then the level is unknown.
    if options.contains("level") {
        level.check(policy).map_err(UsageError)?;
    }
    let is_resync_held = options.one_of("resync", &[("held", true), ("done", false)])?;
    let is_stale_added = options.one_of("stale", &[("left-out", false), ("added", true)])?;
    let options = ArrayOptions { level, chunk, policy, is_resync_held, is_stale_added };
    Ok(Rc::new(move || Box::new(Md { options, array: None })))
}

/// Returns true if a stack has an array.
pub fn has_array(stack: &StackSpec) -> bool {
    stack.components().contains(&NAME)
}

/// Returns the drivers that a guest must load for the arrays of a stack.
pub fn drivers(stack: &StackSpec) -> Vec<&'static str> {
    let arrays = stack.0.iter().filter(|layer| layer.component == NAME);
    let mut drivers: Vec<_> =
        arrays.filter_map(|layer| Level::of(&layer.options).ok()?.driver).collect();
    drivers.sort_unstable();
    drivers.dedup();
    drivers
}

struct Md {
    options: ArrayOptions,
    array: Option<AssembledArray>,
}

impl Md {
    /// Returns true if the array can be used without these of its `all` children. md makes an array
    /// read-only that lacks its journal.
    fn can_start_without(&self, absent: &[usize], all: usize) -> bool {
        let lacks_journal = self.options.policy == Policy::Journal && absent.contains(&(all - 1));
        absent.len() <= self.options.level.can_lose && absent.len() < all && !lacks_journal
    }

    fn tool(&self, children: usize) -> Tool {
        let ArrayOptions { level, chunk, policy, .. } = self.options;
        let members = if policy == Policy::Journal { children - 1 } else { children };
        let chunk =
            if level.number == 1 { String::new() } else { format!(" --chunk={}", chunk / 1024) };
        let policy = match policy {
            Policy::Resync => " --bitmap=none",
            Policy::Bitmap => " --bitmap=internal",
            Policy::PartialParityLog => " --consistency-policy=ppl",
            Policy::Journal => " --write-journal",
        };
        // Level 0 has nothing to keep consistent.
        let policy = if level.number == 0 { "" } else { policy };
        // The members of a new array are equal, because disks begin with zeros.
        Tool::new(
            "mdadm",
            format!(
                "--create {CREATED} --run --force --metadata=1.2 --homehost=explode --name=explode \
                 --assume-clean --level={} --raid-devices={members}{chunk}{policy}",
                level.number
            ),
        )
        .still()
    }
}

/// The node of the array while mdadm makes it.
const CREATED: &str = "/dev/md127";

impl Component for Md {
    fn init(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let wrong = |text: String| StepError::new(text).blame(Blame::Tool);
        self.options.level.check(self.options.policy).map_err(wrong)?;
        let mut nodes = nodes(below)?;
        let journals = usize::from(self.options.policy == Policy::Journal);
        let (number, least) = (self.options.level.number, self.options.level.least + journals);
        if nodes.len() < least {
            let text = format!(
                "level {number} needs {least} disks or more below it, and has {}; list them in \
                 'children'",
                nodes.len()
            );
            return Err(wrong(text));
        }
        let tool = self.tool(nodes.len());
        // The journal follows its option, before the members.
        nodes.rotate_right(journals);
        let paths: Vec<&Path> = nodes.iter().map(PathBuf::as_path).collect();
        match tool.run_on(&paths)? {
            (0, _) => {}
            (code, output) => {
                return Err(StepError::new(format!("{tool} ended with {code}: {output}")));
            }
        }
        AssembledArray::named("md127").stop()
    }

    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let members = nodes(below)?;
        let has_copies = self.options.level.number != 0;
        let is_held = has_copies && self.options.is_resync_held;
        let start = Start { is_forced: below.devices.has_lost_disk(), is_resync_held: is_held };
        let mut absent = Vec::new();
        let assembled = AssembledArray::assemble(&name(below), &members, start, &mut absent);
        let is_possible = self.can_start_without(&absent, members.len());
        // Nothing is promised without more members than the level can do without.
        let assembled = assembled
            .map_err(|fault| if is_possible { fault } else { fault.blame(Blame::Tool) })?;
        if !is_possible {
            assembled.stop()?;
            return Err(StepError::new("the array lacks its journal").blame(Blame::Tool));
        }
        let array = self.array.insert(assembled);
        if self.options.policy == Policy::Bitmap {
            array.keep_bitmap()?;
        }
        if has_copies && !is_held {
            array.wait_for_resync()?;
        }
        if start.is_forced && self.options.is_stale_added {
            array.replace_others(&members, &absent, self.options.level.can_lose)?;
        }
        // The threads of the array run until they have nothing to do.
        yield_to_others().map_err(|error| {
            StepError::new(format!("sched_setscheduler: {error}")).blame(Blame::Tool)
        })
    }

    fn unmount(&mut self, _below: &Below<'_>) -> Result<(), StepError> {
        self.array.take().map_or(Ok(()), |array| array.stop())
    }

    fn surface(&self) -> Surface {
        let node = self.array.as_ref().map(|array| array.node().to_owned());
        node.map_or(Surface::Child, Surface::Block)
    }

    fn facts(&self) -> Facts {
        Facts::default()
            .programs([self.tool(2).path()])
            .can_lose(self.options.level.can_lose as u32)
            .buffers_are_places(false)
            .unobserved("what the layers above an array have not submitted to it")
    }

    fn abilities(&self) -> Abilities<'_> {
        Abilities::default().must_unmount(self.array.is_some())
    }
}

/// Returns the nodes of all children.
fn nodes(below: &Below<'_>) -> Result<Vec<PathBuf>, StepError> {
    (0..below.children.len()).map(|child| below.block(child)).collect()
}

/// Returns the name of the array of this layer, on this side.
fn name(below: &Below<'_>) -> String {
    let mut parts = below.place.iter().rev().map(|part| part.to_string_lossy());
    let layer = parts.next().unwrap_or_default();
    let side = parts.next().unwrap_or_default();
    format!("md_{side}_{layer}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(options: Options) -> String {
        build(&options).map(drop).unwrap_err().0
    }

    #[test]
    fn wrong_options_are_refused() {
        let level = |level: u64| Options::none().with("level", level);
        assert_eq!(refused(level(3)), "level of 3; use one of 0, 1, 4, 5, 6 and 10");
        assert_eq!(
            refused(level(1).with("policy", "ppl")),
            "level 1 has no policy 'ppl'; use it with level 5"
        );
        assert_eq!(
            refused(level(10).with("policy", "journal")),
            "level 10 has no policy 'journal'; use it with level 4, 5 and 6"
        );
        assert_eq!(
            refused(level(0).with("policy", "bitmap")),
            "level 0 has no policy 'bitmap'; use it with level 1, 4, 5, 6 and 10"
        );
        for chunk in [0, 2048, 12_288_u64] {
            let text = refused(level(5).with("chunk", chunk));
            assert_eq!(text, format!("chunk of {chunk}; use a power of two from 4096 on"));
        }
        for (level_of, policy) in [(1, "bitmap"), (5, "ppl"), (6, "journal"), (0, "resync")] {
            assert!(build(&level(level_of).with("policy", policy)).is_ok(), "{level_of} {policy}");
        }
    }

    #[test]
    fn a_guest_loads_each_driver_once() {
        let of = |levels: &[u64]| {
            let array = |stack: StackSpec, level: &u64| {
                stack.plug(NAME, Options::none().with("level", *level))
            };
            drivers(&levels.iter().fold(StackSpec::default(), array))
        };
        assert_eq!(of(&[]), [""; 0]);
        assert_eq!(of(&[1]), [""; 0]);
        assert_eq!(of(&[5, 0, 6, 10, 1]), ["raid0", "raid10", "raid456"]);
    }
}
