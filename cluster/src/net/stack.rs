//! The TCP/IP stack of a host.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::rc::{Rc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use smoltcp::iface::{
    Config, Interface, PollIngressSingleResult, PollResult, SocketHandle, SocketSet,
};
use smoltcp::socket::{Socket, tcp, udp};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint, IpListenEndpoint};

use super::device::PacketQueues;
use super::host_address::{address_of, host_of};
use super::packet::IpPacket;
use crate::node::NodeId;

/// The size of the buffers of a TCP connection, one in each direction.
const BUFFER: usize = 16 * 1024;
/// The number of connections that wait to be accepted, or to be established.
const BACKLOG: usize = 128;
/// The ports of sockets that choose none.
const FREE_PORTS: std::ops::Range<u16> = 49152..u16::MAX;
/// The time after which a connection that hears nothing from its peer is given up, as on Linux
/// while it is opened.
const GIVES_UP: Duration = Duration::from_secs(127);

thread_local! {
    /// The stacks of the walk that runs in this thread.
    static STACKS: RefCell<Vec<Weak<HostStack>>> = const { RefCell::new(Vec::new()) };
    /// The place of the stack whose tasks run.
    static CURRENT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The TCP/IP stack of a host that is up.
pub(crate) struct HostStack {
    place: usize,
    hosts: usize,
    sockets: RefCell<HostSockets>,
}

/// The sockets of a host.
pub(super) struct HostSockets {
    interface: Interface,
    pub set: SocketSet<'static>,
    queues: PacketQueues,
    now: Instant,
    address: Ipv4Addr,
    hosts: usize,
    /// The port from which the next free one is looked for.
    next_port: u16,
    listeners: Vec<Listening>,
    next_listener: u32,
    /// The connections that no task has, until they are closed.
    orphans: Vec<SocketHandle>,
    /// The peers of UDP sockets that have one.
    pub peers: Vec<(SocketHandle, SocketAddrV4)>,
    /// The tasks that wait for a socket.
    waiting: Vec<Waker>,
    /// True if something has changed that a task may wait for.
    has_changed: bool,
    sends: Box<dyn Fn(NodeId, IpPacket)>,
}

/// A listener, with its connections that are not accepted. One of them waits for a peer, unless
/// there are too many.
struct Listening {
    id: u32,
    address: Option<Ipv4Addr>,
    port: u16,
    waiting: Vec<SocketHandle>,
}

/// A socket of a task. After a crash of the host nothing that is done with it happens.
#[derive(Debug)]
pub(super) struct TaskSocket<H> {
    place: usize,
    pub handle: H,
}

impl HostStack {
    /// Returns the stack of a host that starts now. Its numbers depend on the seed; `sends` sends a
    /// packet.
    pub fn start(
        (id, hosts): (NodeId, usize),
        seed: u64,
        now: Duration,
        sends: Box<dyn Fn(NodeId, IpPacket)>,
    ) -> Rc<HostStack> {
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let (now, mut queues) = (instant(now), PacketQueues::default());
        let mut interface = Interface::new(config, &mut queues, now);
        let address = address_of(id);
        interface.update_ip_addrs(|known| {
            for (address, prefix) in [(address, 24), (Ipv4Addr::LOCALHOST, 8)] {
                known.push(IpCidr::new(address.into(), prefix)).expect("there is room for two");
            }
        });
        let ports = FREE_PORTS.len() as u64;
        let sockets = HostSockets {
            interface,
            set: SocketSet::new(Vec::new()),
            queues,
            now,
            address,
            hosts,
            next_port: FREE_PORTS.start + (seed % ports) as u16,
            listeners: Vec::new(),
            next_listener: 0,
            orphans: Vec::new(),
            peers: Vec::new(),
            waiting: Vec::new(),
            has_changed: false,
            sends,
        };
        STACKS.with_borrow_mut(|stacks| {
            let place = stacks.len();
            let stack = Rc::new(HostStack { place, hosts, sockets: RefCell::new(sockets) });
            stacks.push(Rc::downgrade(&stack));
            stack
        })
    }

    /// Runs tasks of the host at this time.
    pub fn enter<T>(&self, now: Duration, tasks: impl FnOnce() -> T) -> T {
        self.sockets.borrow_mut().now = instant(now);
        let before = CURRENT.replace(Some(self.place));
        let result = tasks();
        CURRENT.set(before);
        result
    }

    /// Receives a packet.
    pub fn receive(&self, packet: IpPacket) {
        self.works(|sockets| sockets.receive(packet));
    }

    /// Sends what is to be sent now. Returns true if anything has changed, so that tasks must run.
    pub fn pump(&self) -> bool {
        self.works(HostSockets::pump)
    }

    /// Returns the time at which the stack has something to do.
    pub fn due(&self) -> Option<Duration> {
        let mut sockets = self.sockets.borrow_mut();
        let HostSockets { interface, set, now, .. } = &mut *sockets;
        let due = interface.poll_at(*now, set)?;
        Some(Duration::from_micros(due.max(*now).total_micros() as u64))
    }

    /// Returns the stack of the tasks that run.
    ///
    /// # Errors
    /// No host's tasks run.
    pub(super) fn current() -> io::Result<Rc<HostStack>> {
        let current = CURRENT.get().and_then(at_place);
        current.ok_or_else(|| {
            io::Error::other("a socket of explode_cluster::net belongs in a task of a host")
        })
    }

    pub(super) fn hosts(&self) -> usize {
        self.hosts
    }

    /// Returns the time at which a connection that is opened now is given up.
    pub(super) fn gives_up(&self) -> Instant {
        self.sockets.borrow().now + GIVES_UP.into()
    }

    /// Makes a socket of a task.
    pub(super) fn make<H>(
        &self,
        make: impl FnOnce(&mut HostSockets) -> io::Result<H>,
    ) -> io::Result<TaskSocket<H>> {
        let handle = self.works(|sockets| {
            let made = make(sockets);
            sockets.pump();
            made
        })?;
        Ok(TaskSocket { place: self.place, handle })
    }

    /// Calls `work`, then wakes the tasks that it wakes.
    fn works<T>(&self, work: impl FnOnce(&mut HostSockets) -> T) -> T {
        let mut sockets = self.sockets.borrow_mut();
        let result = work(&mut sockets);
        let woken = sockets.take_woken();
        // A waker may drop a task, which drops its sockets.
        drop(sockets);
        woken.into_iter().for_each(Waker::wake);
        result
    }
}

impl<H: Copy> TaskSocket<H> {
    /// Returns a socket of the same host.
    pub fn sibling<S>(&self, handle: S) -> TaskSocket<S> {
        TaskSocket { place: self.place, handle }
    }

    /// Calls `work` with the sockets of the host, then sends what is to be sent.
    ///
    /// # Errors
    /// The host has crashed.
    pub fn with<T>(
        &self,
        work: impl FnOnce(&mut HostSockets, H) -> io::Result<T>,
    ) -> io::Result<T> {
        let stack = at_place(self.place).ok_or(io::ErrorKind::NotConnected)?;
        stack.works(|sockets| {
            let result = work(sockets, self.handle);
            sockets.pump();
            result
        })
    }

    /// Calls `work` at the end of the socket. After a crash of the host nothing is left to end.
    pub fn ends(&self, work: impl FnOnce(&mut HostSockets, H)) {
        let ended = self.with(|sockets, handle| {
            work(sockets, handle);
            Ok(())
        });
        ended.ok();
    }

    /// Calls `work` for a task that may wait, then sends what is to be sent.
    pub fn poll<T>(
        &self,
        cx: &mut Context<'_>,
        work: impl FnOnce(&mut HostSockets, H) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        let polled = self.with(|sockets, handle| {
            let polled = work(sockets, handle);
            if polled.is_pending() {
                sockets.waits(cx.waker());
            }
            Ok(polled)
        });
        polled.unwrap_or_else(|error| Poll::Ready(Err(error)))
    }
}

impl HostSockets {
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the TCP socket.
    pub fn tcp(&mut self, handle: SocketHandle) -> &mut tcp::Socket<'static> {
        self.set.get_mut(handle)
    }

    /// Returns the UDP socket.
    pub fn udp(&mut self, handle: SocketHandle) -> &mut udp::Socket<'static> {
        self.set.get_mut(handle)
    }

    /// Begins to connect to a peer.
    ///
    /// # Errors
    /// No address of the peer has these numbers.
    pub fn connect(&mut self, peer: SocketAddrV4) -> io::Result<SocketHandle> {
        let port = self.free_port()?;
        let mut socket = tcp_socket();
        let own = if peer.ip().is_loopback() { Ipv4Addr::LOCALHOST } else { self.address };
        let connected = socket.connect(self.interface.context(), peer, (own, port));
        connected.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(self.set.add(socket))
    }

    /// Begins to listen.
    ///
    /// # Errors
    /// The address is not one of the host, or in use.
    pub fn listen(&mut self, at: SocketAddrV4) -> io::Result<u32> {
        let (address, port) = self.bindable(at)?;
        let taken = |known: &Listening| known.port == port && overlap(known.address, address);
        if self.listeners.iter().any(taken) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let id = self.next_listener;
        self.next_listener += 1;
        self.listeners.push(Listening { id, address, port, waiting: Vec::new() });
        self.listen_again();
        Ok(id)
    }

    /// Returns the address at which a listener listens.
    pub fn listens_at(&self, id: u32) -> SocketAddrV4 {
        let listener = self.listeners.iter().find(|known| known.id == id).expect("it listens");
        SocketAddrV4::new(listener.address.unwrap_or(Ipv4Addr::UNSPECIFIED), listener.port)
    }

    /// Takes a connection that is established.
    pub fn accept(&mut self, id: u32) -> Option<SocketHandle> {
        let listener = self.listeners.iter_mut().find(|known| known.id == id).expect("it listens");
        let is_open = |handle: &SocketHandle| {
            let state = self.set.get::<tcp::Socket<'_>>(*handle).state();
            matches!(state, tcp::State::Established | tcp::State::CloseWait)
        };
        let first = listener.waiting.iter().position(is_open)?;
        Some(listener.waiting.remove(first))
    }

    /// Ends a listener, and the connections that are not accepted.
    pub fn ends_listener(&mut self, id: u32) {
        let Some(place) = self.listeners.iter().position(|known| known.id == id) else { return };
        for handle in self.listeners.remove(place).waiting {
            self.tcp(handle).abort();
            self.orphans.push(handle);
        }
    }

    /// Makes a UDP socket.
    ///
    /// # Errors
    /// The address is not one of the host, or in use.
    pub fn bind_udp(&mut self, at: SocketAddrV4) -> io::Result<SocketHandle> {
        let (address, port) = self.bindable(at)?;
        let in_use = self.set.iter().any(|(_, socket)| match socket {
            Socket::Udp(socket) => {
                let known = socket.endpoint();
                let ip = known.addr.map(v4);
                known.port == port && overlap(ip, address)
            }
            Socket::Tcp(_) => false,
        });
        if in_use {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        let buffer =
            || udp::PacketBuffer::new(vec![udp::PacketMetadata::EMPTY; 64], vec![0; 4 * BUFFER]);
        let mut socket = udp::Socket::new(buffer(), buffer());
        let endpoint = IpListenEndpoint { addr: address.map(Into::into), port };
        socket.bind(endpoint).map_err(|error| io::Error::other(format!("{error:?}")))?;
        Ok(self.set.add(socket))
    }

    /// Closes a connection that no task has any more. A peer whose data was not read gets a
    /// reset.
    pub fn leaves(&mut self, handle: SocketHandle) {
        self.tcp(handle).close();
        self.orphans.push(handle);
    }

    /// Lets a task wait until something changes.
    fn waits(&mut self, waker: &Waker) {
        if !self.waiting.iter().any(|known| known.will_wake(waker)) {
            self.waiting.push(waker.clone());
        }
    }

    /// Returns the address of a host as it can be bound to, and a free port if none is given.
    fn bindable(&mut self, at: SocketAddrV4) -> io::Result<(Option<Ipv4Addr>, u16)> {
        let address = (!at.ip().is_unspecified()).then_some(*at.ip());
        if address.is_some_and(|ip| ip != self.address && !ip.is_loopback()) {
            let text =
                format!("{} is no address of this host, which has {}", at.ip(), self.address);
            return Err(io::Error::new(io::ErrorKind::AddrNotAvailable, text));
        }
        let port = if at.port() == 0 { self.free_port()? } else { at.port() };
        Ok((address, port))
    }

    fn free_port(&mut self) -> io::Result<u16> {
        for _ in FREE_PORTS {
            let port = self.next_port;
            self.next_port = if port + 1 == FREE_PORTS.end { FREE_PORTS.start } else { port + 1 };
            let in_use = self.set.iter().any(|(_, socket)| match socket {
                Socket::Udp(socket) => socket.endpoint().port == port,
                Socket::Tcp(socket) => {
                    let local = socket.local_endpoint().map(|local| local.port);
                    local == Some(port) || socket.listen_endpoint().port == port
                }
            });
            if !in_use {
                return Ok(port);
            }
        }
        Err(io::ErrorKind::AddrInUse.into())
    }
}

