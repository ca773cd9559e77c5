//! Disks of the moment at which a worker has stopped: searched for the error, and tried one by one.

use std::collections::HashSet;
use std::time::Duration;

use explode_ramdisk::{Event, Image};

use super::prober::ProbeRunner;
use crate::base::StepError;
use crate::check::CrashRequest;
use crate::choose::Choice;
use crate::crash::{CrashDisk, Epoch, Neighbours, PieceName, names};
use crate::judge::{
    CandidateDisk, Check, CheckEnding, CheckOutcome, Crash, CrashStacks, DiskName, JudgeHooks,
    NeighbourQuery, OpenRequest, check_once, judge as judge_disk,
};
use crate::stack::Stack;
use crate::trace::{CrashDiskRecord, Position};
use crate::verdict::{DiskStage, Violation, WorkerStep};
use crate::worker::probe::moment::moment;
use crate::worker::probe::protocol::{
    CrashMoment, CrashPoint, DiskCondition, ProbeCommand, ProbeGoal, ProbeReply, StoppedAt,
    TryResult,
};
use crate::worker::{DiskContents, Evidence};

/// The data that all disks of a moment share.
#[derive(Clone, Copy)]
pub(super) struct ProbedRequest<'a> {
    pub judge: CrashStacks<'a>,
    pub request: &'a CrashRequest<'a>,
    pub open_request: &'a OpenRequest<'a>,
    pub place: Position,
    pub epoch: Epoch,
    /// The epoch that the check is called with.
    pub judged_as: Epoch,
}

impl<'a> ProbedRequest<'a> {
    /// Returns the crash of this moment, with crashes during recovery to this depth.
    fn crash(&self, depth: u32) -> Crash<'a> {
        let ProbedRequest { judge, request, open_request, epoch, judged_as, .. } = *self;
        let (args, rest, seed) =
            (open_request.args(epoch), open_request.rest(), open_request.seed());
        Crash { judge, checker: request.checker, epoch, judged_as, args, rest, seed, depth }
    }

    fn spot(&self, disks: Vec<CrashDiskRecord>) -> CrashPoint {
        CrashPoint {
            mutates: self.place.mutates,
            interval: self.place.interval,
            epoch: self.epoch,
            args: self.open_request.args(self.epoch).to_vec(),
            log: format!("{:032x}", self.open_request.log_hash()),
            disks,
        }
    }
}

fn record(disk: &CrashDisk<'_>) -> CrashDiskRecord {
    CrashDiskRecord { id: disk.identity().to_string(), blocks: names(&disk.kept()) }
}

/// Searches for the first disk that shows the error.
struct ProbeSearch<'p, 'a, 'h> {
    prober: &'p mut ProbeRunner<'a>,
    probed: ProbedRequest<'h>,
    /// The disks of crashes during recovery that were met, each with the identity of the disk
    /// before it.
    seen: HashSet<(String, u128)>,
    /// The disks that lead to the error; `None` until a disk shows it.
    found: Option<Vec<CrashDiskRecord>>,
}

impl JudgeHooks for ProbeSearch<'_, '_, '_> {
    fn known(&mut self, check: &Check<'_>) -> Option<bool> {
        if self.found.is_some() {
            return Some(true);
        }
        if let (Some((before, _)), Some(disk)) = (check.before.last(), check.disk)
            && !self.seen.insert((before.clone(), disk.identity().0))
        {
            return Some(true);
        }
        let ProbeGoal::Failing { most, budget_ms, .. } = self.prober.order.until else {
            return Some(true);
        };
        let spent = self.prober.started.elapsed() >= Duration::from_millis(budget_ms);
        self.prober.cut |= self.prober.looked >= most || spent;
        if self.prober.cut {
            return Some(true);
        }
        self.prober.looked += 1;
        if self.prober.order.snapshot_before {
            self.prober.send(ProbeReply::Looking(self.probed.spot(disks_to(check))));
        }
        None
    }

    fn before(&mut self, check: &Check<'_>, stage: DiskStage) -> bool {
        self.prober.talk.before(check.step(stage));
        true
    }

    fn after(&mut self, _check: &Check<'_>) {
        self.prober.talk.before(WorkerStep::Between);
    }

    fn judged(
        &mut self,
        check: &Check<'_>,
        _image: &Image,
        outcome: CheckOutcome,
    ) -> (CheckOutcome, bool) {
        let is_it = |violation: &Violation| self.prober.is_the_error(violation);
        if matches!(&outcome.ending, CheckEnding::Violated(violation) if is_it(violation)) {
            self.found = Some(disks_to(check));
        }
        let sound = outcome.ending.is_sound();
        (outcome, sound)
    }
}

