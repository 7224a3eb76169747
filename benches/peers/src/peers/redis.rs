//! Redis on a socket of this machine, started here and ended with the peer.
//!
//! A set and a list for each address, changed together by a script in the server; its append-only
//! file is on. A batch is a pipeline.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ::redis::{Client, Connection, Script, pipe};

use crate::ids::Id;
use crate::peer::{Failure, Peer, Result, Session, Setup, Survives};

/// The server.
pub const PROGRAM: &str = "redis-server";

const ADD: &str = "
    if redis.call('SADD', KEYS[1], ARGV[1]) == 0 then return 0 end
    if redis.call('RPUSH', KEYS[2], ARGV[1]) > tonumber(ARGV[2]) then
        redis.call('SREM', KEYS[1], redis.call('LPOP', KEYS[2]))
    end
    return 1";

struct Redis {
    server: Mutex<Server>,
    process: u32,
    client: Client,
    windows: Vec<usize>,
    digest: String,
}

/// The process; ended when dropped, however that comes.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }
}

/// Whether there is a server to start.
pub fn is_present() -> bool {
    let mut command = Command::new(PROGRAM);
    command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Where the server that works in `directory` writes its process number.
pub fn process_file(directory: &Path) -> PathBuf {
    directory.join("redis.pid")
}

pub fn open(setup: &Setup) -> Result<Box<dyn Peer>> {
    // With `everysec` a write may be put off while a sync is on its way: a kill could lose it.
    let fsync = match setup.survives {
        Survives::Power => "always",
        _ => "no",
    };
    let socket = setup.directory.join("redis.sock");
    let mut command = Command::new(PROGRAM);
    command
        .current_dir(&setup.directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command.args([
        "--port",
        "0",
        "--daemonize",
        "no",
        "--save",
        "",
        "--appendonly",
        "yes",
    ]);
    command
        .args(["--appendfsync", fsync, "--unixsocket"])
        .arg(&socket);
    command.arg("--pidfile").arg(process_file(&setup.directory));
    command.arg("--dir").arg(&setup.directory);
    let mut server = Server(command.spawn()?);
    let client = Client::open(format!("redis+unix://{}", socket.display()))?;
    let mut connection = wait_until_loaded(&mut server, &client)?;
    let script = Script::new(ADD);
    let digest = script.prepare_invoke().load(&mut connection)?;
    Ok(Box::new(Redis {
        process: server.0.id(),
        server: Mutex::new(server),
        client,
        windows: setup.windows.clone(),
        digest,
    }))
}

fn wait_until_loaded(server: &mut Server, client: &Client) -> Result<Connection> {
    let began = Instant::now();
    loop {
        if let Ok(mut connection) = client.get_connection() {
            let answer: ::redis::RedisResult<String> = ::redis::cmd("PING").query(&mut connection);
            if answer.is_ok() {
                return Ok(connection);
            }
        }
        if let Some(status) = server.0.try_wait()? {
            return Err(Failure::from(format!("{PROGRAM} ended: {status}")));
        }
        if began.elapsed() > Duration::from_secs(30) {
            return Err(Failure::from(format!("{PROGRAM} does not answer")));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl Peer for Redis {
    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let keys = (0..self.windows.len())
            .map(|address| [format!("ids-{address}"), format!("order-{address}")]);
        Ok(Box::new(RedisSession {
            peer: self,
            keys: keys.collect(),
            connection: self.client.get_connection()?,
        }))
    }

    fn server(&self) -> Option<u32> {
        Some(self.process)
    }

    fn close(self: Box<Self>) -> Result<()> {
        // The server closes the connection instead of an answer.
        let mut connection = self.client.get_connection()?;
        let _: ::redis::RedisResult<String> = ::redis::cmd("SHUTDOWN").query(&mut connection);
        let mut server = self
            .server
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(20) {
            if server.0.try_wait()?.is_some() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        Err(Failure::from(format!("{PROGRAM} does not end")))
    }
}

struct RedisSession<'a> {
    peer: &'a Redis,
    keys: Vec<[String; 2]>,
    connection: Connection,
}

impl RedisSession<'_> {
    fn command(&self, address: usize, id: &Id) -> ::redis::Cmd {
        let mut command = ::redis::cmd("EVALSHA");
        command
            .arg(&self.peer.digest)
            .arg(2)
            .arg(&self.keys[address]);
        command.arg(id).arg(self.peer.windows[address]);
        command
    }
}

impl Session for RedisSession<'_> {
    fn add(&mut self, address: usize, id: &Id) -> Result<bool> {
        let command = self.command(address, id);
        Ok(command.query::<u8>(&mut self.connection)? == 1)
    }

    fn add_batch(&mut self, adds: &[(usize, Id)], new: &mut Vec<bool>) -> Result<()> {
        let mut pipeline = pipe();
        for (address, id) in adds {
            pipeline.add_command(self.command(*address, id));
        }
        let answers: Vec<u8> = pipeline.query(&mut self.connection)?;
        new.extend(answers.iter().map(|answer| *answer == 1));
        Ok(())
    }
}
