"""report.html stands alone, is honest to those who cannot see it, and runs nothing that came from a container."""

import base64
import hashlib
import re
from collections import Counter
from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest

from crashloop.report.conformance import conformance_document
from crashloop.report.document import Chips
from crashloop.report.html import to_html
from crashloop.report.results import Results
from crashloop.report.standing import Standing
from crashloop.report.text import flattened
from crashloop.report.verdicts import href_of, verdict_sections, web_link, what_it_rests_on
from crashloop.verdict import Evidence, Outcome, Verdict
from suites.selftest.kit.report_example import PROFILES, VERDICTS, example_results

HOSTILE = "</td></script><script>alert(1)</script><img src=x onerror=alert(2)>\" ' {{ 7*7 }} \x1b[2J\x00\u202e"

VOID = frozenset({"meta", "link", "input", "br", "img", "hr"})


class Page(HTMLParser):
    """What a browser would find in a page: elements with their attributes, text, and tags that do not fit."""

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.raw: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in ("style", "script"):
            self.raw[self._open[-1]] = data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def attributes(self, name: str, tag: str | None = None) -> list[str]:
        return [attrs[name] for each, attrs in self.elements if name in attrs and tag in (None, each)]


def page_of(results: Results) -> str:
    return to_html(conformance_document(results))


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(page_of(example_results()))


def test_nothing_is_loaded_from_anywhere(page: Page) -> None:
    assert page.attributes("src") == []
    assert page.attributes("href", "link") == ["data:,"]
    assert {each for each in page.attributes("href", "a") if ":" in each} == {
        "https://github.com/kubernetes/kubernetes/issues/99697",
        "https://github.com/kubernetes/enhancements/tree/master/keps/sig-node/5593-configure-the-max-crashloopbackoff-delay",
    }
    assert "url(" not in page.raw["style"]
    assert "@import" not in page.raw["style"]


