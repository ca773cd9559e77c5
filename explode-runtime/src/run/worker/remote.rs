//! Workers on the other side of a wire, with deadlines: child processes and guests.
//!
//! The supervisor waits for what a worker says, and now and then looks at what it was about to do. A step that takes longer than
//! the deadline hangs, and its worker is ended. The deadline is looked at so often that a step may take a quarter longer. Time in
//! which others had the processor does not count: a busy machine makes no step hang.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::frame::{FrameReader, encode};
use super::keys::Known;
use super::page::Page;
use super::scouted::Scouted;
use super::step::Step;
use super::unit_end::UnitEnd;
use super::wire::{Said, ToWorker};
use super::{Crew, Death, Listener, Order, StartError, Started};
use crate::check::Verdict;
use crate::run::error::RunError;
use crate::run::plan::{Mode, Plan};
use crate::trace::{Replay, Trace};

/// The supervisor looks around at least so often.
const LOOK: Duration = Duration::from_millis(250);
/// A worker whose stream has ended may take so long to end itself.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// A replay whose worker is ended from outside is tried so often.
const TRIES: u32 = 5;
/// So many keys go into one message.
const KEYS: usize = 1 << 16;

/// What a worker runs in. When it is dropped, nothing of it is left.
pub trait Body {
    /// What it says; non-blocking or not.
    fn reader(&self) -> BorrowedFd<'_>;

    /// What it is told; must not block.
    fn writer(&self) -> BorrowedFd<'_>;

    /// Where it announces its steps; none if it says them.
    fn page(&self) -> Option<&Page>;

    /// How long others have kept it from running since it began, as far as that is known: deadlines stand still meanwhile.
    fn kept_waiting(&self) -> Duration;

    /// Ends it, unless it ends by itself within `patience`, and says how it ended. Not the first time: says so again.
    fn end(&mut self, patience: Duration) -> Ended;
}

/// How a worker ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// What is said of it whatever the step was; none for a process that just died.
    pub verdict: Option<Verdict>,
    /// How, in words.
    pub message: String,
    /// Nothing in it can end it like that: somebody else has.
    pub from_outside: bool,
}

/// Starts what a worker runs in.
pub type Spawn<'a> = dyn FnMut() -> Result<Box<dyn Body>, RunError> + 'a;

/// A crew of workers that are somewhere else.
pub struct Remote<'a> {
    plan: &'a Plan,
    spawn: &'a mut Spawn<'a>,
    worker: Option<Worker<'a>>,
    /// Says when nobody waits for its workers any more, and one is ended wherever it is; by default that never is so.
    pub given_up: &'a dyn Fn() -> bool,
}

/// The worker of the moment.
struct Worker<'a> {
    body: Box<dyn Body>,
    reader: FrameReader,
    /// What it is about to do, since when it is known, and the number of its announcement.
    step: Step,
    since: Instant,
    /// How long it had been kept from running when it was first waited for in this step, and when it last was.
    kept: Option<(Duration, Duration)>,
    count: u64,
    checked: u64,
    deadline: Duration,
    stopping: bool,
    given_up: &'a dyn Fn() -> bool,
}

