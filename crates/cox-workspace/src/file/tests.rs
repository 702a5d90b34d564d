use std::{fs, os::unix::fs::symlink, path::PathBuf};

use tempfile::TempDir;

use super::*;
use crate::confine::{Access, Roots, confine};

struct World {
    roots: Roots,
    top: PathBuf,
    _dir: TempDir,
}

fn world() -> World {
    let dir = TempDir::new().unwrap();
    let top = dir.path().canonicalize().unwrap();
    let root = top.join("main");
    fs::create_dir(&root).unwrap();
    let roots = Roots {
        cwd: root.clone(),
        home: top.clone(),
        readable: vec![root.clone()],
        writable: vec![root],
    };
    World {
        roots,
        top,
        _dir: dir,
    }
}

impl World {
    fn at(&self, path: &str) -> Confined {
        confine(&self.roots, path, Access::Read).unwrap()
    }
}

#[cfg(not(target_os = "macos"))]
#[test]
fn a_fifo_is_refused_without_waiting() {
    let world = world();
    let path = world.top.join("main/fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let error = open(&world.at("fifo")).unwrap_err();
    assert!(
        matches!(error, ReadError::Special { kind: "FIFO", .. }),
        "{error}"
    );
}

#[test]
fn a_link_that_appears_after_the_judgement_leads_nowhere() {
    let world = world();
    fs::write(world.top.join("secret"), "s").unwrap();
    fs::create_dir(world.top.join("main/sub")).unwrap();
    fs::write(world.top.join("main/sub/secret"), "mine").unwrap();
    let (file, folder) = (world.at("file"), world.at("sub/secret"));
    symlink("../secret", world.top.join("main/file")).unwrap();
    fs::remove_dir_all(world.top.join("main/sub")).unwrap();
    symlink("..", world.top.join("main/sub")).unwrap();
    for at in [file, folder] {
        let error = open(&at).unwrap_err();
        assert!(matches!(error, ReadError::Io { .. }), "{error}");
    }
}

#[test]
fn a_file_over_the_cap_is_refused_by_its_size() {
    let world = world();
    fs::write(world.top.join("main/f"), "12345").unwrap();
    assert_eq!(read(&world.at("f"), 5).unwrap(), b"12345");
    let error = read(&world.at("f"), 4).unwrap_err();
    assert_eq!(error.to_string(), "`f` has 5 bytes, the limit is 4 bytes");
}

/// Lines as `number:text+cut`, then total, CRLF, LF, final newline.
fn lines(content: &[u8], first: u64, last: u64, limits: LineLimits) -> String {
    let world = world();
    fs::write(world.top.join("main/f"), content).unwrap();
    let file = open_with_head(&world.at("f")).unwrap();
    let lines = file
        .read_lines(LineRange { first, last }, limits, u64::MAX, &|| false)
        .unwrap();
    assert_eq!(lines.digest, Some(Digest::of(content)));
    let shown: Vec<String> = lines
        .lines
        .iter()
        .map(|line| {
            let cut = if line.cut > 0 {
                format!("+{}", line.cut)
            } else {
                String::new()
            };
            format!(
                "{}:{}{cut}",
                line.number,
                String::from_utf8_lossy(&line.bytes)
            )
        })
        .collect();
    let left = lines
        .left_out_from
        .map_or(String::new(), |line| format!(" from {line} left out"));
    format!(
        "{} | {} lines, {} CRLF, {} LF, {}{left}",
        shown.join(" "),
        lines.total,
        lines.crlf,
        lines.lf,
        lines.has_final_newline
    )
}

#[test]
fn ranges_of_lines_are_read_with_what_the_lines_do_not_show() {
    let wide = LineLimits {
        bytes: 1000,
        line_bytes: 100,
    };
    let few = LineLimits {
        bytes: 4,
        line_bytes: 100,
    };
    let narrow = LineLimits {
        bytes: 1000,
        line_bytes: 4,
    };
    let cases: [(&[u8], u64, u64, LineLimits, &str); 10] = [
        (b"", 1, 9, wide, " | 0 lines, 0 CRLF, 0 LF, true"),
        (
            b"a\nb\n",
            1,
            9,
            wide,
            "1:a 2:b | 2 lines, 0 CRLF, 2 LF, true",
        ),
        (
            b"a\r\nb",
            1,
            9,
            wide,
            "1:a 2:b | 2 lines, 1 CRLF, 0 LF, false",
        ),
        (
            b"a\nb\nc\n",
            2,
            2,
            wide,
            "2:b | 3 lines, 0 CRLF, 3 LF, true",
        ),
        (b"\n\n", 1, 9, wide, "1: 2: | 2 lines, 0 CRLF, 2 LF, true"),
        (
            b"ab\ncd\nef\n",
            1,
            9,
            few,
            "1:ab | 3 lines, 0 CRLF, 3 LF, true from 2 left out",
        ),
        (
            b"abcdefgh\nx\n",
            1,
            9,
            narrow,
            "1:abcd+4 2:x | 2 lines, 0 CRLF, 2 LF, true",
        ),
        (
            b"abcd\r\nabcde\r\n",
            1,
            9,
            narrow,
            "1:abcd 2:abcd+1 | 2 lines, 2 CRLF, 0 LF, true",
        ),
        (
            "ab\u{E9}\u{E9}\n".as_bytes(),
            1,
            9,
            narrow,
            "1:ab\u{E9}+2 | 1 lines, 0 CRLF, 1 LF, true",
        ),
        (
            "abc\u{E9}\n".as_bytes(),
            1,
            9,
            narrow,
            "1:abc+2 | 1 lines, 0 CRLF, 1 LF, true",
        ),
    ];
    for (content, first, last, limits, expected) in cases {
        assert_eq!(lines(content, first, last, limits), expected, "{content:?}");
    }
}

#[test]
fn a_file_larger_than_the_buffer_is_read_alike() {
    let content: String = (0..60_000).map(|line| format!("line {line}\r\n")).collect();
    let limits = LineLimits {
        bytes: 1000,
        line_bytes: 100,
    };
    assert_eq!(
        lines(content.as_bytes(), 59_999, 60_000, limits),
        "59999:line 59998 60000:line 59999 | 60000 lines, 60000 CRLF, 0 LF, true"
    );
}

#[test]
fn reading_stops_when_it_is_told_and_says_when_the_file_changed_meanwhile() {
    let world = world();
    let path = world.top.join("main/f");
    fs::write(&path, "a\n".repeat(200_000)).unwrap();
    let range = LineRange { first: 1, last: 1 };
    let limits = LineLimits {
        bytes: 10,
        line_bytes: 10,
    };
    let asked = std::cell::Cell::new(0);
    let read = |stop: &dyn Fn() -> bool| {
        let file = open_with_head(&world.at("f")).unwrap();
        let lines = file.read_lines(range, limits, u64::MAX, stop).unwrap();
        (
            lines.total,
            lines.stopped,
            lines.changed,
            lines.digest.is_some(),
        )
    };
    assert_eq!(read(&|| false), (200_000, false, false, true));
    let after_one = || asked.replace(asked.get() + 1) > 0;
    assert_eq!(read(&after_one), (65_536, true, false, false));
    let growing = || {
        fs::write(&path, "b\n").unwrap();
        false
    };
    assert!(read(&growing).2);
}

/// The lines of a file joined by `|`, its encoding, whether it is broken, and its NULs.
fn shown(content: &[u8]) -> (String, Encoding, bool, u64) {
    let world = world();
    fs::write(world.top.join("main/f"), content).unwrap();
    let file = open_with_head(&world.at("f")).unwrap();
    let range = LineRange { first: 1, last: 9 };
    let limits = LineLimits {
        bytes: 1000,
        line_bytes: 1000,
    };
    let lines = file.read_lines(range, limits, u64::MAX, &|| false).unwrap();
    assert_eq!(lines.digest, Some(Digest::of(content)));
    let texts: Vec<_> = lines
        .lines
        .iter()
        .map(|line| decode_line(&line.bytes, lines.encoding).into_owned())
        .collect();
    let whole = decode(content);
    assert_eq!(whole.1, lines.encoding);
    assert_eq!(whole.0.lines().collect::<Vec<_>>(), texts);
    (texts.join("|"), lines.encoding, lines.is_broken, lines.nuls)
}

fn utf16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let units = std::iter::once(0xFEFF).chain(text.encode_utf16());
    units.flat_map(to_bytes).collect()
}

