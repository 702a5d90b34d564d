use super::{Segment, Segments, loose_commands, segments};

/// Commands as `text => words` pieces joined by ` / `; a line that cannot be told as its reason.
fn shown(line: &str) -> String {
    match segments(line) {
        Segments::Known(segments) => {
            let shown = segments
                .iter()
                .map(|Segment { text, words }| format!("{text} => {}", words.join("|")));
            shown.collect::<Vec<_>>().join(" / ")
        }
        Segments::CannotTell { why } => why,
    }
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (line, expect) in cases {
        assert_eq!(&shown(line), expect, "from {line:?}");
    }
}

#[test]
fn plain_commands_are_told() {
    check(&[
        ("ls", "ls => ls"),
        ("  ls \t -la  ", "ls \t -la => ls|-la"),
        (
            "git log --format=%h -n 5",
            "git log --format=%h -n 5 => git|log|--format=%h|-n|5",
        ),
        (
            "grep -rn 'fn main' src",
            "grep -rn 'fn main' src => grep|-rn|fn main|src",
        ),
        (
            r#"grep "a\s\"b\"" f"#,
            r#"grep "a\s\"b\"" f => grep|a\s"b"|f"#,
        ),
        (
            "ls *.rs src/**/*.[ch] a?c",
            "ls *.rs src/**/*.[ch] a?c => ls|*.rs|src/**/*.[ch]|a?c",
        ),
        (
            "cat ~/notes ~ a~b",
            "cat ~/notes ~ a~b => cat|~/notes|~|a~b",
        ),
        ("[ -f x ] && cat x", "[ -f x ] => [|-f|x|] / cat x => cat|x"),
        ("echo a#b !", "echo a#b ! => echo|a#b|!"),
        (
            "git commit -m 'zażółć — 日本'",
            "git commit -m 'zażółć — 日本' => git|commit|-m|zażółć — 日本",
        ),
        ("l's' \"-\"a", "l's' \"-\"a => ls|-a"),
        ("echo ''", "echo '' => echo|"),
        ("echo 'two\nlines'", "echo 'two\nlines' => echo|two\nlines"),
    ]);
}

#[test]
fn harmless_redirects_are_part_of_a_command() {
    check(&[
        ("make 2>&1", "make 2>&1 => make"),
        (
            "make >/dev/null 2>/dev/null x",
            "make >/dev/null 2>/dev/null x => make|x",
        ),
        (
            "make > /dev/null 2>&1 | tail",
            "make > /dev/null 2>&1 => make / tail => tail",
        ),
        ("make &>/dev/null", "make &>/dev/null => make"),
        ("cat </dev/null >&2", "cat </dev/null >&2 => cat"),
        ("make >>/dev/null", "make >>/dev/null => make"),
        ("echo 12 2", "echo 12 2 => echo|12|2"),
    ]);
}

#[test]
fn lists_and_pipes_are_told_command_by_command() {
    check(&[
        (
            "a && b || c; d | e\nf",
            "a => a / b => b / c => c / d => d / e => e / f => f",
        ),
        ("a;", "a => a"),
        ("\n\na\n\nb\n", "a => a / b => b"),
        ("a &&\n b |\n c", "a => a / b => b / c => c"),
        (
            "git log; rm -rf x",
            "git log => git|log / rm -rf x => rm|-rf|x",
        ),
    ]);
}

#[test]
fn a_wrapper_and_what_it_runs_are_two_commands() {
    check(&[
        (
            "timeout 9 make test",
            "timeout 9 make test => timeout|9|make|test / make test => make|test",
        ),
        (
            "sudo nohup rm x",
            "sudo nohup rm x => sudo|nohup|rm|x / nohup rm x => nohup|rm|x / rm x => rm|x",
        ),
        (
            "ls | xargs rm",
            "ls => ls / xargs rm => xargs|rm / rm => rm",
        ),
        ("env", "env => env"),
        ("command -v git", "command -v git => command|-v|git"),
        (
            "find . -name x -exec cat {} ';' -exec rm -f {} +",
            "find . -name x -exec cat {} ';' -exec rm -f {} + => find|.|-name|x|-exec|cat|{}|;|-exec|rm|-f|{}|+ / cat {} => cat|{} / rm -f {} => rm|-f|{}",
        ),
        (
            "bash script.sh -c x",
            "bash script.sh -c x => bash|script.sh|-c|x",
        ),
    ]);
}

