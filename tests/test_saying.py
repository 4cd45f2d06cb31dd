"""Where a word stands in an answer: anywhere, in code, as a command; and that quoting it is not using it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from skillopt_git.saying import says_in_code, says_in_command

FENCE = "```"


def fenced(*lines: str, info: str = "", fence: str = FENCE) -> str:
    return "\n".join(["Here it is:", f"{fence}{info}", *lines, fence, "That is all."])


# --- code --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (fenced("const a = 1"), True),
        (fenced("CONST a = 1"), True),
        (fenced("const a = 1", info="js {1}"), True),
        (fenced("const a = 1", fence="~~~~"), True),
        (fenced(FENCE, "const a = 1", fence="````"), True),
        (f"- Here:\n  {FENCE}js\n  const a = 1\n  {FENCE}", True),
        (f"> {FENCE}\n> const a = 1\n> {FENCE}", True),
        (f"{FENCE}\nconst a = 1", True),
        (f"{FENCE}\nlet a\n{FENCE}\nconst a = 1", False),
        (f"{FENCE}\nlet a\n~~~\nconst a = 1", True),
        ("So:\n\n    const a = 1\n    let b\n", True),
        ("So:\n\n    let b\n\n    const a = 1\n", True),
        ("So:\n    const a = 1\n", False),
        ("\tconst a = 1", True),
        ("Now `const a` is there.", True),
        ("Now ``const `a` `` is there.", True),
        ("```const a```", True),
        ("Now `` ` const a ` is there.", True),
        ("Now `const` is there.", False),
        ("Now `const a is there.", False),
        ("Now ``const a` is there.", False),
        (fenced("const"), False),
        (fenced("  'const';"), False),
        (fenced("constant a = 1"), False),
        ("const a = 1", False),
        ("", False),
        ("``` ```", False),
    ],
)
def test_code_is_fences_indented_lines_and_spans(text: str, said: bool) -> None:
    """A fence may stay open; a line that says nothing but the word only quotes it."""
    assert says_in_code(text, "const") is said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (fenced("Use const, not var"), False),
        (fenced('- "use const"'), False),
        (fenced("const, not var"), False),
        (fenced("Declare with const first"), False),
        (fenced("Use const a = 1, not var a = 1;"), False),
        (fenced("use(const, a)"), True),
        (fenced("restart: const"), True),
        (fenced("use std::const;"), True),
        (fenced("always @(posedge const) begin"), True),
        (fenced("prefer = const"), True),
        (fenced("Prefer const over f(x)"), False),
        ("I did not write `const a`.", False),
        ("It isn’t `const a`.", False),
        ("Instead of having written `const a`, I wrote `let a`.", False),
        ("It is not slow. Now `const a` is there.", True),
        ("I did not change `b`, and added `const a`.", True),
    ],
)
def test_rules_and_what_was_avoided_are_not_code(text: str, said: bool) -> None:
    """A sentence in a fence stays a sentence; a span after a negation names what was not done."""
    assert says_in_code(text, "const") is said


@pytest.mark.parametrize(("word", "line"), [("Decimal", "Decimal total"), ("List[int]", "List[int] a")])
def test_a_capital_letter_makes_no_sentence_of_a_line_that_begins_with_the_word(word: str, line: str) -> None:
    """Types are written so; what else begins like a sentence is one, whatever signs the word itself has."""
    assert says_in_code(fenced(line), word)
    assert not says_in_code(fenced(f"Write {word} here"), word)


# --- commands ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "npm install lodash",
        "  npm i",
        "$ npm ci",
        "> npm ci",
        "% npm ci",
        "# npm ci",
        "alice@acme:~/web$ npm ci",
        "sudo npm ci",
        "env CI=1 npm ci",
        "CI=1 A='b c' B=\"d e\" C= npm ci",
        "/usr/bin/npm ci",
        "~/bin/npm ci",
        "cd web && npm ci",
        "yarn || npm ci",
        "yarn; npm ci",
        "yes | npm init",
        "echo $(npm root -g)",
        "- run: npm ci",
        "RUN npm ci",
        "npm -g ls",
        "npm ./web",
    ],
)
def test_a_command_is_found_where_one_can_begin(line: str) -> None:
    """After a prompt, assignments and the like, after an operator; in fences, indented lines and spans."""
    assert says_in_command(fenced(line, info="sh"), "npm")
    assert says_in_command(f"So:\n\n    {line}\n", "npm")
    assert says_in_command(f"I ran `{line}` there.", "npm")


@pytest.mark.parametrize(
    "line",
    [
        "npm",
        "$ npm",
        "npm && ls",
        "npm, pnpm and yarn",
        "npm is slow",
        "# npm is slow",
        "npm for all",
        "npm -> pnpm",
        "npm = bad",
        "pnpm npm",
        "pnpm add npm x",
        "npm-check all",
        "./npm ci",
        "NPM ci",
        "install npm first",
        "Run npm ci",
        "npm ci instead of yarn",
        "a=1 echo npm ci",
    ],
)
def test_a_word_elsewhere_is_no_command(line: str) -> None:
    """Alone, as an argument, in another program's name, in a sentence: it does not run."""
    assert not says_in_command(fenced(line), "npm")
    assert not says_in_command(f"I saw `{line}` there.", "npm")