#[test]
fn text_is_shown_by_its_encoding() {
    let text = "é\u{1F600}\n中文\r\nx";
    let lines = "é\u{1F600}|中文|x".to_owned();
    let wide = utf16(text, u16::to_le_bytes);
    assert_eq!(shown(&wide), (lines.clone(), Encoding::Utf16Le, false, 0));
    let wide = utf16(text, u16::to_be_bytes);
    assert_eq!(shown(&wide), (lines.clone(), Encoding::Utf16Be, false, 0));
    assert_eq!(
        shown(&wide[..wide.len() - 1]),
        (
            "é\u{1F600}|中文|\u{FFFD}".to_owned(),
            Encoding::Utf16Be,
            true,
            0
        )
    );
    assert_eq!(shown(text.as_bytes()), (lines, Encoding::Utf8, false, 0));
    let narrow = |bytes: &[u8]| shown(bytes);
    assert_eq!(
        narrow(b"caf\xE9 \x93ok\x94 na\xEFve\n"),
        ("café “ok” naïve".to_owned(), Encoding::Windows1252, true, 0)
    );
    // Cyrillic of KOI8-R, Japanese of Shift-JIS and UTF-8 with one bad byte are not called Latin.
    for other in [
        &b"say \xF0\xD2\xC9\xD7\xC5\xD4 to the world, then go home\n"[..],
        b"konnichiwa \x82\xB1\x82\xF1\x82\xC9\x82\xBF\x82\xCD is hello in Japanese\n",
        b"caf\xC3\xA9 and caf\xE9, both in one file\n",
    ] {
        let (text, encoding, is_broken, _) = narrow(other);
        assert_eq!((encoding, is_broken), (Encoding::Utf8, true), "{text}");
    }
}

