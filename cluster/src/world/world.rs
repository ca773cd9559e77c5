//! The state of the world, and a step.

use std::collections::BTreeMap;

use explode_ramdisk::Image;
use explode_runtime::base::StepError;
use explode_runtime::choose::{BarePoint, ChoiceKind};
use explode_runtime::crash::SampleLimits;
use explode_runtime::events::ToldStory;
use explode_runtime::verdict::Violation;
use explode_runtime::writeset::DeviceRules;

use super::counts::WalkCounts;
use super::event::{Enabled, Input};
use super::story::Story;
use crate::ask::{Ask, Question};
use crate::client::{CallHistory, NextCall};
use crate::clock::{HostClock, Time};
use crate::disk::HostDisk;
use crate::fault::{FaultBudget, FaultKind, HostDiskCondition, spread};
use crate::network::UnderWay;
use crate::node::{CallId, Effect, Node, NodeId, Timer};
use crate::setup::{FactMonitor, Setup};

/// The rules of disks in a crash.
#[derive(Clone, Copy, Debug)]
pub struct DiskLimits {
    /// The rules of the devices.
    pub rules: DeviceRules,
    /// The number of disks of a cut that are all options, and the size of the sample above it.
    pub sample: SampleLimits,
}

/// The end of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stepped {
    /// Something happened.
    Done,
    /// No event was possible.
    Stuck,
}

/// A client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClientState {
    /// The number of calls that are left.
    pub left: u32,
    /// The call that has no reply yet.
    pub waits: Option<Waits>,
}

/// A call that has no reply yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waits {
    pub call: CallId,
    pub node: NodeId,
    /// The step of the call.
    pub since: u32,
    /// True if the node has crashed since.
    pub is_hopeless: bool,
}

/// The world of a walk.
pub struct World<'s, N: Node> {
    pub(super) setup: &'s Setup<N>,
    pub(super) limits: DiskLimits,
    /// The number of steps of a walk.
    pub(super) depth: u32,
    /// The nodes; `None` for a host that is down.
    pub(super) nodes: Vec<Option<N>>,
    pub(super) disks: Vec<HostDisk>,
    pub(super) timers: Vec<BTreeMap<Timer, Time>>,
    pub(super) clocks: Vec<HostClock>,
    /// The conditions of the disks.
    pub(super) conditions: Vec<HostDiskCondition>,
    /// True for each host whose node was open before.
    pub(super) was_open: Vec<bool>,
    /// The messages, which are moved often: boxes are small.
    pub(super) network: UnderWay<Box<N::Msg>>,
    /// The number of messages that were sent so far.
    pub(super) sent: u64,
    pub(super) now: Time,
    pub(super) clients: Vec<ClientState>,
    pub(super) fresh: u64,
    pub(super) history: CallHistory<N::Call, N::Reply>,
    /// The faults that may happen in the walk.
    pub(super) allowed: FaultBudget,
    /// The faults that may still happen.
    pub(super) left: FaultBudget,
    /// The number of steps so far.
    pub(super) step: u32,
    pub(super) monitors: Vec<Box<dyn FactMonitor>>,
    /// True for each `sometimes` that was reached.
    pub(super) reached: Vec<bool>,
    pub(super) counts: WalkCounts,
    /// The node that crashed in the last step.
    pub(super) crashed: Option<(NodeId, Option<N>)>,
    /// The faults of the last step.
    pub(super) faults: Vec<FaultKind>,
    /// The calls that were answered in the last step.
    pub(super) answered: Vec<CallId>,
    pub(super) story: Option<Story>,
    pub(super) enabled: Vec<Enabled>,
    ids: Vec<u64>,
    weights: Vec<u32>,
    /// Memory for the timers that may fire.
    pub(super) fires: Vec<(Time, NodeId, Timer)>,
    /// Memory for effects and timers of handlers.
    pub(super) effects: Vec<(usize, Effect<N>)>,
    pub(super) set_timers: Vec<(Timer, Option<Time>)>,
}

