//! What the sockets of hosts do: errors, ends, lost packets, full buffers, crashes; and servers
//! that talk over UDP.

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::rc::Rc;

use explode_cluster::cluster::Cluster;
use explode_cluster::net::{TcpListener, TcpStream, UdpSocket, address_of};
use explode_cluster::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::spawn_local;
use tokio::time::{Instant, sleep, timeout};

use crate::common::{exactly, run_with};

/// A host that does something with its sockets when it is called, and returns an error if they do
/// not do what they must.
struct Does<const WHAT: u8> {
    host: AsyncHost<Self>,
}

const FAILS: u8 = 0;
const CALLS_ITSELF: u8 = 1;
const ENDS: u8 = 2;
const FILLS: u8 = 3;
const NOBODY: u8 = 4;
const DATAGRAMS: u8 = 5;
const MANY_BYTES: u8 = 6;
const UNTIL_BROKEN: u8 = 7;

/// Returns an error with a text unless something holds.
fn holds(text: &str, is_so: bool) -> Handled {
    if is_so { Ok(()) } else { Err(format!("not so: {text}").into()) }
}

fn kind<T>(result: io::Result<T>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

/// What connects, binds and sends where there is nothing fails as it does on Linux.
async fn fails(peer: NodeId) -> Handled {
    let refused = kind(TcpStream::connect((address_of(peer), 81)).await);
    holds("refused", refused == Some(ErrorKind::ConnectionRefused))?;
    let names = [
        ("n9:80", ErrorKind::NotFound),
        ("n1", ErrorKind::InvalidInput),
        ("[::1]:80", ErrorKind::AddrNotAvailable),
    ];
    for (name, expected) in names {
        holds(name, kind(TcpStream::connect(name).await) == Some(expected))?;
    }
    let elsewhere = TcpListener::bind((address_of(peer), 90)).await;
    holds("no address of this host", kind(elsewhere) == Some(ErrorKind::AddrNotAvailable))?;
    let first = TcpListener::bind("0.0.0.0:90").await?;
    let second = TcpListener::bind("127.0.0.1:90").await;
    holds("in use", kind(second) == Some(ErrorKind::AddrInUse))?;
    holds("its address", first.local_addr()? == "0.0.0.0:90".parse()?)?;
    drop(first);
    TcpListener::bind("127.0.0.1:90").await?;
    let socket = UdpSocket::bind("0.0.0.0:0").await?;
    holds("a port of its own", socket.local_addr()?.port() >= 49152)?;
    holds("no peer", kind(socket.send(b"x").await) == Some(ErrorKind::NotConnected))?;
    let large = socket.send_to(&[0; 1473], (address_of(peer), 9)).await;
    holds("too large", large.is_err_and(|error| error.raw_os_error() == Some(90)))
}

/// A host reaches itself by all of its names, and its sockets tell both ends.
async fn calls_itself(own: NodeId) -> Handled {
    for name in ["localhost:80".to_owned(), format!("{own}:80"), "127.0.0.1:80".to_owned()] {
        let mut stream = TcpStream::connect(&name).await?;
        let (local, peer) = (stream.local_addr()?, stream.peer_addr()?);
        holds("ends", local.ip() == peer.ip() && peer.port() == 80 && local.port() >= 49152)?;
        stream.write_all(b"hello").await?;
        let mut answer = [0; 5];
        stream.read_exact(&mut answer).await?;
        holds("echo", &answer == b"hello")?;
    }
    Ok(())
}

/// The end of a stream ends one direction. A stream that is dropped with unread data is reset.
async fn ends(peer: NodeId) -> Handled {
    let stream = TcpStream::connect((address_of(peer), 80)).await?;
    let (mut from, mut to) = stream.into_split();
    to.write_all(b"last").await?;
    drop(to);
    let mut all = Vec::new();
    from.read_to_end(&mut all).await?;
    holds("everything until the end", all == b"last")?;
    let mut stream = TcpStream::connect((address_of(peer), 82)).await?;
    stream.write_all(b"nothing reads this").await?;
    holds("reset", kind(stream.read_u8().await) == Some(ErrorKind::ConnectionReset))?;
    holds("broken", stream.write_all(b"x").await.is_err())?;
    let mut stream = TcpStream::connect((address_of(peer), 80)).await?;
    stream.shutdown().await?;
    holds("no more", kind(stream.write_all(b"x").await) == Some(ErrorKind::BrokenPipe))
}

/// A writer waits while the peer does not read: two buffers of 16 KiB are between them.
async fn fills(peer: NodeId) -> Handled {
    let mut stream = TcpStream::connect((address_of(peer), 83)).await?;
    let mut written = 0;
    while let Ok(count) = timeout(ms(5000), stream.write(&[7; 1000])).await {
        written += count?;
    }
    // A small rest of the window is not used.
    holds(&format!("{written} bytes are two buffers"), (31 * 1024..=32 * 1024).contains(&written))?;
    let socket = UdpSocket::bind("0.0.0.0:0").await?;
    // The peer now reads.
    socket.send_to(b"read", (address_of(peer), 83)).await?;
    stream.write_all(&[7; 1000]).await?;
    stream.shutdown().await?;
    holds("all was read", stream.read_u32().await? == written as u32 + 1000)
}

/// An address without a host does not answer, and a connection to it is given up.
async fn nobody() -> Handled {
    let begun = Instant::now();
    let connected = TcpStream::connect("10.0.0.77:80").await;
    holds("too late", kind(connected) == Some(ErrorKind::TimedOut))?;
    holds("after 127 seconds", begun.elapsed().as_secs() == 127)
}

/// A datagram arrives whole, and what has no place is lost; one to a port without a socket is
/// lost.
async fn datagrams(own: NodeId) -> Handled {
    let [one, two] = [UdpSocket::bind("0.0.0.0:9").await?, UdpSocket::bind("0.0.0.0:10").await?];
    one.send_to(b"lost", (address_of(own), 11)).await?;
    one.send_to(b"datagram", (address_of(own), 10)).await?;
    one.send_to(b"second", (address_of(own), 10)).await?;
    let mut into = [0; 4];
    let (count, from) = two.recv_from(&mut into).await?;
    holds("the begin", count == 4 && &into == b"data" && from.port() == 9)?;
    two.connect((address_of(own), 12)).await?;
    let other = timeout(ms(100), two.recv(&mut into)).await;
    holds("only datagrams of the peer", other.is_err())
}

/// Returns a byte of a long stream.
fn byte(place: u32) -> u8 {
    (place * 31 / 7) as u8
}

const MANY: u32 = 6000;

/// Many bytes arrive in order, whatever is lost, doubled or late.
async fn many_bytes(peer: NodeId) -> Handled {
    let stream = TcpStream::connect((address_of(peer), 80)).await?;
    let (mut from, mut to) = stream.into_split();
    let writes = tokio::spawn(async move {
        let bytes: Vec<u8> = (0..MANY).map(byte).collect();
        to.write_all(&bytes).await
    });
    for place in 0..MANY {
        let read = from.read_u8().await?;
        holds(&format!("byte {place}"), read == byte(place))?;
    }
    Ok(writes.await??)
}

/// Sends back all that arrives.
async fn echoes(stream: TcpStream) -> io::Result<()> {
    let (mut from, mut to) = stream.into_split();
    let mut data = vec![0; 5000];
    loop {
        let count = from.read(&mut data).await?;
        if count == 0 {
            return Ok(());
        }
        to.write_all(&data[..count]).await?;
    }
}

/// Serves at port 80 an echo, at port 82 nothing to a peer that has written, and at port 83 the
/// number of bytes, which are read when a datagram arrives.
async fn serves() -> io::Result<()> {
    let (echo, closes) =
        (TcpListener::bind("0.0.0.0:80").await?, TcpListener::bind("0.0.0.0:82").await?);
    let (counts, starts) =
        (TcpListener::bind("0.0.0.0:83").await?, UdpSocket::bind("0.0.0.0:83").await?);
    tokio::spawn(async move {
        while let Ok((stream, _)) = echo.accept().await {
            tokio::spawn(echoes(stream));
        }
    });
    tokio::spawn(async move {
        while let Ok((stream, _)) = closes.accept().await {
            tokio::time::sleep(ms(1000)).await;
            drop(stream);
        }
    });
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = counts.accept().await {
            starts.recv(&mut [0; 8]).await?;
            let mut all = Vec::new();
            stream.read_to_end(&mut all).await?;
            stream.write_u32(all.len() as u32).await?;
        }
        io::Result::Ok(())
    });
    Ok(())
}