/// Announces the steps of a single check.
struct Single<'p, 'a> {
    prober: &'p mut ProbeRunner<'a>,
    see: &'p mut dyn FnMut(&Stack, &[Event]),
}

impl JudgeHooks for Single<'_, '_> {
    fn before(&mut self, check: &Check<'_>, stage: DiskStage) -> bool {
        self.prober.talk.before(check.step(stage));
        true
    }

    fn recovered(&mut self, _check: &Check<'_>, stack: &Stack, events: &[Event]) {
        (self.see)(stack, events);
    }

    fn after(&mut self, _check: &Check<'_>) {
        self.prober.talk.before(WorkerStep::Between);
    }
}

/// Returns the disks that lead to a check, its own included.
fn disks_to(check: &Check<'_>) -> Vec<CrashDiskRecord> {
    let before = check
        .before
        .iter()
        .map(|(id, kept)| CrashDiskRecord { id: id.clone(), blocks: names(kept) });
    before.chain(check.disk.map(record)).collect()
}

fn looks(judgement: CheckEnding) -> DiskCondition {
    match judgement {
        CheckEnding::Ok | CheckEnding::Repaired => DiskCondition::Sound,
        CheckEnding::Violated(violation) => DiskCondition::Violated(violation),
        CheckEnding::Broken(why) => DiskCondition::Broken(why.to_string()),
        CheckEnding::Stopped => DiskCondition::Broken("the check was asked to end".to_owned()),
    }
}

