//! A crash test of redb with a bug, which is found, minimised, and replayed by the printed command.
//! (`examples/redb_crash_test.rs` tests redb without a bug.)

mod seeded;
