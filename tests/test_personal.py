"""What is personal is found in whatever a person or an agent writes, and what only looks like it stays."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Callable
from ipaddress import IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.personal import NOBODY, denied, personal


def neutral(text: str) -> str:
    """`text` with each finding as its kind in braces; a home as `~`."""
    for kind, start, end in sorted(personal(text), key=lambda span: -span[1]):
        text = text[:start] + ("~" if kind == "home" else f"{{{kind}}}") + text[end:]
    return text


# --- e-mail ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("alice@example.com", "{email}"),
        ("Mail alice.b+tag@mail.example.co.uk, please.", "Mail {email}, please."),
        ("Alice <alice@acme.technology>", "Alice <{email}>"),
        ("Alice <alice@acme.yokohama>", "Alice <{email}>"),
        ("<alice@example.com?subject=x>", "<{email}?subject=x>"),
        ("mailto:alice@example.org?subject=x", "mailto:{email}?subject=x"),
        ('{"a": "x\\nalice@example.com\\n"}', '{"a": "x\\n{email}\\n"}'),
        ("?email=alice%40example.com&x=1", "?email={email}&x=1"),
        ("From:bob@example.com", "From:{email}"),
        ("ssh alice@server.example.com uptime", "ssh {email} uptime"),
        ("https://alice@git.example.com/acme/x", "https://{email}/acme/x"),
        ("jörg@exämple.de", "{email}"),
        ("bob@163.com and BOB@EXAMPLE.COM.", "{email} and {email}."),
        ("Ask bob@example.com.Then go on", "Ask {email}.Then go on"),
        ("(c) 2026 a.b@c.d.example.net;", "(c) 2026 {email};"),
        ("12345+alice@users.noreply.github.com", "{email}"),
    ],
)
def test_an_address_of_a_person_is_found(text: str, expected: str) -> None:
    """In prose, headers, links, JSON and commands, without what stands around it."""
    assert neutral(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "git@github.com:acme/x.git",
        "ssh://git@host",
        "ssh://git@git.example.com/acme/x",
        "Co-Authored-By: Claude <noreply@anthropic.com>",
        "@app.route('/x')",
        "x = @user.name",
        "pkg@1.2.3",
        "foo@1.2.3-beta.io and foo@v1.2.app",
        "@scope/pkg@^1.2",
        "react@18.2.0-rc.1",
        "actions/checkout@v4",
        "a@b.T + x@w.mean + a@b.co",
        "x@weights.to(device)",
        "q@k.at[0]",
        "user@1000.service",
        "logo@2x.png",
        "java.lang.Object@1b6d3586",
        "alice@localhost",
        "https://user:password@db.example.com/x",
        "a @ b.com",
        "@",
        "a@",
    ],
)
def test_what_only_looks_like_an_address_stays(text: str) -> None:
    """Shared accounts, decorators, packages, products of matrices, units, file names, placeholders."""
    assert neutral(text) == text


# --- IP addresses ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.0.0.5", "{ip}"),
        ("http://192.168.1.20:8080/x", "http://{ip}:8080/x"),
        ("HOST=8.8.8.8, ok", "HOST={ip}, ok"),
        ("10.0.0.5/24 to 10.1.2.3-10.1.2.9.", "{ip}/24 to {ip}-{ip}."),
        ('{"a": "x\\n10.0.0.5\\n"}', '{"a": "x\\n{ip}\\n"}'),
        ("if ip == '10.0.0.5':", "if ip == '{ip}':"),
        ("[[ $ip == 10.0.0.5 ]]", "[[ $ip == {ip} ]]"),
        ("/dev/tcp/10.0.0.5/4444", "/dev/tcp/{ip}/4444"),
        ("alice@10.0.0.5:x", "alice@{ip}:x"),
        ("10.0.0.5.nip.io", "{ip}.nip.io"),
        ("::ffff:10.0.0.5", "::ffff:{ip}"),
        ("2001:db8::1", "{ip}"),
        ("[fe80::1%eth0]:443", "[{ip}%eth0]:443"),
        ("fd00:1234::/48", "{ip}/48"),
        ("at 2001:0DB8:85a3:0000:0000:8a2e:0370:7334.", "at {ip}."),
        ("fe80::1: unreachable", "{ip}: unreachable"),
        ('"\\n2001:db8::1"', '"\\n{ip}"'),
    ],
)
def test_an_address_of_a_machine_is_found(text: str, expected: str) -> None:
    """Of both kinds, with port, prefix or zone left where they are."""
    assert neutral(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1:80 127.1.2.3 ::1 [::1]:80 :: [::]:443",
        "0.0.0.0 255.255.255.0 255.255.255.255 0.0.0.255 224.0.0.251",
        "v1.2.3.4 and V1.2.3.4",
        "version 1.2.3.4",
        "versions: 1.2.3.4",
        '"version": "1.2.3.4"',
        'AssemblyVersion("1.2.3.4")',
        "<Version>1.2.3.4</Version>",
        "release 1.2.3.4, section 1.2.3.4, § 1.2.3.4",
        "==1.2.3.4",
        "!=1.2.3.4 >=1.2.3.4 >= 1.2.3.4 ~=1.2.3.4 ^1.2.3.4 ~> 1.2.3.4 ~1.2.3.4",
        "acme-1.2.3.4.jar",
        "Chrome/120.0.0.0",
        "1.2.3.4.5 1.2.3 300.1.2.3 01.02.03.04 1.2.3.4rc1",
        "1.3.6.1.4.1.311",
        "12:34:56 2026-11-29T12:34:56.123Z 2026:11:29 12:34",
        "std::a1 a::b dead::beef 2a::1 cafe::1 ff02::1",
        "crate2001:db8::1",
        "00:1a:2b:3c:4d:5e 00:11:22:33:44:55:66:77",
        "SHA256:aa:bb:cc:dd:ee:ff:00:11 2001:aa:bb:cc:dd:ee:ff:00:11:22",
        "2001: a space odyssey, fade:",
    ],
)
def test_what_is_no_machine_s_address_stays(text: str) -> None:
    """Loopback, masks, groups, versions, sections, times, paths of programs, hardware addresses, digests."""
    assert neutral(text) == text


@given(st.ip_addresses(v=6, network="2000::/3"))
def test_every_way_to_write_an_address_is_found(address: IPv6Address) -> None:
    """Short, long and in capitals."""
    for text in (address.compressed, address.exploded, address.exploded.upper()):
        assert neutral(f"to {text}, now") == "to {ip}, now"


# --- homes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/alice/x", "~/x"),
        ("cd /home/alice", "cd ~"),
        ("see /home/alice.", "see ~."),
        ("/Users/alice.b/x.py:12", "~/x.py:12"),
        ("/var/home/alice/x /usr/home/alice/x", "~/x ~/x"),
        ("file:///home/alice/x", "file://~/x"),
        ("editor://file/home/alice/x", "editor://file~/x"),
        ("alice@host:/home/alice/x", "alice@host:~/x"),
        ("PATH=/home/alice/bin:/home/bob/bin", "PATH=~/bin:~/bin"),
        ("-v /home/alice:/x", "-v ~:/x"),
        ('"a\\n/home/alice/x"', '"a\\n~/x"'),
        ('{"p": "\\/home\\/alice\\/x"}', '{"p": "~\\/x"}'),
        ("C:\\Users\\alice\\x", "~\\x"),
        ("C:\\Users\\nadia\\x", "~\\x"),
        ("c:\\Users\\Alice Example\\Documents", "~\\Documents"),
        ("C:/Users/alice/x", "~/x"),
        ("file:///C:/Users/alice/x", "file:///~/x"),
        ('"C:\\\\Users\\\\alice\\\\x"', '"~\\\\x"'),
        ('\\"C:\\\\\\\\Users\\\\\\\\alice\\\\\\\\x\\"', '\\"~\\\\\\\\x\\"'),
        ('"\\\\Users\\\\alice"', '"~"'),
        ("/mnt/c/Users/alice/x /c/Users/alice/x", "~/x ~/x"),
        ("~/.claude/projects/-home-alice-acme-api/a.jsonl", "~/.claude/projects/-home-~-acme-api/a.jsonl"),
        ("projects/-Users-alice-acme projects/-var-home-bob", "projects/-Users-~-acme projects/-var-home-~"),
        ("projects\\\\C--Users-alice-acme", "projects\\\\C--Users-~-acme"),
        ("/home/alice/.claude/projects/-home-alice", "~/.claude/projects/-home-~"),
        ("/home/jörg/x", "~/x"),
    ],
)
def test_a_home_loses_its_name(text: str, expected: str) -> None:
    """On every system, in every escaping, and in the names that agents give to the folders of projects."""
    assert neutral(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "/home/<user>/x /home/$USER/x /home/{name}/x /home/*/x",
        "/home /home/ /Users/ home/alice",
        "src/home/index.ts app/Users/index.tsx ./home/alice ~/home/x",
        "https://example.com/home/alice",
        "https://home/alice //home/alice",
        "$ROOT/home/alice ${X}/home/alice",
        "projects/acme-home-alice",
        "-home-alice-acme-api",
        "\\n home alice",
    ],
)
def test_what_is_nobody_s_home_stays(text: str) -> None:
    """Placeholders, folders of a repository, addresses of the web, names that are no path."""
    assert neutral(text) == text


@pytest.mark.parametrize("account", sorted(NOBODY))
def test_an_account_that_names_nobody_stays(account: str) -> None:
    """Those of images, runners and manuals, on every system and in capitals."""
    for text in (f"/home/{account}/x", f"C:\\Users\\{account.title()}\\x", f"projects/-home-{account}-x"):
        assert neutral(text) == text


# --- denied words ------------------------------------------------------------------------------------------------


def found(text: str, *words: str) -> list[str]:
    return [text[start:end] for _, start, end in sorted(denied(text, words))]


@pytest.mark.parametrize(
    ("word", "text", "expected"),
    [
        ("globex", "Globex GLOBEX globex.", ["Globex", "GLOBEX", "globex"]),
        ("globex", "globexes anglobex globex1 2globex", []),
        ("globex", "globex_api GLOBEX-API x.globex.com", ["globex", "GLOBEX", "globex"]),
        (
            "Acme Corp",
            "acme  corp ACME\n\tCORP acme\u00a0corp acmecorp",
            ["acme  corp", "ACME\n\tCORP", "acme\u00a0corp"],
        ),
        ("  acme   corp ", "acme corp", ["acme corp"]),
        ("Acme Corp", "mcp__Acme_Corp__list acme-corp acme.corp", ["Acme_Corp", "acme-corp"]),
        ("C++ Ltd.", "c++ ltd.x xc++ ltd.", ["c++ ltd."]),
        (".acme", "x.acme", [".acme"]),
        ("Straße", "STRASSE straße strasse", ["STRASSE", "straße", "strasse"]),
        ("Café", "cafe\u0301 CAFÉ cafe", ["cafe\u0301", "CAFÉ"]),
        ("cafe", "cafe\u0301 café cafe", ["cafe"]),
        ("東京社", "は東京社 東京社", ["東京社"]),
        ("İzmir", "İzmir i\u0307zmir", ["İzmir", "i\u0307zmir"]),
        ("a.c", "abc a.c", ["a.c"]),
    ],
)
def test_a_denied_word_is_found_by_itself(word: str, text: str, expected: list[str]) -> None:
    """Whatever its case, its spelling in Unicode and its blanks, and not as a part of another word."""
    assert found(text, word) == expected


def test_of_words_that_begin_alike_both_are_found() -> None:
    """The longer one is not hidden by the shorter one."""
    assert "acme corp" in found("acme corp", "acme", "acme corp")
    assert found("nothing", "acme") == found("acme") == []


@given(st.text("abcßÉñ x+", min_size=3, max_size=8).filter(lambda word: len(word.strip()) > 2), st.text(max_size=20))
def test_no_spelling_hides_a_denied_word(word: str, around: str) -> None:
    """Between line ends a word is found in capitals, decomposed and composed, whatever else the text holds."""
    spellings = (word.upper(), unicodedata.normalize("NFD", word), unicodedata.normalize("NFC", word.title()))
    for spelling in spellings:
        text = f"{around}\n{spelling.strip()}\n{around}"
        assert spelling.strip() in "|".join(found(text, word))


# --- cost --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "unit",
    [
        "a@",
        "@a.a",
        "a@a.",
        "1.",
        "1.1.1.1 ",
        "2001:",
        "2001::",
        "f",
        "/home/a",
        "/home/",
        "projects/-home-a",
        "Users\\",
        "://a:",
        "%40",
        "acme ",
        "acme\u00e9",
        " " * 50,
        "C:\\Users\\A A",
    ],
)
def test_repetition_costs_no_more_than_length(unit: str) -> None:
    """Eight times as much of what begins a finding takes eight times as long, not sixty-four."""

    def cost(length: int) -> float:
        text = unit * (length // len(unit))
        return min(_cpu_seconds(lambda: [*personal(text), *denied(text, ("acme acme", "e x"))]) for _ in range(3))

    assert cost(32_000) < 30 * max(cost(4_000), 0.001)


def _cpu_seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began
