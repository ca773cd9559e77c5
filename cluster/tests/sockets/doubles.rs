//! A server on TCP as `docs/guide/async-hosts.md` shows it.

use std::rc::Rc;

use explode_cluster::net::{TcpListener, TcpStream};
use explode_cluster::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

/// A server that doubles numbers, on each host. Without `WHOLE` its client takes what one `read`
/// returns for the whole answer.
struct Doubles<const WHOLE: bool> {
    host: AsyncHost<Self>,
}

async fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    loop {
        let number = stream.read_u32().await?;
        for byte in (number * 2).to_be_bytes() {
            stream.write_all(&[byte]).await?;
        }
    }
}

impl<const WHOLE: bool> Doubles<WHOLE> {
    async fn ask(&self, number: u32) -> std::io::Result<u32> {
        let mut stream = TcpStream::connect("n1:80").await?;
        stream.write_u32(number).await?;
        let mut answer = [0; 4];
        if WHOLE {
            stream.read_exact(&mut answer).await?;
        } else if stream.read(&mut answer).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(u32::from_be_bytes(answer))
    }
}

impl<const WHOLE: bool> AsyncNode for Doubles<WHOLE> {
    type Msg = ();
    type Call = u32;
    type Reply = u32;

    async fn open(host: AsyncHost<Self>) -> Handled<Self> {
        let listener = TcpListener::bind("0.0.0.0:80").await?;
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
        Ok(Doubles { host })
    }

    async fn on_call(self: Rc<Self>, call: CallId, number: u32) -> Handled {
        match timeout(ms(5000), self.ask(number)).await {
            Ok(Ok(answer)) => self.host.reply(call, answer),
            // n1 is down, or has crashed.
            _ => self.host.refuse(call),
        }
        Ok(())
    }
}

fn doubles<const WHOLE: bool>() -> Cluster<Tasks<Doubles<WHOLE>>> {
    async_cluster::<Doubles<WHOLE>>("doubles", 2)
        .clients(1, |next| next.fresh() as u32)
        .calls(4)
        .faults(FaultBudget { crashes: 1, drops: 3, ..FaultBudget::NONE })
        .steps(150, 0)
        .always("an answer is twice the number", |world| {
            world.history().answered().all(|(number, answer)| *answer == number * 2)
        })
        .sometimes("answered", |world| world.history().answered().next().is_some())
}

#[test]
fn answers_are_right() {
    doubles::<true>().run(walks(500));
}

/// The page shows this file.
#[test]
fn the_page_shows_this_server() {
    let page = include_str!("../../../docs/guide/async-hosts.md");
    let file = include_str!("doubles.rs");
    let shown = file.split("/// The page shows this file.").next().expect("there is a beginning");
    let (_, shown) = shown.split_once("\n\n").expect("there is a head");
    assert!(page.contains(shown.trim_end()), "docs/guide/async-hosts.md has another server");
}

/// The page shows a row of this story.
#[test]
fn an_answer_that_is_read_in_one_piece_is_found() {
    let text = doubles::<false>().outcome(walks(500)).expect_err("it is found");
    assert!(text.contains("FAIL") && text.contains("tcp 80>"), "{text}");
}
