//! Where `epitome compact` writes: whole or not at all, never over an input, never through a device.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::run::{command, epitome, epitome_with, example};

/// A folder that is gone when the test is over.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// Puts the example session here.
    fn session(&self, name: &str) -> String {
        let path = self.at(name);
        fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        fs::copy(example(), &path).unwrap();
        path
    }

    /// Every file and what it holds, by its path in here.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.0.path().to_path_buf()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else {
                    let name = path.strip_prefix(self.0.path()).unwrap().to_path_buf();
                    found.insert(name, fs::read(path).unwrap());
                }
            }
        }
        found
    }
}

fn compacted() -> Vec<u8> {
    epitome(&["compact", &example()]).stdout
}

#[test]
fn output_goes_where_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let expected = epitome(&["compact", &example()]).stdout;

    let ran = epitome(&["compact", &example(), "-o", &at("small.jsonl"), "--report", &at("report.json")]);
    assert_eq!((ran.code, ran.stdout.len()), (0, 0));
    assert_eq!(fs::read(at("small.jsonl")).unwrap(), expected);
    let report: Value = serde_json::from_slice(&fs::read(at("report.json")).unwrap()).unwrap();
    assert_eq!(report["strategy"], "prune");

    epitome(&["compact", &example(), "-o", &at("small.jsonl.gz")]).text();
    let mut unpacked = Vec::new();
    flate2::read::GzDecoder::new(fs::File::open(at("small.jsonl.gz")).unwrap())
        .read_to_end(&mut unpacked)
        .unwrap();
    assert_eq!(unpacked, expected);

    for name in ["one.jsonl", "two.jsonl"] {
        fs::copy(example(), at(name)).unwrap();
    }
    fs::create_dir(at("out")).unwrap();
    assert_eq!(epitome(&["compact", &at("one.jsonl"), &at("two.jsonl"), "-o", &at("out")]).code, 0);
    let written: BTreeMap<String, Vec<u8>> = fs::read_dir(at("out"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().to_str().unwrap().to_owned(), fs::read(entry.path()).unwrap()))
        .collect();
    assert_eq!(
        written,
        BTreeMap::from(["one.jsonl", "two.jsonl"].map(|name| (name.to_owned(), expected.clone())))
    );

    let ran = epitome(&["compact", &at("one.jsonl"), "-o", &at("one.jsonl")]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("overwritten") && ran.stderr.contains("hint:"), "{}", ran.stderr);
    assert_eq!(epitome(&["compact", &at("one.jsonl"), &at("two.jsonl")]).code, 2);
}

#[test]
fn files_of_one_name_do_not_become_one_file() {
    let folder = Folder::new();
    let (one, two) = (folder.session("x/s.json"), folder.session("y/s.json"));
    fs::create_dir(folder.at("out")).unwrap();
    let before = folder.files();
    let cases = [
        (vec![&one, &two], folder.at("out"), "written twice"),
        (vec![&one, &one], folder.at("out"), "written twice"),
        (vec![&one, &two], folder.at("y"), "it is an input"),
    ];
    for (inputs, output, expected) in cases {
        let mut arguments = vec!["compact", "-o", &output];
        arguments.extend(inputs.into_iter().map(String::as_str));
        let ran = epitome(&arguments);
        assert_eq!(ran.code, 1, "{}", ran.stderr);
        assert!(ran.stderr.contains(expected) && ran.stderr.contains("hint:"), "{}", ran.stderr);
        assert_eq!(folder.files(), before);
    }
}