/// Asks the peer until the connection breaks.
async fn asks_until_broken(peer: NodeId) -> io::Result<()> {
    let mut stream = TcpStream::connect((address_of(peer), 80)).await?;
    loop {
        stream.write_u8(1).await?;
        stream.read_u8().await?;
        sleep(ms(300)).await;
    }
}

impl<const WHAT: u8> AsyncNode for Does<WHAT> {
    type Msg = ();
    type Call = ();
    /// The error that ended the call.
    type Reply = Option<ErrorKind>;

    async fn open(host: AsyncHost<Self>) -> Handled<Self> {
        serves().await?;
        Ok(Does { host })
    }

    async fn on_call(self: Rc<Self>, call: CallId, (): ()) -> Handled {
        let own = self.host.id();
        let peer = self.host.peers().next().expect("there is another");
        let mut ended = None;
        match WHAT {
            FAILS => fails(peer).await?,
            CALLS_ITSELF => calls_itself(own).await?,
            ENDS => ends(peer).await?,
            FILLS => fills(peer).await?,
            NOBODY => nobody().await?,
            DATAGRAMS => datagrams(own).await?,
            MANY_BYTES => many_bytes(peer).await?,
            _ => ended = kind(asks_until_broken(peer).await),
        }
        self.host.reply(call, ended);
        Ok(())
    }
}