#[test]
fn everything_else_cannot_be_told() {
    check(&[
        ("", "there is no command in it"),
        (" \n\t", "there is no command in it"),
        (";", "`;` is more than this reader understands"),
        ("a;;b", "`;;` is more than this reader understands"),
        ("a; ; b", "`;` is more than this reader understands"),
        ("&& a", "`&` is more than this reader understands"),
        ("a &&", "the line ends after an operator"),
        ("a |", "the line ends after an operator"),
        ("a & b", "`&` runs a command in the background"),
        ("a |& b", "`|&` is more than this reader understands"),
        ("echo $HOME", "`$` stands for something else"),
        ("echo \"$(rm x)\"", "`$` stands for something else"),
        ("echo `rm x`", "a backtick runs another command"),
        (
            "(cd x; ls)",
            "parentheses are more than this reader understands",
        ),
        ("{ ls; }", "braces are more than this reader understands"),
        ("cat {a,b}", "braces are more than this reader understands"),
        ("cat x{}", "braces are more than this reader understands"),
        (
            "cat a\\ b",
            "a backslash is more than this reader understands",
        ),
        (
            "git status \\\n --short",
            "a backslash is more than this reader understands",
        ),
        ("r\\m x", "a backslash is more than this reader understands"),
        ("echo x > file", "it writes to a file by `>`"),
        ("echo x >/dev/nullx", "it writes to a file by `>`"),
        ("echo x >/dev/null/../x", "it writes to a file by `>`"),
        ("echo x >| f", "it writes to a file by `>`"),
        ("echo x 2>err", "it writes to a file by `>`"),
        (
            "echo x 3>&1",
            "a redirect of `3` is more than this reader understands",
        ),
        (
            "echo x >&3",
            "a redirect to `&` is more than this reader understands",
        ),
        (
            "echo x >&-",
            "a redirect to `&` is more than this reader understands",
        ),
        ("cat < file", "it reads from a file by `<`"),
        (
            "cat <<EOF\nx\nEOF",
            "a here-document is more than this reader understands",
        ),
        ("cat <(ls)", "it reads from a file by `<`"),
        (">/dev/null", "there is no command in it"),
        ("A=1 make", "it sets a variable"),
        ("A=1", "it sets a variable"),
        ("printf -v PATH x; ls", "it sets a variable"),
        ("printf -vPATH x", "it sets a variable"),
        ("wait -p PATH", "it sets a variable"),
        ("cat x ^y", "`^` is more than this reader understands"),
        ("=ls", "`=` is more than this reader understands"),
        ("ls # x", "a comment hides the rest of the line"),
        ("#x", "a comment hides the rest of the line"),
        ("if true", "`if` is more than this reader understands"),
        ("! true", "`!` is more than this reader understands"),
        ("for x in a", "`for` is more than this reader understands"),
        ("[[ -f x ]]", "the program's name is a pattern"),
        (
            "f() ls",
            "parentheses are more than this reader understands",
        ),
        ("/bin/?s", "the program's name is a pattern"),
        ("~/bin/x", "the program's name is a pattern"),
        ("'r m' x", "the program's name is unusual"),
        ("-x", "the program's name is unusual"),
        ("'' x", "the program's name is unusual"),
        ("cat ~root/x", "`~` names another person's home"),
        ("dd if=~/x", "`~` is more than this reader understands"),
        ("echo 'x", "a quote is not closed"),
        ("echo \"x", "a quote is not closed"),
        ("echo 'a\\' ; rm x '", "a backslash stands before a quote"),
        ("echo \"a\\\nb\"", "a backslash ends a line"),
        ("ls\r", "there is an unusual character, U+000D"),
        ("l\u{0455} x", "there is an unusual character, U+0455"),
        ("echo 'a\u{202e}b'", "there is an unusual character, U+202E"),
        ("echo 'a\u{1b}b'", "there is an unusual character, U+001B"),
        ("ls\u{a0}x", "there is an unusual character, U+00A0"),
        ("eval 'rm x'", "`eval` runs text or changes what words mean"),
        (". ./x", "`.` runs text or changes what words mean"),
        (
            "export PATH=x",
            "`export` runs text or changes what words mean",
        ),
        ("bash -c 'rm x'", "`bash -c` runs a line of its own"),
        ("/bin/sh -ec 'rm x'", "`sh -c` runs a line of its own"),
        ("sudo sh -c x", "`sh -c` runs a line of its own"),
        ("env A=1 make", "`env` runs another command"),
        ("sudo -u x ls", "`sudo` runs another command"),
        ("timeout -k 1 9 ls", "`timeout` runs another command"),
        ("xargs -n1 rm", "`xargs` runs another command"),
        ("find . -exec rm", "`find` runs another command"),
        ("watch ls", "`watch` runs another command"),
        ("time time time time time ls", "`time` runs another command"),
    ]);
    assert_eq!(
        shown(&format!("ls {}", "x".repeat(10_000))),
        "the line is longer than 10000 bytes"
    );
}

#[test]
fn a_loose_reading_misses_no_command() {
    let cases = [
        ("rm -rf $(x)", "rm"),
        ("echo $(rm x)", "rm"),
        ("echo `rm x`", "rm"),
        ("A=1 B= rm x", "rm"),
        ("true & rm x", "rm"),
        ("if true; then rm x; fi", "rm"),
        ("for x in *; do rm $x; done", "rm"),
        ("{ rm x; }", "rm"),
        ("(rm x)", "rm"),
        ("r\\m x", "rm"),
        ("'r'm $x", "rm"),
        ("sudo -u root rm x", "rm"),
        ("env -i A=1 rm x", "rm"),
        ("bash -c 'rm x'", "rm"),
        ("sh -c \"true; rm x\"", "rm"),
        ("eval \"rm x\"", "rm"),
        ("cat <<EOF\nrm x\nEOF", "rm"),
        ("cat <(rm x)", "rm"),
    ];
    for (line, program) in cases {
        let found = loose_commands(line).iter().any(|words| words[0] == program);
        assert!(
            found,
            "no `{program}` in {line:?}: {:?}",
            loose_commands(line)
        );
    }
    let absent = loose_commands("git commit -m \"rm old files\" $x")
        .iter()
        .all(|words| words[0] != "rm");
    assert!(absent);
}
