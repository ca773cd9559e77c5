//! The worker's side of a probe: it runs the way, stands still where it is told, and tries what it is told.

use std::cell::RefCell;
use std::collections::HashSet;
use std::time::{Duration, Instant};

use explode_ramdisk::{Image, Recording};

use super::happened::moment;
use super::probe::{
    Answers, End, Looks, Next, Probe, ProbeSaid, Probed, PromiseLine, Spot, Standing, Tried, Until,
};
use crate::check::{Ask, Failure, Violation};
use crate::choose::{Choice, Divergence, Point};
use crate::crash::{CrashDisk, Epoch, Name, Neighbours, names};
use crate::explore::{State, Unit};
use crate::pipeline::{Asked, Candidate, Judge, Judged, Judgement, NeighboursOf, Pipeline, key, stood_still};
use crate::recover::{Fault, Stack};
use crate::run::{Early, Place, Runner, SoFar, Stage, Step, Work};
use crate::trace::CrashDiskRecord;

/// Who asks.
pub(crate) trait Talk {
    /// A step that may hang, or end this process, comes next.
    fn before(&mut self, step: Step);

    /// Says something.
    fn report(&mut self, said: ProbeSaid);

    /// Says something, and hears what comes next.
    fn next(&mut self, said: ProbeSaid) -> Next;
}

/// Runs a probe to its end.
pub(crate) fn probe(runner: &Runner<'_>, order: &Probe, talk: &mut dyn Talk) -> Probed {
    let unit = Unit { state: State::default(), script: Vec::new(), mutates: order.mutates };
    let mut prober = Prober {
        order,
        talk: RefCell::new(talk),
        started: Instant::now(),
        mutate: 0,
        begins: Vec::new(),
        used: 0,
        past_end: None,
        looked: 0,
        cut: false,
        stood: false,
    };
    let ended = runner.run(&unit, &mut prober);
    let choices = prober.split(&ended.choices);
    let answered = ended.choices.len();
    let left = match &order.answers {
        Answers::Exactly(answers) => answers.get(answered).cloned(),
        Answers::AsFits(_) => None,
    };
    let left = left.map(|recorded| Divergence { index: answered, recorded: Some(recorded), asked: None });
    let end = if let Some(divergence) = prober.past_end {
        End::Diverged(divergence.to_string())
    } else {
        match (ended.early, left) {
            (Some(Early::Diverged(divergence)), _) => End::Diverged(divergence.to_string()),
            (Some(Early::Broken(why)), _) => End::Broken(why),
            (_, Some(divergence)) => End::Diverged(divergence.to_string()),
            (Some(Early::Violated(violation, _)), _) => End::Violated(violation),
            _ if prober.stood => End::Stood,
            _ => End::Nothing(nothing(&order.until, prober.looked).to_owned(), prober.cut),
        }
    };
    let promise = order.error.split_once('/').and_then(|(_, promise)| {
        let profile = runner.profile()?;
        let line = profile.promises.iter().find(|line| line.name == promise)?;
        Some(PromiseLine {
            system: profile.system.clone(),
            name: line.name.to_owned(),
            kept: line.kept,
            quote: line.quote.to_owned(),
            source: line.source.to_owned(),
        })
    });
    Probed { choices, end, looked: prober.looked, promise }
}

/// Why what was looked for is not there.
fn nothing(until: &Until, looked: u64) -> &'static str {
    match until {
        Until::Mutate => "mutate found nothing wrong",
        Until::At(_) => "no crash can leave the recorded disk in the recorded epoch, with these arguments",
        Until::Failing { .. } if looked == 0 => "no crash disk of the last mutate could be looked at",
        Until::Failing { .. } => "no crash disk of the last mutate failed that way",
    }
}

struct Prober<'a> {
    order: &'a Probe,
    talk: RefCell<&'a mut dyn Talk>,
    started: Instant,
    /// The number of the mutate that runs, from 1.
    mutate: u32,
    /// How many choices were made before each mutate.
    begins: Vec<usize>,
    /// How many answers, of those that are used in order, are used.
    used: usize,
    past_end: Option<Divergence>,
    looked: u64,
    /// A bound has ended the search.
    cut: bool,
    stood: bool,
}

