//! The file tools as a session calls them: what they answer, what they change, what they refuse.
#![allow(
    clippy::disallowed_methods,
    reason = "tests make the files they look at"
)]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use cox_permission::{Risk, Target};
use cox_workspace::{Roots, Workspace};
use sandbox::{Choice, Mode, Policy};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    Answer, OutputSink, Relay, SubjectCx, Tool, ToolCx, ToolError, ToolOutput,
    commands::{CommandSettings, Commands},
};

mod changes;

struct Nowhere;

impl OutputSink for Nowhere {
    fn write(&self, _: &[u8]) {}
}

#[async_trait]
impl Relay for Nowhere {
    async fn ask(&self, _: &str, _: &[String]) -> Answer {
        Answer::Nobody
    }
}

struct Lab {
    top: PathBuf,
    cx: ToolCx,
    _dir: tempfile::TempDir,
}

impl Lab {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let root = top.join("work");
        fs::create_dir(&root).unwrap();
        for (path, bytes) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let settings = CommandSettings {
            policy: Policy {
                mode: Mode::ReadOnly,
                writable: Vec::new(),
                read_only_within: Vec::new(),
                hidden: Vec::new(),
                network: false,
            },
            choice: Choice::Auto,
            helper: PathBuf::new(),
            env: BTreeMap::new(),
            cwd: root.clone(),
            default_timeout: Duration::from_secs(1),
            max_timeout: Duration::from_secs(1),
        };
        let roots = Roots {
            cwd: root.clone(),
            home: top.clone(),
            readable: vec![root.clone()],
            writable: vec![root],
        };
        let archive = cox_store::Archive::new(cox_store::Home::new(top.join("home")));
        let cx = ToolCx {
            workspace: Arc::new(Workspace::new(Arc::new(roots))),
            archive: Arc::new(archive),
            commands: Arc::new(Commands::new(settings)),
            cancel: CancellationToken::new(),
            output: Arc::new(Nowhere),
            relay: Arc::new(Nowhere),
            may_read: Arc::new(|path| !path.ends_with("secret")),
        };
        Self { top, cx, _dir: dir }
    }

    fn tool(name: &str) -> Arc<dyn Tool> {
        super::tools()
            .into_iter()
            .find(|tool| tool.spec().name == name)
            .unwrap()
    }

    async fn call(&self, name: &str, input: Value) -> Result<ToolOutput, ToolError> {
        Self::tool(name).call(input, &self.cx).await
    }

    /// The answer as a model sees it.
    async fn said(&self, name: &str, input: Value) -> String {
        let said = match self.call(name, input).await {
            Ok(output) if output.is_error => format!("error: {}", output.text),
            Ok(output) => output.text,
            Err(error) => format!("error: {error}"),
        };
        said.replace(&self.top.display().to_string(), "/T")
    }

    fn path(&self, path: &str) -> PathBuf {
        self.top.join("work").join(path)
    }

    fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap()
    }

    fn subject(&self, name: &str, input: &Value) -> (Risk, Vec<String>) {
        let cx = SubjectCx {
            roots: self.cx.workspace.roots().clone(),
        };
        let subject = Self::tool(name).subject(input, &cx).unwrap();
        let shown = |path: &Path| path.strip_prefix(&self.top).unwrap().display().to_string();
        let targets = subject
            .targets
            .iter()
            .map(|target| match target {
                Target::Read(at) => format!("read {}", shown(&at.real)),
                Target::Edit(at) => format!("edit {}", shown(&at.real)),
                other => format!("{other:?}"),
            })
            .collect();
        (subject.risk, targets)
    }
}

