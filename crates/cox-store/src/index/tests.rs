use std::sync::{Arc, Mutex};

use cox_protocol::{CallId, Money, TokenUsage, ToolResult};

use super::*;
use crate::{Clock, Rollout};

/// A home with a clock that goes on a minute with every event.
struct Place {
    _folder: tempfile::TempDir,
    home: Home,
    now: Arc<Mutex<jiff::Timestamp>>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path().join("home"));
        let now = Arc::new(Mutex::new("2026-03-04T23:50:00Z".parse().unwrap()));
        Self {
            _folder: folder,
            home,
            now,
        }
    }

    fn clock(&self) -> Clock {
        let now = self.now.clone();
        Arc::new(move || {
            let mut now = now.lock().unwrap();
            let at = *now;
            *now = at + jiff::SignedDuration::from_mins(1);
            at
        })
    }

    fn create(&self, id: u64, cwd: &str) -> Rollout {
        let session = SessionId::from_parts(id * 1000, u128::from(id));
        let mut rollout = Rollout::create(&self.home, session, self.clock()).unwrap();
        rollout.append(&event(&format!(
            r#"{{"type":"session_started","session":"{session}","version":"0","cwd":"{cwd}","roots":[],"provider":"local",
                "model":"small","mode":"default","policy":"never","sandbox":"read-only","resumed":false}}"#
        )))
        .unwrap();
        rollout
    }

    fn index(&self) -> Index {
        let mut index = Index::open(&self.home).unwrap();
        index.refresh().unwrap();
        index
    }
}

fn event(json: &str) -> cox_protocol::Event {
    serde_json::from_str(json).unwrap()
}

fn turn(rollout: &mut Rollout, turn: u32, asked: &str, answered: &str, printed: &str) {
    use cox_protocol::{AssistantBlock, Event, Item};
    let result = ToolResult {
        call: CallId::from_parts(1, 1),
        wire_id: "w".to_owned(),
        text: printed.to_owned(),
        is_error: false,
        images: Vec::new(),
        archive: None,
    };
    let items = [
        Item::User {
            context: vec!["hidden context".to_owned()],
            text: asked.to_owned(),
            images: Vec::new(),
        },
        Item::Assistant {
            blocks: vec![AssistantBlock::Text {
                text: answered.to_owned(),
            }],
            complete: true,
        },
        Item::ToolResults {
            results: vec![result],
        },
    ];
    rollout.append(&Event::TurnStarted { turn }).unwrap();
    for item in items {
        rollout.append(&Event::ItemAdded { item }).unwrap();
    }
    let tokens = TokenUsage {
        input: 100,
        output: 10,
        cache_read: 300,
        cache_write: 0,
    };
    rollout
        .append(&Event::Usage {
            turn,
            provider: "local".to_owned(),
            model: "small".to_owned(),
            tokens,
            cost: (turn == 1).then_some(Money(2_500)),
            latency_ms: 40,
            request_id: None,
        })
        .unwrap();
    rollout
        .append(&event(&format!(
            r#"{{"type":"turn_done","turn":{turn},"stop":{{"reason":"end_turn"}}}}"#
        )))
        .unwrap();
}

fn found(index: &Index, query: &str) -> Vec<String> {
    let hits = index.grep(query, 10).unwrap();
    hits.iter()
        .map(|hit| format!("{} {} {}", hit.turn, hit.role, hit.snippet))
        .collect()
}

