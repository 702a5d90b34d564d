use proptest::prelude::*;

use super::{Capped, HeadTail, MAX_NOTE_BYTES, Omitted, Shape, cap};

const SMALL: Shape = Shape {
    max_bytes: 40,
    head_lines: 3,
    tail_lines: 2,
};

fn left_out(first_line: usize, last_line: usize, bytes: usize) -> Option<Omitted> {
    Some(Omitted {
        first_line,
        last_line,
        bytes,
    })
}

#[track_caller]
fn check(text: &str, shape: Shape, expect: &str, omitted: Option<Omitted>) {
    let expect = Capped {
        text: expect.to_owned(),
        omitted,
    };
    assert_eq!(cap(text, &shape), expect);
    for chunk in [1, 3, text.len().max(1)] {
        let mut ends = HeadTail::new(shape.max_bytes);
        text.as_bytes()
            .chunks(chunk)
            .for_each(|bytes| ends.push(bytes));
        assert_eq!(
            ends.finish(&shape),
            expect,
            "collected {chunk} bytes at a time"
        );
    }
}

#[test]
fn a_text_that_fits_stays_whole() {
    check("", SMALL, "", None);
    check("one", SMALL, "one", None);
    check("1\n2\n3\n4\n5\n", SMALL, "1\n2\n3\n4\n5\n", None);
    check("\n\n\n\n\n", SMALL, "\n\n\n\n\n", None);
}

#[test]
fn lines_in_the_middle_go_first() {
    check(
        "1\n2\n3\n4\n5\n6\n7\n8",
        SMALL,
        "1\n2\n3\n[… left out: lines 4-6, 6 bytes]\n7\n8",
        left_out(4, 6, 6),
    );
    check(
        "1\n2\n3\n4\n5\n6\n",
        SMALL,
        "1\n2\n3\n[… left out: line 4, 2 bytes]\n5\n6\n",
        left_out(4, 4, 2),
    );
}

#[test]
fn too_many_bytes_shrink_the_tail_to_a_quarter_and_then_the_head() {
    let text = "aaaaaaaaaaaaaaa\nbbbbbbbbbbbbbbb\nccccccccccccccc\nddd\neeeee\nfff\n";
    check(
        text,
        SMALL,
        "aaaaaaaaaaaaaaa\n[… left out: lines 2-4, 36 bytes]\neeeee\nfff\n",
        left_out(2, 4, 36),
    );
    let no_tail = Shape {
        tail_lines: 0,
        ..SMALL
    };
    check(
        text,
        no_tail,
        "aaaaaaaaaaaaaaa\nbbbbbbbbbbbbbbb\n[… left out: lines 3-6, 30 bytes]",
        left_out(3, 6, 30),
    );
}

#[test]
fn one_huge_line_is_cut_between_characters() {
    let text = "é".repeat(500);
    let shape = Shape {
        max_bytes: 11,
        ..SMALL
    };
    check(
        &text,
        shape,
        "ééééé\n[… left out: the rest of line 1, 990 bytes]",
        left_out(1, 1, 990),
    );
    let text = format!("{}\nlast\n", "x".repeat(995));
    let shape = Shape {
        max_bytes: 20,
        ..SMALL
    };
    check(
        &text,
        shape,
        "xxxxxxxxxxxxxxx\n[… left out: the rest of line 1, 981 bytes]\nlast\n",
        left_out(1, 1, 981),
    );
}

#[test]
fn a_shape_of_nothing_says_what_is_there() {
    let nothing = Shape {
        max_bytes: 0,
        head_lines: 0,
        tail_lines: 0,
    };
    assert_eq!(
        cap("a\nb\n", &nothing),
        Capped {
            text: "[… left out: lines 1-2, 4 bytes]".into(),
            omitted: left_out(1, 2, 4)
        }
    );
}

#[test]
fn wrong_bytes_are_replaced_and_counted_as_they_were() {
    let mut ends = HeadTail::new(64);
    ends.push(b"a\xffb\n\xf0\x9f");
    assert_eq!((ends.bytes(), ends.lines()), (6, 2));
    let shape = Shape {
        max_bytes: 64,
        ..SMALL
    };
    assert_eq!(
        ends.finish(&shape),
        Capped {
            text: "a\u{fffd}b\n\u{fffd}".into(),
            omitted: None
        }
    );
}

#[test]
fn gigabytes_need_little_memory() {
    let mut ends = HeadTail::new(8192);
    let block = b"0123456789abcdef0123456789abcde\n".repeat(32 * 1024);
    for _ in 0..64 {
        ends.push(&block);
        assert!(ends.head.capacity() + ends.tail.capacity() <= 8 * 8192);
    }
    let capped = ends.finish(&Shape {
        max_bytes: 8192,
        head_lines: 60,
        tail_lines: 20,
    });
    assert_eq!(
        capped.omitted,
        left_out(61, 64 * 32 * 1024 - 20, 64 * block.len() - 80 * 32)
    );
}

fn texts() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        4 => "[a-zé日]{0,12}",
        1 => "[aé日]{30,200}",
    ];
    (proptest::collection::vec(line, 0..20), any::<bool>())
        .prop_map(|(lines, ends)| lines.join("\n") + if ends { "\n" } else { "" })
}

fn shapes() -> impl Strategy<Value = Shape> {
    (0_usize..120, 0_usize..8, 0_usize..8).prop_map(|(max_bytes, head_lines, tail_lines)| Shape {
        max_bytes,
        head_lines,
        tail_lines,
    })
}

proptest! {
    #[test]
    fn what_stays_is_small_and_the_sum_is_right(text in texts(), shape in shapes()) {
        let capped = cap(&text, &shape);
        prop_assert!(capped.text.len() <= shape.max_bytes + MAX_NOTE_BYTES);
        match capped.omitted {
            None => prop_assert_eq!(capped.text, text),
            Some(Omitted { first_line, last_line, bytes }) => {
                prop_assert!(first_line >= 1 && first_line <= last_line);
                prop_assert!(last_line <= text.split_inclusive('\n').count());
                let at = capped.text.rfind("[… left out: ").unwrap();
                let head = &capped.text[..at];
                let tail = capped.text[at..].split_once("]\n").map_or("", |(_, tail)| tail);
                // A line that was cut inside got a line break before the note.
                let is_inside = capped.text[at..].starts_with("[… left out: the rest");
                let head = if is_inside { head.strip_suffix('\n').unwrap() } else { head };
                prop_assert!(text.starts_with(head) && text.ends_with(tail));
                prop_assert_eq!(head.len() + tail.len() + bytes, text.len());
            }
        }
    }

    #[test]
    fn collecting_any_bytes_in_any_chunks_stays_small(
        chunks in proptest::collection::vec(proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..50), 0..20),
        shape in shapes(),
        keep in 0_usize..100,
    ) {
        let whole = chunks.concat();
        let mut ends = HeadTail::new(keep);
        let mut at_once = HeadTail::new(keep);
        chunks.iter().for_each(|chunk| ends.push(chunk));
        at_once.push(&whole);
        prop_assert_eq!(ends.bytes(), whole.len());
        prop_assert_eq!(ends.lines(), whole.split_inclusive(|&byte| byte == b'\n').count());
        let capped = ends.finish(&shape);
        prop_assert!(capped.text.len() <= shape.max_bytes + MAX_NOTE_BYTES);
        prop_assert_eq!(capped, at_once.finish(&shape));
    }
}