#[tokio::test]
async fn read_numbers_lines_and_tells_what_they_do_not_show() {
    let lab = Lab::new(&[
        ("a", b"one\ntwo\nthree\n"),
        ("crlf", b"one\r\ntwo\r\n"),
        ("mixed", b"one\r\ntwo\nthree"),
        ("bom", b"\xEF\xBB\xBFone\n"),
        ("latin", b"caf\xE9\n"),
        ("empty", b""),
        ("binary", b"a\0b"),
        ("utf16", b"\xFF\xFEa\0"),
    ]);
    let cases = [
        (json!({"path": "a"}), "1\tone\n2\ttwo\n3\tthree\n[3 lines]"),
        (
            json!({"path": "a", "lines": "2-2"}),
            "2\ttwo\n[lines 2-2 of 3]",
        ),
        (
            json!({"path": "a", "lines": "2-99"}),
            "2\ttwo\n3\tthree\n[lines 2-3 of 3]",
        ),
        (
            json!({"path": "a", "lines": "9-12"}),
            "error: `lines` asks for line 9 on, but `a` has 3 lines",
        ),
        (
            json!({"path": "a", "lines": "3-1"}),
            "error: bad arguments for `read`: `lines` is `3-1`, expected `a-b` with 1 ≤ a ≤ b, such as `10-40`",
        ),
        (
            json!({"path": "crlf"}),
            "1\tone\n2\ttwo\n[2 lines; CRLF line endings]",
        ),
        (
            json!({"path": "mixed"}),
            "1\tone\n2\ttwo\n3\tthree\n[3 lines; mixed line endings: 1 CRLF, 1 LF; no newline at the end of the file]",
        ),
        (
            json!({"path": "bom"}),
            "1\tone\n[1 line; UTF-8 byte order mark]",
        ),
        (
            json!({"path": "latin"}),
            "1\tcafé\n[1 line; not UTF-8, shown as Windows-1252, which is a guess]",
        ),
        (json!({"path": "empty"}), "[the file is empty]"),
        (
            json!({"path": "binary"}),
            "error: `binary` is binary (3 bytes, with NUL bytes in it)\nhint: `file` or `xxd | head` in `bash` tells more about it",
        ),
        (
            json!({"path": "utf16"}),
            "1\ta\n[1 line; UTF-16 LE, shown as UTF-8; it cannot be edited; no newline at the end of the file]",
        ),
        (
            json!({"path": "none"}),
            "error: there is no file `none` (looked at `/T/work/none`)",
        ),
        (
            json!({"path": "."}),
            "error: `.` is a folder\nhint: list it with `glob`, or search it with `grep`",
        ),
    ];
    for (input, expected) in cases {
        assert_eq!(lab.said("read", input.clone()).await, expected, "{input}");
    }
}

#[tokio::test]
async fn utf16_is_read_outlined_and_searched_but_not_changed() {
    let units = std::iter::once(0xFEFF).chain("fn a() {}\r\nfn é() {\r\n}\r\n".encode_utf16());
    let wide: Vec<u8> = units.flat_map(u16::to_le_bytes).collect();
    let lab = Lab::new(&[
        ("a.rs", &wide),
        ("nul", &[b'a'; 9000]),
        ("u16", b"a\0b\0c\0"),
    ]);
    fs::write(lab.path("nul"), [&[b'a'; 9000][..], b"\n\0b\n"].concat()).unwrap();
    let note = "CRLF line endings; UTF-16 LE, shown as UTF-8; it cannot be edited]";
    assert_eq!(
        lab.said("read", json!({"path": "a.rs", "symbol": "é"}))
            .await,
        format!("2\tfn é() {{\n3\t}}\n[lines 2-3 of 3; {note}")
    );
    assert_eq!(
        lab.said("read", json!({"path": "a.rs", "mode": "outline"}))
            .await,
        "1: fn a()\n2: fn é()\n[2 definitions; 3 lines]"
    );
    assert_eq!(
        lab.said("grep", json!({"pattern": "é\\(\\)"})).await,
        "a.rs:2:fn é() {\n[1 match in 1 file]"
    );
    for (tool, input) in [
        ("edit", json!({"path": "a.rs", "old": "a()", "new": "b()"})),
        ("write", json!({"path": "a.rs", "content": "x"})),
    ] {
        let said = lab.said(tool, input).await;
        assert!(
            said.starts_with("error: `a.rs` is UTF-16 (50 bytes): `read` and `grep` show it"),
            "{said}"
        );
    }
    assert_eq!(lab.bytes("a.rs"), wide);
    assert_eq!(
        lab.said("read", json!({"path": "nul", "lines": "2"})).await,
        "2\t\u{2400}b\n[lines 2-2 of 2; 1 NUL bytes, shown as \u{2400}]"
    );
    assert!(
        lab.said("read", json!({"path": "u16"}))
            .await
            .contains("it may be UTF-16 or UTF-32")
    );
}

