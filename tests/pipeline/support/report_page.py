"""Reads a report.html as a strict reader would: well-formed, nothing from elsewhere, numbers with their places."""

import base64
import html.parser
import re
import xml.etree.ElementTree

VOID = {"meta", "link", "img", "br"}


class Page(html.parser.HTMLParser):
    """Its text, images, ids, warnings and numbers, by data-metric; fails on tags that are not closed in order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.images, self.ids, self.links, self.numbers = [], [], set(), [], []
        self.text, self.alarm, self.metric = "", "", None
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        assert tag not in ("script", "iframe", "object", "embed"), tag
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            if name in ("src", "href"):
                assert value.startswith(("data:", "#")), value
        if tag == "img":
            self.images.append((attributes["src"], attributes["alt"]))
        if tag == "a":
            self.links.append(attributes["href"][1:])
        if "id" in attributes:
            assert attributes["id"] not in self.ids
            self.ids.add(attributes["id"])
        if "data-metric" in attributes:
            assert self.metric is None
            self.metric = [attributes["data-metric"], ""]
        if tag not in VOID:
            self.open.append((tag, attributes.get("class")))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag
        if tag == "span" and self.metric:
            self.numbers.append(tuple(self.metric))
            self.metric = None

    def handle_data(self, data):
        if ("style", None) in self.open:
            assert "url(" not in data and "@import" not in data
            return
        self.text += data
        if ("div", "alarm") in self.open:
            self.alarm += data
        if self.metric:
            self.metric[1] += data


def look_up(metrics, path):
    """The value at a path of keys between dots; a key may have dots itself, and is a number in a list."""
    if isinstance(metrics, list):
        metrics = {str(number): entry for number, entry in enumerate(metrics)}
    if path in metrics:
        return metrics[path]
    for key, inner in metrics.items():
        if path.startswith(key + ".") and isinstance(inner, (dict, list)):
            try:
                return look_up(inner, path[len(key) + 1:])
            except KeyError:
                pass
    raise KeyError(path)


def check_numbers(page, metrics):
    """Every number with a place in metrics.json is what stands there, to the decimals printed; returns the places."""
    for path, text in page.numbers:
        value = look_up(metrics, path)
        if value is None:
            assert text == "—", (path, text)
            continue
        assert re.fullmatch(r"−?\d+(\.\d+)?", text), (path, text)
        decimals = len(text.partition(".")[2])
        printed = float(text.replace("−", "-"))
        assert abs(printed - value) <= 0.5000001 * 10**-decimals, (path, text, value)
        around_zero = abs(value) < 1e-7 or path.endswith(("bias", "bias_deviations", "slope", "mae_difference"))
        assert printed != 0 or around_zero, (path, text, value)
    return {path for path, _ in page.numbers}


def check_images(page, directory):
    """Every image is in the page and in a file, the same bytes, and is an image; returns the files."""
    files = {path.read_bytes(): path.relative_to(directory).as_posix()
             for path in directory.rglob("*") if path.suffix in (".svg", ".png")}
    found = set()
    for source, alt in page.images:
        kind, _, data = source.partition(";base64,")
        content = base64.b64decode(data, validate=True)
        found.add(files[content])
        assert alt
        if kind == "data:image/svg+xml":
            root = xml.etree.ElementTree.fromstring(content)
            assert root.tag == "{http://www.w3.org/2000/svg}svg" and len(root) > 5
            assert not re.search(rb"nan|inf\b|href|script", content)
        else:
            assert kind == "data:image/png" and content.startswith(b"\x89PNG\r\n\x1a\n")
    return found


def check_page(directory, metrics):
    """All of it; returns the page, the places of its numbers and its files."""
    page = Page((directory / "report.html").read_text())
    assert set(page.links) <= page.ids
    assert not re.search(r"\b(nan|inf)\b", page.text, re.IGNORECASE)
    return page, check_numbers(page, metrics), check_images(page, directory)
