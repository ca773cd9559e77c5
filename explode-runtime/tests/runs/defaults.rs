//! A trace records its defaults, and its replay uses them. A later change of a default does not
//! change the meaning of a trace.

use explode_ramdisk::{Flags, Flushes, RamDisk, SECTOR_BYTES};
use explode_runtime::base::{Mode, OptionDef, Options, StepError, TargetBounds};
use explode_runtime::check::{Checker, CheckerDef, Cx};
use explode_runtime::crash::Epoch;
use explode_runtime::devices::InProcess;
use explode_runtime::plan::{Plan, Registry, Target};
use explode_runtime::report::Message;
use explode_runtime::stack::{Below, Component, ComponentDef, Facts, Stack, StackSpec, Surface};
use explode_runtime::trace::{ReplayResult, Trace};
use explode_runtime::verdict::{CheckError, Verdict, Violation};
use explode_runtime::worker::replay;
use serde_json::{Value, json};

use crate::common::run;

/// A disk that keeps flushes or drops them.
struct Disk {
    flushes: Flushes,
    disk: Option<RamDisk>,
}

impl Component for Disk {
    fn mount(&mut self, below: &Below<'_>) -> Result<(), StepError> {
        let disk = RamDisk::new(below.devices.storage()?.clone(), below.first_device, 64);
        self.disk = Some(disk.with_flushes(self.flushes));
        Ok(())
    }
    fn surface(&self) -> Surface {
        self.disk.clone().map_or(Surface::Child, Surface::Disk)
    }
    fn facts(&self) -> Facts {
        Facts::default().devices(1)
    }
}

/// A checker for which a flushed sector must be on the disk, if `looks` is true.
struct Flushed {
    looks: bool,
}

impl Checker for Flushed {
    fn mutate(&mut self, cx: &mut Cx<'_>) -> Result<(), CheckError> {
        let disk = cx.stack().disk()?;
        disk.write(0, &[7; SECTOR_BYTES], Flags::NONE);
        disk.flush();
        cx.check_crashes_now(self, &[])
    }
    fn check(&self, stack: &Stack, _epoch: Epoch, _args: &[String]) -> Result<(), CheckError> {
        let mut found = [0; SECTOR_BYTES];
        stack.disk()?.read(0, &mut found);
        let lost = self.looks && found != [7; SECTOR_BYTES];
        if lost {
            Err(Violation::new(Verdict::Lost, "flushed", "it is gone").into())
        } else {
            Ok(())
        }
    }
}

/// Returns a registry with these defaults of `flushes` and `looks`. The options `blocks` and
/// `sectors` exclude each other.
fn registry(flushes: &'static str, looks: &'static str) -> Registry {
    let option = |name, default| OptionDef { name, about: "for the test", default };
    let of_disk = [
        option("flushes", flushes),
        option("blocks", "8"),
        option("sectors", "64"),
        option("note", ""),
    ];
    let disk = ComponentDef::new("disk", "a disk for the test", |options| {
        let flushes = [("kept", Flushes::Kept), ("dropped", Flushes::Dropped)];
        if options.contains("blocks") && options.contains("sectors") {
            return Err(explode_runtime::base::UsageError("one of both".to_owned()));
        }
        Ok(Box::new(Disk { flushes: options.one_of("flushes", &flushes)?, disk: None }))
    })
    .modes([Mode::Mem])
    .options(of_disk);
    let checker = CheckerDef::new("test", "a checker for the test", |options| {
        Ok(Box::new(Flushed { looks: options.bool("looks", true)? }))
    })
    .options([option("looks", looks)]);
    Registry { components: [disk].into(), checkers: [checker].into(), ..Registry::default() }
}

fn plan(registry: &Registry, options: Options) -> Plan {
    let target = Target {
        name: "test".into(),
        about: "a target for the test".into(),
        stack: StackSpec::default().plug("disk", options),
        checker: "test".into(),
        checker_options: Options::none(),
        bounds: TargetBounds { depth: 1, limit: 100, samples: 20, crash_depth: 0 },
        seeded: false,
        expect: "lost".into(),
    };
    Plan::of(registry, &target).expect("its parts are there")
}

