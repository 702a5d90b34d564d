//! Runs `spec/*.md`: tables of edits, patches in fences, tables of paths. What they say is what is checked.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use cox_workspace::{
    Access, Begun, Confined, Journal, PreImages, Roots, WriteSet, confine,
    edit::{Strictness, edit},
    file,
    patch::{Action, Patch, apply},
};
use tempfile::TempDir;

const SHOWN: [(&str, &str); 7] = [
    ("⏎", "\n"),
    ("␍", "\r"),
    ("→", "\t"),
    ("·", " "),
    ("⟨BOM⟩", "\u{FEFF}"),
    ("⟨bar⟩", "|"),
    ("⟨none⟩", ""),
];

/// Bytes as a specification writes them; `⟨E9⟩` is a byte by its number.
fn bytes(shown: &str) -> Vec<u8> {
    let mut text = shown.to_owned();
    for (sign, meant) in SHOWN {
        text = text.replace(sign, meant);
    }
    let mut bytes = Vec::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once('⟨') {
        let (number, behind) = after.split_once('⟩').unwrap();
        bytes.extend_from_slice(before.as_bytes());
        bytes.push(u8::from_str_radix(number, 16).unwrap());
        rest = behind;
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes
}

fn text(shown: &str) -> String {
    String::from_utf8(bytes(shown)).unwrap()
}

/// The reverse of [`bytes`], for messages.
fn shown(bytes: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in bytes.utf8_chunks() {
        shown.push_str(chunk.valid());
        for byte in chunk.invalid() {
            shown.push_str(&format!("⟨{byte:02X}⟩"));
        }
    }
    shown
        .replace('\n', "⏎")
        .replace('\r', "␍")
        .replace('\t', "→")
        .replace('\u{FEFF}', "⟨BOM⟩")
}

/// The cells of a table's row, without the backticks around one; none for a line that is no row, or a heading's.
fn cells(line: &str) -> Option<Vec<(String, bool)>> {
    let row = line.strip_prefix("| ")?.strip_suffix(" |")?;
    let cells: Vec<(String, bool)> = row
        .split(" | ")
        .map(|cell| {
            let cell = cell.trim();
            match cell
                .strip_prefix('`')
                .and_then(|cell| cell.strip_suffix('`'))
            {
                Some(code) => (code.to_owned(), true),
                None => (cell.to_owned(), false),
            }
        })
        .collect();
    cells[0].1.then_some(cells)
}

/// Checks one row: its cells, each with whether it was marked, and what to say of it when it does not hold.
type CheckRow<'a> = &'a dyn Fn(&[(String, bool)], &mut String) -> Result<(), String>;

/// Runs `check` over the rows of a page and fails with all that do not hold.
#[track_caller]
fn every_row(page: &str, least: usize, check: CheckRow<'_>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("spec")
        .join(page);
    let mut rows = 0;
    let mut wrong = Vec::new();
    // What a line before a table sets for it.
    let mut setting = String::new();
    for (at, line) in fs::read_to_string(path).unwrap().lines().enumerate() {
        if line.starts_with('#') {
            setting.clear();
        } else if line.starts_with("With ") {
            line.clone_into(&mut setting);
        }
        if let Some(cells) = cells(line) {
            rows += 1;
            if let Err(problem) = check(&cells, &mut setting) {
                wrong.push(format!("{page}:{}: {problem}", at + 1));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {rows} rows do not hold:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(rows >= least, "only {rows} rows were read");
}

#[test]
fn edits_do_what_their_page_says() {
    every_row("edits.md", 45, &|cells, setting| {
        let [
            (file, _),
            (old, _),
            (new, _),
            (expected, is_bytes),
            rest @ ..,
        ] = cells
        else {
            return Err("a row has four or five cells".to_owned());
        };
        let all = setting.contains("replace_all");
        let edited = edit(&bytes(file), &text(old), &text(new), all);
        match (edited, is_bytes) {
            (Ok(edited), true) if edited.bytes == bytes(expected) => {
                let found = match edited.strictness {
                    Strictness::Exact => "exactly",
                    Strictness::LineEnds => "line ends",
                    Strictness::Indentation => "indentation",
                    Strictness::Quotes => "quotes",
                };
                match rest {
                    [(wanted, _)] if wanted != found => Err(format!("found by {found}")),
                    _ => Ok(()),
                }
            }
            (Ok(edited), _) => Err(format!("became `{}`", shown(&edited.bytes))),
            (Err(error), false) if error.to_string().contains(expected.as_str()) => Ok(()),
            (Err(error), _) => Err(error.to_string()),
        }
    });
}

/// A workspace `main` (writable), a second root `library` (readable), and `outside`, as `paths.md` draws it.
struct World {
    top: PathBuf,
    roots: Roots,
    _dir: TempDir,
}

fn world() -> World {
    let dir = TempDir::new().unwrap();
    let top = dir.path().canonicalize().unwrap();
    for folder in ["main/src", "library", "outside/deep", "home"] {
        fs::create_dir_all(top.join(folder)).unwrap();
    }
    fs::write(top.join("main/src/a.rs"), "a").unwrap();
    fs::write(top.join("library/read.me"), "r").unwrap();
    fs::write(top.join("outside/secret"), "s").unwrap();
    for (link, target) in [
        ("main/out", "../outside"),
        ("main/deep", "../outside/deep"),
        ("main/dangling", "../outside/not-yet"),
        ("main/dangling-inside", "src/not-yet"),
        ("main/source", "src"),
        ("main/lib", "../library"),
        ("main/loop-a", "loop-b"),
        ("main/loop-b", "loop-a"),
        ("alias", "main"),
    ] {
        symlink(target, top.join(link)).unwrap();
    }
    let roots = Roots {
        cwd: top.join("main"),
        home: top.join("home"),
        readable: vec![top.join("main"), top.join("library")],
        writable: vec![top.join("main")],
    };
    World {
        top,
        roots,
        _dir: dir,
    }
}

#[test]
fn paths_lead_where_their_page_says() {
    let world = world();
    let top = world.top.display().to_string();
    every_row("paths.md", 35, &|cells, _| {
        let [(written, _), read, write, ..] = cells else {
            return Err("a row has three cells".to_owned());
        };
        let written = written
            .replace("⟨none⟩", "")
            .replace('␀', "\0")
            .replace("/T/", &format!("{top}/"));
        for (access, (expected, is_path)) in [(Access::Read, read), (Access::Write, write)] {
            let got = match confine(&world.roots, &written, access) {
                Ok(at) => (at.real.display().to_string().replace(&top, "/T"), true),
                Err(error) => (error.to_string().replace(&top, "/T"), false),
            };
            let holds = got.1 == *is_path
                && if got.1 {
                    got.0 == *expected
                } else {
                    got.0.contains(expected.as_str())
                };
            if !holds {
                return Err(format!("{access:?}: {}", got.0));
            }
        }
        Ok(())
    });
}

/// Keeps nothing: the specifications are about the files.
struct Nothing;

impl PreImages for Nothing {
    fn keep(&self, _path: &Path, _bytes: &[u8]) -> io::Result<String> {
        Ok("id".to_owned())
    }
}

impl Journal for Nothing {
    fn begin(&self, _record: &[u8], _durable: bool) -> io::Result<Box<dyn Begun>> {
        Ok(Box::new(Self))
    }
}

impl Begun for Nothing {
    fn rewrite(&mut self, _record: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn end(self: Box<Self>) {}
}

/// Applies a patch as the tool does: judge every path, compute every file, write one set.
fn patched(roots: &Roots, patch: &str) -> Result<(), String> {
    let told = |error: &dyn std::error::Error| error.to_string();
    let patch = Patch::parse(patch).map_err(|error| told(&error))?;
    let judge = |path: &str| confine(roots, path, Access::Write).map_err(|error| told(&error));
    let places: Vec<Confined> = patch
        .paths()
        .into_iter()
        .map(judge)
        .collect::<Result<_, _>>()?;
    drop(places);
    let mut set = WriteSet::new(roots);
    for operation in &patch.operations {
        let at = judge(&operation.path)?;
        let read = || file::read(&at, 1 << 20).map_err(|error| told(&error));
        match &operation.action {
            Action::Add { content, .. } => set.create(at, content.clone().into_bytes()),
            Action::Delete { .. } => {
                let old = read()?;
                set.delete(at, old);
            }
            Action::Update { move_to, hunks } => {
                let old = read()?;
                let new = apply(&old, hunks).map_err(|error| told(&error))?.bytes;
                match move_to {
                    Some(to) => set.relocate(at, old, judge(to)?, new),
                    None => set.update(at, old, new),
                }
            }
        }
    }
    set.apply(&Nothing, &Nothing)
        .map(drop)
        .map_err(|error| told(&error))
}

/// `name: content` lines of a fence, sorted; a file of a folder is `folder/name`.
fn files(root: &Path) -> Vec<(String, Vec<u8>)> {
    fn walk(folder: &Path, root: &Path, out: &mut Vec<(String, Vec<u8>)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, root, out);
            } else {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                out.push((name, fs::read(&path).unwrap()));
            }
        }
    }
    let mut out = Vec::new();
    walk(root, root, &mut out);
    out.sort();
    out
}

fn listed(fence: &str) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = fence
        .lines()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, content)| (name.to_owned(), bytes(content)))
        .collect();
    files.sort();
    files
}

