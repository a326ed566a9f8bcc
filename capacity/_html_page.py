"""The frame of the HTML page: its style, light and dark, and nothing that is loaded."""

from __future__ import annotations

__all__ = ["page"]

_LIGHT = """
  --ink: #1d2329; --soft: #59636e; --line: #d5dbe1; --page: #fff; --card: #f5f7f9;
  --bad: #b3261e; --good: #1a7f37; --warn: #8a5a00;
  --a0: #3b6fb6; --a1: #e08a2e; --a2: #4b9b6c; --a3: #b5548b;
  --a4: #7b68c9; --a5: #c0504d; --a6: #3f9ea6; --a7: #9aa4ae;
"""
_DARK = """
  --ink: #e6eaee; --soft: #a3adb8; --line: #3a434d; --page: #14181c; --card: #1d2329;
  --bad: #ff8a80; --good: #6fd08c; --warn: #f0c060;
  --a0: #6b9be0; --a1: #e9a55a; --a2: #6dbb8d; --a3: #d480b0;
  --a4: #a394e6; --a5: #e07f7c; --a6: #62bfc7; --a7: #7d8893;
"""
_AREAS = "\n".join(f".a{n} {{ fill: var(--a{n}); background: var(--a{n}); }}" for n in range(8))
_STYLE = """
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 72rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .75rem; }
ul { margin: .5rem 0; padding-left: 1.25rem; }
.meta, figcaption, footer { color: var(--soft); }
.verdict { border-left: .4rem solid var(--good); background: var(--card); padding: .75rem 1rem;
  margin: 1rem 0; }
.verdict .word { font-size: 1.3rem; font-weight: 700; margin: 0; color: var(--good); }
.v1, .v2 { border-color: var(--warn); }
.v3 { border-color: var(--bad); }
.v1 .word, .v2 .word { color: var(--warn); }
.v3 .word { color: var(--bad); }
figure { margin: 1rem 0; }
svg { width: 100%; height: auto; background: var(--card); border-radius: .4rem; }
.grid, .day { stroke: var(--line); stroke-width: 1; }
.day { stroke-dasharray: 2 4; }
.tick { fill: var(--soft); font-size: 12px; }
.leveltext { fill: var(--ink); font-size: 12px; }
.level { stroke: var(--ink); stroke-width: 1.5; }
.left { stroke-dasharray: 7 5; }
.area { stroke: var(--page); stroke-width: .5; }
.keys { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; list-style: none; padding: 0; }
.key { display: inline-block; width: .8rem; height: .8rem; margin-right: .4rem; border-radius: .15rem;
  vertical-align: -.05rem; }
.wide { overflow-x: auto; margin: 1.25rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
caption { text-align: left; font-weight: 600; padding: .35rem 0; }
th, td { text-align: left; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
tbody th { font-weight: 500; }
td { font-variant-numeric: tabular-nums; }
summary { cursor: pointer; color: var(--soft); }
@media print { body { max-width: none; } .wide { overflow: visible; } }
"""
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
:root {{ color-scheme: light dark; {light} }}
@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}
{style}
{areas}
</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""


def page(*, title: str, body: str) -> str:
    """The whole document.

    :param title: escaped already, as ``body`` is.
    """
    return _PAGE.format(title=title, light=_LIGHT, dark=_DARK, style=_STYLE, areas=_AREAS, body=body)
