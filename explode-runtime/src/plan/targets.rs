//! The targets of a registry. Tables of targets are read when the first target is needed: workers
//! and replays need none.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::slice::Iter;
use std::sync::OnceLock;

use crate::base::{Options, TargetBounds};
use crate::stack::StackSpec;

/// A target: a named combination of checker, stack and options.
#[derive(Clone, Debug)]
pub struct Target {
    /// The name of the target.
    pub name: Cow<'static, str>,
    /// A description in one line.
    pub about: Cow<'static, str>,
    /// The stack, bottom first.
    pub stack: StackSpec,
    /// The checker's name.
    pub checker: Cow<'static, str>,
    /// The checker's options.
    pub checker_options: Options,
    /// The default bounds of its runs.
    pub bounds: TargetBounds,
    /// True if the system has a seeded bug.
    pub seeded: bool,
    /// The expected result: `clean`, or the verdict that a run must find.
    pub expect: Cow<'static, str>,
}

/// A group of targets that are listed under one heading.
#[derive(Clone, Debug)]
pub struct Family {
    /// The heading.
    pub name: Cow<'static, str>,
    /// True for real systems. False for systems that were made for their bugs, to test checkers.
    pub real: bool,
    /// The names of the targets, in order.
    pub targets: Vec<Cow<'static, str>>,
}

/// Targets with the headings under which they are listed.
#[derive(Clone, Debug, Default)]
pub struct TargetList {
    /// The targets, in order.
    pub targets: Vec<Target>,
    /// The headings, in order. A target may be under none.
    pub families: Vec<Family>,
    /// For each target with a seeded bug, the name of the target without it.
    pub twins: BTreeMap<Cow<'static, str>, Cow<'static, str>>,
}

/// The targets of a registry: those of tables, then those that were added one by one.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    tables: Vec<fn(&mut TargetList)>,
    added: Vec<Target>,
    /// All of them, once they were needed.
    list: OnceLock<TargetList>,
}

impl Targets {
    /// Adds tables. `read` adds their targets to the list. It is called when targets are needed.
    pub fn add_tables(&mut self, read: fn(&mut TargetList)) {
        self.tables.push(read);
        self.list = OnceLock::new();
    }

    /// Adds a target.
    pub fn push(&mut self, target: Target) {
        self.extend([target]);
    }

    /// Returns the targets, in order.
    pub fn iter(&self) -> Iter<'_, Target> {
        self.list().targets.iter()
    }

    /// Returns all targets with their headings.
    pub fn list(&self) -> &TargetList {
        self.list.get_or_init(|| {
            let mut list = TargetList::default();
            self.tables.iter().for_each(|read| read(&mut list));
            list.targets.extend(self.added.iter().cloned());
            list
        })
    }
}

impl Extend<Target> for Targets {
    fn extend<T: IntoIterator<Item = Target>>(&mut self, targets: T) {
        self.added.extend(targets);
        self.list = OnceLock::new();
    }
}

impl<'a> IntoIterator for &'a Targets {
    type Item = &'a Target;
    type IntoIter = Iter<'a, Target>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    use super::*;

    fn target(name: &'static str) -> Target {
        Target {
            name: name.into(),
            about: "for tests".into(),
            stack: StackSpec::default(),
            checker: "none".into(),
            checker_options: Options::none(),
            bounds: TargetBounds { depth: 1, limit: 2, samples: 2, crash_depth: 0 },
            seeded: false,
            expect: "clean".into(),
        }
    }

    #[test]
    fn tables_are_read_once_they_are_needed() {
        static TIMES: AtomicU32 = AtomicU32::new(0);
        let mut targets = Targets::default();
        targets.push(target("own"));
        targets.add_tables(|list| {
            TIMES.fetch_add(1, Relaxed);
            list.targets.push(target("of a table"));
        });
        assert_eq!(TIMES.load(Relaxed), 0);
        let names = |targets: &Targets| {
            targets.iter().map(|target| target.name.to_string()).collect::<Vec<_>>()
        };
        for _ in 0..2 {
            assert_eq!(names(&targets), ["of a table", "own"]);
            assert_eq!(TIMES.load(Relaxed), 1);
        }
        targets.push(target("later"));
        assert_eq!(names(&targets), ["of a table", "own", "later"]);
    }
}
