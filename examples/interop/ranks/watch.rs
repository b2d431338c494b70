//! Notices that a rank is dead: NCCL would wait for it forever.
//!
//! Rank 0 has a connection to each of the others. On each, both sides send a heartbeat every second and read those of the other
//! side. A connection that closes without a goodbye, or is silent for too long, is a dead rank, and rank 0 tells the others which.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::RankError;
use crate::rendezvous::Peer;

/// A message is one of these and the number of a rank.
const ALIVE: u8 = b'a';
const BYE: u8 = b'b';
const DEAD: u8 = b'd';

const EVERY: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(1);

/// How long the main thread has, once a rank is dead, to end by itself. What it calls may never return.
const GRACE: Duration = Duration::from_secs(10);

/// What a rank says of itself.
const FAILED: &str = "it has failed, and says itself why";

/// The status of a process whose main thread did not end.
const STUCK: i32 = 3;

/// The connections, and what was heard on them.
pub(crate) struct Watch {
    shared: Arc<Shared>,
}

struct Shared {
    rank: u32,
    peers: Mutex<Vec<Peer>>,
    /// Peers that have said goodbye.
    left: AtomicUsize,
    /// The first that died, and how that was noticed.
    dead: OnceLock<(u32, String)>,
}

impl Watch {
    /// Watches the peers of this rank: all of them for rank 0, rank 0 for the others.
    pub(crate) fn start(rank: u32, peers: Vec<Peer>, silence: Duration) -> std::io::Result<Self> {
        let listeners: Vec<Peer> = peers
            .iter()
            .map(|(rank, stream)| Ok((*rank, stream.try_clone()?)))
            .collect::<std::io::Result<_>>()?;
        let (left, dead) = (AtomicUsize::new(0), OnceLock::new());
        let shared = Arc::new(Shared { rank, peers: Mutex::new(peers), left, dead });
        for (peer, stream) in listeners {
            stream.set_read_timeout(Some(silence))?;
            let shared = shared.clone();
            thread::spawn(move || shared.listen(peer, stream, silence));
        }
        let beats = shared.clone();
        thread::spawn(move || {
            loop {
                beats.send(ALIVE, rank);
                thread::sleep(EVERY);
            }
        });
        Ok(Self { shared })
    }

    /// An error if a rank is dead.
    pub(crate) fn check(&self) -> Result<(), RankError> {
        let Some((rank, how)) = self.shared.dead.get() else { return Ok(()) };
        Err(RankError::Dead { rank: *rank, how: how.clone() })
    }

    /// The same, for an error that may be the consequence of a death that will be noticed in a moment.
    pub(crate) fn check_for(&self, limit: Duration) -> Result<(), RankError> {
        let end = Instant::now() + limit;
        while Instant::now() < end {
            self.check()?;
            thread::sleep(PAUSE);
        }
        self.check()
    }

    /// Tells the others that this rank has failed, before it does what may take long, or never end.
    pub(crate) fn fail(&self) {
        let shared = self.shared.clone();
        shared.send(DEAD, shared.rank);
        thread::spawn(move || shared.bury(shared.rank, FAILED.into()));
    }

    /// Says goodbye, and waits until the others have: until then, any of them may still need the watch.
    pub(crate) fn leave(self) -> Result<(), RankError> {
        let shared = &self.shared;
        let count = shared.peers().len();
        if shared.rank != 0 {
            shared.send(BYE, shared.rank);
        }
        while shared.left.load(Ordering::Acquire) < count {
            self.check()?;
            thread::sleep(PAUSE);
        }
        if shared.rank == 0 {
            shared.send(BYE, 0);
        }
        Ok(())
    }
}

impl Shared {
    fn peers(&self) -> std::sync::MutexGuard<'_, Vec<Peer>> {
        self.peers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells all peers.
    fn send(&self, kind: u8, rank: u32) {
        send(&mut self.peers(), kind, rank);
    }

    /// Hears one peer until it leaves or dies.
    fn listen(&self, peer: u32, mut stream: TcpStream, silence: Duration) {
        let (dead, how) = loop {
            let mut message = [0; 5];
            if let Err(reason) = stream.read_exact(&mut message) {
                break (peer, how(&reason, silence));
            }
            let [kind, rank @ ..] = message;
            match kind {
                ALIVE => {}
                BYE => {
                    self.left.fetch_add(1, Ordering::Release);
                    return;
                }
                DEAD => match u32::from_le_bytes(rank) {
                    rank if rank == peer => break (peer, FAILED.into()),
                    rank => break (rank, format!("rank {peer} has noticed it")),
                },
                _ => break (peer, "it sends what is no message".into()),
            }
        };
        self.bury(dead, how);
    }

    /// Remembers the death if it is the first.
    ///
    /// The peers are told before it is remembered, as the main thread may end the process as soon as it knows. A peer that is told
    /// says at once that it fails, too: the lock is held for both, so that this comes second.
    fn is_first(&self, dead: u32, how: &str) -> bool {
        let mut peers = self.peers();
        if self.rank == 0 && self.dead.get().is_none() {
            send(&mut peers, DEAD, dead);
        }
        self.dead.set((dead, how.into())).is_ok()
    }

    /// Remembers the death if it is the first, and ends this process if its main thread does not.
    fn bury(&self, dead: u32, how: String) {
        if self.is_first(dead, &how) {
            thread::sleep(GRACE);
            let error = RankError::Dead { rank: dead, how };
            eprintln!("rank {}: {error}; the main thread did not end within {GRACE:?}", self.rank);
            std::process::exit(STUCK);
        }
    }
}

/// A failure is not looked at: who listens there notices it, too.
fn send(peers: &mut [Peer], kind: u8, rank: u32) {
    let [a, b, c, d] = rank.to_le_bytes();
    for (_, stream) in peers {
        let _ = stream.write_all(&[kind, a, b, c, d]);
    }
}

fn how(reason: &std::io::Error, silence: Duration) -> String {
    match reason.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => format!("no sign of life for {silence:?}"),
        ErrorKind::UnexpectedEof => "its connection was closed without a goodbye".into(),
        _ => reason.to_string(),
    }
}
