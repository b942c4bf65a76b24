"""The page of a service: what a browser lets it do, and how it looks and works in a real one."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from live_runs import live_run
from running import Running, running

import keat
from keat.serve.latest_events import SHOWN
from keat.serve.page_routes import FILES, policy

DASHBOARD = Path(__file__).parents[2] / "docs" / "use" / "grafana-keat.json"
TOKEN = "a token that nobody guesses"
HOSTILE = '<img src=x onerror="document.title=1"><script>document.title=2</script>'


@pytest.fixture(scope="module")
def named_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small run whose nodes have names."""
    folder, rng = tmp_path_factory.mktemp("named"), np.random.default_rng(0)
    rows = [f"c{rng.integers(12)},s{rng.integers(8)},{1_711_000_000 + 600 * place}" for place in range(400)]
    (folder / "orders.csv").write_text("\n".join(["customer,shop,when", *rows]), encoding="utf-8")
    keat.train(
        "keat-rank",
        folder / "orders.csv",
        src="customer",
        dst="shop",
        time="when",
        out=folder / "run",
        epochs=1,
    )
    return folder / "run"


@pytest.fixture(scope="module")
def service(named_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    copy = shutil.copytree(named_run, tmp_path_factory.mktemp("page") / "run")
    with running(copy) as service:
        later = {"time": 1_711_400_000}
        body = [{"source": f"c{place % 12}", "destination": f"s{place % 8}"} | later for place in range(40)]
        body.append({"source": HOSTILE, "destination": "s1"} | later)
        body.append({"source": HOSTILE, "destination": "s2", "time": later["time"] - 100})
        assert service.post("/v1/events", body).status == 200
        yield service


class Tab:
    """A tab on a service, with what it complained of and asked for elsewhere."""

    def __init__(self, browser: Any, address: str, path: str = "", **options: Any) -> None:
        self.tab = browser.new_page(**options)
        self.complaints: list[str] = []
        self.elsewhere: list[str] = []
        self.tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.tab.on("console", self._said)
        self.tab.on("request", lambda request: self._asked(request.url, address))
        self.tab.goto(f"{address}/{path}", timeout=110_000)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning") and "401" not in message.text and "403" not in message.text:
            self.complaints.append(message.text)

    def _asked(self, url: str, address: str) -> None:
        if not url.startswith((f"{address}/", "about:srcdoc", "data:,")):
            self.elsewhere.append(url)

    def wait(self, selector: str) -> Any:
        found = self.tab.locator(selector).first
        found.wait_for(state="visible", timeout=110_000)
        return found

    def close(self) -> None:
        self.tab.close()
        assert self.complaints == []
        assert self.elsewhere == []


def test_a_browser_may_load_only_what_the_page_needs(service: Running) -> None:
    page = service.ask("GET", "/", None, {})
    assert page.status == 200
    assert page.headers["content-type"].startswith("text/html")
    allowed = dict(part.split(" ", 1) for part in page.headers["content-security-policy"].split("; "))
    assert allowed["default-src"] == "'none'"
    assert "unsafe" not in allowed["script-src"]
    assert allowed["frame-ancestors"] == "'none'"
    assert allowed["connect-src"] == "'self'"
    text = page.body.decode()
    assert "<script>" not in text
    assert "style=" not in text
    loaded = set(re.findall(r'(?:src|href)="([^"]+)"', text)) - {"data:,"}
    imported: set[str] = set()
    for path, (kind, _) in FILES.items():
        found = service.ask("GET", path, None, {})
        assert found.headers["content-type"].startswith(kind)
        assert found.headers["content-security-policy"].startswith("default-src 'none'")
        imported |= {f"page/{name}" for name in re.findall(r'from "\./([^"]+)"', found.body.decode())}
        assert "http" not in found.body.decode().replace("http://www.w3.org/2000/svg", "")
    assert {f"/{path}" for path in loaded | imported} == set(FILES)


def test_programs_never_make_markup_of_what_they_are_told() -> None:
    for path in Path(keat.__file__).parent.glob("report/assets/live*.js"):
        text = path.read_text(encoding="utf-8")
        for sink in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
        ):
            assert sink not in text, f"{path.name} has {sink}"


def test_other_answers_may_load_nothing(service: Running) -> None:
    for path in ("/metrics", "/healthz", "/openapi.json", "/v1/explain/0/page", "/nowhere"):
        headers = service.ask("GET", path).headers
        assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"


def test_there_is_no_page_of_an_event_that_is_none(service: Running) -> None:
    refused = service.ask("GET", "/v1/explain/99999/page")
    assert refused.status == 404
    assert "There is no event" in refused.json["error"]


def test_only_the_page_itself_needs_no_token(named_run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(named_run, tmp_path / "run")
    with running(copy, token=TOKEN) as service:
        for path in ("/", *FILES):
            assert service.ask("GET", path, None, {}).status == 200
        for path in ("/v1/live", "/v1/explain/1/page", "/metrics"):
            assert service.ask("GET", path, None, {}).status == 401


@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (390, "dark")])
def test_the_page_in_a_browser(width: int, scheme: str, service: Running, browser: Any) -> None:
    page = Tab(
        browser,
        service.address,
        viewport={"width": width, "height": 850},
        color_scheme=scheme,
        reduced_motion="reduce",
    )
    page.wait("#latest tbody tr")
    tab = page.tab
    assert tab.title() == "run · keat serve"  # what a client wrote did not run
    assert tab.locator("#latest tbody img, #latest tbody script").count() == 0
    rows = tab.locator("#latest tbody tr")
    assert rows.count() == SHOWN
    assert "late" in rows.nth(0).inner_text()
    assert HOSTILE in tab.locator("#latest tbody").inner_text()
    assert tab.locator("#scores rect").count() > 10
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate("getComputedStyle(document.getElementById('light')).animationName") == "none"
    seq = service.post("/v1/events", {"source": HOSTILE, "destination": "s3", "time": 1_711_300_000}).json[
        "seq"
    ]
    page.wait(f"#latest tbody tr:first-child td:text-is('{seq}')")
    assert tab.locator("#status").inner_text() == "live"
    page.close()