#[tokio::test]
async fn read_asks_again_whether_it_may_where_a_link_leads() {
    let lab = Lab::new(&[("secret", b"key\n")]);
    symlink("secret", lab.path("link")).unwrap();
    assert_eq!(
        lab.said("read", json!({"path": "link"})).await,
        "error: a rule denies reading `link`"
    );
}

#[tokio::test]
async fn read_bounds_what_it_returns_and_says_how_to_go_on() {
    let many: String = (0..20_000).map(|line| format!("line {line}\n")).collect();
    let wide = format!("{}é\n", "x".repeat(50_000));
    let lab = Lab::new(&[("many", many.as_bytes()), ("wide", wide.as_bytes())]);
    let said = lab.said("read", json!({"path": "many"})).await;
    let next = said.lines().count();
    assert!(said.len() < 160 * 1024);
    assert!(
        said.ends_with(&format!("[lines 1-{} of 20000; cut at 65536 bytes, go on with `lines: \"{next}-…\"` or use `grep`]", next - 1)),
        "{}",
        &said[said.len() - 200..]
    );
    let said = lab.said("read", json!({"path": "wide"})).await;
    let left_out = wide.len() - 1 - 8192;
    assert!(said.ends_with(&format!(
        "x … ({left_out} bytes of this line left out)\n[1 line]"
    )));
}

#[tokio::test]
async fn read_never_waits_for_what_is_no_file() {
    let lab = Lab::new(&[]);
    let _listener = UnixListener::bind(lab.path("socket")).unwrap();
    symlink("/dev/zero", lab.path("zero")).unwrap();
    assert_eq!(
        lab.said("read", json!({"path": "socket"})).await,
        "error: `socket` is a socket, not a regular file; reading it could wait for ever"
    );
    assert!(
        lab.said("read", json!({"path": "zero"}))
            .await
            .starts_with("error: `zero` is outside")
    );
}

#[tokio::test]
async fn read_returns_whole_images_only() {
    let mut png = Vec::new();
    png::Encoder::new(&mut png, 3, 2)
        .write_header()
        .unwrap()
        .write_image_data(&[0; 6])
        .unwrap();
    let lab = Lab::new(&[
        ("pic", &png),
        ("cut", &png[..36]),
        ("big", &[&png[..], &[0; 3_750_000]].concat()),
    ]);
    let output = lab.call("read", json!({"path": "pic"})).await.unwrap();
    assert_eq!(
        output.text,
        format!("image/png, 3×2 pixels, {} bytes", png.len())
    );
    assert_eq!(output.images.len(), 1);
    let output = lab
        .call("read", json!({"path": "pic", "lines": "1-2"}))
        .await
        .unwrap();
    assert!(output.text.ends_with("do not apply to images)"));
    assert!(
        lab.said("read", json!({"path": "cut"}))
            .await
            .starts_with("error: `cut` begins as image/png but is damaged or cut off: ")
    );
    assert!(
        lab.said("read", json!({"path": "big"}))
            .await
            .starts_with("error: too_large: `big` has 3750")
    );
}