impl ProbeRunner<'_> {
    /// Recovers and checks one disk. The disks `before` led to it. `see` receives the recovered
    /// stack and the events of its recovery.
    fn check(
        &mut self,
        probed: ProbedRequest<'_>,
        image: Image,
        before: &[DiskName],
        last: bool,
        see: &mut dyn FnMut(&Stack, &[Event]),
    ) -> CheckOutcome {
        let crash = probed.crash(before.len() as u32 + u32::from(!last));
        let check = Check { crash: &crash, key: crash.key(image.identity()), disk: None, before };
        check_once(&check, image, !last, &mut Single { prober: self, see })
    }

    /// Returns the disks of a request for crash checks that lead to the error, with their epoch.
    pub(super) fn failing(
        &mut self,
        judge: CrashStacks<'_>,
        request: &CrashRequest<'_>,
        open_request: &OpenRequest<'_>,
        place: Position,
    ) -> Result<Option<(Epoch, Vec<CrashDiskRecord>)>, StepError> {
        let order = self.order;
        let ProbeGoal::Failing { crashes, .. } = order.until else { return Ok(None) };
        let mut found = None;
        let mut seen = HashSet::new();
        let mut visit = |candidate: &CandidateDisk<'_>| {
            let CandidateDisk { disk, epoch, judged_as, key, .. } = candidate;
            if found.is_some() || self.cut || !seen.insert(*key) {
                return;
            }
            let probed = ProbedRequest {
                judge,
                request,
                open_request,
                place,
                epoch: *epoch,
                judged_as: *judged_as,
            };
            let crash = probed.crash(crashes);
            let mut search =
                ProbeSearch { prober: &mut *self, probed, seen: HashSet::new(), found: None };
            judge_disk(&crash, *key, disk, &mut search);
            found = search.found.map(|disks| (*epoch, disks));
        };
        if let ProbeGoal::Failing { first, .. } = &order.until {
            open_request.named(first, &mut visit)?;
        }
        open_request.walk(&mut visit)?;
        Ok(found)
    }

    /// Stops at these disks and carries out the supervisor's commands. Returns false if the log
    /// does not lead to these disks.
    pub(super) fn stop_at(
        &mut self,
        probed: ProbedRequest<'_>,
        disks: &[CrashDiskRecord],
        stack: &Stack,
        made: &[Choice],
    ) -> Result<bool, StepError> {
        let ProbedRequest { open_request, epoch, .. } = probed;
        let Some((crash_disk, during)) = disks.split_first() else { return Ok(false) };
        let blocks = &crash_disk.blocks;
        let Some(neighbours) = open_request.neighbours(blocks, &crash_disk.id, epoch)? else {
            return Ok(false);
        };
        let mut judged_as = epoch;
        neighbours.named(blocks, &mut |disk| judged_as = disk.epochs().judged_as(epoch));
        let probed = ProbedRequest { judged_as, ..probed };
        let describe_sector = |dev: u32, sector: u64| stack.describe_sector(dev, sector);
        let events = open_request.events();
        let issuers = stack.devices().event_tasks(events.1.len());
        let calls = self.log.placed();
        let mut moments =
            vec![moment(&neighbours, blocks, epoch, events, &issuers, calls, &describe_sector)];
        let mut places = Vec::new();
        let mut image = self.image(probed, &neighbours, blocks).map(|(image, _)| image);
        let mut last = None;
        for (index, disk) in during.iter().enumerate() {
            let Some(before) = image else { return Ok(false) };
            let before = (before, named(&disks[..index]));
            let Some((found, moment)) = self.recovery(probed, before, disk)? else {
                return Ok(false);
            };
            moments.push(moment);
            places.push(found.place);
            image = image_of(&found, &disk.blocks, None).map(|(image, _)| image);
            last = Some(found);
        }
        self.has_stopped = true;
        let choices = self.split(made);
        let failed = self.log.failed_commands();
        let spot = probed.spot(disks.to_vec());
        let stopped = StoppedAt { choices, failed, spot, moments, looked: self.looked };
        let mut reply = ProbeReply::Stopped(stopped);
        loop {
            let next = self.talk.next(reply);
            match next {
                ProbeCommand::Enough => return Ok(true),
                ProbeCommand::Evidence(pieces, violation) => {
                    let other = match &last {
                        Some(during) => image_of(during, &pieces, None),
                        None => self.image(probed, &neighbours, &pieces),
                    };
                    let stood = (during.is_empty(), image.as_ref());
                    let other = other.map(|(image, _)| image);
                    let evidence = self.evidence(probed, stack, stood, other, &violation)?;
                    reply = ProbeReply::Evidence(evidence);
                }
                ProbeCommand::Try(pieces) => {
                    reply =
                        ProbeReply::Tried(self.attempt(probed, &neighbours, &places, &pieces)?);
                }
            }
        }
    }

    /// Recovers the disk `before`; the disks `names` led to it. Returns the neighbours of `disk`,
    /// which a crash during this recovery left, with the moment of that crash. `None` if the
    /// recovery fails, or if no crash during it leaves `disk`.
    fn recovery(
        &mut self,
        probed: ProbedRequest<'_>,
        (before, names): (Image, Vec<DiskName>),
        disk: &CrashDiskRecord,
    ) -> Result<Option<(Neighbours, CrashMoment)>, StepError> {
        // Only the recovered stack knows the owners of the sectors that it wrote.
        let mut found = None;
        self.check(probed, before.clone(), &names, false, &mut |stack, events| {
            let describe_sector = |dev, sector| stack.describe_sector(dev, sector);
            let of = NeighbourQuery::Disk(&disk.blocks, &disk.id);
            let neighbours = probed.judge.recovery_neighbours(&before, events, of);
            found = Some(neighbours.map(|neighbours| {
                let neighbours = neighbours?;
                let (epoch, events) = (Epoch::InBetween, (0, events));
                let moment =
                    moment(&neighbours, &disk.blocks, epoch, events, &[], vec![], &describe_sector);
                Some((neighbours, moment))
            }));
        });
        Ok(found.transpose()?.flatten())
    }

    /// Returns the evidence about the disk at which the worker has stopped, and about another disk
    /// of its moment.
    fn evidence(
        &self,
        probed: ProbedRequest<'_>,
        stack: &Stack,
        (is_first, image): (bool, Option<&Image>),
        other: Option<Image>,
        violation: &Violation,
    ) -> Result<Evidence, StepError> {
        let submitted = match image {
            Some(image) if is_first => {
                probed.open_request.submitted()?.identity() == image.identity()
            }
            _ => false,
        };
        let args = probed.open_request.args(probed.epoch);
        Ok(Evidence {
            submitted,
            done: self.log.done(),
            plain: stack.as_shell(),
            demands: probed.request.checker.disk_demands(probed.judged_as, args, violation),
            disks: DiskContents::of(&self.pristine, image, other),
        })
    }

    fn image(
        &self,
        probed: ProbedRequest<'_>,
        neighbours: &Neighbours,
        pieces: &[PieceName],
    ) -> Option<(Image, CrashDiskRecord)> {
        image_of(neighbours, pieces, Some(probed.epoch))
    }

    fn attempt(
        &mut self,
        probed: ProbedRequest<'_>,
        neighbours: &Neighbours,
        places: &[(usize, usize)],
        pieces: &[Vec<PieceName>],
    ) -> Result<TryResult, StepError> {
        let mut disks = Vec::new();
        let mut next = pieces.first().and_then(|pieces| self.image(probed, neighbours, pieces));
        for level in 0..pieces.len() {
            let Some((image, record)) = next else { return Ok(TryResult::Impossible) };
            disks.push(record);
            let last = level + 1 == pieces.len();
            if self.order.snapshot_before {
                self.send(ProbeReply::Looking(probed.spot(disks.clone())));
            }
            let before = named(&disks[..level]);
            let judged = self.check(probed, image.clone(), &before, last, &mut |_, _| {});
            let sound = matches!(judged.ending, CheckEnding::Ok | CheckEnding::Repaired);
            if last || !sound {
                return Ok(TryResult::Looked { disks, looks: looks(judged.ending) });
            }
            let place = places.get(level).copied().unwrap_or_default();
            let of = NeighbourQuery::Place(place);
            let found = probed.judge.recovery_neighbours(&image, &judged.recovery, of)?;
            next = found.and_then(|found| image_of(&found, &pieces[level + 1], None));
            if next.as_ref().is_some_and(|(crashed, _)| crashed.identity() == image.identity()) {
                // The crash changes nothing, so the disk is the one before, which is sound.
                return Ok(TryResult::Looked { disks, looks: DiskCondition::Sound });
            }
        }
        Ok(TryResult::Impossible)
    }
}

/// Returns disks by their identities alone, as the steps of a check count them.
fn named(disks: &[CrashDiskRecord]) -> Vec<DiskName> {
    disks.iter().map(|disk| (disk.id.clone(), Vec::new())).collect()
}

/// Returns the disk among these neighbours that keeps these pieces.
fn image_of(
    neighbours: &Neighbours,
    pieces: &[PieceName],
    epoch: Option<Epoch>,
) -> Option<(Image, CrashDiskRecord)> {
    let mut found = None;
    neighbours.named(pieces, &mut |disk| {
        if found.is_none() && epoch.is_none_or(|epoch| disk.epochs().contains(epoch)) {
            found = Some((disk.image(), record(disk)));
        }
    });
    found
}
