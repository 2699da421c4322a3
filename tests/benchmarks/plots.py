"""The pictures of a run. The same figures give the same files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

from tests.benchmarks.meters import Figures
from tests.benchmarks.peers import PEERS

_OURS, _OTHERS = "#2563a8", "#b6bcc4"


def draw(results: Figures, quality: Figures, folder: Path) -> None:
    """Write the pictures into a folder."""
    matplotlib.use("svg")
    matplotlib.rcParams.update({
        "svg.hashsalt": "codeindex", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False,
        "axes.grid": True, "axes.axisbelow": True, "grid.color": "#e6e8eb", "savefig.bbox": "tight",
        "svg.fonttype": "none",  # letters as text: small files, and found by a search of the page
    })  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    _latency(results["sizes"], folder / "query_latency.svg")
    _build(results["peers"], folder / "build_time.svg")
    _quality(quality, folder / "quality.svg")


def _figure(columns: int = 1, height: float = 3.0) -> Any:
    from matplotlib import pyplot

    return pyplot.subplots(1, columns, figsize=(3.6 * columns + 1.4, height), squeeze=False)


def _save(figure: Any, path: Path) -> None:
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def _latency(sizes: list[Figures], path: Path) -> None:
    figure, axes = _figure()
    chunks = [size["chunks"] for size in sizes]
    for kind, colour in (("prose", "#2563a8"), ("symbol", "#c2571a"), ("path", "#3c8d40")):
        for share, style in (("p50", "o-"), ("p95", "o--")):
            waits = [size["queries"][kind][share] for size in sizes]
            axes[0][0].plot(chunks, waits, style, color=colour, markersize=3.5, label=f"{kind}, {share}")
    axes[0][0].set(xscale="log", xlabel="chunks in the index", ylabel="milliseconds", ylim=(0, None))
    axes[0][0].set_title("One question of an open index", loc="left")
    axes[0][0].legend(frameon=False, fontsize=8, handlelength=3.5)
    _save(figure, path)


def _bars(axis: Any, values: dict[str, float], title: str, form: str) -> None:
    names = list(values)
    colours = [_OURS if name.startswith("ours") else _OTHERS for name in names]
    axis.bar_label(axis.barh(names, list(values.values()), color=colours), fmt=form, padding=3)
    axis.invert_yaxis()
    axis.grid(visible=False, axis="y")
    axis.set_xlim(0, 1.25 * max(values.values()))
    axis.set_title(title, loc="left")


def _build(peers: Figures, path: Path) -> None:
    names = {"ours": "ours, lexical", **PEERS, "floor": "only parsing, one thread"}
    there = [name for name in names if "build" in peers.get(name, {})]
    figure, axes = _figure(2, 2.2)
    for axis, key, title in zip(axes[0], ("wall", "cpu"), ("time", "CPU time of all processes"), strict=True):
        times = {names[name]: peers[name]["build"][key] / peers["ours"]["build"][key] for name in there}
        _bars(axis, times, f"A new index of {peers['files']:,} files:\n{title}, ours = 1", "%.2f")
    axes[0][1].tick_params(labelleft=False)
    _save(figure, path)


def _quality(quality: Figures, path: Path) -> None:
    figure, axes = _figure(2, 2.4)
    _bars(axes[0][0], quality["files"], "The right files, NDCG@10", "%.3f")
    _bars(axes[0][1], quality["lines"], "The right lines, hit@5", "%.3f")
    figure.subplots_adjust(wspace=1.0)
    _save(figure, path)