/// Calls one of two hosts once. `reached` is a call with this reply.
fn does<const WHAT: u8>(reply: Option<ErrorKind>) -> Cluster<Tasks<Does<WHAT>>> {
    async_cluster::<Does<WHAT>>("does", 2).clients(1, |_| ()).calls(1).steps(500, 50).sometimes(
        "done",
        move |world| {
            let mut replies = world.history().calls().iter().filter_map(|call| call.replied);
            replies.any(|(_, known)| known == reply)
        },
    )
}

/// Runs 64 walks, in each of which the call must have no error, and must end.
fn is_right<const WHAT: u8>(faults: FaultBudget) {
    let ran = run_with(does::<WHAT>(None).faults(faults), walks(64), 1);
    let reported: Vec<&str> = ran.traces.iter().map(|trace| &*trace.message).collect();
    assert!(reported.is_empty() && ran.broken.is_empty(), "{reported:?} {ran:?}");
    assert_eq!(ran.tally("reached", "done"), 64, "{ran:?}");
}

#[test]
fn the_calls_of_sockets_do_what_they_must() {
    is_right::<FAILS>(FaultBudget::NONE);
    is_right::<CALLS_ITSELF>(FaultBudget::NONE);
    is_right::<ENDS>(FaultBudget::NONE);
    is_right::<FILLS>(FaultBudget::NONE);
    is_right::<NOBODY>(FaultBudget::NONE);
    is_right::<DATAGRAMS>(FaultBudget::NONE);
}

#[test]
fn bytes_arrive_in_order_whatever_is_lost_doubled_or_late() {
    is_right::<MANY_BYTES>(FaultBudget { drops: 8, duplicates: 4, ..FaultBudget::NONE });
}

/// The next start of the peer answers with a reset, and while it is down nothing answers.
#[test]
fn a_crash_resets_the_connections_of_its_host() {
    let crash = FaultBudget { crashes: 1, ..FaultBudget::NONE };
    let reset = does::<UNTIL_BROKEN>(Some(ErrorKind::ConnectionReset)).faults(crash).steps(200, 50);
    let ran = run_with(reset, walks(64), 1);
    assert!(ran.found.is_empty() && ran.broken.is_empty(), "{ran:?}");
    assert!(ran.tally("reached", "done") > 10, "{ran:?}");
    let none = does::<UNTIL_BROKEN>(Some(ErrorKind::ConnectionReset)).steps(200, 50);
    assert_eq!(run_with(none, walks(64), 1).tally("reached", "done"), 0);
}

