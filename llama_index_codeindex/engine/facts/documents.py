"""Texts of the general formats, opened with their well-kept parsers and made safe for what a repository may hold."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl, Locator

import defusedxml
import defusedxml.sax
import yaml

from llama_index_codeindex.engine.facts.lines import Path, TomlLines, json_lines, toml_lines

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# libyaml is forty times as fast; builds of PyYAML without it exist.
_YAML_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Manifests nest a handful of levels.
_MAX_NESTING = 100
# The TOML parser needs quadratic time for a dotted key; real ones have few parts, and so do lines of versions and URLs.
_FREE_DOTS = 20
_MAX_DOTS_COST = 1_000_000


class Malformed(ValueError):
    """A manifest cannot be understood; the message says why, without quoting it."""


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """A JSON object with the lines of its keys."""

    data: dict[str, Any]
    lines: dict[Path, int]

    def line(self, *way: str | int) -> int:
        """Return the line of a key, or of the nearest one above it."""
        return _nearest(self.lines, way)


@dataclass(frozen=True, slots=True)
class TomlDocument:
    """A TOML table with the lines of its keys and of the strings in their values."""

    data: dict[str, Any]
    lines: TomlLines

    def line(self, *way: str | int) -> int:
        """Return the line of a key, or of the nearest one above it."""
        return _nearest(self.lines.keys, way)

    def line_of(self, text: str, *way: str | int) -> int:
        """Return the line of a string in the value of a key."""
        return self.lines.strings.get(way, {}).get(text) or self.line(*way)


def _nearest(lines: dict[Path, int], way: Path) -> int:
    for end in range(len(way), 0, -1):
        if way[:end] in lines:
            return lines[way[:end]]
    return 1


def open_json(text: str) -> JsonDocument:
    """Return the object that a JSON text holds.

    Raises:
        Malformed: It is not JSON, or not an object.
    """
    try:
        data = json.loads(text)
    except RecursionError:
        raise Malformed("nested too deeply") from None
    except ValueError as error:
        line = getattr(error, "lineno", 0)
        raise Malformed(f"not JSON: line {line}" if line else "not JSON") from None
    if not isinstance(data, dict):
        raise Malformed("not a JSON object")
    return JsonDocument(data, json_lines(text))


def open_toml(text: str) -> TomlDocument:
    """Return the table that a TOML text holds.

    Raises:
        Malformed: It is not TOML, or made to exhaust its parser.
    """
    cost = sum(max(0, line.count(".") - _FREE_DOTS) ** 2 for line in text.split("\n"))
    if cost > _MAX_DOTS_COST:
        raise Malformed("keys of too many parts")
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise Malformed("nested too deeply") from None
    except ValueError as error:
        raise Malformed(f"not TOML: {_place(str(error))}") from None
    return TomlDocument(data, toml_lines(text))


def _place(message: str) -> str:
    """Return the place that the TOML parser's message ends with; the rest may quote the file."""
    start = message.rfind("(at ")
    return message[start + 4 :].rstrip(")") if start >= 0 else "invalid"


class YamlNode:
    """A node of a YAML text. Nothing is constructed from it: tags, anchors and merges stay what they are, text."""

    __slots__ = ("_node",)

    def __init__(self, node: Any) -> None:
        self._node = node

    @property
    def line(self) -> int:
        """The line on which the node starts."""
        return int(self._node.start_mark.line) + 1

    @property
    def text(self) -> str:
        """The scalar's text; empty for other nodes."""
        return str(self._node.value) if isinstance(self._node, yaml.ScalarNode) else ""

    def items(self) -> Iterator[tuple[YamlNode, YamlNode]]:
        """Yield the keys and values of a mapping; nothing for other nodes."""
        if isinstance(self._node, yaml.MappingNode):
            for key, value in self._node.value:
                yield YamlNode(key), YamlNode(value)

    def get(self, *names: str) -> YamlNode | None:
        """Return the node below these keys, or None."""
        node: YamlNode | None = self
        for name in names:
            node = next((value for key, value in node.items() if key.text == name), None) if node else None
        return node

    def text_at(self, *names: str) -> str:
        """Return the scalar's text below these keys, or an empty one."""
        node = self.get(*names)
        return node.text if node else ""

    def entries(self, *names: str) -> list[tuple[YamlNode, YamlNode]]:
        """Return the keys and values of the mapping below these keys."""
        node = self.get(*names)
        return list(node.items()) if node else []