@pytest.mark.parametrize(
    ("text", "run"),
    [
        (fenced("cargo test"), True),
        (fenced("cargo  test --all"), True),
        (fenced("cargo test | tail"), True),
        (fenced("cargo testing"), False),
        (fenced("cargo bench"), False),
        ("I ran `cargo test`: all pass.", True),
        ("I ran cargo test --all.", True),
        ("I ran cargo test.", False),
        ("I ran `cargo bench`, not `cargo test`.", False),
        ("Always use `cargo test`.", False),
        ("Always use `cargo test --all`.", True),
        ("`cargo test`", False),
        (f"{FENCE}sh\n$ cargo test\n{FENCE}", False),
    ],
)
def test_a_command_of_several_words_needs_no_argument(text: str, run: bool) -> None:
    """But an answer that is nothing else, or that is a rule to use it, only quotes it."""
    assert says_in_command(text, "cargo test") is run


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("Ran npm install lodash.", True),
        ("Done. npm install lodash ran fine", True),
        ("npm ci, and then the tests", True),
        ("I used npm --version first.", True),
        ("Ran npm install in `web`.", True),
        ("I did not run npm install.", False),
        ("Ran pnpm add, not npm install.", False),
        ("Never npm install", False),
        ("I don't npm install", False),
        ("Without npm install it failed.", False),
        ("There was no lockfile. Ran npm install.", True),
        ("It is in the npm registry.", False),
        ("npm is slow", False),
        ("npm, pnpm", False),
        ("We have npm for this.", False),
        ("npm Install", False),
        ("pnpm npm-check all", False),
        ("Always use npm install.", False),
        ('The rule is: "use npm install here".', False),
        ("Ran npm install.\n\n    yarn add lodash\n", False),
        ("Ran npm install, then `yarn add lodash`.", False),
        ("Ran\nnpm install", True),
        ("Ran npm\ninstall", False),
    ],
)
def test_prose_tells_of_commands_where_no_code_shows_one(text: str, run: bool) -> None:
    """A flag or a lower-case word follows, and neither an article nor a negation precedes."""
    assert says_in_command(text, "npm") is run


def test_shells_tell_capitals_apart() -> None:
    """The word as it is written, or in lower case."""
    assert says_in_command(fenced("Rscript build.R"), "Rscript")
    assert says_in_command(fenced("npm ci"), "NPM")
    assert not says_in_command("Make targets", "make")


# --- quoting -----------------------------------------------------------------------------------------------------