/// What all disks of a moment have in common.
#[derive(Clone, Copy)]
struct Here<'a> {
    judge: Judge<'a>,
    ask: &'a Ask<'a>,
    asked: &'a Asked<'a>,
    place: Place,
    epoch: Epoch,
}

impl Here<'_> {
    fn spot(&self, disks: Vec<CrashDiskRecord>) -> Spot {
        Spot {
            mutates: self.place.mutates,
            interval: self.place.interval,
            epoch: self.epoch,
            args: self.asked.args(self.epoch).to_vec(),
            log: format!("{:032x}", self.asked.log_hash()),
            disks,
        }
    }
}

fn record(disk: &CrashDisk<'_>) -> CrashDiskRecord {
    CrashDiskRecord { id: disk.identity().to_string(), blocks: names(&disk.kept()) }
}

fn looks(judgement: Judgement) -> Looks {
    match judgement {
        Judgement::Ok | Judgement::Repaired => Looks::Sound,
        Judgement::Violated(violation) => Looks::Violated(violation),
        Judgement::Broken(why) => Looks::Broken(why),
    }
}

impl Prober<'_> {
    fn tell(&self, said: ProbeSaid) {
        self.talk.borrow_mut().report(said);
    }

    /// Choices mutate by mutate.
    fn split(&self, choices: &[Choice]) -> Vec<Vec<Choice>> {
        let ends = self.begins.iter().skip(1).copied().chain([choices.len()]);
        self.begins.iter().zip(ends).map(|(begin, end)| choices[*begin..end].to_vec()).collect()
    }

    fn is_the_error(&self, violation: &Violation) -> bool {
        format!("{}/{}", violation.verdict, violation.promise) == self.order.error
    }

    /// Recovers and checks a disk; `before` it there were other disks, and `crashes` during recovery.
    fn judge(&self, here: Here<'_>, image: Image, before: &[CrashDiskRecord], last: bool) -> Judged {
        let Here { judge, ask, asked, epoch, .. } = here;
        let key = key(image.identity(), epoch, asked.args(epoch), asked.rest());
        let crashes = before.len().saturating_sub(1) as u32;
        let mut announce = |stage: Stage| self.talk.borrow_mut().before(Step::Disk { key, crashes, stage });
        let recording = if last { Recording::Off } else { Recording::On };
        let judged =
            judge.judge_announced(image, ask.checker, epoch, asked.args(epoch), recording, &mut announce);
        self.talk.borrow_mut().before(Step::Between);
        judged
    }

    /// Looks for the first disk that shows the error; returns the disks that lead to it.
    fn search(&mut self, here: Here<'_>, disk: &CrashDisk<'_>, before: &mut Vec<CrashDiskRecord>) -> bool {
        let Until::Failing { crashes, most, budget_ms, .. } = self.order.until else { return false };
        let spent = self.started.elapsed() >= Duration::from_millis(budget_ms);
        self.cut |= self.looked >= most || spent;
        if self.cut {
            return false;
        }
        self.looked += 1;
        before.push(record(disk));
        if self.order.wary {
            self.tell(ProbeSaid::Looking(here.spot(before.clone())));
        }
        let image = disk.image();
        let last = before.len() > crashes as usize;
        let judged = self.judge(here, image.clone(), before, last);
        match judged.judgement {
            Judgement::Violated(violation) if self.is_the_error(&violation) => return true,
            Judgement::Ok | Judgement::Repaired if !last => {
                let mut found = false;
                let mut seen = HashSet::new();
                // A log that contradicts itself has no disks.
                let _ = here.judge.crash_crash_disks(&image, &judged.recovery, here.asked.seed(), |disk| {
                    if !found && seen.insert(disk.identity().0) {
                        found = self.search(here, disk, before);
                    }
                });
                if found {
                    return true;
                }
            }
            _ => {}
        }
        before.pop();
        false
    }

    /// The disks of a request for crash checks that lead to the error, and in which epoch.
    fn failing(
        &mut self,
        judge: Judge<'_>,
        ask: &Ask<'_>,
        asked: &Asked<'_>,
        place: Place,
    ) -> Result<Option<(Epoch, Vec<CrashDiskRecord>)>, Fault> {
        let order = self.order;
        let mut found = None;
        let mut seen = HashSet::new();
        let mut visit = |candidate: &Candidate<'_>| {
            let Candidate { disk, epoch, key, .. } = candidate;
            if found.is_some() || self.cut || !seen.insert(*key) {
                return;
            }
            let mut disks = Vec::new();
            let here = Here { judge, ask, asked, place, epoch: *epoch };
            if self.search(here, disk, &mut disks) {
                found = Some((*epoch, disks));
            }
        };
        if let Until::Failing { first, .. } = &order.until {
            asked.named(first, &mut visit)?;
        }
        asked.walk(&mut visit)?;
        Ok(found)
    }

    /// Stands still at these disks, and tries what it is told; returns whether they are there.
    fn stand(
        &mut self,
        here: Here<'_>,
        disks: &[CrashDiskRecord],
        stack: &Stack,
        made: &[Choice],
    ) -> Result<bool, Fault> {
        let Here { asked, epoch, judge, .. } = here;
        let Some((crash_disk, during)) = disks.split_first() else { return Ok(false) };
        let Some(neighbours) = asked.neighbours(&crash_disk.blocks, &crash_disk.id, epoch)? else {
            return Ok(false);
        };
        let whose = |dev: u32, sector: u64| stack.whose(dev, sector);
        let mut moments = vec![moment(&neighbours, &crash_disk.blocks, epoch, asked.events(), &whose)];
        let mut places = Vec::new();
        let mut image = self.image(here, &neighbours, &crash_disk.blocks).map(|(image, _)| image);
        for (index, disk) in during.iter().enumerate() {
            let Some(before) = image else { return Ok(false) };
            let judged = self.judge(here, before.clone(), &disks[..=index], false);
            let of = NeighboursOf::Disk(&disk.blocks, &disk.id);
            let Some(found) = judge.recovery_neighbours(&before, &judged.recovery, of)? else {
                return Ok(false);
            };
            // Which files its devices are only the stack of that recovery knew.
            let during = Epoch::InBetween;
            moments.push(moment(&found, &disk.blocks, during, (0, &judged.recovery), &|_, _| None));
            places.push(found.place);
            image = image_of(&found, &disk.blocks, None).map(|(image, _)| image);
        }
        self.stood = true;
        let choices = self.split(made);
        let standing = Standing { choices, spot: here.spot(disks.to_vec()), moments, looked: self.looked };
        let mut said = ProbeSaid::Standing(standing);
        loop {
            let next = self.talk.borrow_mut().next(said);
            match next {
                Next::Enough => return Ok(true),
                Next::Try(pieces) => {
                    said = ProbeSaid::Tried(self.attempt(here, &neighbours, &places, &pieces)?);
                }
            }
        }
    }

    fn image(
        &self,
        here: Here<'_>,
        neighbours: &Neighbours,
        pieces: &[Name],
    ) -> Option<(Image, CrashDiskRecord)> {
        image_of(neighbours, pieces, Some(here.epoch))
    }

    fn attempt(
        &mut self,
        here: Here<'_>,
        neighbours: &Neighbours,
        places: &[(usize, usize)],
        pieces: &[Vec<Name>],
    ) -> Result<Tried, Fault> {
        let mut disks = Vec::new();
        let mut next = pieces.first().and_then(|pieces| self.image(here, neighbours, pieces));
        for level in 0..pieces.len() {
            let Some((image, record)) = next else { return Ok(Tried::Impossible) };
            disks.push(record);
            let last = level + 1 == pieces.len();
            if self.order.wary {
                self.tell(ProbeSaid::Looking(here.spot(disks.clone())));
            }
            let judged = self.judge(here, image.clone(), &disks, last);
            let sound = matches!(judged.judgement, Judgement::Ok | Judgement::Repaired);
            if last || !sound {
                return Ok(Tried::Looked { disks, looks: looks(judged.judgement) });
            }
            let place = places.get(level).copied().unwrap_or_default();
            let of = NeighboursOf::Place(place);
            let found = here.judge.recovery_neighbours(&image, &judged.recovery, of)?;
            next = found.and_then(|found| image_of(&found, &pieces[level + 1], None));
            if next.as_ref().is_some_and(|(crashed, _)| crashed.identity() == image.identity()) {
                // A crash that changes nothing: the disk is the one before, which is sound.
                return Ok(Tried::Looked { disks, looks: Looks::Sound });
            }
        }
        Ok(Tried::Impossible)
    }
}

