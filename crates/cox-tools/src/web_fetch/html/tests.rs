use proptest::prelude::*;

use super::*;

fn base() -> Url {
    Url::parse("https://example.com/docs/page.html").unwrap()
}

fn check(html: &str, expected: &str) {
    assert_eq!(to_text(html, &base()), expected, "{html}");
}

#[test]
fn a_page_reads_as_text() {
    check(
        "<!DOCTYPE html><html><head><title> A &amp; B </title><style>p{}</style></head><body>
         <nav><a href=/>Home</a></nav>
         <h1>Head<b>ing</b></h1><p>One   <em>two</em>\n three.<br>Next&nbsp;line &lt;tag&gt;</p><p>Second</p>
         <script>if (a < b) { '</p>' }</script><footer>foot</footer></body></html>",
        "A & B\n\n# Heading\n\nOne two three.\nNext line <tag>\n\nSecond\n",
    );
}

#[test]
fn only_the_main_part_is_shown_where_there_is_one() {
    check(
        "<body>menu<main><p>text</p><main>inner</main></main>more</body>",
        "text\n\ninner\n",
    );
    check("<article>one</article><article>two</article>", "one\n");
    check("<header>a</header><div>b</div><aside>c</aside>", "b\n");
    check("<nav>only a menu</nav>", "only a menu\n");
    check("<nav>never closed<main>text</main>", "text\n");
    check("<body><nav>never closed<article>text</article>", "text\n");
}

#[test]
fn lists_are_marked_and_nested() {
    check(
        "<p>x</p><ul><li>a<li><p>b</p><ol><li>c</li><li>d</li></ol></li></ul><p>y",
        "x\n\n- a\n- b\n  1. c\n  2. d\n\ny\n",
    );
    check("<ul><li></li><li>a</li></ul>", "- a\n");
}

#[test]
fn code_keeps_its_shape() {
    check(
        "<p>Use <code>a b</code>, then:</p><pre><code>\nfn main() {\n    <span>x</span> &lt; 3;\n}\n</code></pre><p>End",
        "Use `a b`, then:\n\n```\nfn main() {\n    x < 3;\n}\n```\n\nEnd\n",
    );
    check(
        "a <code>b <kbd>c</kbd></code>d<p><code>never closed<p><code>e</code> f",
        "a `b c`d\n\n`never closed\n\n`e` f\n",
    );
    check("<pre></pre>", "```\n```\n");
    check("</pre>a", "a\n");
}

#[test]
fn links_say_where_they_lead() {
    check(
        "<a href='other.html'>other</a>, <a href=\"#top\">top</a> <a class=x href = /root >root</a> \
         <a href='javascript:x()'>no</a> <a name=y>z</a> <a href=https://a.example/?a=1&amp;b=2>q</a>",
        "other (https://example.com/docs/other.html), top root (https://example.com/root) no z \
         q (https://a.example/?a=1&b=2)\n",
    );
    check("<a href='/x'><img></a>text", "text\n");
}

#[test]
fn tables_have_a_line_a_row() {
    check(
        "<table><tr><th>a</th><th>b</th></tr><tr><td>1<td>2</table>",
        "a | b\n1 | 2\n",
    );
}

#[test]
fn broken_markup_is_forgiven() {
    check("a < b && c > d", "a < b && c > d\n");
    check("<p title='a>b'>x</p>", "x\n");
    check("<p>unclosed <b", "unclosed\n");
    check("<!-- a <p>b</p> --><p>c", "c\n");
    check("<!-- never closed <p>b", "");
    check("<script>never closed", "");
    check(
        "&#65;&#x42;&#0;&#x110000;&nosuch;&",
        "AB\u{fffd}\u{fffd}&nosuch;&\n",
    );
    check("<TITLE>x</TITLE><P>Y</P>", "x\n\nY\n");
    check("", "");
    check("<a href='/é'>é", "é\n");
}

proptest! {
    #[test]
    fn no_page_makes_it_fail(html in "(<|>|/|!--|--|&|;|#|a|p|pre|li|ul|ol|td|code|nav|main|script|title|href|=|'|\"| |\n|é|x){0,60}") {
        let text = to_text(&html, &base());
        prop_assert!(text.is_empty() || text.ends_with('\n'));
    }
}