#[tokio::test]
async fn read_lists_definitions_and_reads_one() {
    let lab = Lab::new(&[
        (
            "a.rs",
            b"//! Doc.\npub fn a() {\n    let x = 1;\n}\nimpl<T> A<T> {\n    /// Does b.\n    pub(crate) async fn b(&self) {}\n}\nimpl B {\n    fn b() {}\n}\n",
        ),
        ("a.md", b"# One\ntext\n```\n# not\n```\n## Two\n"),
        ("a.rb", b"def x\nend\n"),
        ("broken.rs", b"fn a() {}\n}}}\n"),
        ("empty.rs", b""),
    ]);
    let said = async |input| lab.said("read", input).await;
    assert_eq!(
        said(json!({"path": "a.rs", "mode": "outline"})).await,
        "2: pub fn a()\n5: impl<T> A<T>\n7:   pub(crate) async fn b(&self)\n9: impl B\n10:   fn b()\n[5 definitions; 11 lines]"
    );
    assert_eq!(
        said(json!({"path": "a.md", "mode": "outline"})).await,
        "1: # One\n6:   ## Two\n[2 definitions; 6 lines]"
    );
    assert_eq!(
        said(json!({"path": "a.rb", "mode": "outline"})).await,
        "1: def x\n[1 definition by the first words of lines, because its language is not one that is parsed; 2 lines]"
    );
    assert_eq!(
        said(json!({"path": "broken.rs", "mode": "outline"})).await,
        "1: fn a()\n[1 definition; some of the file is no Rust that can be parsed, so some may be missing; 2 lines]"
    );
    assert_eq!(
        said(json!({"path": "empty.rs", "mode": "outline"})).await,
        "[no definitions found; 0 lines]"
    );
    assert_eq!(
        said(json!({"path": "a.rs", "symbol": "A::b"})).await,
        "6\t    /// Does b.\n7\t    pub(crate) async fn b(&self) {}\n[lines 6-7 of 11]"
    );
    assert_eq!(
        said(json!({"path": "a.rs", "symbol": "b"})).await,
        "error: `b` is defined 2 times in `a.rs`; name one by its path, or read its `lines`:\nlines 6-7: pub(crate) async fn b(&self) (A::b)\nlines 10-10: fn b() (B::b)"
    );
    assert_eq!(
        said(json!({"path": "a.rs", "symbol": "B.c"})).await,
        "error: `a.rs` does not define `B.c`; the nearest names are `A`, `B`, `a`, `b`"
    );
    assert_eq!(
        said(json!({"path": "a.rb", "symbol": "x"})).await,
        "error: `symbol` needs a file that can be parsed: `a.rb` cannot, because its language is not one that is parsed\nhint: `grep` finds the name, `lines` reads around it"
    );
    assert!(
        said(json!({"path": "a.rs", "symbol": "a", "lines": "1-2"}))
            .await
            .starts_with("error: bad arguments for `read`: `symbol` and `lines` are both given")
    );
}

#[tokio::test]
async fn edit_changes_what_it_says_and_keeps_the_old_bytes() {
    let lab = Lab::new(&[("a", b"one\r\ntwo\xFF\r\nthree")]);
    let input = json!({"path": "a", "old": "one", "new": "1\n1b"});
    let output = lab.call("edit", input).await.unwrap();
    assert_eq!(output.text, "edited `a` at line 1-2");
    assert_eq!(lab.bytes("a"), b"1\r\n1b\r\ntwo\xFF\r\nthree");
    let diff = output.diff.unwrap();
    assert!(
        diff.starts_with("--- a/a\n+++ b/a\n@@ -1,3 +1,4 @@\n-one"),
        "{diff}"
    );
    let [(path, id)] = output.preimages.as_slice() else {
        panic!("one pre-image")
    };
    assert_eq!(path, &lab.path("a"));
    assert_eq!(
        lab.cx.archive.read(*id).unwrap(),
        b"one\r\ntwo\xFF\r\nthree"
    );
}

