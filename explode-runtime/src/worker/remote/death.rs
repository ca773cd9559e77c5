//! The death of a worker: by itself, by its deadline, or by an invalid message.

use std::time::Duration;

use super::transport::TransportEnd;
use super::worker::RemoteWorker;
use crate::verdict::{Verdict, WorkerDeath, WorkerStep};
use crate::worker::protocol::FromWorker;

/// The time in which a worker may end by itself after its stream has ended.
const LAST_WORDS: Duration = Duration::from_secs(5);

impl RemoteWorker<'_> {
    /// Returns the duration of the current step, without the time in which others kept the worker
    /// from running.
    fn elapsed(&mut self) -> Duration {
        let now = self.body.kept_waiting();
        let (first, last) = self.kept.get_or_insert((now, now));
        *last = now;
        self.since.elapsed().saturating_sub(now.saturating_sub(*first))
    }

    /// Returns true if others had the processor for most of this step, and the worker has run for
    /// less than a quarter of the deadline. A guest's kernel waits that long for a task before it
    /// reports a hang, and cannot tell that the task could not run.
    fn is_starved(&self) -> bool {
        let all = self.since.elapsed();
        let kept = self.kept.map_or(Duration::ZERO, |(first, last)| last.saturating_sub(first));
        kept > all / 2 && all.saturating_sub(kept) < self.deadline / 4
    }

    pub(super) fn look_at_the_clock(&mut self) -> Result<(), WorkerDeath> {
        if self.step == WorkerStep::Between || self.elapsed() < self.deadline {
            return Ok(());
        }
        let ended = self.body.end(Duration::ZERO);
        let seconds = self.deadline.as_secs_f64();
        let message = match ended.verdict {
            Some(_) => ended.message,
            None => format!("no end within the deadline of {seconds} s"),
        };
        let verdict = Some(ended.verdict.unwrap_or(Verdict::Hang));
        Err(WorkerDeath {
            step: self.step,
            verdict,
            message,
            killed_externally: ended.killed_externally,
        })
    }

    /// Returns the death of the worker. The newest announced step is the step in which it died.
    pub(super) fn died(&mut self, why: &str) -> WorkerDeath {
        self.look_at_the_page();
        let starved = self.is_starved();
        let TransportEnd { verdict, message, killed_externally: from_outside } =
            self.body.end(LAST_WORDS);
        let message = if message.is_empty() { why.to_owned() } else { message };
        if verdict == Some(Verdict::Hang) && starved {
            let message = format!(
                "other processes had the processor for most of the time, so this does not count \
                 as a hang: {message}"
            );
            return WorkerDeath {
                step: self.step,
                verdict: None,
                message,
                killed_externally: true,
            };
        }
        WorkerDeath { step: self.step, verdict, message, killed_externally: from_outside }
    }

    /// Returns the death of a worker whose messages cannot be used any more.
    pub(super) fn broken(&mut self, why: &str) -> WorkerDeath {
        let WorkerDeath { message, .. } = self.died(why);
        WorkerDeath {
            step: self.step,
            verdict: None,
            message: format!("{why}; {message}"),
            killed_externally: false,
        }
    }

    pub(super) fn unexpected_message(&mut self, message: &FromWorker) -> WorkerDeath {
        let word = format!("{message:?}");
        let word: String = word.chars().take(100).collect();
        self.broken(&format!("it sent an unexpected message: {word}"))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::os::fd::{AsFd as _, BorrowedFd};
    use std::os::unix::net::UnixStream;
    use std::rc::Rc;
    use std::time::Instant;

    use super::super::transport::Transport;
    use super::super::worker::IgnoreEvents;
    use super::*;
    use crate::worker::step_page::StepPage;

    /// A worker that sends nothing. The first `starved` times that its waiting time is requested,
    /// it has waited all the time.
    struct Silent {
        stream: UnixStream,
        begin: Instant,
        starved: u32,
        looks: Rc<Cell<u32>>,
        kept: Cell<Duration>,
        verdict: Option<Verdict>,
    }

    impl Transport for Silent {
        fn reader(&self) -> BorrowedFd<'_> {
            self.stream.as_fd()
        }
        fn writer(&self) -> BorrowedFd<'_> {
            self.stream.as_fd()
        }
        fn page(&self) -> Option<&StepPage> {
            None
        }
        fn kept_waiting(&self) -> Duration {
            self.looks.set(self.looks.get() + 1);
            if self.looks.get() <= self.starved {
                self.kept.set(self.begin.elapsed());
            }
            self.kept.get()
        }
        fn end(&mut self, _patience: Duration) -> TransportEnd {
            TransportEnd { verdict: self.verdict, message: String::new(), killed_externally: false }
        }
    }

    fn worker(body: Silent) -> RemoteWorker<'static> {
        let begin = body.begin;
        let mut worker = RemoteWorker::new(Box::new(body), Duration::from_millis(40), &|| false);
        worker.since = begin;
        worker
    }

    fn silent(starved: u32, verdict: Option<Verdict>) -> (Silent, UnixStream) {
        let (stream, supervisor) = UnixStream::pair().expect("two sockets");
        let (looks, kept) = (Rc::default(), Cell::default());
        (Silent { stream, begin: Instant::now(), starved, looks, kept, verdict }, supervisor)
    }

    /// Returns the death of a worker with a deadline of 40 ms, and the number of times that its
    /// waiting time was requested.
    fn death(starved: u32) -> (WorkerDeath, u32) {
        let (body, _supervisor) = silent(starved, None);
        let looks = Rc::clone(&body.looks);
        let mut worker = worker(body);
        (worker.wait(&mut IgnoreEvents).expect_err("it never says anything"), looks.get())
    }

    #[test]
    fn a_deadline_stands_still_while_others_have_the_processor() {
        // 50 requests, at least 10 ms apart.
        let (starved, looks) = death(50);
        let (hangs, _) = death(0);
        assert!(looks > 50, "it was given up after {looks} looks");
        for death in [starved, hangs] {
            assert_eq!(death.verdict, Some(Verdict::Hang));
            assert_eq!(death.message, "no end within the deadline of 0.04 s");
        }
    }

    #[test]
    fn a_hang_that_a_guest_reports_counts_if_the_guest_could_run() {
        let verdict_of = |step: Duration, kept: Duration| {
            let (body, _supervisor) = silent(0, Some(Verdict::Hang));
            let mut worker = worker(body);
            worker.deadline = Duration::from_secs(30 * 60);
            worker.since = Instant::now().checked_sub(step).expect("the machine runs for so long");
            worker.kept = Some((Duration::ZERO, kept));
            let WorkerDeath { verdict, killed_externally: from_outside, .. } =
                worker.died("it has ended");
            (verdict, from_outside)
        };
        let (second, minute) = (Duration::from_secs(1), Duration::from_secs(60));
        assert_eq!(verdict_of(minute, Duration::ZERO), (Some(Verdict::Hang), false));
        assert_eq!(verdict_of(minute, 25 * second), (Some(Verdict::Hang), false));
        assert_eq!(verdict_of(minute, 50 * second), (None, true));
        // The worker has run for longer than the kernel waits.
        assert_eq!(verdict_of(20 * minute, 11 * minute), (Some(Verdict::Hang), false));
    }
}