impl<'a> Remote<'a> {
    /// Workers for a plan.
    pub fn new(plan: &'a Plan, spawn: &'a mut Spawn<'a>) -> Remote<'a> {
        Remote { plan, spawn, worker: None, given_up: &|| false }
    }

    /// Replays a trace in a fresh worker. A trace of a step that hangs or ends its worker is reproduced when that step does.
    ///
    /// # Errors
    /// Those of the replay; the worker cannot be started.
    pub fn replay(&mut self, trace: &Trace) -> Result<Replay, RunError> {
        let mut tries = 1;
        loop {
            match self.replay_once(trace)? {
                Err(death) if death.from_outside && tries < TRIES => tries += 1,
                Err(death) => return Ok(trace.replay_of(&death)),
                Ok(replay) => return Ok(replay),
            }
        }
    }

    fn replay_once(&mut self, trace: &Trace) -> Result<Result<Replay, Death>, RunError> {
        let mut worker = match self.hire() {
            Err(StartError::Died(death)) if death.from_outside => return Ok(Err(death)),
            hired => hired.map_err(RunError::from)?,
        };
        let said =
            worker.send(&ToWorker::Replay(Box::new(trace.clone()))).and_then(|()| worker.hear(&mut Nobody));
        match said {
            Ok(Said::Replayed(replay)) => Ok(Ok(replay)),
            Ok(Said::Failed(failed)) => Err(failed.into()),
            Ok(other) => Err(RunError::from(StartError::Died(worker.nonsense(&other)))),
            Err(death) => Ok(Err(death)),
        }
    }

    /// Says something to the worker, if there is something to say, and hears what it says next.
    ///
    /// # Errors
    /// The worker is gone, and is to be started again.
    ///
    /// # Panics
    /// Before it was started.
    pub(crate) fn exchange(&mut self, word: Option<&ToWorker>) -> Result<Said, Death> {
        let worker = self.worker.as_mut().expect("a worker is started before it is asked");
        word.map_or(Ok(()), |word| worker.send(word)).and_then(|()| worker.hear(&mut Nobody))
    }

    /// Ends the worker, so that another can be started.
    pub(crate) fn dismiss(&mut self) {
        self.worker = None;
    }

    fn hire(&mut self) -> Result<Worker<'a>, StartError> {
        // Its disks and its page are wanted by the next.
        self.worker = None;
        if (self.given_up)() {
            let message = "nobody waits for it any more".to_owned();
            return Err(StartError::Died(Death {
                step: Step::Between,
                verdict: None,
                message,
                from_outside: false,
            }));
        }
        let body = (self.spawn)().map_err(|error| match error {
            RunError::Broken(message) => {
                StartError::Died(Death { step: Step::Between, verdict: None, message, from_outside: false })
            }
            other => StartError::Said(other),
        })?;
        let mut worker = Worker {
            body,
            reader: FrameReader::default(),
            step: Step::FirstStart,
            since: Instant::now(),
            kept: None,
            count: 0,
            checked: 0,
            deadline: Duration::from_millis(self.plan.settings.deadline_ms),
            stopping: false,
            given_up: self.given_up,
        };
        // Nothing of the stack's has run yet, whatever has ended it.
        let ready = worker.hear(&mut Nobody).map_err(|death| Death { step: Step::Between, ..death });
        match ready.map_err(StartError::Died)? {
            Said::Ready(version) if version == env!("CARGO_PKG_VERSION") => Ok(worker),
            other => Err(StartError::Died(worker.nonsense(&other))),
        }
    }
}

impl Crew for Remote<'_> {
    fn start(&mut self, keep_events: bool) -> Result<Started, StartError> {
        let mut worker = self.hire()?;
        let plan = ToWorker::Start(Box::new(self.plan.clone()), keep_events);
        worker.send(&plan).map_err(StartError::Died)?;
        let started = match worker.hear(&mut Nobody).map_err(StartError::Died)? {
            Said::Started(started) => started,
            Said::Failed(failed) => return Err(StartError::Said(failed.into())),
            other => return Err(StartError::Died(worker.nonsense(&other))),
        };
        self.worker = Some(worker);
        Ok(started)
    }

    fn know(&mut self, known: &Known) -> Result<(), Death> {
        known.parts(KEYS).try_for_each(|part| self.worker().send(&ToWorker::Know(part)))
    }

    fn run(&mut self, order: &Order, listener: &mut dyn Listener) -> Result<UnitEnd, Death> {
        match self.worker().run(&ToWorker::Run(Box::new(order.clone())), listener)? {
            Said::End(end) => Ok(*end),
            other => Err(self.worker().nonsense(&other)),
        }
    }

    fn run_ahead(&mut self, order: &Order, listener: &mut dyn Listener) -> Result<Scouted, Death> {
        match self.worker().run(&ToWorker::Ahead(Box::new(order.clone())), listener)? {
            Said::Scouted(scouted) => Ok(*scouted),
            other => Err(self.worker().nonsense(&other)),
        }
    }

    fn account(&mut self, scouted: Scouted, exact: Vec<bool>) -> Result<Option<UnitEnd>, Death> {
        match self.worker().run(&ToWorker::Account(Box::new(scouted), exact), &mut Nobody)? {
            Said::Accounted(end) => Ok(end.map(|end| *end)),
            other => Err(self.worker().nonsense(&other)),
        }
    }

    /// EKM serves one process of a machine at a time.
    fn rest(&mut self) -> bool {
        if self.plan.mode == Mode::Here {
            self.worker = None;
        }
        self.plan.mode == Mode::Here
    }
}