impl<'s, N: Node> World<'s, N> {
    /// Returns a world in which every host is down, with an empty disk. A walk has `depth` steps.
    ///
    /// # Errors
    /// The disks cannot be made with these rules.
    pub fn new(
        setup: &'s Setup<N>,
        limits: DiskLimits,
        depth: u32,
        tells: bool,
    ) -> Result<World<'s, N>, StepError> {
        let hosts = setup.hosts;
        let disk = |host| HostDisk::new(&NodeId::at(host).to_string(), Image::new(), limits.rules);
        let client = ClientState { left: setup.calls, waits: None };
        Ok(World {
            setup,
            limits,
            depth,
            nodes: (0..hosts).map(|_| None).collect(),
            disks: (0..hosts).map(disk).collect::<Result<_, _>>()?,
            timers: vec![BTreeMap::new(); hosts],
            clocks: vec![HostClock { per_mille: 1000 }; hosts],
            conditions: vec![HostDiskCondition::Works; hosts],
            was_open: vec![false; hosts],
            network: UnderWay::new(setup.network, setup.capacity),
            sent: 0,
            now: Time::default(),
            clients: vec![client; setup.clients],
            fresh: 0,
            history: CallHistory::default(),
            allowed: setup.faults,
            left: setup.faults,
            step: 0,
            monitors: setup.monitors.iter().map(|(_, make)| make()).collect(),
            reached: vec![false; setup.sometimes.len()],
            counts: WalkCounts::default(),
            crashed: None,
            faults: Vec::new(),
            answered: Vec::new(),
            story: tells.then(|| Story::new(hosts)),
            enabled: Vec::new(),
            ids: Vec::new(),
            weights: Vec::new(),
            fires: Vec::new(),
            effects: Vec::new(),
            set_timers: Vec::new(),
        })
    }

    /// Sets the faults of the walk.
    #[must_use = "this returns the world"]
    pub fn with_faults(mut self, faults: FaultBudget) -> World<'s, N> {
        (self.allowed, self.left) = (faults, faults);
        self
    }

    /// Returns what was counted so far.
    pub fn counts(&self) -> &WalkCounts {
        &self.counts
    }

    /// Returns the number of steps so far.
    pub fn steps(&self) -> u32 {
        self.step
    }

    /// Returns the story. Empty unless the walk tells it.
    pub fn story(&self) -> ToldStory {
        let told = |story: &Story| ToldStory { lines: story.lines(), events: story.events() };
        self.story.as_ref().map(told).unwrap_or_default()
    }

    /// Returns true in the steps at the end of a walk, which are fair and have no faults.
    pub(super) fn is_tail(&self) -> bool {
        self.step > self.depth.saturating_sub(self.setup.tail)
    }

    /// Returns the number of steps in which faults may still happen, this one included.
    pub(super) fn steps_with_faults(&self) -> u32 {
        self.depth.saturating_sub(self.setup.tail) + 1 - self.step
    }

    /// Makes a step.
    ///
    /// # Errors
    /// A property is violated, or a node has failed.
    pub fn step(&mut self, ask: &mut dyn Ask) -> Result<Stepped, Violation> {
        self.step += 1;
        self.crashed = None;
        self.faults.clear();
        self.answered.clear();
        self.change_partition(ask);
        self.collect_enabled();
        if self.enabled.is_empty() {
            self.stuck()?;
            self.step -= 1;
            return Ok(Stepped::Stuck);
        }
        let event = self.next_event(ask);
        self.now = self.time_of(event);
        if let Some(story) = &mut self.story {
            story.begin(self.step, self.now);
        }
        self.happen(event, ask)?;
        self.check()?;
        Ok(Stepped::Done)
    }

    /// Chooses the event that happens next.
    fn next_event(&mut self, ask: &mut dyn Ask) -> Enabled {
        let mut ids = std::mem::take(&mut self.ids);
        let mut weights = std::mem::take(&mut self.weights);
        ids.clear();
        weights.clear();
        ids.extend(self.enabled.iter().map(|event| self.id_of(*event)));
        weights.extend(self.enabled.iter().map(|event| Self::weight_of(*event)));
        let step = Question::data(ChoiceKind::Schedule, self.enabled.len() as u32, "step");
        let question = Question {
            point: BarePoint {
                ids: &ids,
                weights: &weights,
                is_fair: self.is_tail(),
                ..step.point
            },
            name: Some(&|option| self.name_of(self.enabled[option as usize])),
            ..step
        };
        let event = self.enabled[ask.ask(&question) as usize];
        (self.ids, self.weights) = (ids, weights);
        event
    }

    fn happen(&mut self, event: Enabled, ask: &mut dyn Ask) -> Result<(), Violation> {
        match event {
            Enabled::Start(node) => self.handle(node, Input::Open, ask),
            Enabled::Deliver(index) => self.deliver(index, ask),
            Enabled::Fire(node, timer) => {
                self.timers[node.index()].remove(&timer);
                self.handle(node, Input::Timer(timer), ask)
            }
            Enabled::Call(client) => self.call(client, ask),
            Enabled::GiveUp(client) => {
                let waits = self.clients[client].waits.take();
                if let (Some(story), Some(waits)) = (&mut self.story, waits) {
                    story.say(waits.node, &format!("client {client} gives up"));
                }
                Ok(())
            }
        }
    }

    /// Lets a message arrive, once or twice, or be lost.
    fn deliver(&mut self, index: usize, ask: &mut dyn Ask) -> Result<(), Violation> {
        let is_message = self.network.packets()[index].msg.is_some();
        let drops = self.left.drops;
        if is_message && self.happens(FaultKind::Drop, drops, "loss", ["arrives", "lost"], ask) {
            self.lose(index);
            return Ok(());
        }
        let left = self.left.duplicates;
        let twice = is_message
            && self.happens(FaultKind::Duplicate, left, "duplicate", ["once", "twice"], ask);
        let packet = if twice {
            self.left.duplicates -= 1;
            self.counts.duplicated += 1;
            self.faults.push(FaultKind::Duplicate);
            self.network.copy(index)
        } else {
            self.network.take(index)
        };
        self.counts.delivered += 1;
        if let Some(story) = &mut self.story {
            story.receives(packet.number);
        }
        let input = match packet.msg {
            Some(msg) => Input::Message(packet.from, *msg),
            None => Input::BrokenLink(packet.from),
        };
        self.handle(packet.to, input, ask)
    }

    /// Loses a message.
    fn lose(&mut self, index: usize) {
        let packet = self.network.take(index);
        self.left.drops -= 1;
        self.counts.dropped += 1;
        self.faults.push(FaultKind::Drop);
        if let (Some(story), Some(msg)) = (&mut self.story, &packet.msg) {
            story.say(packet.to, &format!("LOST: {msg:?} from {}", packet.from));
        }
    }

    /// Makes the next call of a client, on a node that is up.
    fn call(&mut self, client: usize, ask: &mut dyn Ask) -> Result<(), Violation> {
        let Some(next_call) = &self.setup.next_call else { return Ok(()) };
        let up: Vec<NodeId> = (0..self.nodes.len())
            .filter(|index| self.nodes[*index].is_some())
            .map(NodeId::at)
            .collect();
        let name = |option: u32| up[option as usize].to_string();
        let question = Question::data(ChoiceKind::Input, up.len() as u32, "called");
        let node = up[ask.ask(&Question { name: Some(&name), ..question }) as usize];
        let call = next_call(&mut NextCall::new(ask, &mut self.fresh, client));
        let id = self.history.call(client, node, call.clone());
        let waits = Waits { call: id, node, since: self.step, is_hopeless: false };
        let state = &mut self.clients[client];
        (state.left, state.waits) = (state.left - 1, Some(waits));
        self.counts.calls += 1;
        self.handle(node, Input::Call(client, id, call), ask)
    }

    /// Returns true if a fault happens, of which `left` may still happen.
    pub(super) fn happens(
        &self,
        kind: FaultKind,
        left: u32,
        place: &'static str,
        names: [&'static str; 2],
        ask: &mut dyn Ask,
    ) -> bool {
        if left == 0 || self.is_tail() {
            return false;
        }
        let weights = spread(left, self.steps_with_faults());
        let name = |option: u32| names[option as usize].to_owned();
        let kind = match kind {
            FaultKind::Crash => ChoiceKind::NodeCrash,
            FaultKind::Drop | FaultKind::Duplicate | FaultKind::Partition => ChoiceKind::NetDrop,
            FaultKind::IoError | FaultKind::BadDisk => ChoiceKind::Input,
        };
        ask.ask(&Question::rarely(kind, place, &weights, &name)) == 1
    }

    /// Sets the clock of a host that starts for the first time.
    pub(super) fn set_clock(&mut self, node: NodeId, ask: &mut dyn Ask) {
        let skew = self.setup.clock.skew();
        if skew == 0 {
            return;
        }
        let name = |option: u32| ["right", "slow", "fast"][option as usize].to_owned();
        let question = Question::data(ChoiceKind::Input, 3, "clock");
        let option = ask.ask(&Question { name: Some(&name), node: Some(&node), ..question });
        let per_mille = [1000, 1000 - skew, 1000 + skew][option as usize];
        self.clocks[node.index()] = HostClock { per_mille };
    }
}