/// A value on two hosts, which is sent as a datagram until the other host says that it has it. If
/// `MATCHES` is false, any answer will do: one that was late, for example.
struct Largest<const MATCHES: bool> {
    host: AsyncHost<Self>,
    value: Rc<Cell<u64>>,
    socket: UdpSocket,
}

/// Keeps the largest value that it receives, and answers with what was sent.
async fn keeps(socket: UdpSocket, value: Rc<Cell<u64>>) -> io::Result<()> {
    let mut datagram = [0; 8];
    loop {
        let (_, from) = socket.recv_from(&mut datagram).await?;
        value.set(value.get().max(u64::from_be_bytes(datagram)));
        socket.send_to(&datagram, from).await?;
    }
}

impl<const MATCHES: bool> AsyncNode for Largest<MATCHES> {
    type Msg = ();
    type Call = u64;
    type Reply = ();

    async fn open(host: AsyncHost<Self>) -> Handled<Self> {
        let value = Rc::new(Cell::new(0));
        let served = UdpSocket::bind("0.0.0.0:5000").await?;
        spawn_local(keeps(served, Rc::clone(&value)));
        let socket = UdpSocket::bind("0.0.0.0:0").await?;
        let peer = host.peers().next().expect("there is another");
        socket.connect((address_of(peer), 5000)).await?;
        Ok(Largest { host, value, socket })
    }

    async fn on_call(self: Rc<Self>, call: CallId, value: u64) -> Handled {
        let mut answer = [0; 8];
        loop {
            self.socket.send(&value.to_be_bytes()).await?;
            let answered = timeout(ms(60), self.socket.recv(&mut answer)).await;
            if answered.is_ok() && (!MATCHES || u64::from_be_bytes(answer) == value) {
                break;
            }
        }
        self.host.reply(call, ());
        Ok(())
    }
}

fn largest<const MATCHES: bool>(name: &str) -> Cluster<Tasks<Largest<MATCHES>>> {
    async_cluster::<Largest<MATCHES>>(name, 2)
        .clients(1, |next| next.fresh())
        .calls(4)
        .faults(FaultBudget { drops: 3, duplicates: 2, ..FaultBudget::NONE })
        .steps(80, 20)
        .always("the other host has an acknowledged value", |world| {
            let mut acknowledged =
                world.history().calls().iter().filter(|call| call.replied.is_some());
            acknowledged.all(|call| {
                let mut others = world.up().filter(|node| node.id != call.node);
                others
                    .all(|node| node.get().node().is_none_or(|kept| kept.value.get() >= call.call))
            })
        })
        .sometimes("a value was acknowledged", |world| {
            world.history().calls().iter().any(|call| call.replied.is_some())
        })
}

#[test]
fn a_late_datagram_that_is_taken_for_another_answer_is_found_and_replays() {
    let ran = run_with(largest::<false>("largest+any-answer"), walks(640), 1);
    let found = "largest+any-answer/check-failed/the-other-host-has-an-acknowledged-value";
    assert!(ran.found.iter().any(|one| one.starts_with(found)) && ran.broken.is_empty(), "{ran:?}");
}

#[test]
fn an_answer_that_is_matched_is_right_with_equal_counts_for_any_number_of_jobs() {
    let run = |walked, jobs| run_with(largest::<true>("largest"), walks(walked), jobs);
    let (one, three) = (run(640, 1), run(640, 3));
    for ran in [&one, &three] {
        assert!(ran.found.is_empty() && ran.broken.is_empty(), "{ran:?}");
    }
    assert_eq!(one.counts(), three.counts());
    assert_eq!(one.summary.states, exactly(640));
    assert!(one.tally("reached", "a value was acknowledged") > 600, "{one:?}");
    let short = run(32, 1).counts();
    for _ in 1..20 {
        assert_eq!(run(32, 1).counts(), short);
    }
}