#[tokio::test]
async fn edit_says_how_it_found_the_text_and_what_had_changed() {
    let lab = Lab::new(&[("a", b"\tone\n\ttwo\n")]);
    lab.said("read", json!({"path": "a"})).await;
    let input = json!({"path": "a", "old": "    one\n    two\n", "new": "    one\n    2\n"});
    assert_eq!(
        lab.said("edit", input).await,
        "edited `a` at line 1-2\nnote: `old` was found ignoring indentation and white space at the ends of lines"
    );
    // What the model wrote itself it knows.
    assert_eq!(
        lab.said("edit", json!({"path": "a", "old": "2", "new": "3"}))
            .await,
        "edited `a` at line 2"
    );
    fs::write(lab.path("a"), "\tone\n\t3\nmore\n").unwrap();
    assert_eq!(
        lab.said("edit", json!({"path": "a", "old": "3", "new": "4"}))
            .await,
        "edited `a` at line 2\nnote: the file had changed since you read it; `old` was still unique in it"
    );
    assert_eq!(lab.bytes("a"), b"\tone\n\t4\nmore\n");
}

#[tokio::test]
async fn edit_refuses_without_touching_anything() {
    let lab = Lab::new(&[("a", b"x\ny\nx\n"), ("bin", b"x\0"), ("secret", b"x\n")]);
    let edit = |path: &str, old: &str| json!({"path": path, "old": old, "new": "z"});
    let cases = [
        (
            edit("a", "x"),
            "error: `a`: `old` stands in 2 places when matched exactly: lines 1, 3\nhint: add lines around it until it is unique, or set `replace_all`",
        ),
        (
            edit("none", "x"),
            "error: there is no file `none` (looked at `/T/work/none`)",
        ),
        (
            edit("secret", "x"),
            "error: a rule denies reading `secret`, so it cannot be changed either",
        ),
        (
            edit("../x", "x"),
            "error: `../x` is outside the folders that may be written (it leads to `/T/x`): `/T/work`\nhint: stay inside, or ask the person to start cox with `--add-dir /T`",
        ),
        (
            edit("a", ""),
            "error: `a`: `old` is empty, which only creates a new file or fills an empty one; this file has 3 lines\nhint: give the text to replace in `old`, with enough lines around it to be unique",
        ),
        (
            edit("a", "z"),
            "error: `a`: `old` and `new` are the same, so nothing would change",
        ),
    ];
    for (input, expected) in cases {
        assert_eq!(lab.said("edit", input.clone()).await, expected, "{input}");
    }
    assert_eq!(lab.bytes("a"), b"x\ny\nx\n");
    assert_eq!(fs::read_dir(lab.path(".")).unwrap().count(), 3);
    assert_eq!(
        lab.said("edit", json!({"path": "d/new", "old": "", "new": "z\n"}))
            .await,
        "created `d/new`: 2 bytes"
    );
    assert_eq!(lab.bytes("d/new"), b"z\n");
}

#[tokio::test]
async fn write_creates_and_replaces_only_what_is_short_and_known() {
    let long = "line\n".repeat(201);
    let lab = Lab::new(&[
        ("long", long.as_bytes()),
        ("short", b"old\n"),
        ("latin", b"\xE9\n"),
    ]);
    let write = |path: &str, content: &str| json!({"path": path, "content": content});
    assert_eq!(
        lab.said("write", write("x/y", "new\n")).await,
        "created `x/y`: 4 bytes"
    );
    assert_eq!(
        lab.said("write", write("short", "new\n")).await,
        "replaced `short`: 4 bytes"
    );
    assert_eq!(lab.bytes("short"), b"new\n");
    assert_eq!(
        lab.said("write", write("long", "x")).await,
        "error: `long` exists and has 201 lines, over the 200 that `write` replaces\nhint: change it with `edit` or `apply_patch`"
    );
    assert!(
        lab.said("write", write("latin", "x"))
            .await
            .starts_with("error: `latin` exists and is not UTF-8")
    );
    fs::write(lab.path("short"), "theirs\n").unwrap();
    assert!(
        lab.said("write", write("short", "mine\n"))
            .await
            .contains("changed since you read it")
    );
    assert_eq!(lab.bytes("short"), b"theirs\n");
}

