"""How fast `report.html` is with 5,000 samples: first paint, filter and search in Chromium.

    python tests/performance/page.py [samples] [characters of a trace]

Needs `pip install playwright` and a Chromium. Prints milliseconds and the size of the file.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from report_runs import make_run
from scripted import benchmark, says

from riftk.report import write_report

ROUNDS = 7
# From an event to the frame that shows what came of it.
_TIMED = """([id, value, event]) => new Promise((done) => {
  const field = document.getElementById(id), start = performance.now();
  field.value = value;
  field.dispatchEvent(new Event(event, { bubbles: true }));
  const script = performance.now() - start;
  requestAnimationFrame(() => setTimeout(() => done([script, performance.now() - start])));
})"""


def main(samples: int = 5_000, characters: int = 1_000) -> None:
    """Make a run, open its page, and time it."""
    plain, instructed = samples // 2, samples // 4
    words = ["four", "and", "five,", "make", "nine", "so", "we", "go", "on"]
    count = characters // 5
    trace = " ".join(words[number % len(words)] for number in range(count))

    def script(item: str) -> str:
        return says(f"{trace} {item}", "9" if int(item[1:]) % 7 else "8")

    with tempfile.TemporaryDirectory() as folder:
        run = make_run(Path(folder), {"before": script, "after": script}, benchmark(plain, instructed))
        write_report(run)
        file = run / "report.html"
        size = file.stat().st_size / 1e6
        print(f"{samples} samples, two traces each of {len(trace)} characters: {size:.1f} MB")
        measure(file)


def measure(file: Path) -> None:
    """Open the page several times and print the middle of each time."""
    from playwright.sync_api import sync_playwright

    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    times: dict[str, list[float]] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for _ in range(ROUNDS):
            page = browser.new_page(viewport={"width": 1300, "height": 800})
            for name, value in one_visit(page, file).items():
                times.setdefault(name, []).append(value)
            page.close()
        browser.close()
    for name, values in times.items():
        ordered = sorted(values)
        print(f"{name:<34}{ordered[len(ordered) // 2]:8.0f} ms   ({ordered[0]:.0f} to {ordered[-1]:.0f})")


def one_visit(page: Any, file: Path) -> dict[str, float]:
    """Times of one reading, in milliseconds."""
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    paint = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
    times = {
        "first contentful paint": page.evaluate(paint),
        "ready": page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"),
    }
    page.keyboard.press("r")
    page.wait_for_selector(".row")
    steps = {
        "filter: wrong": ("answer", "wrong", "change"),
        "filter: a constraint": ("constraint", "0", "change"),
        "filter: none": ("constraint", "", "change"),
        "first search (reads all texts)": ("search", "nine so", "input"),
        "search": ("search", "nine so we go on c12", "input"),
    }
    for name, step in steps.items():
        script, shown = page.evaluate(_TIMED, list(step))
        times[f"{name}, script"], times[f"{name}, shown"] = script, shown
    return times


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
