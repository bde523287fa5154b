# SPDX-License-Identifier: Apache-2.0
"""A session as one SVG that plays by itself: lines appear at their times, and the screen scrolls when it is full.

Where a reader asks for less motion, or prints it, the end of the session stands still.
"""
from html import escape

from terminal import HEIGHT, WIDTH, to_lines

CELL, ROW, EDGE, BAR = 8.4, 19, 14, 34
COLOURS = {"31": "#ff8f7a", "32": "#7fd79a", "33": "#e8c66a", "34": "#8fb8ff", "36": "#7fd0d0"}
HOLD_S = 6  # The last picture, before it begins anew.


def style_of(sgr):
    """The attributes of a piece."""
    numbers = sgr.split(";")
    attributes = ""
    if "1" in numbers:
        attributes += ' font-weight="bold"'
    if "2" in numbers:
        attributes += ' fill="#98a1ad"'
    for number in numbers:
        if number in COLOURS:
            attributes += f' fill="{COLOURS[number]}"'
    return attributes


def text_of(pieces):
    column, spans = 0, []
    for sgr, text in pieces:
        spans.append(f'<tspan x="{column * CELL:g}"{style_of(sgr)}>{escape(text)}</tspan>')
        column += len(text)
    return "".join(spans)


def timed_lines(events):
    """Each line of the session with the time of its last change."""
    whole, times = "", []
    for when, text in events:
        whole += text
        count = whole.count("\n") + 1
        times += [when] * (count - len(times))
        times[-1] = when
    lines = to_lines(whole)
    while lines and not lines[-1]:
        lines.pop()
    return list(zip(times, lines))


def to_svg(title, events):
    lines = timed_lines(events)
    length = max((when for when, _ in lines), default=0) + HOLD_S
    rows = min(HEIGHT, max(len(lines), 8))
    width, height = 2 * EDGE + WIDTH * CELL, BAR + rows * ROW + EDGE
    rules, body, scrolls = [], [], ["0%{transform:translateY(0)}"]
    for number, (when, pieces) in enumerate(lines):
        share = 100 * when / length
        rules.append(f"@keyframes l{number}{{0%,{share:.3f}%{{opacity:0}}{share + .001:.3f}%,100%{{opacity:1}}}}"
                     f"#l{number}{{animation:l{number} {length:.2f}s step-end infinite}}")
        body.append(f'<text id="l{number}" y="{(number + 1) * ROW - 5}">{text_of(pieces)}</text>')
        if number >= rows:
            scrolls.append(f"{share:.3f}%{{transform:translateY({-(number + 1 - rows) * ROW}px)}}")
    last = -max(0, len(lines) - rows) * ROW
    scrolls.append(f"100%{{transform:translateY({last}px)}}")
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" aria-labelledby="title">
<title id="title">{escape(title)}</title>
<style>
text{{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#e6e9ee;white-space:pre}}
@keyframes scroll{{{"".join(scrolls)}}}
#screen{{animation:scroll {length:.2f}s step-end infinite}}
{chr(10).join(rules)}
@media (prefers-reduced-motion: reduce), print{{text,#screen{{animation:none!important}}#screen{{transform:translateY({last}px)}}}}
</style>
<rect width="{width:g}" height="{height:g}" rx="8" fill="#15181c"/>
<text x="{width / 2:g}" y="22" text-anchor="middle" fill="#98a1ad">{escape(title)}</text>
<svg x="{EDGE}" y="{BAR}" width="{WIDTH * CELL:g}" height="{rows * ROW}"><g id="screen">
{chr(10).join(body)}
</g></svg>
</svg>
"""