#[tokio::test]
async fn apply_patch_changes_all_files_or_none() {
    let lab = Lab::new(&[("a", b"a\n"), ("b", b"b\n"), ("c", b"c\n")]);
    let patch = |tail: &str| {
        json!({"patch": format!(
            "*** Begin Patch\n*** Update File: a\n@@\n-a\n+A\n*** Add File: n/new\n+new\n*** Delete File: b\n{tail}*** End Patch"
        )})
    };
    let refused = [
        (
            "*** Update File: c\n@@\n-nope\n+x\n",
            "error: `c`: hunk 1 (line 10 of the patch) does not fit",
        ),
        ("*** Add File: c\n+x\n", "error: `c` exists already"),
        ("*** Delete File: none\n", "error: there is no file `none`"),
        (
            "*** Update File: ../c\n@@\n-a\n+b\n",
            "error: `../c` is outside",
        ),
        (
            "*** Delete File: a\n",
            "error: bad arguments for `apply_patch`: line 9 of the patch: expected each file once",
        ),
    ];
    for (tail, expected) in refused {
        let said = lab.said("apply_patch", patch(tail)).await;
        assert!(said.starts_with(expected), "{said}");
        assert_eq!(
            (lab.bytes("a"), lab.bytes("b"), lab.bytes("c")),
            (b"a\n".into(), b"b\n".into(), b"c\n".into())
        );
        assert_eq!(fs::read_dir(lab.path(".")).unwrap().count(), 3, "{said}");
    }
    let input = patch("*** Update File: c\n*** Move to: m/c\n@@\n-c\n+C\n");
    let (risk, targets) = lab.subject("apply_patch", &input);
    assert_eq!(risk, Risk::Write);
    assert_eq!(
        targets,
        [
            "edit work/a",
            "edit work/n/new",
            "edit work/b",
            "edit work/c",
            "edit work/m/c"
        ]
    );
    let output = lab.call("apply_patch", input).await.unwrap();
    assert_eq!(output.text, "M a\nA n/new\nD b\nR c → m/c");
    assert_eq!(
        (lab.bytes("a"), lab.bytes("n/new"), lab.bytes("m/c")),
        (b"A\n".into(), b"new\n".into(), b"C\n".into())
    );
    assert!(!lab.path("b").exists() && !lab.path("c").exists());
    assert_eq!(output.preimages.len(), 3);
}

#[tokio::test]
async fn subjects_name_every_path_and_its_risk() {
    let lab = Lab::new(&[("a", b"")]);
    symlink("a", lab.path("link")).unwrap();
    let deletions: String = (0..6).map(|n| format!("*** Delete File: f{n}\n")).collect();
    let cases = [
        (
            "read",
            json!({"path": "link"}),
            Risk::ReadOnly,
            vec!["read work/a"],
        ),
        (
            "grep",
            json!({"pattern": "x"}),
            Risk::ReadOnly,
            vec!["read work"],
        ),
        (
            "glob",
            json!({"pattern": "*", "path": "sub"}),
            Risk::ReadOnly,
            vec!["read work/sub"],
        ),
        (
            "edit",
            json!({"path": "link", "old": "", "new": ""}),
            Risk::Write,
            vec!["edit work/a"],
        ),
        (
            "write",
            json!({"path": "n", "content": ""}),
            Risk::Write,
            vec!["edit work/n"],
        ),
    ];
    for (name, input, risk, targets) in cases {
        let targets: Vec<String> = targets.into_iter().map(str::to_owned).collect();
        assert_eq!(lab.subject(name, &input), (risk, targets), "{name}");
    }
    let patch = json!({"patch": format!("*** Begin Patch\n{deletions}*** End Patch")});
    assert_eq!(lab.subject("apply_patch", &patch).0, Risk::Destructive);
}

