//! The runtime of openraft whose tasks are interleaved by choice, beside that of tokio.

mod common;

use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use explode_cluster::OpenRaft;
use explode_cluster::prelude::*;
use openraft::{AsyncRuntime, TokioRuntime};

use common::{Ran, run_with};

/// A host that loads a setting in one task when it is called, and serves in another, which does not
/// wait for the first. Only the order of the tasks lets that go well.
struct Loads<R> {
    host: AsyncHost<Self>,
    runtime: PhantomData<R>,
}

impl<R: AsyncRuntime> AsyncNode for Loads<R> {
    type Msg = ();
    type Call = u64;
    type Reply = u64;

    async fn open(host: AsyncHost<Self>) -> Handled<Self> {
        Ok(Loads { host, runtime: PhantomData })
    }

    async fn on_call(self: Rc<Self>, call: CallId, setting: u64) -> Handled {
        let settings = Arc::new(Mutex::new(0));
        let (loads, serves) = (Arc::clone(&settings), Arc::clone(&settings));
        drop(R::spawn(async move {
            R::sleep(ms(1)).await;
            *loads.lock().expect("no task panics") = setting;
        }));
        let host = self.host;
        drop(R::spawn(async move {
            R::sleep(ms(1)).await;
            let setting = *serves.lock().expect("no task panics");
            host.reply(call, setting);
        }));
        Ok(())
    }
}

fn loads<R: AsyncRuntime>(name: &str) -> Ran {
    let cluster =
        async_cluster::<Loads<R>>(name, 1).clients(1, |next| next.fresh()).calls(3).steps(10, 0);
    run_with(common::echoes(cluster), walks(64), 1)
}

#[test]
fn a_race_of_two_tasks_is_found_with_our_runtime_and_not_with_that_of_tokio() {
    let ran = loads::<OpenRaft>("loads+race");
    let found = "loads+race/check-failed/a-reply-has-the-setting";
    assert!(ran.found.iter().any(|one| one.starts_with(found)) && ran.broken.is_empty(), "{ran:?}");
    let ran = loads::<TokioRuntime>("loads+race-in-tokio");
    assert!(ran.found.is_empty() && ran.broken.is_empty(), "{ran:?}");
}
