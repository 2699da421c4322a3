"""Small code bases whose answers are known by heart."""

from __future__ import annotations

PYTHON = {
    "shop/__init__.py": "from shop.cart import Cart\n",
    "shop/cart.py": (
        "from shop.money import round_price\n\n\n"
        "class Cart:\n"
        "    def __init__(self, lines):\n        self.lines = lines\n\n"
        "    def total_price(self):\n        return round_price(sum(self.lines))\n\n"
        "    def describe_total(self):\n        return str(self.total_price())\n\n"
        "    def get(self, key):\n        return self.lines[key]\n"
    ),
    "shop/money.py": (
        "def round_price(value):\n    return _digits(value)\n\n\ndef _digits(value):\n    return round(value, 2)\n"
    ),
    "shop/report.py": (
        "import shop\nfrom shop.cart import Cart\nfrom other.money import round_price\n\n\n"
        "def print_report(options, cart):\n"
        "    made = Cart([1, 2])\n"
        "    options.get('x')\n"
        "    round_price(3)\n"
        "    return made.total_price()\n"
    ),
    "tests/test_cart.py": (
        "from shop.cart import Cart\n\n\n"
        "def test_total():\n"
        "    def helper():\n        return Cart([1])\n"
        "    assert helper().total_price() == 1\n\n\n"
        "def test_other():\n"
        "    def helper():\n        return 2\n"
        "    assert helper() == 2\n"
    ),
}

TYPESCRIPT = {
    "src/store.ts": (
        "export interface Session {\n  id: string;\n}\n\n"
        "export function openSession(id: string): Session {\n  return { id };\n}\n\n"
        "export class SessionStore {\n  find(id: string): Session {\n    return openSession(id);\n  }\n}\n"
    ),
    "src/app.ts": (
        "import { openSession, SessionStore as Store } from './store';\nimport { parse } from 'cookie';\n\n"
        "export function start(): void {\n  openSession(parse('a'));\n}\n"
    ),
    "src/cookies.ts": "export function parse(text: string): string {\n  return text;\n}\n",
    "test/app.test.ts": "import { start } from '../src/app';\n\nstart();\n",
}

GO = {
    "go.mod": "module example.com/box\n\ngo 1.22\n",
    "box/box.go": (
        "package box\n\ntype Box struct {\n\tSize int\n}\n\nfunc NewBox(size int) *Box {\n\treturn &Box{Size: size}\n}\n\n"
        "func (b *Box) Volume() int {\n\treturn cube(b.Size)\n}\n"
    ),
    "box/math.go": "package box\n\nfunc cube(n int) int {\n\treturn n * n * n\n}\n",
    "cmd/main.go": (
        'package main\n\nimport "example.com/box/box"\n\nfunc main() {\n\tb := box.NewBox(2)\n\tprintln(b.Volume())\n}\n'
    ),
}

CYCLE = {
    "loop.py": (
        "def first(n):\n    return second(n)\n\n\ndef second(n):\n    return third(n)\n\n\n"
        "def third(n):\n    return first(n)\n\n\ndef outside():\n    return third(1)\n"
    ),
    "tests/test_loop.py": "from loop import outside\n\n\ndef test_outside():\n    outside()\n",
}
