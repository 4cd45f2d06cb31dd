"""Takes the README's picture: the pull request of the demo's night, as a forge shows it. Needs Chromium on the PATH."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import cmarkgfm

PICTURE = Path(__file__).parent / "pull-request.png"
STYLE = """
body { font: 15px/1.5 'DejaVu Sans', sans-serif; margin: 24px auto; width: 900px; color: #1f2328; }
h1 { font-size: 24px; border-bottom: 1px solid #d1d9e0; padding-bottom: 8px; }
h2 { font-size: 20px; border-bottom: 1px solid #d1d9e0; padding-bottom: 4px; }
code { background: #eff1f3; border-radius: 5px; padding: 2px 5px; font: 13px 'DejaVu Sans Mono', monospace; }
table { border-collapse: collapse; margin: 12px 0; } td, th { border: 1px solid #d1d9e0; padding: 5px 12px; }
tr:nth-child(2n) td { background: #f6f8fa; }
blockquote { border-left: 4px solid #d1d9e0; margin: 0; padding: 0 16px; color: #59636e; }
"""


def main() -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome") or sys.exit("Chromium is not on the PATH")
    tool = str(Path(sys.executable).with_name("skillopt-git"))
    with TemporaryDirectory() as folder:
        subprocess.run([tool, "demo", "--keep", f"{folder}/demo"], check=True, capture_output=True)
        show = [tool, "show", "--json", "--repo", f"{folder}/demo/acme-shop"]
        record = json.loads(subprocess.run(show, check=True, capture_output=True).stdout)
        body = cmarkgfm.github_flavored_markdown_to_html(record["body"])
        page = Path(folder, "page.html")
        title = record["title"]
        page.write_text(f"<meta charset=utf-8><style>{STYLE}</style><h1>{title}</h1>{body}", encoding="utf-8")
        options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
        size = ["--window-size=960,1030", f"--user-data-dir={folder}/profile", f"--screenshot={PICTURE}"]
        subprocess.run([browser, *options, *size, page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
