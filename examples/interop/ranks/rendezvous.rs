//! The rendezvous: rank 0 listens, the others connect to it, and receive the identifier of the NCCL communicator.
//!
//! A rank sends its number and the number of ranks; rank 0 replies, once all have connected, with the identifier or with the
//! reason why not. The connections stay open: [`crate::watch`] uses them.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use crate::error::RankError;
use crate::launcher::Place;

/// `ncclUniqueId`
pub(crate) type Id = [u8; 128];

/// How every hello and every answer begins.
const MAGIC: &[u8; 8] = b"CLRANKS1";
const TAKEN: u8 = 0;
const REFUSED: u8 = 1;

/// How long whoever connects may take to say hello: the others wait behind it.
const HELLO: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(5);

/// A connection to another rank.
pub(crate) type Peer = (u32, TcpStream);

/// What is left until then, but not nothing: a limit of zero is none.
fn left(end: Instant) -> Duration {
    end.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
}

/// Rank 0's part: all other ranks, in order, each of which has the identifier.
pub(crate) fn lead(place: &Place, id: &Id, within: Duration) -> Result<Vec<Peer>, RankError> {
    let mut peers = Vec::new();
    let gathered = gather(place, within, &mut peers);
    let answer = match &gathered {
        Ok(()) => [&MAGIC[..], &[TAKEN], id].concat(),
        Err(error) => refusal(&error.to_string()),
    };
    for (rank, stream) in &mut peers {
        let said = stream.write_all(&answer);
        if let (Ok(()), Err(reason)) = (&gathered, said) {
            return Err(RankError::Dead { rank: *rank, how: reason.to_string() });
        }
    }
    peers.sort_by_key(|(rank, _)| *rank);
    gathered.map(|()| peers)
}

fn refusal(why: &str) -> Vec<u8> {
    [&MAGIC[..], &[REFUSED], why.as_bytes()].concat()
}

/// Waits for all other ranks; those that came are in `peers` in any case.
fn gather(place: &Place, within: Duration, peers: &mut Vec<Peer>) -> Result<(), RankError> {
    let end = Instant::now() + within;
    let listener = listen(place)?;
    let mut strangers = Vec::new();
    while peers.len() + 1 < place.world as usize {
        let (mut stream, address) = match listener.accept() {
            Ok(connected) => connected,
            Err(_) if Instant::now() < end => {
                std::thread::sleep(PAUSE);
                continue;
            }
            Err(_) => {
                let came = |rank: &u32| peers.iter().any(|(peer, _)| peer == rank);
                let ranks = (1..place.world).filter(|rank| !came(rank)).collect();
                return Err(RankError::Missing { ranks, within, strangers });
            }
        };
        let Some((rank, world)) = hello(&mut stream, left(end).min(HELLO)) else {
            strangers.push(address);
            continue;
        };
        let taken = peers.iter().any(|(peer, _)| *peer == rank);
        let why = match () {
            () if world != place.world => format!("rank 0 was started as one of {}", place.world),
            () if rank == 0 || rank >= world || taken => {
                format!("there is another rank {rank}, or there should be none")
            }
            () => {
                peers.push((rank, stream));
                continue;
            }
        };
        let error = RankError::Disagree { rank, world, why };
        // It ends with the same words; if it is gone, it needs none.
        let _ = stream.write_all(&refusal(&error.to_string()));
        return Err(error);
    }
    Ok(())
}

/// At this machine only, if that is where rank 0 is looked for; else at all its addresses, since the one that others know may be a
/// router's.
fn listen(place: &Place) -> Result<TcpListener, RankError> {
    let address = format!("{}:{}", place.host, place.port);
    let bind = || {
        let known = (place.host.as_str(), place.port).to_socket_addrs()?.next();
        let ip = match known.map(|address| address.ip()) {
            Some(ip) if ip.is_loopback() => ip,
            Some(IpAddr::V6(_)) => Ipv6Addr::UNSPECIFIED.into(),
            _ => Ipv4Addr::UNSPECIFIED.into(),
        };
        let listener = TcpListener::bind((ip, place.port))?;
        listener.set_nonblocking(true)?;
        Ok(listener)
    };
    bind().map_err(|reason| RankError::Listen { address, reason })
}

/// Rank and number of ranks, of whoever connected; `None` if that is no rank.
fn hello(stream: &mut TcpStream, within: Duration) -> Option<(u32, u32)> {
    stream.set_nonblocking(false).ok()?;
    stream.set_nodelay(true).ok()?;
    stream.set_read_timeout(Some(within)).ok()?;
    let mut bytes = [0; 16];
    stream.read_exact(&mut bytes).ok()?;
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    if bytes.starts_with(MAGIC) { number(8).zip(number(12)) } else { None }
}

/// Another rank's part: the identifier, and the connection to rank 0.
pub(crate) fn join(place: &Place, within: Duration) -> Result<(Id, Peer), RankError> {
    let end = Instant::now() + within;
    let mut stream = connect(place, end, within)?;
    let address = stream.peer_addr().map_err(|reason| unreachable(place, within, &reason.to_string()))?;
    answer(&mut stream, place, end).map(|id| (id, (0, stream))).map_err(|error| match error {
        Answer::Refused(why) => RankError::Refused(why),
        Answer::None(reason) if matches!(reason.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            unreachable(place, within, &format!("{address} accepts and does not answer"))
        }
        Answer::None(reason) => RankError::NotRankZero { address, reason: reason.to_string() },
    })
}

fn unreachable(place: &Place, within: Duration, reason: &str) -> RankError {
    let address = format!("{}:{}", place.host, place.port);
    RankError::Unreachable { address, within, reason: reason.into() }
}

fn connect(place: &Place, end: Instant, within: Duration) -> Result<TcpStream, RankError> {
    let attempt = || {
        let all: Vec<SocketAddr> = (place.host.as_str(), place.port).to_socket_addrs()?.collect();
        let mut last = std::io::Error::from(ErrorKind::AddrNotAvailable);
        for address in all {
            match TcpStream::connect_timeout(&address, left(end).min(HELLO)) {
                Ok(stream) => return Ok(stream),
                Err(reason) => last = reason,
            }
        }
        Err(last)
    };
    loop {
        match attempt() {
            Ok(stream) => return Ok(stream),
            Err(reason) if Instant::now() >= end => {
                return Err(unreachable(place, within, &reason.to_string()));
            }
            Err(_) => std::thread::sleep(10 * PAUSE),
        }
    }
}

/// Why there is no identifier.
enum Answer {
    Refused(String),
    None(std::io::Error),
}

impl From<std::io::Error> for Answer {
    fn from(reason: std::io::Error) -> Self {
        Self::None(reason)
    }
}

fn answer(stream: &mut TcpStream, place: &Place, end: Instant) -> Result<Id, Answer> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(left(end)))?;
    stream.write_all(&[&MAGIC[..], &place.rank.to_le_bytes(), &place.world.to_le_bytes()].concat())?;
    let (mut head, mut id) = ([0; 9], [0; 128]);
    stream.read_exact(&mut head)?;
    match head.strip_prefix(&MAGIC[..]) {
        Some([TAKEN]) => stream.read_exact(&mut id).map(|()| id).map_err(Answer::None),
        Some([REFUSED]) => {
            let mut why = String::new();
            stream.take(4096).read_to_string(&mut why)?;
            Err(Answer::Refused(why))
        }
        _ => Err(std::io::Error::other("its answer has another form").into()),
    }
}