def open_yaml(text: str) -> list[YamlNode]:
    """Return the documents of a YAML text that are mappings.

    Raises:
        Malformed: It is not YAML, or not a mapping.
    """
    try:
        nodes = [node for node in yaml.compose_all(text, Loader=_YAML_LOADER) if node is not None]
    except RecursionError:
        raise Malformed("nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        raise Malformed(f"not YAML: line {mark.line + 1}" if mark else "not YAML") from None
    if not nodes or not all(isinstance(node, yaml.MappingNode) for node in nodes):
        raise Malformed("not a YAML mapping")
    return [YamlNode(node) for node in nodes]


@dataclass(slots=True)
class XmlElement:
    """An element of an XML text; `tag` and attribute names are without namespace prefixes."""

    tag: str
    line: int
    attributes: dict[str, str] = field(default_factory=dict)
    text: str = ""
    children: list[XmlElement] = field(default_factory=list)

    def all(self, *tags: str) -> list[XmlElement]:
        """Return the elements that a way of tags leads to."""
        found = [self]
        for tag in tags:
            found = [child for element in found for child in element.children if child.tag == tag]
        return found

    def value(self, *tags: str) -> str:
        """Return the text of the first element that a way of tags leads to, or an empty one."""
        found = self.all(*tags)
        return found[0].text.strip() if found else ""

    def walk(self) -> Iterator[XmlElement]:
        """Yield the element and everything in it, in order."""
        yield self
        for child in self.children:
            yield from child.walk()


class _XmlBuilder(ContentHandler):
    def __init__(self) -> None:
        super().__init__()
        self._at: Locator | None = None
        self._open: list[XmlElement] = [XmlElement("", 1)]

    @property
    def root(self) -> XmlElement:
        return self._open[0].children[0]

    def setDocumentLocator(self, locator: Locator) -> None:  # noqa: N802 - the name is SAX's
        self._at = locator

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802
        if len(self._open) > _MAX_NESTING:
            raise Malformed("nested too deeply")
        line = (self._at.getLineNumber() if self._at else None) or 1
        element = XmlElement(_local(name), line, {_local(key): str(value) for key, value in attrs.items()})
        self._open[-1].children.append(element)
        self._open.append(element)

    def endElement(self, name: str) -> None:  # noqa: ARG002, N802
        self._open.pop()

    def characters(self, content: str) -> None:
        # Only the first pieces: a text of a million lines comes in as many pieces.
        if len(self._open[-1].text) < 4_000:
            self._open[-1].text += content


def _local(name: str) -> str:
    return name.rsplit(":", 1)[-1]


def open_xml(text: str) -> XmlElement:
    """Return the root element of an XML text; entities and external parts are refused.

    Raises:
        Malformed: It is not XML, or declares entities.
    """
    builder = _XmlBuilder()
    # The text is decoded already, so that what its declaration says of an encoding is not true any more.
    data = text.lstrip("\ufeff").encode("utf-8", "replace")
    if data.startswith(b"<?xml"):
        end = data.find(b"?>")
        # Its line breaks stay, so that lines keep their numbers.
        data = b"\n" * data.count(b"\n", 0, end) + data[end + 2 :] if end > 0 else data
    try:
        defusedxml.sax.parseString(data, builder)
    except defusedxml.DefusedXmlException:
        raise Malformed("declares entities") from None
    except Malformed:
        raise
    except Exception as error:  # SAXParseException and what expat raises for unknown encodings
        line = error.getLineNumber() if hasattr(error, "getLineNumber") else None
        raise Malformed(f"not XML: line {line}" if line else "not XML") from None
    return builder.root


def table(value: object) -> dict[str, Any]:
    """Return a value that should be a table, or an empty one for what is not."""
    return value if isinstance(value, dict) else {}


def array(value: object) -> list[Any]:
    """Return a value that should be a list, or an empty one for what is not."""
    return value if isinstance(value, list) else []


def string(value: object) -> str:
    """Return a value that should be a text, or an empty one for what is not."""
    return value if isinstance(value, str) else ""