#[test]
fn a_folder_keeps_its_shape() {
    let folder = Folder::new();
    for name in ["in/s.jsonl", "in/deep/down/s.jsonl", "in/deep/t.jsonl"] {
        folder.session(name);
    }
    fs::create_dir(folder.at("out")).unwrap();
    let ran = epitome(&["compact", &folder.at("in"), "-o", &folder.at("out")]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let written: Vec<PathBuf> = folder.files().into_keys().filter(|path| path.starts_with("out")).collect();
    let expected = ["out/deep/down/s.jsonl", "out/deep/t.jsonl", "out/s.jsonl"];
    assert_eq!(written, expected.map(PathBuf::from));
    assert_eq!(epitome(&["compact", &folder.at("in"), "-o", &folder.at("in")]).code, 1);
}

#[test]
fn no_input_is_overwritten_by_any_road() {
    let folder = Folder::new();
    let input = folder.session("b.jsonl");
    let other = folder.session("c.jsonl");
    fs::create_dir(folder.at("out")).unwrap();
    let mut cases = vec![
        vec!["compact", &input, "-o", &input],
        vec!["compact", &input, "--report", &input],
        vec!["compact", &input, &other, "-o", &folder.0.path().to_str().unwrap()],
    ];
    let report = folder.at("out/b.jsonl");
    let out = folder.at("out");
    cases.push(vec!["compact", &input, &other, "-o", &out, "--report", &report]);
    let (link, looped) = (folder.at("link.jsonl"), folder.at("out/deep"));
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&input, &link).unwrap();
        cases.push(vec!["compact", &input, "-o", &link]);
        cases.push(vec!["compact", &link, "-o", &input]);
        std::os::unix::fs::symlink(folder.0.path(), &looped).unwrap();
        cases.push(vec!["compact", &input, "-o", &looped]);
    }
    let before = fs::read(&input).unwrap();
    for arguments in cases {
        let ran = epitome(&arguments);
        assert_eq!((ran.code, ran.stdout.len()), (1, 0), "{arguments:?}: {}", ran.stderr);
        assert_eq!(fs::read(&input).unwrap(), before, "{arguments:?}");
        assert!(!Path::new(&report).exists(), "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_stay() {
    let folder = Folder::new();
    fs::write(folder.at("real"), "old").unwrap();
    std::os::unix::fs::symlink("real", folder.at("link")).unwrap();
    std::os::unix::fs::symlink("new", folder.at("dangling")).unwrap();
    for link in ["link", "dangling"] {
        let ran = epitome(&["compact", &example(), "-o", &folder.at(link)]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(fs::symlink_metadata(folder.at(link)).unwrap().is_symlink(), "{link}");
    }
    for file in ["real", "new"] {
        assert_eq!(fs::read(folder.at(file)).unwrap(), compacted(), "{file}");
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_is_written_into_and_stays_a_pipe() {
    use std::os::unix::fs::FileTypeExt;
    let folder = Folder::new();
    let pipe = folder.at("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for arguments in [&["-o", &pipe][..], &["--report", &pipe, "-o", &folder.at("small")]] {
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        let ran = epitome(&[&["compact", &example()], arguments].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
        let read = reader.join().unwrap();
        if arguments[0] == "-o" {
            assert_eq!(read, compacted());
        } else {
            let report: Value = serde_json::from_slice(&read).unwrap();
            assert_eq!(report["strategy"], "prune");
        }
    }
}

#[cfg(unix)]
#[test]
fn files_are_as_open_as_others_of_their_kind() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    fs::write(folder.at("plain"), "").unwrap();
    let mode = |name: &str| fs::metadata(folder.at(name)).unwrap().permissions().mode();
    fs::write(folder.at("secret"), "").unwrap();
    fs::set_permissions(folder.at("secret"), fs::Permissions::from_mode(0o640)).unwrap();
    let secret = mode("secret");
    for name in ["new", "new.gz", "secret"] {
        let arguments = ["compact", &example(), "-o", &folder.at(name), "--report", &folder.at("report")];
        assert_eq!(epitome(&arguments).code, 0);
    }
    assert_eq!((mode("new"), mode("new.gz"), mode("report")), (mode("plain"), mode("plain"), mode("plain")));
    assert_eq!(mode("secret"), secret);
}

#[test]
fn what_cannot_be_written_is_said_before_the_work() {
    let folder = Folder::new();
    fs::write(folder.at("file"), "").unwrap();
    let cases = [folder.at("nope/small.jsonl"), folder.at("nope/"), folder.at("file/small.jsonl")];
    for path in &cases {
        for flag in ["-o", "--report"] {
            let ran = epitome(&["compact", &example(), flag, path]);
            assert_eq!((ran.code, ran.stdout.len()), (1, 0), "{path}: {}", ran.stderr);
            let said: Vec<&str> = ran.stderr.lines().collect();
            assert_eq!(said.len(), 2, "{path}: {}", ran.stderr);
            assert!(
                said[0].starts_with("error: cannot write ") && said[0].contains(path.as_str()),
                "{}",
                said[0]
            );
            assert!(said[1].starts_with("hint: ") && !ran.stderr.contains("tmp."), "{}", ran.stderr);
        }
    }
    let ran = epitome(&["compact", &example(), "--report", folder.0.path().to_str().unwrap()]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("it is a folder"), "{}", ran.stderr);
}

#[test]
fn nothing_compacted_gives_no_report() {
    let folder = Folder::new();
    fs::write(folder.at("bad.json"), "nonsense").unwrap();
    let conversations = "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n{\"messages\":[{\"role\":\"user\",\"content\":\"b\"}]}\n{\"mess\n";
    fs::write(folder.at("half.jsonl"), conversations).unwrap();
    let before = folder.files();
    for input in ["bad.json", "half.jsonl"] {
        let arguments = [
            "compact",
            &folder.at(input),
            "--json",
            "-o",
            &folder.at("out"),
            "--report",
            &folder.at("report"),
        ];
        let ran = epitome(&arguments);
        assert_eq!((ran.code, ran.stdout.len()), (1, 0), "{}", ran.stderr);
        assert_eq!(folder.files(), before);
        assert!(!ran.stderr.contains("saved"), "{}", ran.stderr);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let folder = Folder::new();
    for number in 0..40 {
        folder.session(&format!("{number}.jsonl"));
    }
    let folder = folder.0.path().to_str().unwrap();
    let example = example();
    for arguments in [
        &["compact", example.as_str()][..],
        &["compact", "--json", folder],
        &["count", "--json", folder],
        &["inspect", "--json", folder],
        &["inspect", example.as_str()],
    ] {
        let mut child = command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        drop(child.stderr.take());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{arguments:?}");
    }
    // Nobody hears why it failed, but that it failed is still told.
    let mut child = command(&["inspect", "/no/such/file"]).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(1));
}

#[test]
fn stdin_goes_alone_and_has_no_name() {
    let folder = Folder::new();
    let path = folder.0.path().to_str().unwrap();
    let input = fs::read(example()).unwrap();
    for arguments in [&["compact", "-", "-o", path][..], &["compact", "-", &example(), "-o", path]] {
        let ran = epitome_with(&input, arguments);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
    }
    let named = epitome_with(&input, &["compact", "-", "-o", &folder.at("small")]);
    assert_eq!(named.code, 0, "{}", named.stderr);
    assert_eq!(fs::read(folder.at("small")).unwrap(), compacted());
    let dash = epitome_with(&input, &["compact", "-", "-o", "-"]);
    assert_eq!(dash.stdout, compacted());
}
