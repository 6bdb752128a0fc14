"""The curves of recall against speed in docs/evidence/benchmarks.md."""

import html
import math

COLOURS = {"conclave": "#0b6e4f", "hnswlib": "#c2571a", "faiss": "#3b5ba9"}


def curves(figures, title):
    """An SVG of recall@100 against queries a second, one line for each index."""
    width, height, left, right, top, bottom = 640, 400, 64, 16, 40, 48
    points = [(p["recall100"], p["qps"]) for f in figures.values() for p in f["points"] if p["recall100"] >= 0.8]
    low = math.floor(min(x for x, _ in points) * 50) / 50
    bottom_power = math.floor(math.log10(min(y for _, y in points)) * 2) / 2
    top_power = math.ceil(math.log10(max(y for _, y in points)) * 2) / 2

    def place(recall, speed):
        x = left + (recall - low) / (1 - low) * (width - left - right)
        y = height - bottom - (math.log10(speed) - bottom_power) / (top_power - bottom_power) * (height - top - bottom)
        return f"{x:.1f},{y:.1f}"

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{left}" y="22" font-size="15">{html.escape(title)}</text>',
    ]
    for n in range(6):
        recall = low + (1 - low) * n / 5
        x, y = place(recall, 10**bottom_power).split(",")
        out.append(f'<line x1="{x}" y1="{top}" x2="{x}" y2="{y}" stroke="#ddd"/>')
        out.append(f'<text x="{x}" y="{float(y) + 16:.0f}" text-anchor="middle">{recall:.3f}</text>')
    power = bottom_power
    while power <= top_power + 1e-9:
        x, y = place(low, 10**power).split(",")
        out.append(f'<line x1="{x}" y1="{y}" x2="{width - right}" y2="{y}" stroke="#ddd"/>')
        out.append(f'<text x="{float(x) - 6:.0f}" y="{float(y) + 4:.0f}" text-anchor="end">{10**power:.0f}</text>')
        power += 0.5
    out.append(f'<text x="{(width + left) / 2:.0f}" y="{height - 10}" text-anchor="middle">recall@100</text>')
    out.append(f'<text x="14" y="{height / 2:.0f}" transform="rotate(-90 14 {height / 2:.0f})" text-anchor="middle">queries a second, one thread</text>')
    for n, (name, f) in enumerate(figures.items()):
        line = sorted((p["recall100"], p["qps"]) for p in f["points"] if p["recall100"] >= low)
        colour = COLOURS.get(name, "#666")
        out.append(f'<polyline points="{" ".join(place(*p) for p in line)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for p in line:
            x, y = place(*p).split(",")
            out.append(f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>')
        out.append(f'<rect x="{left + 12}" y="{height - bottom - 66 + 18 * n}" width="12" height="4" fill="{colour}"/>')
        out.append(f'<text x="{left + 30}" y="{height - bottom - 60 + 18 * n}">{html.escape(f["name"])}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
