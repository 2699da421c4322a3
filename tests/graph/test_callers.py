from __future__ import annotations

import pytest

from llama_index_codeindex.engine.codebase import Codebase
from llama_index_codeindex.engine.errors import InvalidArgument, SymbolNotFound
from tests.graph.conftest import Indexed
from tests.graph.samples import CYCLE, PYTHON


def chain(codebase: Codebase, name: str, depth: int) -> list[tuple[int, str, str]]:
    return [(c.depth, c.symbol, c.confidence) for c in codebase.callers(name, depth).callers]


def test_callers_of_callers(indexed: Indexed) -> None:
    codebase = indexed(PYTHON)
    assert chain(codebase, "_digits", 1) == [(1, "round_price", "exact")]
    assert chain(codebase, "_digits", 2) == [(1, "round_price", "exact"), (2, "Cart.total_price", "exact")]
    assert chain(codebase, "_digits", 9) == [
        (1, "round_price", "exact"),
        (2, "Cart.total_price", "exact"),
        (3, "Cart.describe_total", "exact"),
        (3, "print_report", "likely"),
        (3, "test_total", "likely"),
    ]


def test_a_cycle_ends(indexed: Indexed) -> None:
    codebase = indexed(CYCLE)
    assert chain(codebase, "first", 50) == [
        (1, "third", "exact"),
        (2, "second", "exact"),
        (2, "outside", "exact"),
        (3, "first", "exact"),
        (3, "test_outside", "exact"),
    ]
    assert not codebase.callers("first", 50).truncated


def test_names_alone_are_listed_but_not_followed(indexed: Indexed) -> None:
    codebase = indexed(
        {
            "a/one.py": "class One:\n    def do_it_now(self):\n        return 1\n",
            "b/two.py": "class Two:\n    def do_it_now(self):\n        return 2\n",
            "c/use.py": "def use(x):\n    return x.do_it_now()\n\n\ndef user():\n    return use(1)\n",
        }
    )
    assert chain(codebase, "One.do_it_now", 5) == [(1, "use", "name")]
    impact = codebase.impact("One.do_it_now")
    assert (impact.callers, impact.files, impact.uncertain) == ((), (), 1)


def test_what_is_local_affects_what_is_around_it(indexed: Indexed) -> None:
    codebase = indexed(
        {
            "a.py": (
                "def target():\n    return 1\n\n\ndef outer():\n    def inner():\n        return target()\n"
                "    return inner\n\n\ndef top():\n    return outer()\n"
            )
        }
    )
    assert chain(codebase, "target", 3) == [(1, "outer.inner", "exact"), (2, "top", "exact")]


def test_impact_of_a_symbol_and_of_a_file(indexed: Indexed) -> None:
    codebase = indexed(PYTHON)
    impact = codebase.impact("round_price")
    assert impact.files == ("shop/cart.py", "shop/report.py", "tests/test_cart.py")
    assert impact.tests == ("tests/test_cart.py",)
    assert {c.symbol for c in impact.callers} == {
        "Cart.total_price", "Cart.describe_total", "print_report", "test_total",
    }  # fmt: skip
    whole = codebase.impact("shop/money.py")
    assert whole.files == impact.files and whole.target == "shop/money.py"
    assert codebase.impact("./shop/money.py").files == whole.files


def test_impact_reaches_heirs(indexed: Indexed) -> None:
    codebase = indexed(
        {
            "base.py": "class Base:\n    pass\n",
            "child.py": "from base import Base\n\n\nclass Child(Base):\n    pass\n",
            "user.py": "from child import Child\n\n\ndef make_child():\n    return Child()\n",
        }
    )
    assert codebase.impact("Base").files == ("child.py", "user.py")


@pytest.mark.parametrize("depth", [0, -1, 51, True, 1.5, "2"])
def test_depth_is_checked(indexed: Indexed, depth: int) -> None:
    with pytest.raises(InvalidArgument):
        indexed(CYCLE).callers("first", depth)


def test_what_is_not_defined_has_no_callers(indexed: Indexed) -> None:
    with pytest.raises(SymbolNotFound):
        indexed(CYCLE).callers("missing")