/// The disk among these neighbours that keeps these pieces.
fn image_of(
    neighbours: &Neighbours,
    pieces: &[Name],
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

impl Work for Prober<'_> {
    fn fallback(&mut self, point: &Point<'_>) -> u32 {
        let fits = |choice: &Choice| {
            (choice.kind, choice.options, &choice.label) == (point.kind, point.options, &point.label)
        };
        let value = match &self.order.answers {
            Answers::Exactly(answers) => {
                let recorded = answers.get(self.used).filter(|choice| fits(choice));
                if recorded.is_none() && self.past_end.is_none() {
                    let asked = Some((point.options, point.kind, point.label.clone()));
                    let recorded = answers.get(self.used).cloned();
                    self.past_end = Some(Divergence { index: self.used, recorded, asked });
                }
                self.used += 1;
                recorded.map_or(0, |choice| choice.value)
            }
            Answers::AsFits(mutates) => {
                let answers = mutates.get(self.mutate.saturating_sub(1) as usize).map_or(&[][..], |all| all);
                let left = answers.get(self.used..).unwrap_or_default();
                match left.iter().position(fits) {
                    Some(at) => {
                        self.used += at + 1;
                        left[at].value
                    }
                    None => 0,
                }
            }
        };
        if self.order.wary {
            let Point { kind, options, names, label, .. } = point;
            let name = names.get(value as usize).cloned();
            let choice = Choice { kind: *kind, options: *options, value, name, label: label.clone() };
            self.tell(ProbeSaid::Chose(self.mutate, choice));
        }
        value
    }

    fn about_to(&mut self, step: Step, so_far: &SoFar<'_>) {
        if let Step::Mutate { mutates, .. } = step
            && mutates > self.mutate
        {
            self.mutate = mutates;
            self.begins.push(so_far.choices.len());
            if matches!(self.order.answers, Answers::AsFits(_)) {
                self.used = 0;
            }
        }
        self.talk.borrow_mut().before(step);
    }

    fn crashes(
        &mut self,
        pipeline: &mut Pipeline<'_>,
        stack: &Stack,
        ask: &Ask<'_>,
        so_far: &SoFar<'_>,
    ) -> Result<(), Failure> {
        let place = so_far.place;
        self.talk.borrow_mut().before(Step::Between);
        if self.past_end.is_some() || self.cut {
            return Err(Failure::Stop);
        }
        let wanted = match &self.order.until {
            Until::Mutate => false,
            Until::Failing { .. } => place.mutates == self.order.mutates,
            Until::At(spot) => place.interval == spot.interval,
        };
        if wanted {
            let judge = pipeline.judge();
            let asked = pipeline.asked(stack.devices(), ask, place.interval)?;
            let found = match &self.order.until {
                Until::At(spot) if asked.args(spot.epoch) == spot.args => {
                    Some((spot.epoch, spot.disks.clone()))
                }
                _ => self.failing(judge, ask, &asked, place)?,
            };
            let stood = match found {
                Some((epoch, disks)) => {
                    let here = Here { judge, ask, asked: &asked, place, epoch };
                    self.stand(here, &disks, stack, so_far.choices)?
                }
                None => false,
            };
            stood_still(stack.devices())?;
            if stood || matches!(self.order.until, Until::At(_)) {
                return Err(Failure::Stop);
            }
        }
        Ok(pipeline.skip(stack.devices(), ask.when)?)
    }

    fn reached(&mut self, _signature: u128, _depth: u32, _more: bool) -> bool {
        self.past_end.is_none() && !self.cut
    }
}
