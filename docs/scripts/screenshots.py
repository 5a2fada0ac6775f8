"""Take the screenshots in docs/figures: ``python docs/scripts/screenshots.py`` (needs Chromium).

The pages are those of ``make demo`` and of the docs: a gallery, a report and a page of a model of letters.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable
from math import cos, pi, sin
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from unseen.cli import main as unseen

FIGURES = Path(__file__).parents[1] / "figures"
RING = [(0.5 + 0.33 * cos(2 * pi * i / 24), 0.47 + 0.36 * sin(2 * pi * i / 24)) for i in range(25)]
TAIL = [(0.55, 0.6), (0.85, 0.92)]


def run(*words: object) -> None:
    """Run the command."""
    result = CliRunner().invoke(unseen, [str(word) for word in words], catch_exceptions=False)
    if result.exit_code:
        sys.exit(result.stderr)


def open_page(browser: Browser, path: Path, width: int, height: int) -> Page:
    """Open a page in light colors."""
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme="light")
    page.goto(path.as_uri())
    return page


def save(name: str, shown: Page | Locator) -> None:
    """Write what is shown, in 256 colors."""
    image = Image.open(io.BytesIO(shown.screenshot())).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(FIGURES / f"{name}.png", optimize=True)


def take_gallery(browser: Browser, folder: Path) -> None:
    """Take the gallery of the letters."""
    run("fit", "letters", "--method", "lda", "--model", folder / "letters.model")
    run("predict", folder / "letters.model", "letters", "--html", folder / "gallery.html")
    save("gallery", open_page(browser, folder / "gallery.html", 1200, 900))


def take_model(browser: Browser, folder: Path) -> None:
    """Describe an O with a lower right diagonal on the page of the model, and draw it."""
    run("fit", "letters", "--method", "lda", "--model", folder / "letters.model", "--force")
    run("report", folder / "letters.model", "--data", "letters", "--html", folder / "model.html")
    page = open_page(browser, folder / "model.html", 1280, 1400)
    page.locator("[data-in=like]").select_option(label="O")
    page.get_by_role("checkbox", name="lower right diagonal").click(force=True)
    canvas = page.locator("[data-out=canvas]")
    canvas.scroll_into_view_if_needed()
    draw(page, canvas.bounding_box())
    save("try_a_class", page.locator("[data-try]"))


def draw(page: Page, box: Any) -> None:
    """Draw a Q with the mouse."""
    for stroke in (RING, TAIL):
        points = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in stroke]
        page.mouse.move(*points[0])
        page.mouse.down()
        for point in points[1:]:
            page.mouse.move(*point, steps=5)
        page.mouse.up()


def take_report(browser: Browser, folder: Path) -> None:
    """Take the first screen of the report of all methods."""
    run("bench", "letters", "--out", folder / "run")
    run("report", folder / "run", "--html", folder / "report.html")
    page = open_page(browser, folder / "report.html", 1180, 1000)
    page.wait_for_selector("[data-chart=gain] .main-svg")
    save("report", page)


TAKEN: dict[str, Callable[[Browser, Path], None]] = {
    "gallery": take_gallery,
    "model": take_model,
    "report": take_report,
}


def main() -> None:
    """Take the screenshots that are named, or all."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright, TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium)
        for name in sys.argv[1:] or TAKEN:
            TAKEN[name](browser, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