#[test]
fn utf16_is_told_by_its_mark_and_the_text_behind_it() {
    let cases: [(&[u8], Option<Encoding>, bool); 6] = [
        (b"\xFF\xFEa\0", Some(Encoding::Utf16Le), true),
        (b"\xFE\xFF\x4E\x2D", Some(Encoding::Utf16Be), true),
        (b"\xFF\xFE\0\0a\0\0\0", None, true),
        (b"\xFF\xFE\x00\xDC\x00\xDC", None, true),
        (b"a\0b\0", None, true),
        (b"abc", None, false),
    ];
    for (bytes, expect, is_binary) in cases {
        let world = world();
        fs::write(world.top.join("main/f"), bytes).unwrap();
        let file = open_with_head(&world.at("f")).unwrap();
        assert_eq!(
            (file.utf16(), file.is_binary()),
            (expect, is_binary),
            "{bytes:?}"
        );
    }
}

#[test]
fn a_character_on_the_border_of_two_reads_is_no_broken_one() {
    for before in 131_068..131_076 {
        let mut bytes = vec![b'a'; before];
        bytes.extend_from_slice("\n\u{1F600}\n".as_bytes());
        let world = world();
        fs::write(world.top.join("main/f"), &bytes).unwrap();
        let file = open_with_head(&world.at("f")).unwrap();
        let limits = LineLimits {
            bytes: 100,
            line_bytes: 100,
        };
        let range = LineRange { first: 2, last: 2 };
        let lines = file.read_lines(range, limits, 0, &|| false).unwrap();
        assert!(!lines.is_broken, "{before}");
        assert_eq!(lines.lines[0].bytes, "\u{1F600}".as_bytes());
    }
}