#[tokio::test]
async fn grep_and_glob_stop_at_their_caps_and_hide_what_is_denied() {
    let lab = Lab::new(&[
        ("a.rs", b"needle 1\nneedle 2\nneedle 3\n"),
        ("sub/main.rs", b"needle 4\n"),
        ("secret", b"needle\n"),
    ]);
    assert_eq!(
        lab.said("grep", json!({"pattern": "needle", "path": "sub"}))
            .await,
        "sub/main.rs:1:needle 4\n[1 match in 1 file]"
    );
    let said = lab
        .said("grep", json!({"pattern": "needle", "max_results": 2}))
        .await;
    let id = said.split("id ").nth(1).unwrap().split(']').next().unwrap();
    assert_eq!(
        said,
        format!(
            "a.rs:1:needle 1\na.rs:2:needle 2\n[2 more matches, 4 matches in 2 files; the whole list: `expand` with id {id}]\n\
             [files that a rule denies reading are left out]"
        )
    );
    let whole = lab.cx.archive.read(id.parse().unwrap()).unwrap();
    assert_eq!(String::from_utf8(whole).unwrap().lines().count(), 4);
    assert!(
        lab.said("grep", json!({"pattern": "("}))
            .await
            .starts_with("error: bad pattern `(`")
    );
    assert_eq!(
        lab.said("grep", json!({"pattern": "absent", "path": "sub"}))
            .await,
        "no matches"
    );
    assert_eq!(
        lab.said("glob", json!({"pattern": "*.rs", "query": "subma"}))
            .await,
        "sub/main.rs\n[files that a rule denies reading are left out]"
    );
    assert!(
        lab.said("glob", json!({"pattern": "*.rs", "limit": 1}))
            .await
            .contains("\n[1 more files; the whole list: `expand` with id ")
    );
    assert_eq!(
        lab.said("glob", json!({"pattern": "*.none", "path": "sub"}))
            .await,
        "no files"
    );
}

#[tokio::test]
async fn grep_shows_files_counts_and_types_and_keeps_no_secret_of_a_long_list() {
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    let many = format!("needle {secret}\n").repeat(3);
    let lab = Lab::new(&[
        ("a.rs", many.as_bytes()),
        ("b\n[x].py", b"needle\n"),
        ("bin", b"\0needle"),
    ]);
    let said = async |input| lab.said("grep", input).await;
    assert_eq!(
        said(json!({"pattern": "needle", "show": "counts"})).await,
        "a.rs:3\nb\\n[x].py:1\n[4 matches in 2 files]"
    );
    assert_eq!(
        said(json!({"pattern": "needle", "show": "files", "type": "py"})).await,
        "b\\n[x].py\n[1 file]"
    );
    assert_eq!(
        said(json!({"pattern": "needle", "path": "bin"})).await,
        "no matches\n[1 binary files were not searched]"
    );
    let long = said(json!({"pattern": "needle", "type": "rust", "max_results": 1})).await;
    let id = long.split("id ").nth(1).unwrap().split(']').next().unwrap();
    let kept = lab.cx.archive.read(id.parse().unwrap()).unwrap();
    let kept = String::from_utf8(kept).unwrap();
    assert!(kept.contains("needle") && !kept.contains(secret), "{kept}");
    assert!(
        said(json!({"pattern": "x", "show": "all"}))
            .await
            .starts_with("error: bad arguments for `grep`: `show` is `all`")
    );
    make_socket(&lab.path("socket"));
    assert_eq!(
        said(json!({"pattern": "x", "path": "socket"})).await,
        "error: `socket` is neither a folder nor a regular file, so it is not searched"
    );
}

fn make_socket(path: &Path) {
    drop(UnixListener::bind(path).unwrap());
}

#[test]
fn every_file_tool_is_described_in_few_bytes() {
    for tool in super::tools() {
        let spec = tool.spec();
        let size = spec.name.len() + spec.description.len() + spec.input_schema.to_string().len();
        assert!(size <= 700, "{} takes {size} bytes", spec.name);
    }
}
