use super::{Segment, Segments, loose_commands, segments};

/// Commands as `text => words` pieces joined by ` / `; a line that cannot be told as its reason.
fn shown(line: &str) -> String {
    match segments(line) {
        Segments::Known(segments) => {
            let shown = segments
                .iter()
                .map(|Segment { text, words, .. }| format!("{text} => {}", words.join("|")));
            shown.collect::<Vec<_>>().join(" / ")
        }
        Segments::CannotTell { why } => why,
    }
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    let wrong: Vec<String> = cases
        .iter()
        .filter(|(line, expect)| shown(line) != *expect)
        .map(|(line, expect)| format!("from {line:?}\n   got {:?}\nexpect {expect:?}", shown(line)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
            "ls => ls / xargs rm => xargs|rm / rm => rm|…",
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
fn the_tree_tells_what_the_strict_reader_does_not() {
    check(&[
        ("a & b", "a => a / b => b"),
        ("a |& b", "a => a / b => b"),
        ("echo $HOME", "echo $HOME => echo|$HOME"),
        (
            "echo \"$(rm x)\"",
            "echo \"$(rm x)\" => echo|\"$(rm x)\" / rm x => rm|x",
        ),
        ("echo `rm x`", "echo `rm x` => echo|`rm x` / rm x => rm|x"),
        ("(cd x; ls)", "cd x => cd|x / ls => ls"),
        ("{ ls; }", "ls => ls"),
        ("cat {a,b}", "cat {a,b} => cat|{a,b}"),
        ("cat x{}", "cat x{} => cat|x{}"),
        ("cat a\\ b", "cat a\\ b => cat|a b"),
        (
            "git status \\\n --short",
            "git status    --short => git|status|--short",
        ),
        ("r\\m x", "r\\m x => rm|x"),
        ("echo x > file", "echo x => echo|x"),
        ("echo x >| f", "echo x => echo|x"),
        ("echo x 2>err", "echo x => echo|x"),
        ("echo x 3>&1", "echo x => echo|x"),
        ("echo x >&3", "echo x => echo|x"),
        ("echo x >&-", "echo x => echo|x"),
        ("cat < file", "cat => cat"),
        ("cat <<EOF\nx\nEOF", "cat => cat"),
        ("cat <(ls)", "cat <(ls) => cat|<(ls) / ls => ls"),
        ("cat x ^y", "cat x ^y => cat|x|^y"),
        ("ls # x", "ls => ls"),
        ("! true", "true => true"),
        ("[[ -f x ]]", "[[ -f x ]] => [[|-f|x|]]"),
        ("eval 'rm x'", "eval 'rm x' => eval|rm x / rm x => rm|x"),
        (
            "bash -c 'rm x'",
            "bash -c 'rm x' => bash|-c|rm x / rm x => rm|x",
        ),
        (
            "/bin/sh -ec 'rm x'",
            "/bin/sh -ec 'rm x' => /bin/sh|-ec|rm x / rm x => rm|x",
        ),
        (
            "sudo sh -c x",
            "sudo sh -c x => sudo|sh|-c|x / sh -c x => sh|-c|x / x => x",
        ),
        ("sudo -u x ls", "sudo -u x ls => sudo|-u|x|ls / ls => ls"),
        (
            "timeout -k 1 9 ls",
            "timeout -k 1 9 ls => timeout|-k|1|9|ls / ls => ls",
        ),
        ("xargs -n1 rm", "xargs -n1 rm => xargs|-n1|rm / rm => rm|…"),
        ("watch ls", "watch ls => watch|ls / ls => ls"),
    ]);
}

#[test]
fn everything_else_cannot_be_told() {
    check(&[
        ("", "there is no command in it"),
        (" \n\t", "there is no command in it"),
        (";", "it is not a line that a shell would take"),
        ("a;;b", "`;;` is more than this reader understands"),
        ("a; ; b", "it is not a line that a shell would take"),
        ("&& a", "it is not a line that a shell would take"),
        ("a &&", "it is not a line that a shell would take"),
        ("a |", "it is not a line that a shell would take"),
        ("echo x >/dev/nullx", "it is connected to a device"),
        ("echo x >/dev/null/../x", "it is connected to a device"),
        (">/dev/null", "there is no command before a redirect"),
        ("A=1 make", "it sets the variable `A`"),
        ("A=1", "it sets a variable"),
        ("printf -v PATH x; ls", "it sets a variable"),
        ("printf -vPATH x", "it sets a variable"),
        ("wait -p PATH", "it sets a variable"),
        ("=ls", "the program's name is not plain"),
        ("#x", "there is no command in it"),
        ("if true", "it is not a line that a shell would take"),
        ("for x in a", "it is not a line that a shell would take"),
        ("f() ls", "it is not a line that a shell would take"),
        ("/bin/?s", "the program's name is not plain"),
        ("~/bin/x", "the program's name is not plain"),
        ("'r m' x", "the program's name is unusual"),
        ("-x", "the program's name is unusual"),
        ("'' x", "the program's name is unusual"),
        ("cat ~root/x", "`~` names another person's home"),
        ("dd if=~/x", "`~` is more than this reader understands"),
        ("echo 'x", "it is not a line that a shell would take"),
        ("echo \"x", "it is not a line that a shell would take"),
        (
            "echo 'a\\' ; rm x '",
            "it is not a line that a shell would take",
        ),
        ("echo \"a\\\nb\"", "a backslash ends a line"),
        ("ls\r", "there is an unusual character, U+000D"),
        ("l\u{0455} x", "there is an unusual character, U+0455"),
        ("echo 'a\u{202e}b'", "there is an unusual character, U+202E"),
        ("echo 'a\u{1b}b'", "there is an unusual character, U+001B"),
        ("ls\u{a0}x", "there is an unusual character, U+00A0"),
        (". ./x", "`.` runs text or changes what words mean"),
        ("export PATH=x", "it sets a variable"),
        ("env A=1 make", "`env` runs another command"),
        ("find . -exec rm", "`find` runs another command"),
        ("time time time time time ls", "`time` runs another command"),
        ("time ! rm x", "`time` runs another command"),
        ("bash -i <<< 'ls !!'", "`bash -c` runs a line of its own"),
    ]);
    assert_eq!(
        shown(&format!("ls {}", "x".repeat(10_000))),
        "the line is longer than 10000 bytes"
    );
}

#[test]
fn a_bracket_that_is_part_of_a_word_is_none() {
    for line in ["[ \"a = b\"]", "[\"a\" = b ]", "[[ a == \"b\"]]"] {
        for line in [line.to_owned(), format!("# remark\n{line}")] {
            let told = segments(&line);
            assert!(
                matches!(told, Segments::CannotTell { .. }),
                "{line}: {told:?}"
            );
        }
    }
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
