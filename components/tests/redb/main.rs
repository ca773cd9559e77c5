//! A crash test of redb with a bug: found, made smaller, and replayed by the command that is
//! printed. (`examples/redb_crash_test.rs` is the one of redb as it is.)

mod seeded;
