"""What every page must satisfy in a browser: no trouble, no request, and usable by everybody."""

from __future__ import annotations

from pathlib import Path

CHECKS = Path(__file__).with_suffix(".js").read_text("utf-8")


def watched(browser, path, **options):
    """Open a page without network, and return it with the list of everything that goes wrong in it."""
    page = browser.new_context(offline=True, **options).new_page()
    troubles: list[str] = []
    page.on("console", lambda message: message.type in ("error", "warning") and troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("request", lambda request: is_foreign(request.url, path) and troubles.append(request.url))
    page.goto(path.as_uri())
    return page, troubles


def is_foreign(url, path):
    return url.split("#")[0] != path.as_uri() and not url.startswith(("data:", "blob:"))


def check_page(page, width):
    """Check names, headings and contrast, and that a phone does not scroll sideways."""
    wrong = page.evaluate(f"() => {{ {CHECKS} return [...wrongNames(), ...wrongContrast()]; }}")
    assert not wrong, wrong
    assert page.evaluate("document.documentElement.scrollWidth") <= width
