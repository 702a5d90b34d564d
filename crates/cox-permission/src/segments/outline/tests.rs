use proptest::{prelude::*, sample::select};

use super::{
    super::{
        Segments, is_same, lexer, segments, tree,
        word::{Command, Value, Word},
    },
    Outline,
};

/// A line and what is left of it, or why it cannot be cut.
#[track_caller]
fn check_bare(cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(line, expect)| {
            let got = Outline::of(line).map_or_else(str::to_owned, |outline| outline.bare);
            (line, expect, got)
        })
        .filter(|(_, expect, got)| got != *expect)
        .map(|(line, expect, got)| format!("from {line:?}\n   got {got:?}\nexpect {expect:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_comment_is_left_out_up_to_the_line_break() {
    check_bare(&[
        ("ls # x", "ls "),
        ("# x\nls", "\nls"),
        ("ls # x \\\nrm y", "ls \nrm y"),
        ("ls # x\r\nrm y", "ls \nrm y"),
        ("a && # x\nb |# y\n c;#z", "a && \nb |\n c;"),
        ("(ls # it's)\n)# y", "(ls \n)"),
        ("if a # x\nthen b # y\nfi # z", "if a \nthen b \nfi "),
        ("echo $(ls # x\n)", "echo $(ls \n)"),
        ("echo \"$(ls # x\n)\" # y", "echo \"$(ls \n)\" "),
        ("echo `ls # x` y", "echo `ls ` y"),
        ("cat <<E # x\n# y\nE\n# z", "cat <<E \n# y\nE\n"),
        ("cat <<E\n$(ls # x\n)\nE", "cat <<E\n$(ls \n)\nE"),
        ("echo [[ # x", "echo [[ "),
        ("[[ -f a ]] # x", "[[ -f a ]] "),
        (
            "case a in # x\na) b # y\n;; # z\nesac # w",
            "case a in \na) b \n;; \nesac ",
        ),
        ("ls \\\n# x\nrm y", "ls   \nrm y"),
        ("ls \\\n \\\n -l", "ls       -l"),
    ]);
}

#[test]
fn what_is_no_comment_stays() {
    for line in [
        "echo a#b",
        "echo \"a\"#b; rm x",
        "echo 'a'#b",
        "echo $x#b",
        "echo $(a)#b",
        "echo `a`#b",
        "echo \"a\" \"#\n rm -rf x\"",
        "echo '\n# x'",
        "echo $# ${#a} ${a#b} ${a##b} $#a",
        "echo \\# x",
        "echo \\\\# x",
        "echo x\u{a0}# y",
        "echo x\r# y",
        "echo x\u{b}# y",
        "echo {# x",
        "echo !# x",
        "cat <<E\n# x\nE",
        "cat <<'E'\n $(# x\nE",
        "cat <<-E\n\t# x\n\tE",
    ] {
        check_bare(&[(line, line)]);
    }
}

#[test]
fn what_shells_cut_differently_keeps_its_comments() {
    for line in [
        "echo a\\\n# x",
        "echo a\\\n#b",
        "a &\\\n# x",
        "echo $'a\\'b # c'",
        "echo $(ls # it's\n)",
        "echo `ls # \\` x`",
        "echo $((2 # 1))",
        "((2#1)) # x",
        "echo $[2 # 1]",
        "[[ a =~ # ]]",
        "[[ a # b\n]]",
        "time -p [[ a # b\n]]",
        "for x do [[ a # b\n]]; done",
        "a=(b # c\n)",
        "echo ># x",
        "cat <<$x # y\n$x",
        "cat <<E \"\n# x\nE\n\"",
        "cat <<E\n# x",
        "echo ${x:-\"a # b\"} # c",
        "echo ${ ls # x\n}",
        "echo $(case a in a) # x\nb;; esac)",
        "echo 'x # y",
    ] {
        assert!(Outline::of(line).is_err(), "{line:?}");
    }
}

#[test]
fn a_word_of_the_tree_that_is_none_to_a_shell_cannot_be_told() {
    for line in [
        "find , -type f | xargs grep -n todo 0>/dev/null | head",
        "find , -type f | xargs grep -n todo 0>/dev/null | (head)",
        "sed '1,10d' ] ]xt $x",
        "cat <<A\na\n A\nA\nls",
        "[ \"a\"] $x",
    ] {
        let told = segments(line);
        assert!(
            matches!(told, Segments::CannotTell { .. }),
            "{line:?}: {told:?}"
        );
    }
}

/// Everything that both readers say about their words.
fn shown(commands: &[Command]) -> impl Iterator<Item = (&str, usize, usize, bool, Value)> {
    let words = commands.iter().flat_map(|command| &command.words);
    words.map(|word: &Word| {
        let (start, end) = (word.start, word.end);
        (
            &*word.text,
            start,
            end,
            word.begins_with_pattern,
            word.value,
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    /// So that a line which the strict reader cannot read is judged no milder than one that it can.
    #[test]
    fn the_tree_reads_a_plain_line_as_the_strict_reader_does_or_cannot_tell(
        pieces in proptest::collection::vec(select(PIECES), 1..12),
    ) {
        let line = pieces.concat();
        if let Ok(strict) = lexer::commands(&line)
            && let Ok(outline) = Outline::of(&line)
            && let Ok(walked) = tree::commands(&outline)
        {
            prop_assert!(is_same(&strict, &walked), "{line:?}: {strict:?} and {walked:?}");
            prop_assert!(shown(&strict).eq(shown(&walked)), "{line:?}");
        }
    }
}

const PIECES: &[&str] = &[
    " ",
    " ",
    " ",
    " ",
    " ",
    "\t",
    "\n",
    ";",
    "|",
    "&&",
    "||",
    "a",
    "b",
    "ls",
    "xargs",
    "grep",
    "sed",
    "'x y'",
    "\"z\"",
    "''",
    "0>/dev/null",
    ">/dev/null",
    "2>&1",
    "&>/dev/null",
    "</dev/null",
    "1",
    "0",
    "12",
    "[",
    "]",
    "[[",
    "]]",
    "[ ",
    " ]",
    "{}",
    "-",
    "--",
    "-f",
    "=",
    "==",
    "=~",
    "!",
    "!=",
    "*",
    "?",
    "~",
    "~/",
    "+",
    "@",
    "%",
    ":",
    ",",
    ".",
    "^",
    "#",
    "a#b",
    "/",
    "_",
    "in",
    "do",
    "done",
    "if",
    "fi",
    "then",
    "esac",
    "case",
    "for",
    "while",
    "function",
    "select",
    "time",
    "export",
    "local",
    "declare",
    "unset",
    "readonly",
    "typeset",
    "test",
    "a=b",
    "-o",
    "-a",
    ">",
    "<",
    "é",
    "\\",
    "\"\\\"\"",
];