impl HostSockets {
    /// Receives a packet.
    fn receive(&mut self, packet: IpPacket) {
        // A connection that exists receives a repeated request, and not a listener.
        let aside = match packet.asks_for_connection() {
            Some((port, from)) if self.is_connected(port, (packet.sender(), from)) => {
                self.take_listening(port)
            }
            _ => Vec::new(),
        };
        self.queues.arrived.push_back(packet.into_bytes());
        while self.ingress() {}
        for (listener, socket) in aside {
            let handle = self.set.add(socket);
            self.listeners[listener].waiting.push(handle);
        }
        self.listen_again();
    }

    /// Lets a packet that has arrived take effect. Returns false if there is none.
    fn ingress(&mut self) -> bool {
        let HostSockets { interface, queues, set, now, .. } = self;
        let is_none =
            interface.poll_ingress_single(*now, queues, set) == PollIngressSingleResult::None;
        self.has_changed |= !is_none;
        !is_none
    }

    /// Sends what is to be sent now. Returns true if anything has changed.
    fn pump(&mut self) -> bool {
        let mut has_changed = false;
        loop {
            self.abort_unread();
            let HostSockets { interface, queues, set, now, .. } = self;
            while interface.poll_egress(*now, queues, set) == PollResult::SocketStateChanged {
                has_changed = true;
            }
            while let Some(packet) = self.queues.leaving.pop_front() {
                self.leave(IpPacket::new(packet));
            }
            // Packets to the host itself have arrived.
            if self.queues.arrived.is_empty() {
                break;
            }
            while let Some(packet) = self.queues.arrived.pop_front() {
                self.receive(IpPacket::new(packet));
            }
        }
        self.remove_closed();
        self.has_changed |= has_changed;
        has_changed
    }