def test_the_page_runs_only_its_own_script_and_style(page: Page) -> None:
    policy = next(each["content"] for tag, each in page.elements if "http-equiv" in each)
    for tag in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(page.raw[tag].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")
    assert page.attributes("style") == []
    assert [name for _, attrs in page.elements for name in attrs if name.startswith("on")] == []


def test_ids_are_unique_and_every_anchor_leads_somewhere(page: Page) -> None:
    ids = Counter(page.attributes("id"))
    assert [each for each, number in ids.items() if number > 1] == []
    references = [each[1:] for each in page.attributes("href", "a") if each.startswith("#")]
    references += " ".join(page.attributes("aria-labelledby")).split()
    assert set(references) - set(ids) == set()


def test_what_passed_is_folded(page: Page) -> None:
    folds = [attrs for tag, attrs in page.elements if tag == "details" and attrs.get("class") == "folded"]
    assert [("open" in each) for each in folds] == [False]
    assert "44 PASS, 1 SKIPPED" in page.text.split("What needs attention")[-1]


def test_every_verdict_has_a_row_worst_first(page: Page) -> None:
    rows = page.attributes("data-standing", "tr")
    assert len(rows) == len(VERDICTS)
    assert rows == sorted(rows, key=lambda name: Standing(name).rank)


def test_what_needs_attention_has_a_card_and_the_rest_is_folded(page: Page) -> None:
    assert sum(tag == "article" and attrs.get("class", "").startswith("cause ") for tag, attrs in page.elements) == 4
    assert not any(tag == "details" and "open" in attrs for tag, attrs in page.elements)


def test_findings_sentences_and_evidence_stand_in_the_page(page: Page) -> None:
    for verdict in VERDICTS:
        for finding in verdict.findings:
            assert finding in page.text
    assert "With a maximum of 1 s, restarts MUST be at least 1 s apart." in page.text
    assert "history/crash-natural-max-1s.jsonl" in page.attributes("href", "a")
    assert "lines 61, 64-65" in page.text


def test_every_profile_shows_its_configuration(page: Page) -> None:
    for profile in PROFILES:
        assert profile.name in page.text
        assert profile.description in page.text
    assert "crashLoopBackOff:\n  maxContainerRestartPeriod: 1s\n" in page.text
    assert "# nothing is set: the kubelet's defaults" in page.text


def test_every_curve_has_a_picture_with_a_title_and_its_numbers(page: Page) -> None:
    curves = example_results().curves
    pictures = [attrs for tag, attrs in page.elements if tag == "svg" and attrs.get("role") == "img"]
    assert len(pictures) == len(curves) == 20
    for curve in curves:
        assert f'Delays of "{curve.container}" in {curve.scenario} on {curve.profile}' in page.text


def test_the_page_tells_how_to_reproduce_its_verdicts(page: Page) -> None:
    assert "crashloop report --again runs/20261121T160012Z-conformance" in page.text
    assert "crashloop run --provider local --scope full --kubernetes-version 1.37.1" in page.text


def test_a_run_of_this_size_stays_below_300_kb() -> None:
    assert len(page_of(example_results()).encode()) <= 300_000


def test_tables_have_headers_and_the_page_has_a_language(page: Page) -> None:
    assert page.attributes("lang", "html") == ["en"]
    scopes = Counter(attrs.get("scope") for tag, attrs in page.elements if tag == "th")
    assert set(scopes) == {"col"}


def hostile_results() -> Any:
    results = example_results(
        (
            Verdict(
                requirement="CAP-3",
                scenario=HOSTILE,
                profile=HOSTILE,
                outcome=Outcome.FAIL,
                findings=(HOSTILE, HOSTILE),
                evidence=(Evidence(file="javascript:alert(3)"), Evidence(file="../../etc/passwd")),
                facts={
                    HOSTILE: HOSTILE,
                    "delays": [{"container": HOSTILE, "restart": 1, "due_s": 1.0, "seen_s": 2.0, "reason": HOSTILE}],
                },
            ),
            Verdict(
                requirement=HOSTILE, scenario="s", profile="p", outcome=Outcome.FAIL, deviation=HOSTILE, findings=("x",)
            ),
        )
    )
    (deviation,) = results.deviations
    return msgspec.structs.replace(
        results,
        deviations=(msgspec.structs.replace(deviation, sentence=HOSTILE, link="javascript:alert(4)"),),
        environment={HOSTILE: HOSTILE},
        run=HOSTILE,
        suite=HOSTILE,
        kubernetes_version=HOSTILE,
        provider=HOSTILE,
        profiles=(
            *results.profiles,
            msgspec.structs.replace(results.profiles[0], name=HOSTILE, description=HOSTILE, config={HOSTILE: HOSTILE}),
        ),
    )


def test_no_text_from_outside_becomes_an_element() -> None:
    page = Page(page_of(hostile_results()))
    assert Counter(tag for tag, _ in page.elements)["script"] == 1
    assert Counter(tag for tag, _ in page.elements)["img"] == 0
    assert [name for _, attrs in page.elements for name in attrs if name.startswith("on")] == []
    assert "<script>alert(1)</script><img src=x onerror=alert(2)>" in page.text
    assert "{{ 7*7 }} \\x1b[2J\\x00\\u202e" in page.text
    assert not re.search("[\x00\x1b\u202e]", page.text)


def test_no_link_leaves_the_run_directory_or_runs_a_script() -> None:
    links = Page(page_of(hostile_results())).attributes("href", "a")
    assert [each for each in links if each.lower().startswith("javascript:") or ".." in each] == []


@pytest.mark.parametrize(
    ("file", "href"),
    [
        ("history/a.jsonl", "history/a.jsonl"),
        ("logs/max 1s/a#b.log", "logs/max%201s/a%23b.log"),
        ("javascript:alert(1)", "javascript%3Aalert%281%29"),
        ("/etc/passwd", None),
        ("//elsewhere/x", None),
        ("../x", None),
        ("", None),
    ],
    ids=["plain", "quoted", "scheme", "absolute", "host", "parent", "empty"],
)
def test_evidence_links_to_files_of_the_run_directory_only(file: str, href: str | None) -> None:
    assert href_of(Evidence(file=file)) == href


@pytest.mark.parametrize(
    ("link", "href"),
    [
        ("https://k8s.io/x", "https://k8s.io/x"),
        ("javascript:alert(1)", None),
        ("https:", None),
        ("http://[", None),
        (None, None),
    ],
    ids=["https", "script", "no-host", "malformed", "none"],
)
def test_only_links_to_web_pages_are_followed(link: str | None, href: str | None) -> None:
    assert web_link(link) == href


def test_a_run_without_verdicts_has_a_page_too() -> None:
    page = Page(page_of(example_results(())))
    assert "Nothing was judged." in page.text
    assert page.attributes("data-standing") == []
    assert [each for each in page.attributes("href", "a") if each.startswith("#req-")] == []


@pytest.mark.parametrize(
    ("facts", "rows"),
    [
        ({"host": {"cpus": 2, "memory_bytes": 8_375_186_432}}, [("host.cpus", "2"), ("host.memory_bytes", "7.8 GiB")]),
        (
            {"nodes": [{"name": "a", "kubelet": "v1"}, {"kubelet": "v2"}]},
            [("nodes.a", "kubelet v1"), ("nodes.1", "kubelet v2")],
        ),
        (
            {"ready": True, "after_s": 0.4099, "codes": [1, 42]},
            [("ready", "yes"), ("after_s", "0.41"), ("codes", "1, 42")],
        ),
        ({"none": None, "empty": [], "text": "", "nested": {}}, []),
        ({"stderr": "x" * 2003}, [("stderr", "x" * 2000 + " … (3 more characters)")]),
    ],
    ids=["nested", "list", "plain", "empty", "long"],
)
def test_facts_are_shown_as_flat_rows(facts: dict[str, Any], rows: list[tuple[str, str]]) -> None:
    assert list(flattened(facts)) == rows


def luminance(colour: str) -> float:
    channels = [int(colour[index : index + 2], 16) / 255 for index in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_has_the_contrast_that_wcag_asks_for(page: Page, theme: int) -> None:
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", page.raw["style"].split(":root {")[theme + 1]))
    pairs = [(name, f"{name}-bg") for name in Standing] + [(name, "bg") for name in (*Standing, "accent")]
    pairs += [(name, "panel") for name in ("text", "muted")] + [("muted", "bg"), ("text", "bg")]
    pairs += [("text", f"{name}-bg") for name in Standing]
    too_low = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert {pair: ratio for pair, ratio in too_low.items() if ratio < 4.5} == {}


def test_requirements_are_grouped_by_topic() -> None:
    (chips,) = (each for each in verdict_sections(example_results())[1].blocks if isinstance(each, Chips))
    topics = dict(chips.topics)
    assert list(topics)[:3] == ["BACKOFF", "CAP", "CONFIG"]
    assert [(chip.number, chip.standing) for chip in topics["CAP"]] == [
        ("2", Standing.PASS),
        ("3", Standing.PASS),
        ("4", Standing.FAIL),
        ("6", Standing.PASS),
    ]


def one(needed: int) -> dict[str, Any]:
    return {"noun": "exit", "rest": "of a sidecar", "seen": 1, "needed": needed}


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        pytest.param({"delays": [{}, {}]}, "2 delays judged", id="delays"),
        pytest.param({"answers": [{}]}, "1 answer judged", id="answers"),
        pytest.param({"pods": {"PASS": 40, "INCONCLUSIVE": 2}}, "40 of 42 pods judged", id="every-pod"),
        pytest.param({"exit_code": 0}, "as required", id="nothing-to-count"),
        pytest.param({"fewest": one(3)}, "1 exit of a sidecar seen, 3 needed", id="fewest"),
        pytest.param({"fewest": one(1)}, "1 exit of a sidecar seen, 1 needed (one of one)", id="one-of-one"),
        pytest.param(
            {"delays": [{}], "fewest": one(1)},
            "1 delay judged; 1 exit of a sidecar seen, 1 needed (one of one)",
            id="both",
        ),
    ],
)
def test_a_verdict_without_a_finding_says_what_it_rests_on(facts: dict[str, Any], words: str) -> None:
    assert what_it_rests_on(facts) == words