impl<'a> Remote<'a> {
    fn worker(&mut self) -> &mut Worker<'a> {
        self.worker.as_mut().expect("a worker is started before it runs units")
    }
}

impl Worker<'_> {
    /// Has it run a unit; returns the first word that is not about its way.
    fn run(&mut self, order: &ToWorker, listener: &mut dyn Listener) -> Result<Said, Death> {
        self.stopping = false;
        self.body.page().into_iter().for_each(|page| page.set_stop(false));
        self.send(order)?;
        loop {
            match self.hear(listener)? {
                Said::Point(point) => {
                    let value = listener.fallback(&point.point());
                    self.send(&ToWorker::Answer(value))?;
                }
                Said::Reached(arrival, more) => {
                    let go_on = listener.reached(&arrival, more);
                    if more {
                        self.send(&ToWorker::GoOn(go_on))?;
                    }
                }
                Said::Wary(step, snapshot) => listener.wary(step, *snapshot),
                other => return Ok(other),
            }
        }
    }

    /// The next word that is no announcement.
    fn hear(&mut self, listener: &mut dyn Listener) -> Result<Said, Death> {
        loop {
            match self.reader.take() {
                Ok(Some(Said::AboutTo(step, checked))) => {
                    self.take_step(self.count + 1, step, checked);
                    self.look_around(listener)?;
                }
                Ok(Some(said)) => return Ok(said),
                Ok(None) => self.wait(listener)?,
                Err(error) => return Err(self.broken(&error.to_string())),
            }
        }
    }

    /// Waits until more has come.
    fn wait(&mut self, listener: &mut dyn Listener) -> Result<(), Death> {
        loop {
            let patience = LOOK.min(self.deadline / 4).max(Duration::from_millis(1));
            let timeout = PollTimeout::try_from(patience).unwrap_or(PollTimeout::MAX);
            let mut fds = [PollFd::new(self.body.reader(), PollFlags::POLLIN)];
            match poll(&mut fds, timeout) {
                Ok(0) | Err(Errno::EINTR) => {
                    self.look_around(listener)?;
                    self.look_at_the_clock()?;
                }
                Ok(_) => match self.reader.fill(self.body.reader()) {
                    Ok(true) => return Ok(()),
                    Ok(false) => return Err(self.died("it has ended")),
                    Err(error) => return Err(self.died(&error.to_string())),
                },
                Err(errno) => return Err(self.broken(errno.desc())),
            }
        }
    }

    /// Passes on what is seen: steps one way, the wish to stop the other.
    fn look_around(&mut self, listener: &mut dyn Listener) -> Result<(), Death> {
        self.look_at_the_page();
        listener.about_to(self.step, self.checked);
        if (self.given_up)() {
            self.body.end(Duration::ZERO);
            return Err(self.died("nobody waits for it any more"));
        }
        if !self.stopping && listener.stop() {
            self.stopping = true;
            match self.body.page() {
                Some(page) => page.set_stop(true),
                None => self.send(&ToWorker::Stop)?,
            }
        }
        Ok(())
    }

    fn look_at_the_page(&mut self) {
        if let Some(page) = self.body.page() {
            let (count, step, checked) = page.announced();
            if count != self.count {
                self.take_step(count, step, checked);
            }
        }
    }

    fn take_step(&mut self, count: u64, step: Step, checked: u64) {
        (self.count, self.step, self.checked, self.since) = (count, step, checked, Instant::now());
        self.kept = None;
    }

    /// How long the step takes already, but for the time in which the worker was kept from running.
    fn elapsed(&mut self) -> Duration {
        let now = self.body.kept_waiting();
        let (first, last) = self.kept.get_or_insert((now, now));
        *last = now;
        self.since.elapsed().saturating_sub(now.saturating_sub(*first))
    }

    /// In this step others had the processor for most of the time, and it has not run for as long as a guest's kernel waits for a
    /// task before it says that it hangs: that kernel cannot know.
    fn is_starved(&self) -> bool {
        let all = self.since.elapsed();
        let kept = self.kept.map_or(Duration::ZERO, |(first, last)| last.saturating_sub(first));
        kept > all / 2 && all.saturating_sub(kept) < self.deadline / 4
    }

    fn look_at_the_clock(&mut self) -> Result<(), Death> {
        if self.step == Step::Between || self.elapsed() < self.deadline {
            return Ok(());
        }
        let ended = self.body.end(Duration::ZERO);
        let seconds = self.deadline.as_secs_f64();
        let message = match ended.verdict {
            Some(_) => ended.message,
            None => format!("no end within the deadline of {seconds} s"),
        };
        let verdict = Some(ended.verdict.unwrap_or(Verdict::Hang));
        Err(Death { step: self.step, verdict, message, from_outside: ended.from_outside })
    }

    /// It died; what it had announced by then is what it died in.
    fn died(&mut self, why: &str) -> Death {
        self.look_at_the_page();
        let starved = self.is_starved();
        let Ended { verdict, message, from_outside } = self.body.end(LAST_WORDS);
        let message = if message.is_empty() { why.to_owned() } else { message };
        if verdict == Some(Verdict::Hang) && starved {
            let message = format!(
                "others had the processor for most of the time, so it is not believed that it hangs: {message}"
            );
            return Death { step: self.step, verdict: None, message, from_outside: true };
        }
        Death { step: self.step, verdict, message, from_outside }
    }

    /// It is not to be believed any more.
    fn broken(&mut self, why: &str) -> Death {
        let Death { message, .. } = self.died(why);
        Death { step: self.step, verdict: None, message: format!("{why}; {message}"), from_outside: false }
    }

    fn nonsense(&mut self, said: &Said) -> Death {
        let word = format!("{said:?}");
        let word: String = word.chars().take(100).collect();
        self.broken(&format!("it said what fits nothing: {word}"))
    }

    fn send(&mut self, word: &ToWorker) -> Result<(), Death> {
        match self.try_send(word) {
            Ok(()) => Ok(()),
            Err(error) => Err(self.died(&format!("it cannot be told anything: {error}"))),
        }
    }

    fn try_send(&self, word: &ToWorker) -> io::Result<()> {
        let frame = encode(word)?;
        let mut left = &frame[..];
        let mut patience = Instant::now() + self.deadline.max(LOOK);
        while !left.is_empty() {
            match nix::unistd::write(self.body.writer(), left) {
                Ok(written) => {
                    left = &left[written..];
                    patience = Instant::now() + self.deadline.max(LOOK);
                }
                Err(Errno::EAGAIN) if Instant::now() < patience && !(self.given_up)() => {
                    let mut fds = [PollFd::new(self.body.writer(), PollFlags::POLLOUT)];
                    let timeout = PollTimeout::try_from(LOOK).unwrap_or(PollTimeout::MAX);
                    poll(&mut fds, timeout)
                        .or_else(|errno| if errno == Errno::EINTR { Ok(0) } else { Err(errno) })?;
                }
                Err(Errno::EAGAIN) => return Err(io::ErrorKind::TimedOut.into()),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.body.end(Duration::ZERO);
    }
}

/// Outside of units nobody listens.
struct Nobody;

impl Listener for Nobody {
    fn fallback(&mut self, _point: &crate::choose::Point<'_>) -> u32 {
        0
    }
    fn reached(&mut self, _arrival: &crate::explore::Arrival, _more: bool) -> bool {
        false
    }
    fn about_to(&mut self, _step: Step, _checked: u64) {}
    fn wary(&mut self, _step: Step, _snapshot: super::Snapshot) {}
    fn stop(&mut self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::os::fd::AsFd as _;
    use std::os::unix::net::UnixStream;
    use std::rc::Rc;

    use super::*;

    /// A worker that says nothing. As often as this it has waited for the processor all the time when it is asked.
    struct Silent {
        stream: UnixStream,
        begin: Instant,
        starved: u32,
        asked: Rc<Cell<u32>>,
        kept: Cell<Duration>,
        verdict: Option<Verdict>,
    }

    impl Body for Silent {
        fn reader(&self) -> BorrowedFd<'_> {
            self.stream.as_fd()
        }
        fn writer(&self) -> BorrowedFd<'_> {
            self.stream.as_fd()
        }
        fn page(&self) -> Option<&Page> {
            None
        }
        fn kept_waiting(&self) -> Duration {
            self.asked.set(self.asked.get() + 1);
            if self.asked.get() <= self.starved {
                self.kept.set(self.begin.elapsed());
            }
            self.kept.get()
        }
        fn end(&mut self, _patience: Duration) -> Ended {
            Ended { verdict: self.verdict, message: String::new(), from_outside: false }
        }
    }

    fn worker(body: Silent) -> Worker<'static> {
        Worker {
            since: body.begin,
            body: Box::new(body),
            reader: FrameReader::default(),
            step: Step::FirstStart,
            kept: None,
            count: 0,
            checked: 0,
            deadline: Duration::from_millis(40),
            stopping: false,
            given_up: &|| false,
        }
    }

    fn silent(starved: u32, verdict: Option<Verdict>) -> (Silent, UnixStream) {
        let (stream, supervisor) = UnixStream::pair().expect("two sockets");
        let (asked, kept) = (Rc::default(), Cell::default());
        (Silent { stream, begin: Instant::now(), starved, asked, kept, verdict }, supervisor)
    }

    /// How a worker dies with a deadline of 40 ms, and how often it was asked by then.
    fn death(starved: u32) -> (Death, u32) {
        let (body, _supervisor) = silent(starved, None);
        let asked = Rc::clone(&body.asked);
        let mut worker = worker(body);
        (worker.wait(&mut Nobody).expect_err("it never says anything"), asked.get())
    }

    #[test]
    fn a_deadline_stands_still_while_others_have_the_processor() {
        // 50 looks, one each 10 ms at least.
        let (starved, asked) = death(50);
        let (hangs, _) = death(0);
        assert!(asked > 50, "it was given up after {asked} looks");
        for death in [starved, hangs] {
            assert_eq!(death.verdict, Some(Verdict::Hang));
            assert_eq!(death.message, "no end within the deadline of 0.04 s");
        }
    }

    #[test]
    fn a_guest_that_says_it_hangs_is_believed_if_it_could_run() {
        let said = |step: Duration, kept: Duration| {
            let (body, _supervisor) = silent(0, Some(Verdict::Hang));
            let mut worker = worker(body);
            worker.deadline = Duration::from_secs(30 * 60);
            worker.since = Instant::now().checked_sub(step).expect("the machine runs for so long");
            worker.kept = Some((Duration::ZERO, kept));
            let Death { verdict, from_outside, .. } = worker.died("it has ended");
            (verdict, from_outside)
        };
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        assert_eq!(said(minute, Duration::ZERO), (Some(Verdict::Hang), false));
        assert_eq!(said(minute, 25 * second), (Some(Verdict::Hang), false));
        assert_eq!(said(minute, 50 * second), (None, true));
        // It has run for longer than the kernel waits.
        assert_eq!(said(20 * minute, 11 * minute), (Some(Verdict::Hang), false));
    }
}