#[test]
fn sessions_are_listed_with_what_became_of_them() {
    let place = Place::new();
    let mut first = place.create(1, "/a");
    turn(&mut first, 1, "\n  Fix the parser\nplease", "done", "ok");
    let mut second = place.create(2, "/b");
    second
        .append(&event(r#"{"type":"turn_started","turn":1}"#))
        .unwrap();
    let time = |text: &str| text.parse::<jiff::Timestamp>().unwrap();
    let rows = place.index().list(10).unwrap();
    assert_eq!(
        rows,
        [
            SessionRow {
                id: second.session(),
                created: time("2026-03-04T23:57:00Z"),
                updated: time("2026-03-04T23:58:00Z"),
                cwd: "/b".to_owned(),
                provider: "local".to_owned(),
                model: "small".to_owned(),
                title: String::new(),
                turns: 1,
                cost: Money(0),
                state: "running".to_owned(),
            },
            SessionRow {
                id: first.session(),
                created: time("2026-03-04T23:50:00Z"),
                updated: time("2026-03-04T23:56:00Z"),
                cwd: "/a".to_owned(),
                provider: "local".to_owned(),
                model: "small".to_owned(),
                title: "Fix the parser".to_owned(),
                turns: 1,
                cost: Money(2_500),
                state: "end_turn".to_owned(),
            },
        ]
    );
    let index = place.index();
    assert_eq!(index.list(1).unwrap().len(), 1);
    assert_eq!(
        index.session(first.session()).unwrap().as_ref(),
        Some(&rows[1])
    );
    assert_eq!(index.session(SessionId::generate()).unwrap(), None);
}

#[test]
fn words_are_found_in_prompts_answers_and_results() {
    let place = Place::new();
    let mut rollout = place.create(1, "/a");
    turn(
        &mut rollout,
        1,
        "Fix the parser",
        "The Parser now reads snake_case names",
        "error[E0308]: 100% \"wrong\"",
    );
    turn(&mut rollout, 2, "und die Größe", "Größen sind 中文 gut", "");
    let index = place.index();
    assert_eq!(
        found(&index, "pars"),
        [
            "1 user Fix the parser",
            "1 assistant The Parser now reads snake_case names"
        ]
    );
    assert_eq!(
        found(&index, "names reads"),
        ["1 assistant The Parser now reads snake_case names"]
    );
    assert_eq!(
        found(&index, "snake_case"),
        ["1 assistant The Parser now reads snake_case names"]
    );
    assert_eq!(found(&index, "snakeXcase"), [] as [&str; 0]);
    assert_eq!(found(&index, "e[E0308"), [] as [&str; 0]);
    for query in ["r[E0308]: 1", "100% \"w", "rong"] {
        assert_eq!(
            found(&index, query),
            ["1 tool error[E0308]: 100% \"wrong\""],
            "{query}"
        );
    }
    assert_eq!(found(&index, "größe").len(), 2);
    assert_eq!(found(&index, "文"), ["2 assistant Größen sind 中文 gut"]);
    for query in [
        "",
        "  ",
        "hidden",
        "\"",
        "NEAR(",
        "a OR b",
        "'; DROP TABLE text; --",
        "*",
        "%",
        "\\",
        "-x",
        "body:x",
    ] {
        assert!(found(&index, query).len() <= 1, "{query}");
    }
}

#[test]
fn a_snippet_is_one_line_around_the_place() {
    let place = Place::new();
    let mut rollout = place.create(1, "/a");
    turn(
        &mut rollout,
        1,
        &format!("{} İ\n\tneedle {}", "é".repeat(500), "z ".repeat(500)),
        "",
        "",
    );
    assert_eq!(
        found(&place.index(), "NEEDLE"),
        [format!(
            "1 user …{} İ needle{}…",
            "é".repeat(56),
            " z".repeat(30)
        )]
    );
}

#[test]
fn requests_are_added_up() {
    let place = Place::new();
    let mut first = place.create(1, "/a");
    turn(&mut first, 1, "a", "b", "c");
    turn(&mut first, 2, "a", "b", "c");
    let mut second = place.create(2, "/a");
    turn(&mut second, 1, "a", "b", "c");
    let index = place.index();
    let row = |key: &str, requests: u64, priced: u64| LedgerRow {
        key: key.to_owned(),
        requests,
        tokens: TokenUsage {
            input: 100 * requests,
            output: 10 * requests,
            cache_read: 300 * requests,
            cache_write: 0,
        },
        cost: Money(2_500 * priced),
        unpriced: requests - priced,
        cache_read_ratio: 0.75,
        latency_ms: 40 * requests,
    };
    let ledger = |by, session, since: Option<&str>| {
        let since = since.map(|since| since.parse().unwrap());
        index.ledger(LedgerFilter { by, session, since }).unwrap()
    };
    let ids = [first.session().to_string(), second.session().to_string()];
    assert_eq!(
        ledger(By::Session, None, None),
        [row(&ids[1], 1, 1), row(&ids[0], 2, 1)]
    );
    assert_eq!(
        ledger(By::Day, None, None),
        [row("2026-03-05", 2, 1), row("2026-03-04", 1, 1)]
    );
    assert_eq!(
        ledger(By::Model, Some(first.session()), None),
        [row("local/small", 2, 1)]
    );
    assert_eq!(
        ledger(By::Total, None, Some("2026-03-05T00:00:00Z")),
        [row("total", 2, 1)]
    );
    assert_eq!(ledger(By::Total, None, Some("2027-01-01T00:00:00Z")), []);
}

#[test]
fn a_refresh_reads_only_what_is_new_and_reads_it_once() {
    let place = Place::new();
    let mut rollout = place.create(1, "/a");
    turn(&mut rollout, 1, "alpha", "b", "c");
    let mut index = place.index();
    let other = place.index();
    turn(&mut rollout, 2, "beta", "b", "c");
    index.refresh().unwrap();
    index.refresh().unwrap();
    assert_eq!(found(&index, "alpha").len(), 1);
    assert_eq!(found(&other, "beta").len(), 1);
    assert_eq!(index.list(9).unwrap()[0].turns, 2);
    assert_eq!(
        index.session(rollout.session()).unwrap().unwrap().cost,
        Money(2_500)
    );
}

#[test]
fn torn_doubled_and_foreign_lines_do_not_count() {
    let place = Place::new();
    let mut rollout = place.create(1, "/a");
    turn(&mut rollout, 1, "alpha", "b", "c");
    let path = rollout.path().to_owned();
    let session = rollout.session();
    drop(rollout);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        format!("{text}{text}nonsense\n{{\"v\":2,\"seq\":50}}\n{{\"torn"),
    )
    .unwrap();
    let mut index = place.index();
    assert_eq!(found(&index, "alpha").len(), 1);
    let (mut rollout, _) = Rollout::resume(&place.home, session, place.clock()).unwrap();
    turn(&mut rollout, 2, "beta", "b", "c");
    index.refresh().unwrap();
    assert_eq!(found(&index, "beta").len(), 1);
    assert_eq!(index.list(9).unwrap()[0].turns, 2);
}

#[test]
fn a_rollout_that_shrank_is_read_anew_and_one_that_is_gone_is_forgotten() {
    let place = Place::new();
    let mut rollout = place.create(1, "/a");
    turn(&mut rollout, 1, "alpha", "b", "c");
    let mut kept = place.create(2, "/a");
    turn(&mut kept, 1, "alpha", "b", "c");
    let mut index = place.index();
    let text = fs::read_to_string(kept.path()).unwrap();
    fs::write(kept.path(), &text[..text.find('\n').unwrap() + 1]).unwrap();
    fs::remove_file(rollout.path()).unwrap();
    index.refresh().unwrap();
    assert_eq!(found(&index, "alpha"), [] as [&str; 0]);
    let rows = index.list(9).unwrap();
    assert_eq!(
        (rows.len(), rows[0].id, rows[0].turns),
        (1, kept.session(), 0)
    );
    assert_eq!(
        index
            .ledger(LedgerFilter {
                by: By::Total,
                session: None,
                since: None
            })
            .unwrap(),
        []
    );
}

#[test]
fn a_missing_old_or_broken_index_is_made_anew() {
    let place = Place::new();
    let mut rollout = place.create(1, "/a");
    turn(&mut rollout, 1, "alpha", "b", "c");
    let path = place.home.index_path();
    let check = |what: &str| assert_eq!(found(&place.index(), "alpha").len(), 1, "{what}");
    check("missing");
    let old = Connection::open(&path).unwrap();
    old.execute_batch("DROP TABLE sessions; CREATE TABLE odd (x); CREATE TABLE sessions (y); PRAGMA user_version = 7")
        .unwrap();
    drop(old);
    check("of another version");
    fs::write(&path, vec![b'x'; 10_000]).unwrap();
    check("not a database");
    assert_eq!(
        fs::read(path.with_extension("db.broken")).unwrap(),
        vec![b'x'; 10_000]
    );
    fs::write(&path, "").unwrap();
    check("empty");
    let mut bytes = fs::read(&path).unwrap();
    for byte in &mut bytes[4096..] {
        *byte = 0x5a;
    }
    drop(fs::remove_file(path.with_extension("db-wal")));
    drop(fs::remove_file(path.with_extension("db-shm")));
    fs::write(&path, bytes).unwrap();
    check("broken inside");
}

#[test]
fn several_processes_may_refresh_at_once() {
    let place = Place::new();
    for id in 1..6 {
        let mut rollout = place.create(id, "/a");
        turn(&mut rollout, 1, "alpha", "b", "c");
    }
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(found(&place.index(), "alpha").len(), 5));
        }
    });
}

#[cfg(unix)]
#[test]
fn the_index_belongs_to_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    drop(place.create(1, "/a"));
    let index = place.index();
    for entry in fs::read_dir(&place.home.root).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode() & 0o077;
        assert_eq!(mode, 0, "{:?}", entry.file_name());
    }
    drop(index);
}

#[test]
fn a_home_without_sessions_is_left_alone() {
    let place = Place::new();
    assert_eq!(place.index().list(9).unwrap(), []);
    assert!(!place.home.root.exists());
}

#[test]
fn many_may_make_the_index_at_the_same_time() {
    for _ in 0..10 {
        let place = Place::new();
        drop(place.create(1, "/a"));
        std::thread::scope(|scope| {
            let opened: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        let mut index = Index::open(&place.home)?;
                        index.refresh()?;
                        index.list(10).map(|rows| rows.len())
                    })
                })
                .collect();
            for opened in opened {
                assert_eq!(opened.join().unwrap().unwrap(), 1);
            }
        });
    }
}