    /// Lets a packet leave. One that has no receiver is lost, and so is news of a missing port.
    fn leave(&mut self, packet: IpPacket) {
        let to = packet.receiver();
        if !packet.has_ports() {
            return;
        }
        if to == self.address || to.is_loopback() {
            self.queues.arrived.push_back(packet.into_bytes());
        } else if let Some(node) = host_of(to, self.hosts) {
            (self.sends)(node, packet);
        }
    }

    /// Lets one connection of each listener wait for a peer.
    fn listen_again(&mut self) {
        for listener in &mut self.listeners {
            let state = |handle| self.set.get::<tcp::Socket<'_>>(handle).state();
            let ended: Vec<SocketHandle> = listener
                .waiting
                .extract_if(.., |handle| state(*handle) == tcp::State::Closed)
                .collect();
            self.orphans.extend(ended);
            let listens = listener.waiting.iter().any(|known| state(*known) == tcp::State::Listen);
            if !listens && listener.waiting.len() < BACKLOG {
                let mut socket = tcp_socket();
                let endpoint = IpListenEndpoint {
                    addr: listener.address.map(Into::into),
                    port: listener.port,
                };
                socket.listen(endpoint).expect("it is new, and the port is not 0");
                listener.waiting.push(self.set.add(socket));
            }
        }
    }

