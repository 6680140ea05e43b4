//! A PostgreSQL server of our own: started from the system's binaries, in a private folder, stopped when the tests end.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};

use tempfile::TempDir;

/// A running server.
pub(crate) struct Server {
    child: Child,
    folder: TempDir,
    port: u16,
    settings: Vec<String>,
}

/// The server that tests share. It is stopped by [`stop_at_exit`].
pub(crate) fn shared() -> String {
    static SERVER: OnceLock<Mutex<Server>> = OnceLock::new();
    let server = SERVER.get_or_init(|| {
        let server = Server::start();
        stop_with_us(&server);
        Mutex::new(server)
    });
    server.lock().unwrap().database()
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with(Vec::new(), |_| {})
    }

    /// Starts one that has this certificate and its key.
    pub(crate) fn start_secure(certificate: &Path, key: &Path) -> Self {
        let settings = ["ssl=on", "ssl_cert_file=server.crt", "ssl_key_file=server.key"];
        Self::start_with(settings.map(str::to_owned).to_vec(), |data| {
            for (from, name) in [(certificate, "server.crt"), (key, "server.key")] {
                let to = data.join(name);
                fs::copy(from, &to).unwrap();
                fs::set_permissions(&to, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
                hand_over(&to);
            }
        })
    }

    fn start_with(settings: Vec<String>, furnish: impl FnOnce(&Path)) -> Self {
        let binaries = binaries();
        let folder = tempfile::Builder::new().prefix("epitome-pg").tempdir_in("/tmp").unwrap();
        let data = folder.path().join("data");
        hand_over(folder.path());
        let made = as_other(&binaries.join("initdb"))
            .args(["--auth=trust", "--username=epitome", "--encoding=UTF8", "--locale=C", "--pgdata"])
            .arg(&data)
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        furnish(&data);
        let child = launch(&binaries, folder.path(), port, &settings);
        let server = Self { child, folder, port, settings };
        server.wait();
        server
    }

    /// Starts it again after [`Server::kill`], on the same data.
    pub(crate) fn restart(&mut self) {
        let _ = self.child.wait();
        self.child = launch(&binaries(), self.folder.path(), self.port, &self.settings);
        self.wait();
    }

    /// Ends it as if the power had gone: no checkpoint, no goodbye.
    pub(crate) fn kill(&mut self) {
        signal(self.child.id(), "QUIT");
        let _ = self.child.wait();
    }

    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://epitome@127.0.0.1:{}/{database}", self.port)
    }

    /// The URL of a new, empty database.
    pub(crate) fn database(&self) -> String {
        let name = format!("t{}", uuid::Uuid::now_v7().simple());
        self.command(&format!("CREATE DATABASE {name}"));
        self.url(&name)
    }

    /// Runs a statement by the server's own client.
    pub(crate) fn command(&self, sql: &str) -> String {
        psql(&self.url("postgres"), sql)
    }

    fn wait(&self) {
        let ready = || {
            let status = Command::new(binaries().join("pg_isready"))
                .args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()])
                .status();
            status.is_ok_and(|status| status.success())
        };
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !ready() {
            assert!(std::time::Instant::now() < deadline, "the server does not answer: {}", self.log());
            std::thread::yield_now();
        }
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Runs a statement by the server's own client.
pub(crate) fn psql(url: &str, sql: &str) -> String {
    let output = Command::new(binaries().join("psql"))
        .args(["-X", "-q", "-A", "-t", "-d", url, "-c", sql])
        .output()
        .unwrap();
    assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn launch(binaries: &Path, folder: &Path, port: u16, settings: &[String]) -> Child {
    let log = fs::File::create(folder.join("log")).unwrap();
    as_other(&binaries.join("postgres"))
        .arg("-D")
        .arg(folder.join("data"))
        .args([
            "-p",
            &port.to_string(),
            "-c",
            "listen_addresses=127.0.0.1",
            "-c",
            "max_connections=200",
            "-k",
        ])
        .arg(folder)
        .args(settings.iter().flat_map(|setting| ["-c", setting]))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .unwrap()
}

pub(crate) fn binaries() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
    let found =
        versions.map(|version| version.unwrap().path().join("bin")).filter(|bin| bin.join("initdb").exists());
    found.max().expect("no PostgreSQL server in /usr/lib/postgresql; hint: apt-get install postgresql")
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout == b"0\n"
}

// The server refuses to run as root; then it runs as nobody.
pub(crate) fn as_other(program: &Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"]).arg(program);
    command
}

pub(crate) fn hand_over(folder: &Path) {
    if is_root() {
        let status = Command::new("chown").arg("nobody:nogroup").arg(folder).status().unwrap();
        assert!(status.success());
    }
}

fn signal(pid: u32, name: &str) {
    let _ = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
}

// Statics are not dropped, so a guard waits for this process to end and stops the server by its process id.
#[expect(clippy::zombie_processes, reason = "it outlives us on purpose")]
fn stop_with_us(server: &Server) {
    let (us, it, folder) = (std::process::id(), server.child.id(), server.folder.path().display());
    let wait = format!(
        "tail --pid={us} -f /dev/null; kill -QUIT {it}; tail --pid={it} -f /dev/null; rm -rf '{folder}'"
    );
    let guard =
        Command::new("setsid").args(["sh", "-c", &wait]).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    guard.expect("setsid and tail are part of every Debian");
}