/// Returns the trace of the loss with flushes dropped by default.
fn trace() -> Trace {
    let registry = registry("dropped", "true");
    let said = run(&registry, &plan(&registry, Options::none()));
    assert_eq!(said.summary().findings, 1.into());
    said.traces.into_iter().next().expect("a finding has a trace")
}

fn as_json(trace: &Trace) -> Value {
    serde_json::from_str(&trace.to_json()).expect("a trace is JSON")
}

fn reproduced(registry: &Registry, trace: &Value) -> bool {
    let trace = Trace::from_json(trace.to_string().as_bytes()).expect("a sound trace");
    matches!(
        replay(registry, &trace, &InProcess).expect("it runs"),
        ReplayResult::Reproduced { by_search: false, .. }
    )
}

#[test]
fn a_changed_default_does_not_change_what_a_trace_means() {
    let trace = as_json(&trace());
    // An option that has no value unless it is set is omitted.
    let defaults = json!({ "flushes": "dropped", "blocks": 8, "sectors": 64 });
    assert_eq!(trace["stack"], json!([{ "name": "disk", "use": "disk", "defaults": defaults }]));
    assert_eq!(
        (&trace["checker_options"], &trace["checker_defaults"]),
        (&json!({}), &json!({ "looks": true }))
    );
    // In the form of an older version the current defaults apply.
    let mut older = trace.clone();
    older["stack"][0].as_object_mut().unwrap().remove("defaults");
    older.as_object_mut().unwrap().remove("checker_defaults");
    for (flushes, looks) in
        [("dropped", "true"), ("kept", "true"), ("dropped", "false"), ("kept", "false")]
    {
        let registry = registry(flushes, looks);
        assert!(reproduced(&registry, &trace), "{flushes}, {looks}");
        assert_eq!(
            reproduced(&registry, &older),
            (flushes, looks) == ("dropped", "true"),
            "{flushes}, {looks}"
        );
    }
}

#[test]
fn a_trace_is_written_as_it_was_read() {
    let new = trace().to_json();
    let mut older = as_json(&trace());
    older["stack"][0].as_object_mut().unwrap().remove("defaults");
    older.as_object_mut().unwrap().remove("checker_defaults");
    let older = Trace::from_json(older.to_string().as_bytes()).expect("a sound trace").to_json();
    assert!(!older.contains("defaults"), "{older}");
    for text in [new, older] {
        assert_eq!(Trace::from_json(text.as_bytes()).expect("a sound trace").to_json(), text);
    }
}

#[test]
fn options_without_effect_are_not_among_the_defaults() {
    let registry = registry("dropped", "true");
    for (given, left_out) in [("blocks", "sectors"), ("sectors", "blocks")] {
        let said = run(&registry, &plan(&registry, Options::none().with(given, 8_u64)));
        let Some(Message::Run(info)) = said.messages.first() else { panic!("no first message") };
        let layer = serde_json::to_value(&info.stack.0[0]).expect("plain data");
        assert_eq!(
            (&layer["options"], &layer["defaults"]),
            (&json!({ given: 8 }), &json!({ "flushes": "dropped" }))
        );
        assert!(layer["defaults"].get(left_out).is_none());
    }
}

#[test]
fn a_default_that_is_not_there_any_more_is_named() {
    let mut trace = as_json(&trace());
    trace["stack"][0]["defaults"]["colour"] = json!("red");
    let trace = Trace::from_json(trace.to_string().as_bytes()).expect("a sound trace");
    let error = replay(&registry("dropped", "true"), &trace, &InProcess)
        .expect_err("there is no such option");
    assert!(error.to_string().starts_with("unknown option of disk 'colour'"), "{error}");
}
