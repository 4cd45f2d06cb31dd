"""Takes the README's picture: the pull request of the demo's night, as a forge shows it.

Needs Chromium on the PATH and npm, which gets Mermaid into a folder that is thrown away.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import cmarkgfm

from skillopt_git.loading import load
from skillopt_git.reviewing import page
from skillopt_git.workshop import open_workshop

PICTURE = Path(__file__).parent / "pull-request.png"
MERMAID = "mermaid@11.17.2"
HEIGHT = 1480
STYLE = """
body { font: 15px/1.5 'DejaVu Sans', sans-serif; margin: 24px auto; width: 900px; color: #1f2328; background: #fff; }
h1 { font-size: 24px; border-bottom: 1px solid #d1d9e0; padding-bottom: 8px; }
h2 { font-size: 20px; border-bottom: 1px solid #d1d9e0; padding-bottom: 4px; }
code { background: #eff1f3; border-radius: 5px; padding: 2px 5px; font: 13px 'DejaVu Sans Mono', monospace; }
table { border-collapse: collapse; margin: 12px 0; } td, th { border: 1px solid #d1d9e0; padding: 5px 12px; }
tr:nth-child(2n) td { background: #f6f8fa; }
blockquote { border-left: 4px solid #d1d9e0; margin: 0; padding: 0 16px; color: #59636e; }
"""


def main() -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome") or sys.exit("Chromium is not on the PATH")
    height = int(sys.argv[1]) if len(sys.argv) > 1 else HEIGHT
    with TemporaryDirectory() as folder:
        title, body = _proposal(Path(folder))
        file = Path(folder, "page.html")
        file.write_text(_page(title, body, _mermaid(Path(folder))), encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=15000"]
        size = [f"--window-size=960,{height}", f"--user-data-dir={folder}/profile", f"--screenshot={PICTURE}"]
        subprocess.run([browser, *options, *size, file.as_uri()], check=True, capture_output=True)


def _proposal(folder: Path) -> tuple[str, str]:
    """The title and the body that `run --pr` would send."""
    command = [sys.executable, "-m", "skillopt_git", "demo", "--keep", str(folder / "demo")]
    subprocess.run(command, check=True, capture_output=True, env=os.environ)
    path = folder / "demo" / "acme-shop"
    shop = open_workshop(path, load(path), now=datetime.now(UTC))
    told = page(shop, next(item for item in shop.everything().proposals if item.open))
    return told.title, told.body


def _mermaid(folder: Path) -> str:
    npm = shutil.which("npm") or sys.exit("npm is not on the PATH")
    subprocess.run([npm, "install", "--silent", "--prefix", str(folder), MERMAID], check=True)
    return (folder / "node_modules/mermaid/dist/mermaid.min.js").read_text(encoding="utf-8")


def _page(title: str, body: str, mermaid: str) -> str:
    """GitHub-flavoured Markdown with its diagrams drawn, and what is folded opened."""
    told = cmarkgfm.github_flavored_markdown_to_html(body, options=cmarkgfm.cmark.Options.CMARK_OPT_UNSAFE)
    told = re.sub(
        r'<pre lang="mermaid"><code>(.*?)</code></pre>', r'<pre class="mermaid">\1</pre>', told, flags=re.DOTALL
    )
    told = told.replace("<details>", "<details open>")
    drawn = "mermaid.initialize({startOnLoad: true, securityLevel: 'strict'});"
    head = f"<meta charset=utf-8><style>{STYLE}</style><script>{mermaid}</script><script>{drawn}</script>"
    return f"<!doctype html>{head}<h1>{html.escape(title)}</h1>{told}"


if __name__ == "__main__":
    main()