PLACES: list[Callable[[str, str], bool]] = [says_in_code, says_in_command]
WORDS = ["npm", "pnpm", "cargo test", "npm install", "pathlib", "--fix", "Decimal", "f(x)", "os.path"]
RULES = [
    "Use {}, not {}",
    "Use {} instead of {}",
    "Always use {}",
    "Always use {} first, never {}",
    "Never use {}",
    "Prefer {} over {}",
    "use {} for new packages, not {}",
    "Please use {} and not {}",
    "Do not use {}",
    "Nutze {} statt {}",
    "Nimm {}, nicht {}",
    "{}, not {}",
]
QUOTES = [
    "{}",
    "{}.",
    "`{}`",
    "``{}``",
    '"{}"',
    "'{}'",
    "“{}”",
    "**{}**",
    "- {}",
    "> {}",
    "# {}",
    "    {}",
    "```\n{}\n```",
    "```sh\n{}\n```",
    '```\n"{}"\n```',
    "```\n- {}\n```",
    "~~~\n# {}",
]
quotes = st.sampled_from(QUOTES)
each_place = pytest.mark.parametrize("says_there", PLACES)


@each_place
@given(quotes, st.sampled_from(WORDS), st.integers(1, 3))
def test_quoting_the_word_never_counts(
    says_there: Callable[[str, str], bool], quote: str, word: str, times: int
) -> None:
    """Plain, in quotes, in a span or in a fence, once or again and again."""
    assert not says_there("\n\n".join([quote.format(word)] * times), word)


@each_place
@given(quotes, st.sampled_from(RULES), st.permutations(WORDS), st.sampled_from(["{}", "`{}`"]))
def test_quoting_the_rule_never_counts(
    says_there: Callable[[str, str], bool], quote: str, rule: str, words: list[str], marked: str
) -> None:
    """Neither the word it asks for nor the one it turns down, whether the rule stands in quotes, a span or a fence."""
    assume(marked == "{}" or "`" not in quote)
    wanted, unwanted = words[:2]
    assume(not wanted.startswith(f"{unwanted} ") and not unwanted.startswith(f"{wanted} "))  # `npm install` runs npm
    assume(not rule.startswith("{}") or (marked == "{}" and "f(x)" not in words[:2]))  # without a verb: words alone
    text = quote.format(rule.format(marked.format(wanted), marked.format(unwanted)))
    assert not says_there(text, wanted)
    assert not says_there(text, unwanted)


ANSWERS = [fenced("npm ci"), "Ran `npm ci`.", "No code here.", "So:\n\n    npm ci\n", "Use `npm`.", ""]
PROSE = st.text(st.characters(codec="utf-8", exclude_characters="`~\t\n", exclude_categories=["Cc", "Zl", "Zp", "Cs"]))


@given(st.sampled_from(ANSWERS), PROSE, PROSE, st.sampled_from(["npm", "ci", "npm ci", "code"]))
def test_prose_never_changes_what_code_says(answer: str, before: str, after: str, word: str) -> None:
    """Whatever is written around it."""
    prose = [" ".join(text.split()) for text in (before, after)]
    assert says_in_code("\n\n".join([prose[0], answer, prose[1]]), word) is says_in_code(answer, word)


@each_place
@given(st.text(alphabet="`~ \n>-.npmci&;'\"=/$#(", max_size=80), st.sampled_from(["npm", "npm ci"]))
def test_any_text_is_read(says_there: Callable[[str, str], bool], text: str, word: str) -> None:
    """Whatever the marks, the answer is a yes or a no, and it is no where the word does not stand."""
    assert says_there(text, word) in {True, False}
    assert not says_there(text.replace("n", ""), word)


@pytest.mark.parametrize(
    "text",
    [
        "` " * 50_000,
        "".join("`" * length + " " for length in range(1, 450)),
        f"{FENCE}\n" + 'a="x" ' * 20_000,
        f"{FENCE}\n" + "/a" * 50_000,
        '"' * 100_000,
        ". " * 50_000,
        "npm " * 25_000,
        "the yarn install " * 6_000,
        "    the yarn = 1\n" * 6_000,
        "- " * 50_000,
    ],
)
def test_long_answers_are_read_at_once(text: str) -> None:
    """Time does not explode with the marks of a text: each of these would otherwise take minutes."""
    assert not says_in_code(text, "yarn install")
    assert not says_in_command(text, "yarn")