    /// Returns true if there is a connection with this port and this peer.
    fn is_connected(&self, port: u16, peer: (Ipv4Addr, u16)) -> bool {
        let peer = IpEndpoint::from(peer);
        self.set.iter().any(|(_, socket)| match socket {
            Socket::Tcp(socket) => {
                let local = socket.local_endpoint().map(|local| local.port);
                local == Some(port) && socket.remote_endpoint() == Some(peer)
            }
            Socket::Udp(_) => false,
        })
    }

    /// Takes the sockets that wait for a peer at a port, each with the place of its listener.
    fn take_listening(&mut self, port: u16) -> Vec<(usize, Socket<'static>)> {
        let mut taken = Vec::new();
        for (place, listener) in self.listeners.iter_mut().enumerate() {
            let is_listening = |handle: &mut SocketHandle| {
                let socket = self.set.get::<tcp::Socket<'_>>(*handle);
                listener.port == port && socket.state() == tcp::State::Listen
            };
            let handles: Vec<SocketHandle> =
                listener.waiting.extract_if(.., is_listening).collect();
            taken.extend(handles.into_iter().map(|handle| (place, self.set.remove(handle))));
        }
        taken
    }

    /// Resets the connections that no task has and that have data, which nothing will read.
    fn abort_unread(&mut self) {
        for handle in &self.orphans {
            let socket = self.set.get_mut::<tcp::Socket<'_>>(*handle);
            if socket.recv_queue() > 0 && socket.is_open() {
                socket.abort();
            }
        }
    }

