from __future__ import annotations

import hashlib
import json
import random
import sysconfig
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_git.errors import SafetyError
from skillopt_git.redact import SECRETS as SCANNER
from skillopt_git.redact import Finding, Redactor, Scanner, find_secrets, without_hex

redact = Redactor(b"a private key of this repository")

DIGITS = "0123456789"
HEX = DIGITS + "abcdef"
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LETTERS = UPPER + UPPER.lower()
WORD = LETTERS + DIGITS


def body(length: int, alphabet: str = WORD, seed: int = 0) -> str:
    """Random characters, equal in every run: no secret is written in this file, all are put together here."""
    return "".join(random.Random(f"{length}{alphabet}{seed}").choices(alphabet, k=length))


SECRETS = {
    "openai": "sk-" + body(48),
    "openai-project": "sk-" + "proj-" + body(48),
    "openai-hex": "sk-" + body(32, HEX),
    "openai-dotted": "sk-" + body(20) + "." + body(20),
    "anthropic": "sk-" + "ant-api03-" + body(93) + "AA",
    "anthropic-short": "sk-" + "ant-api03-" + body(40),
    "openrouter": "sk-" + "or-v1-" + body(64, HEX),
    "aws-id": "AK" + "IA" + body(16, UPPER),
    "aws-example": "AK" + "IAIOSFODNN7" + "EXAMPLE",
    "aws-session-id": "AS" + "IA" + body(16, UPPER),
    "aws-secret": body(40),
    "github": "gh" + "p_" + body(36),
    "github-oauth": "gh" + "o_" + body(36),
    "github-app": "gh" + "s_" + body(36),
    "github-fine": "github" + "_pat_" + body(22) + "_" + body(59),
    "gitlab": "gl" + "pat-" + body(20),
    "slack-bot": "xo" + "xb-" + body(12, DIGITS) + "-" + body(12, DIGITS) + "-" + body(24),
    "slack-user": "xo" + "xp-" + body(12, DIGITS) + "-" + body(12, DIGITS) + "-" + body(32, HEX),
    "slack-refresh": "xo" + "xe-1-" + body(146),
    "slack-config": "xo" + "xe.xo" + "xp-1-" + body(160),
    "slack-app": "xa" + "pp-1-A" + body(10) + "-" + body(12, DIGITS) + "-" + body(64, HEX),
    "slack-webhook": "https://hooks.sl" + "ack.com/services/T" + body(8) + "/B" + body(8) + "/" + body(24),
    "discord-webhook": "https://disc" + "ord.com/api/webhooks/" + body(18, DIGITS[1:]) + "/" + body(68),
    "google": "AI" + "za" + body(35),
    "google-client": "GO" + "CSPX-" + body(28),
    "google-oauth": "ya" + "29." + body(120),
    "jwt": "ey" + "J" + body(33) + ".ey" + "J" + body(40) + "." + body(43),
    "stripe": "sk" + "_live_" + body(24),
    "stripe-restricted": "rk" + "_live_" + body(24),
    "stripe-webhook": "whs" + "ec_" + body(32),
    "npm": "np" + "m_" + body(36),
    "pypi": "py" + "pi-AgEIcHlwaS5vcmc" + body(150),
    "huggingface": "h" + "f_" + body(34),
    "sendgrid": "S" + "G." + body(22) + "." + body(43),
    "twilio": "S" + "K" + body(32, HEX),
    "docker": "dc" + "kr_pat_" + body(27),
    "atlassian": "AT" + "ATT3xFfGF0" + body(180) + "=" + body(8, "ABCDEF0123456789"),
    "digitalocean": "do" + "p_v1_" + body(64, HEX),
    "age": "AGE-SEC" + "RET-KEY-1" + body(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"),
    "telegram": body(9, DIGITS[1:]) + ":A" + "A" + body(33),
    "netlify": "n" + "fp_" + body(40),
    "sentry": "snt" + "rys_" + body(60),
    "newrelic": "NR" + "AK-" + body(27, UPPER + DIGITS),
    "notion": "nt" + "n_" + body(46),
    "shopify": "shp" + "at_" + body(32, HEX),
    "vault": "hv" + "s." + body(90),
    "xai": "x" + "ai-" + body(80),
    "groq": "g" + "sk_" + body(52),
    "tailscale": "tskey" + "-auth-" + body(10) + "-" + body(30),
    "contentful": "CF" + "PAT-" + body(43),
    "planetscale": "psc" + "ale_tkn_" + body(43),
    "fly": "fo" + "1_" + body(43),
    "typeform": "tf" + "p_" + body(59),
    "artifactory": "AK" + "Cp" + body(69),
    "airtable": "pa" + "t" + body(14) + "." + body(64, HEX),
    "resend": "r" + "e_" + body(8) + "_" + body(24),
    "teams-webhook": "https://acme.webhook.off" + "ice.com/webhookb2/" + str(uuid.UUID(int=7)) + "/" + body(60, HEX),
}
# Formats that the library knows and the rules here do not, as samples of its several hundred.
LIBRARY = {
    "1password": "op" + "s_ey" + "J" + body(260),
    "buildkite": "bk" + "ua_" + body(40, HEX),
    "databricks": "da" + "pi" + body(32, HEX),
    "doppler": "dp" + ".pt." + body(43),
    "duffel": "duffel" + "_live_" + body(43),
    "dynatrace": "dt0" + "c01." + body(24, UPPER + DIGITS) + "." + body(64, UPPER + DIGITS),
    "figma": "fig" + "d_" + body(40),
    "gitlab-runner": "gl" + "rt-" + body(20),
    "grafana": "gl" + "sa_" + body(32) + "_" + body(8, HEX),
    "heroku": "HR" + "KU-AA" + body(58),
    "linear": "lin" + "_api_" + body(40),
    "perplexity": "pp" + "lx-" + body(48),
    "posthog": "ph" + "x_" + body(43),
    "postman": "PM" + "AK-" + body(24, HEX) + "-" + body(34, HEX),
    "pulumi": "pu" + "l-" + body(40, HEX),
    "replicate": "r" + "8_" + body(37),
    "rubygems": "ruby" + "gems_" + body(48, HEX),
    "shippo": "shippo" + "_live_" + body(40, HEX),
    "square": "sq" + "0atp-" + body(22),
    "supabase": "sb" + "p_" + body(40, HEX),
    "terraform": body(14) + ".atl" + "asv1." + body(64),
}
PLACES = {
    "alone": "{}",
    "at the start": "{} is what it wants",
    "at the end": "it wants {}",
    "prose": "Please use {} for the call.",
    "end of a sentence": "It is {}.",
    "a question": "Is it {}?",
    "a list in prose": "old, {}, new",
    "parentheses": "(now {})",
    "bold": "**{}**",
    "code in prose": "set `{}` there",
    "curly quotes": "“{}”",
    "dashes": "this—{}—that",
    "Chinese": "令牌{}。",
    "multi-byte": "日本🎉é {} ü",
    "no-break space": "a\u00a0{}\u00a0b",
    "line separator": "a\u2028{}\u2028b",
    "Windows lines": "a\r\n{}\r\nb",
    "tabs": "a\t{}\tb",
    "semicolons": "x;{};y",
    "colon": "it is:{}",
    "pipes": "| a | {}|",
    "brackets": "[{}]",
    "angles": "<{}>",
    "exclamation": "{}!",
    "json": '{{"a": "{}"}}',
    "json without blanks": '{{"a":"{}","b":1}}',
    "json list": '["a", "{}", 1]',
    "json in json": '{{"a": "{{\\"b\\": \\"{}\\", \\"c\\": 1}}"}}',
    "json in json in json": '{{\\\\\\"b\\\\\\":\\\\\\"{}\\\\\\"}}',
    "lines in json": '{{"text": "first line\\n{}\\nlast"}}',
    "escaped signs in json": '{{"a": "\\u0026{}\\u003c"}}',
    "export": "export A={}",
    "export in quotes": 'export A="{}"',
    "before a command": "A={} make test",
    "flag": "tool --value {} --next",
    "flag with =": "tool --value={} --next",
    "short flag": "tool -k {}",
    "here document": "cat <<EOF > a\n{}\nEOF\n",
    "header": "curl -H 'X-Thing: {}' https://api.example.com",
    "bearer": 'curl -H "Authorization: Bearer {}" https://api.example.com',
    "query": "curl https://api.example.com/?a={}&b=1",
    "percent": "next=%20{}",
    "percent quotes": "next=%22{}%22",
    "coloured": "\x1b[32m{}\x1b[0m",
    "coloured in json": '{{"a": "\\u001b[1;32m{}\\u001b[0m"}}',
    "coloured in a script": "echo -e '\\033[32m{}\\e[0m'",
    "python": "client = Client(a='{}')",
    "call": "call('{}')",
    "javascript": "const a = `{}`;",
    "object": "{{a: '{}'}}",
    "yaml": "a:\n  b: {}\n  c: 1",
    "yaml list": "- {}\n- b",
    ".env": "A={}\nB=2",
    "toml": 'a = "{}"',
    "xml": "<a>{}</a>",
    "comment": "// {} #",
    "after filler": "x" * 3995 + " {}",
    "allowed": "a = '{}'  # gitleaks" + ":allow",
    "after NUL": "a\0 {}",
    "after a surrogate": "a\ud800 {}",
}


@pytest.mark.no_cover  # much work, and no line that others do not reach
@pytest.mark.parametrize("place", PLACES)
def test_a_token_is_found_wherever_it_stands(place: str) -> None:
    """Of every format the whole token goes, its surroundings stay, and once is as good as twice."""
    before, after = PLACES[place].format("\x01").split("\x01")
    for name, secret in {**SECRETS, **LIBRARY}.items():
        done = redact(before + secret + after)
        assert secret[8:24] not in done, name
        assert done.startswith(before.rstrip() if name.endswith("webhook") else before), (name, done)
        assert done.endswith(after), (name, done)
        assert redact(done) == done


@pytest.mark.parametrize("sign", ["+", "-"])
def test_a_token_is_found_in_a_diff(sign: str) -> None:
    """The sign at the beginning of a line may be a character of a key, and hides none."""
    for name, secret in {**SECRETS, **LIBRARY}.items():
        for before in ("", "@@ -1 +1 @@\n"):
            assert secret[8:24] not in redact(f"{before}{sign}{secret}\n"), name


LIMIT = 8000  # characters of a turn; what is longer is cut there, after redaction


@pytest.mark.parametrize("name", ["openai", "anthropic", "aws-secret", "github-fine", "jwt", "slack-webhook", "pem"])
def test_a_secret_across_the_cut_leaves_nothing(name: str) -> None:
    """Wherever the cut would go through it, no piece of it is left before the cut."""
    secret = SECRETS[name] if name in SECRETS else f"{pem('RSA PRIVATE' + ' KEY')}\n-----END RSA PRIVATE" + " KEY-----"
    pieces = {secret[at : at + 12] for at in range(20, len(secret) - 12)}
    for inside in range(0, len(secret), max(1, len(secret) // 12)):
        text = ("lorem ipsum " * 700)[: LIMIT - inside - 1] + "\n" + secret + "\nand more" * 100
        assert text[LIMIT - inside :].startswith(secret)
        kept = redact(text)[:LIMIT]
        assert not any(piece in kept for piece in pieces)


@pytest.mark.parametrize("name", ["openai", "aws-id", "github", "slack-bot", "slack-app", "xai", "npm", "sendgrid"])
def test_a_token_glued_to_filler_is_found(name: str) -> None:
    """A token right after 3,995 letters x goes; the filler stays."""
    done = redact("x" * 3995 + SECRETS[name])
    assert SECRETS[name][4:] not in done
    assert done.startswith("x" * 3995 + "[REDACTED:")


FORMS = [
    ('Server=db;Password="{}";Database=app', "Sup3r; Secret!"),
    ("Server=db;Password={};Database=app", "abc"),
    ("Server=db;UID=sa;PWD={};Database=app", "/x"),
    ("Server=db;Pwd={{{}}};Database=app", "a;b 1"),
    ("AccountName=a;AccountKey={};EndpointSuffix=x", body(85) + "=="),
    ("Endpoint=sb://a/;SharedAccessKey={}", body(43) + "="),
    ("password={}", "hunter2"),
    ("password: {}", "hunter2"),
    ("password = '{}'", "Tr0ub4dor&3"),
    ("password='{}'", "doesnotexist"),
    ('"password": "{}"', "hunter2"),
    ("'db_passwd' => '{}'", "hunter2"),
    ("DB_PASSWORD={}", "supersecret"),
    ("DB_PASS={} make", "root"),
    ("dbPass: '{}'", "abc123"),
    ("PASSWORD_PROD={}", "hunter2"),
    ('if password == "{}":', "hunter2"),
    ('const apiKey: string = "{}";', "abc123def"),
    ("client_secret := `{}`", "abc123def"),
    ('config["api_key"] = "{}"', "abc123def"),
    ('{{\\"client_secret\\": \\"{}\\", \\"a\\": 1}}', "abc123def"),
    ('{{"text": "API_KEY={}\\nNEXT=1"}}', "abc123def"),
    ("token: {}", "abc123def"),
    ('token="{}\nnext', "abc123def"),
    ('\\"token\\": \\"{}\nnext', "abc123def"),
    ('token="{}', "abc123def and so on"),
    ("?access_token={}&x=1", "abc123def"),
    ("token={} and", body(3000)),
    ("token='{}' and", body(3000)),
    ("STRIPE_KEY={}", "abc123def456"),
    ("CLIENT_SECRET={}", "supersecretvalue"),
    ("AWS_SECRET_ACCESS_KEY={}", "/" + body(39)),
    ("aws_secret_access_key = {}", body(40)),
    ("X-Api-Key: {}", "abc123def"),
    ("//registry.example.com/:_authToken={}", "abc123def"),
    ("//registry.example.com/:_auth={}", "YWxpY2U6cGFzczE="),
    ("api token = {}", "abc-1234-def-5678-ghi"),
    ("mysql --password {} app", "hunter22"),
    ("machine h login alice password {}", "s3cretpw"),
    ("<password>{}</password>", "abc123xy"),
    ("Authorization: Bearer {}", "abcdef1234567890"),
    ("-H 'Authorization: Bearer {}'", "ab.cd123.ef-12345678901"),
    ('"Authorization": "token {}"', "abcdef123456"),
    ("Authorization: Basic {}", "YWxpY2U6cGFzcw=="),
    ("it sends Bearer {}", "abcdef1234567890"),
    ("Cookie: theme=dark; sid={}; a=b", "9f8e7d6c5b4a"),
    ("Set-Cookie: sid={}; Path=/", "9f8e7d6c5b4a"),
    ("curl -u alice:{} x", body(14)),
    ("postgres://alice:{}@db.example.com/app", "p4ss"),
    ("https://alice:{}@git.example.com/x.git", "p@ss%3Aw"),
    ("redis://:{}@localhost:6379/0", "s3cret"),
    ("https://{}@github.com/acme/api", body(20, HEX)),
    ("https://a.example.com/c?sv=1&sig={}&se=2", body(40) + "%3D"),
]


@pytest.mark.parametrize(("form", "secret"), FORMS)
def test_a_secret_is_known_by_what_stands_before_it(form: str, secret: str) -> None:
    """In assignments, headers, flags and URLs the value goes; names, user, host and following fields stay."""
    before, after = form.format("\x01").split("\x01")
    done = redact(before + secret + after)
    assert secret not in done
    if not form.startswith("curl"):
        assert done.startswith(before + "[REDACTED:")
    assert done.endswith("]" + after)
    assert redact(done) == done


WRAPS: dict[str, Callable[[str], str]] = {
    "json": lambda text: json.dumps({"text": text}),
    "json in json": lambda text: json.dumps({"a": json.dumps({"text": text})}),
    "lines in json": lambda text: json.dumps(f"a\n{text}\n\tb"),
    "here document": lambda text: f"cat <<EOF > .x\n{text}\nEOF\n",
    "comment": lambda text: f"# {text}\n",
    "code block": lambda text: f"```\n{text}\n```",
    "diff": lambda text: f"+{text}\n-b",
    "quotation": lambda text: f"> {text}\n",
    "yaml": lambda text: f"- run: |\n    {text}\n",
    "echo": lambda text: f"echo '{text}'",
    "coloured": lambda text: f"\x1b[1m{text}\x1b[0m",
    "prose": lambda text: f"I typed {text}, then left.",
}


@pytest.mark.no_cover  # much work, and no line that others do not reach
@pytest.mark.parametrize("wrap", WRAPS)
def test_what_stands_before_a_secret_is_known_everywhere(wrap: str) -> None:
    """In JSON however often it is quoted, in scripts, code, diffs, on terminals and in prose."""
    for form, whole in FORMS:
        secret = whole[:500]  # time goes with the square of a token's length; longer ones stand above
        done = redact(WRAPS[wrap](form.format(secret)))
        assert secret not in done, form
        assert json.dumps(secret)[1:-1] not in done, form
        assert redact(done) == done


@pytest.mark.parametrize(
    "text",
    [
        "PWD=/home/u",
        "OLDPWD=/home/u/acme-api make",
        '{"token_budget":42}',
        "max_token=100",
        "sk-learn-tutorial",
        "sk-learn-tutorial-for-beginners-2024",
        "risk-assessment-2024-report-final-version",
        "tokens: 1200",
        "token: 1200",
        "password: str",
        "def f(password: str = None, token: int32 = 3)",
        "key=lambda x: x",
        'os.environ["API_KEY"]',
        "secret = get_secret()",
        "token = tokens[0]",
        "password = password1",
        "password = encrypt1(x)",
        "passwd = crypt.sha512_crypt",
        "token = settings.token2",
        "const token = process.env.TOKEN1;",
        "authorization = base64.decodebytes1(x)",
        "token=<token>",
        "token=${TOKEN}",
        "token: ${{ secrets.TOKEN_1 }}",
        "TOKEN=$(pass show x1)",
        "password=***",
        "password=xxx",
        "password=xxxxxxxxxxxx",
        'password=""',
        "password: 'password'",
        "password='Passwort'",
        '"password": "Enter a password of more than 8 characters"',
        "API_KEY=your-api-key-here",
        "SECRET_FILE=/run/secrets/db1",
        "API_TOKEN=https://example.com/token1",
        "api_key = 'sk-...'",
        "Token: '#ddd0c0'",
        "token='2024-01-01T00:00'",
        "sort_key=created_at",
        "CACHE_KEY=node-modules-v1",
        "monkey=abc123def",
        "compass=abc123def",
        "bypass: abc123def",
        "if (password>limit123) x",
        "Authorization: Bearer <token>",
        "Authorization: Bearer $TOKEN",
        "Authorization: Basic realm=acme",
        "Bearer authentication is described below",
        "Bearer authentication-and-authorization",
        "Cookie: theme=dark-and-light; lang=en",
        "TheNameOfThisTestCaseHasExactly40Letters",
        "+3f786850e387550fdab836ed7e6dc881de23001b\n-89e6c98d92887913cadf06b2adb97f26cde4849b",
        "https://user:password@host/",
        "https://user:${PASSWORD}@host/",
        "http://localhost:8080/foo@bar",
        "ssh://git@github.com/acme/api.git",
        "ssh://deploy-user-of-acme@host/x",
        "git@github.com:acme/api.git",
        "Look for the -----BEGIN PRIVATE" + " KEY----- line",
        "hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
        "src/components/Deep2/Paths3/AreNot/Random",
        "[REDACTED:token:0a1b2c3d] and [REDACTED:token]",
        "password=[REDACTED:password:0a1b2c3d]",
        'clipped: "[REDACTED:secret:0a1b2c',
        "clipped: [REDACTED:client-sec",
    ],
)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    """Names without a value, variables, types, placeholders, paths and marks are not touched."""
    assert redact(text) == text


def test_hashes_and_uuids_in_prose_stay() -> None:
    """A thousand commits, digests and uuids are no secrets."""
    lines = [
        f"commit {hashlib.sha1(b'%d' % n).hexdigest()} of {uuid.UUID(bytes=hashlib.md5(b'%d' % n).digest())}, "
        f"image sha256:{hashlib.sha256(b'%d' % n).hexdigest()}"
        for n in range(1000)
    ]
    assert find_secrets("\n".join(lines)) == ()


def test_two_thousand_plain_lines_stay() -> None:
    """Prose, code, hashes, UUIDs, lock files, listings and traces come out byte for byte, one by one and together."""
    text = (Path(__file__).parent / "data/plain/lines.txt").read_text("utf-8")
    lines = text.splitlines()
    assert len(lines) == 2000
    assert [line for line in lines if redact.text(line) != line] == []
    assert redact(text) == redact.text(text) == text


@pytest.mark.parametrize(
    "module",
    ["argparse", "ast", "base64", "configparser", "getpass", "hashlib", "netrc", "secrets", "tokenize", "uuid"],
)
def test_the_code_and_prose_of_the_standard_library_stay(module: str) -> None:
    """Thousands of lines about passwords, tokens and keys hold no secret."""
    text = (Path(sysconfig.get_paths()["stdlib"]) / f"{module}.py").read_text("utf-8")
    assert redact(text) == text


def pem(label: str, lines: int = 4) -> str:
    return f"-----BEGIN {label}-----\n" + "\n".join(body(64, seed=n) for n in range(lines))


@pytest.mark.parametrize("label", ["RSA PRIVATE" + " KEY", "PRIVATE" + " KEY", "PGP PRIVATE" + " KEY BLOCK"])
def test_a_key_block_goes_as_a_whole(label: str) -> None:
    """From BEGIN to END over all lines, twice in one text, also with escaped line ends."""
    block = f"{pem(label)}\n-----END {label}-----"
    mark = "[REDACTED:private-key:"
    done = redact(f"a\n{block}\nb\n{block}\nc")
    assert [line[:22] for line in done.splitlines()] == ["a", mark, "b", mark, "c"]
    escaped = redact('{"key": "' + block.replace("\n", "\\n") + '"}')
    assert escaped.startswith('{"key": "' + mark)
    assert escaped.endswith(']"}')


def test_a_key_block_without_its_end_goes_to_the_end_of_the_text() -> None:
    """What was cut off is still a key."""
    assert without_hex(redact(f"a\n{pem('RSA PRIVATE' + ' KEY')}")) == "a\n[REDACTED:private-key]"


def test_a_mark_inside_a_secret_is_kept() -> None:
    """A finding that spans a mark is cut around it."""
    inner = "[REDACTED:github-pat:0a1b2c3d]"
    text = f"-----BEGIN PRIVATE{' KEY'}-----\nMIIE{inner}\nabcd{inner}"
    done = redact(text)
    assert without_hex(done) == "[REDACTED:private-key][REDACTED:github-pat]" * 2
    assert done.count(inner) == 2


def test_overlapping_secrets_are_one_finding_named_after_the_widest() -> None:
    """A token inside a quoted password goes with it; a bare one keeps its provider's name."""
    token = SECRETS["github"]
    assert find_secrets(f'password="1 {token} x"') == (Finding("password", 10, 10 + len(token) + 4),)
    assert [finding.kind for finding in find_secrets(f"TOKEN={token}")] == ["github-pat"]
    assert [finding.kind for finding in find_secrets(f"https://a:{token}@host/?token={token}")] == ["github-pat"] * 2


def test_offsets_count_characters() -> None:
    """Multi-byte text and lines before a secret do not shift it."""
    token = LIBRARY["linear"]
    text = f"日本🎉\r\n\né\n ü {token} and {token}"
    first, second = find_secrets(text)
    assert text[first.start : first.end] == text[second.start : second.end] == token
    assert first.end < second.start


def test_equal_secrets_have_equal_marks_for_one_key_only() -> None:
    """The hex tells secrets apart, depends on the private key, and the key shows in no repr."""
    one, two = redact("password='hunter22'"), redact("a_password: hunter22")
    assert one[-10:-2] == two[-9:-1]
    assert one != redact("password='hunter23'")
    assert one != Redactor(b"another key")("password='hunter22'")
    assert "private key" not in repr(redact)


def test_published_marks_carry_no_hex() -> None:
    """The kind stays; text that is no mark stays too."""
    assert without_hex("a [REDACTED:url-password:0a1b2c3d] [REDACTED:x] b:0a1b2c3d") == (
        "a [REDACTED:url-password] [REDACTED:x] b:0a1b2c3d"
    )


def test_texts_without_secrets_pass_the_door() -> None:
    """Nothing is raised for clean and for redacted texts, nor for what is merely personal."""
    said = redact.text("Ask alice@example.com at 10.0.0.5, see /home/alice")
    SCANNER.refuse({"body": "Use pnpm", "message": redact(f"Use {SECRETS['npm']}"), "said": said})
    SCANNER.refuse({"document": "Ask alice@example.com at 10.0.0.5, see /home/alice"})


def test_the_door_names_place_and_kind_and_no_value() -> None:
    """Every place with a secret is named once a kind, also one whose name is a secret itself."""
    token = SECRETS["npm"]
    with pytest.raises(SafetyError) as caught:
        SCANNER.refuse({"body": f"{token} {token} password=hunter2", "clean": "x", f"sleep/{token}": token})
    said = caught.value.message
    assert "body: npm-access-token; body: password; sleep/[REDACTED:npm-access-token]: npm-access-token" in said
    assert "clean" not in said
    assert token[4:] not in said + caught.value.hint


def test_the_door_refuses_denied_words_like_secrets() -> None:
    """Place and kind are named, the word is not: neither in the message nor where the place holds it."""
    scanner = Scanner(("Globex Corporation",))
    with pytest.raises(SafetyError) as caught:
        scanner.refuse({"body": "for GLOBEX  corporation.", "clean": "for Globex", "sleep/globex corporation": ""})
    said = caught.value.message + caught.value.hint
    assert "body: deny-word" in said
    assert "globex" not in said.casefold()
    assert "Globex" not in repr(scanner)
    with pytest.raises(SafetyError, match=r"sleep/\[REDACTED:deny-word\]: npm-access-token"):
        scanner.refuse({"sleep/globex corporation": SECRETS["npm"]})


def test_denied_words_go_with_the_secrets() -> None:
    """Both doors in take them out, marks of other kinds stay, and the hex tells them apart."""
    private = Redactor(b"a key", Scanner(("globex", "Acme Corp")))
    mark = redact("password=hunter2").removeprefix("password=")
    text = f"globex pays ACME\ncorp, {mark}, globex"
    done = private(text)
    assert without_hex(done) == (
        "[REDACTED:deny-word] pays [REDACTED:deny-word], [REDACTED:password], [REDACTED:deny-word]"
    )
    assert private.text(text) == private(done) == private.text(done) == done
    first, *_, last = done.split(" ")
    assert first == last != done.split(" ")[2]
    assert without_hex(private(r'{"a": "x\nglobex", "b": "C:\notes\globex"}')).count("[REDACTED:deny-word]") == 2


def test_a_denied_word_inside_a_secret_goes_with_it() -> None:
    """One finding, of the kind of what is wider; around a mark both halves go."""
    scanner = Scanner(("globex", "acme corp"))
    assert scanner.find("password=globex-2024-x") == (Finding("password", 9, 22),)
    mark = "[REDACTED:token:0a1b2c3d]"
    assert without_hex(Redactor(b"k", scanner)(f"acme{mark}corp")) == (
        "[REDACTED:deny-word][REDACTED:token][REDACTED:deny-word]"
    )


def test_a_text_loses_what_is_personal_and_a_name_does_not() -> None:
    """Paths, branches and files keep homes and addresses, for they are compared and opened."""
    said = "alice@example.com said /home/alice/x at 10.0.0.5"
    assert redact(said) == said
    assert without_hex(redact.text(said)) == "[REDACTED:email] said ~/x at [REDACTED:ip]"
    assert redact.text("10.0.0.5") == redact.text("10.0.0.5") != redact.text("10.0.0.6")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("postgres://alice:pw1x@10.0.0.5/db", "postgres://alice:[REDACTED:url-password]@[REDACTED:ip]/db"),
        ("postgres://alice:p4ss@db.example.com/a", "postgres://alice:[REDACTED:url-password]@db.example.com/a"),
        ("password='bob@example.com'", "password='[REDACTED:password]'"),
        ("TOKEN=abc123def /home/alice/x", "TOKEN=[REDACTED:token] ~/x"),
        ("machine 10.0.0.5 login a password s3cretpw", "machine [REDACTED:ip] login a password [REDACTED:password]"),
    ],
)
def test_secrets_and_personal_things_go_together(text: str, expected: str) -> None:
    """A password next to an address is a password, and both go."""
    assert without_hex(redact.text(text)) == expected


PIECES = st.one_of(
    st.text(st.characters(), max_size=12),
    st.sampled_from([*SECRETS.values(), pem("RSA PRIVATE" + " KEY"), "-----END RSA PRIVATE" + " KEY-----"]),
    st.sampled_from([form.format(secret) for form, secret in FORMS]),
    st.sampled_from(
        ["password=", "token: ", '"', "'", "\\", "\n", "[REDACTED:", "[REDACTED:token:0a1b2c3d]", "]", ";", "x" * 9]
    ),
    st.sampled_from(["alice", "@", "a@b.de", "10.0.0.5", ".", "fe80::1", ":", "/home/", "C:\\Users\\", "globex"]),
)
private = Redactor(b"another key", Scanner(("globex", "Acme Corp", "straße")))


@given(st.lists(PIECES, max_size=6).map("".join))
def test_redacting_twice_is_redacting_once(text: str) -> None:
    """Findings are sorted, disjoint and not empty, and a redacted text has none."""
    found = find_secrets(text)
    edges = [edge for finding in found for edge in (finding.start, finding.end)]
    assert edges == sorted(edges)
    assert all(text[finding.start : finding.end].strip() for finding in found)
    done = redact(text)
    assert find_secrets(done) == ()
    assert redact(done) == done
    assert find_secrets(without_hex(done)) == ()


@given(st.lists(PIECES, max_size=6).map("".join))
def test_a_text_cleaned_twice_is_cleaned_once(text: str) -> None:
    """Secrets, denied words and what is personal are all gone, whatever uncovers whatever."""
    done = private.text(text)
    assert private.text(done) == private(done) == redact.text(done) == done
    assert redact.text(redact(text)) == redact.text(text)


@given(st.text(max_size=30), st.sampled_from(sorted(SECRETS)), st.text(max_size=30))
def test_no_neighbourhood_hides_a_token(before: str, name: str, after: str) -> None:
    """Between blanks a token is found whatever else the text holds."""
    assert SECRETS[name] not in redact(f"{before} {SECRETS[name]} {after}")


@pytest.mark.no_cover  # much work, and no line that others do not reach
@pytest.mark.parametrize(
    "unit",
    [
        "password=",
        'token="',
        'token=\\"',
        "://a:",
        "://a:b@",
        "-----BEGIN PRIVATE" + " KEY-----\nA",
        "eyJ-",
        "sk-a-",
        "Cookie: ",
        "authorization: ",
        "Bearer ",
        "passpassword ",
        "token=passwordpass",
        "a_key=0",
        "[REDACTED:",
        "[REDACTED:a]",
        "0",
        "A/",
        "\\n",
        "x",
        "\x1b[0",
        "aaaaaaaaaaaaaaaaaaaaaaaa,",
        "globex ",
    ],
)
def test_repetition_costs_no_more_than_length(unit: str) -> None:
    """Eight times as much of what begins a secret takes eight times as long, not sixty-four."""

    def cost(length: int) -> float:
        text = unit * (length // len(unit))
        return min(_cpu_seconds(lambda: private.scanner.find(text)) for _ in range(3))

    assert cost(32_000) < 30 * max(cost(4_000), 0.001)


@pytest.mark.parametrize("unit", ["-", "-" * 79 + "\n", "=", "-----\n"])
def test_a_ruler_costs_about_as_much_as_words(unit: str) -> None:
    """What only looks a little like the beginning of a flag or a key is passed over at once."""

    def cost(part: str) -> float:
        text = (part * 40_000)[:40_000]
        return min(_cpu_seconds(lambda: find_secrets(text)) for _ in range(3))

    assert cost(unit) < 8 * max(cost("Then run them again. "), 0.001)


def _cpu_seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def test_the_last_line_of_a_megabyte_is_seen() -> None:
    """However long the text before a secret is."""
    lines = [f"The {n}th step sets token_{n} and reads src/acme/{n}.py for the answer." for n in range(15_000)]
    done = redact("\n".join([*lines, SECRETS["stripe"]]))
    assert without_hex(done).splitlines()[-1].startswith("[REDACTED:stripe")
    assert done.splitlines()[:-1] == lines