def test_why_by_keyboard(service: Running, browser: Any) -> None:
    """The explanation is in a frame without rights; an event is asked for by its number and Enter."""
    page = Tab(browser, service.address, viewport={"width": 1200, "height": 850})
    page.wait("#latest tbody tr")
    tab = page.tab
    tab.locator("#seq").focus()
    tab.keyboard.type("41")
    tab.keyboard.press("Enter")
    frame = page.wait("dialog iframe")
    assert frame.get_attribute("sandbox") == "allow-scripts"
    inside = tab.frame_locator("dialog iframe")
    inside.locator("h1").wait_for(timeout=110_000)
    assert HOSTILE in inside.locator("h1").inner_text()
    assert inside.locator("section").count() >= 2
    assert tab.title() == "run · keat serve"
    colour = "getComputedStyle(document.querySelector('section')).borderTopLeftRadius"
    assert tab.frames[-1].evaluate(colour) == "12px"  # its style is let in by its hash
    tab.locator("#close").press("Enter")
    assert not tab.locator("#why").is_visible()
    tab.locator("#seq").fill("123456")
    tab.keyboard.press("Enter")
    page.wait("#why-wait:has-text('There is no event')")
    tab.keyboard.press("Escape")
    assert not tab.locator("#why").is_visible()
    page.complaints = [said for said in page.complaints if "404" not in said]
    page.close()


def test_the_slider_runs_under_the_policy_of_the_page(browser: Any, tmp_path: Path) -> None:
    """A model with attention has a program in its explanation, which the page allows by its hash."""
    with running(live_run("keat-tgn", tmp_path)) as service:
        features = dict.fromkeys(service.engine.served.features.names, 0.5) or None
        event = {"source": 3, "destination": 44, "time": 1_712_000_000, "features": features}
        assert service.post("/v1/events", [event, event | {"time": 1_712_000_100}]).status == 200
        page = Tab(browser, service.address, viewport={"width": 1200, "height": 850})
        page.wait("#latest tbody button").click()
        page.wait("dialog iframe")
        slider = page.tab.frame_locator("dialog iframe").locator("#age")
        slider.wait_for(timeout=110_000)
        score = page.tab.frame_locator("dialog iframe").locator("#score")
        before = score.inner_text()
        assert before
        slider.focus()
        for _ in range(3):
            page.tab.keyboard.press("ArrowRight")
        assert page.tab.frame_locator("dialog iframe").locator("#age-label").inner_text() != "as it was"
        page.close()


def test_an_explanation_opened_by_its_address_has_its_style(service: Running, browser: Any) -> None:
    page = Tab(browser, service.address, "v1/explain/3/page")
    assert page.tab.evaluate("getComputedStyle(document.querySelector('.tiles')).listStyleType") == "none"
    assert page.tab.evaluate("document.querySelector('td i').getBoundingClientRect().width") > 0
    page.close()


def test_with_a_token_the_page_asks_for_it(named_run: Path, browser: Any, tmp_path: Path) -> None:
    copy = shutil.copytree(named_run, tmp_path / "run")
    with running(copy, token=TOKEN) as service:
        page = Tab(browser, service.address, viewport={"width": 390, "height": 850})
        tab = page.tab
        page.wait("#token")
        tab.keyboard.type("not the token at all")
        tab.keyboard.press("Enter")
        page.wait("#wrong:has-text('not the token')")
        tab.locator("#token").fill(TOKEN)
        tab.keyboard.press("Enter")
        page.wait("#rate")
        assert not tab.locator("#door").is_visible()
        assert TOKEN not in tab.url
        tab.reload()
        page.wait("#rate")  # this tab knows it still
        page.close()


def test_it_says_when_the_service_is_away(named_run: Path, browser: Any, tmp_path: Path) -> None:
    copy = shutil.copytree(named_run, tmp_path / "run")
    with running(copy) as service:
        page = Tab(browser, service.address)
        page.wait("#rate")
        tab = page.tab
        tab.locator("#pause").press("Enter")
        assert tab.locator("#status").inner_text() == "paused"
        tab.locator("#pause").press("Enter")
        page.wait("#status:text-is('live')")
    page.wait("#status:text-is('away')")
    assert "trying again" in tab.locator("#notice").inner_text()
    tab.close()


def test_the_dashboard_asks_for_metrics_that_there_are(service: Running) -> None:
    text = service.ask("GET", "/metrics").body.decode()
    there = {re.split(r"[{ ]", line)[0] for line in text.splitlines() if not line.startswith("#")}
    dashboard = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    asked = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    names = {name for expression in asked for name in re.findall(r"keat_\w+", expression)}
    assert len(names) > 12
    assert names <= there
    assert {"/v1/events"} == {path for one in asked for path in re.findall(r'path="([^"]+)"', one)}


def test_the_policy_is_one_line() -> None:
    assert "\n" not in policy()