    /// Removes the connections that no task has and that are closed.
    fn remove_closed(&mut self) {
        let is_closed = |handle: &mut SocketHandle| {
            let socket = self.set.get::<tcp::Socket<'_>>(*handle);
            !socket.is_open() && socket.remote_endpoint().is_none()
        };
        let closed: Vec<SocketHandle> = self.orphans.extract_if(.., is_closed).collect();
        for handle in closed {
            self.set.remove(handle);
        }
    }

    fn take_woken(&mut self) -> Vec<Waker> {
        let has_changed = std::mem::take(&mut self.has_changed);
        if has_changed { std::mem::take(&mut self.waiting) } else { Vec::new() }
    }
}

fn at_place(place: usize) -> Option<Rc<HostStack>> {
    STACKS.with_borrow(|stacks| stacks.get(place)?.upgrade())
}

fn tcp_socket() -> tcp::Socket<'static> {
    let buffer = || tcp::SocketBuffer::new(vec![0; BUFFER]);
    let mut socket = tcp::Socket::new(buffer(), buffer());
    // Acknowledgements leave with the answer, or when all tasks wait.
    socket.set_ack_delay(None);
    socket.set_timeout(Some(GIVES_UP.into()));
    socket
}

/// Returns the address as one of IPv4, which all hosts have.
pub(super) fn v4(address: IpAddress) -> Ipv4Addr {
    match address.into() {
        IpAddr::V4(address) => address,
        IpAddr::V6(address) => unreachable!("no host has an address like {address}"),
    }
}

/// Returns true if two sockets at these addresses are in each other's way.
fn overlap(one: Option<Ipv4Addr>, other: Option<Ipv4Addr>) -> bool {
    one == other || one.is_none() || other.is_none()
}

fn instant(time: Duration) -> Instant {
    Instant::from_micros(time.as_micros() as i64)
}