/// Checks one example: its files, its patch, and the files afterwards or the words of the refusal.
fn example(before: &str, patch: &str, after: &str, refusal: &str) -> Result<(), String> {
    let dir = TempDir::new().unwrap();
    let root = dir.path().canonicalize().unwrap().join("main");
    fs::create_dir(&root).unwrap();
    for (name, content) in listed(before) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    let roots = Roots {
        cwd: root.clone(),
        home: root.clone(),
        readable: vec![root.clone()],
        writable: vec![root.clone()],
    };
    let patch = patch.replace("/ROOT", &root.display().to_string());
    let done = patched(&roots, &text(&patch));
    let expected = match (&done, refusal) {
        (Ok(()), "") => after,
        (Ok(()), _) => return Err(format!("not refused with `{refusal}`")),
        (Err(error), "") => return Err(error.clone()),
        (Err(error), _) if error.contains(refusal) => before,
        (Err(error), _) => return Err(format!("refused otherwise: {error}")),
    };
    let now = files(&root);
    if now == listed(expected) {
        return Ok(());
    }
    let now: Vec<String> = now
        .iter()
        .map(|(name, content)| format!("{name}: {}", shown(content)))
        .collect();
    Err(format!("the files are {now:?}"))
}

#[test]
fn patches_do_what_their_page_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("spec/patches.md");
    let (mut before, mut patch, mut fence) = (String::new(), String::new(), String::new());
    let mut open: Option<String> = None;
    let mut wrong = Vec::new();
    let mut examples = 0;
    for (at, line) in fs::read_to_string(path).unwrap().lines().enumerate() {
        let mut judge = |before: &str, patch: &str, after: &str, refusal: &str| {
            examples += 1;
            if let Err(problem) = example(before, patch, after, refusal) {
                wrong.push(format!("patches.md:{}: {problem}", at + 1));
            }
        };
        match (&open, line.strip_prefix("````")) {
            (None, Some(kind)) => {
                open = Some(kind.to_owned());
                fence.clear();
            }
            (Some(kind), Some(_)) => {
                match kind.as_str() {
                    "files" => fence.clone_into(&mut before),
                    "patch" => fence.clone_into(&mut patch),
                    "after" => judge(&before, &patch, &fence, ""),
                    other => panic!("a fence of {other}"),
                }
                open = None;
            }
            (Some(_), None) => {
                fence.push_str(line);
                fence.push('\n');
            }
            (None, None) => {
                if let Some(refusal) = line.strip_prefix("Refused: ") {
                    judge(&before, &patch, "", refusal);
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {examples} examples do not hold:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(examples >= 25, "only {examples} examples were read");
}
