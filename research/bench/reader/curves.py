"""A picture of two charts, exact match and first passage right, by step, a line for each way."""

import html

WAYS = {
    "emdr2": "the T5's feedback (emdr2)", "frozen": "retriever as it was", "random": "feedback at random",
    "marked": "marked passages", "alike": "passages that hold the answer", "kl": "the T5's feedback (kl)", "alt-1": "no feedback (alt-1)",
}  # fmt: skip
COLOURS = {
    "emdr2": "#0b6e4f", "kl": "#7fb069", "marked": "#3b5ba9", "alike": "#7a4fa3", "frozen": "#888888", "alt-1": "#b8860b",
    "random": "#c2571a",
}  # fmt: skip


def picture(runs, told):
    """An SVG of two charts, exact match and top-1, a line for each way."""
    width, height, gap = 760, 350, 60
    each = (width - 3 * gap) / 2
    most = max(row["step"] for rows in runs.values() for row in rows) or 1
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif"'
        ' font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for n, (figure, title) in enumerate((("em", "exact match, %"), ("top-1", "first passage right, %"))):
        left, top, bottom = gap + n * (each + gap), 40, height - 104
        out.append(f'<text x="{left:.0f}" y="24" font-size="14">{title}</text>')
        for share in range(0, 101, 25):
            y = bottom - share / 100 * (bottom - top)
            out.append(f'<line x1="{left:.0f}" y1="{y:.1f}" x2="{left + each:.0f}" y2="{y:.1f}" stroke="#ddd"/>')
            out.append(f'<text x="{left - 6:.0f}" y="{y + 4:.1f}" text-anchor="end">{share}</text>')
        for share in range(5):
            x = left + each * share / 4
            out.append(f'<text x="{x:.0f}" y="{bottom + 16}" text-anchor="middle">{most * share / 4:.0f}</text>')
        out.append(f'<text x="{left + each / 2:.0f}" y="{bottom + 32}" text-anchor="middle">steps</text>')
        for way, rows in runs.items():
            points = " ".join(
                f"{left + each * r['step'] / most:.1f},{bottom - r[figure] / 100 * (bottom - top):.1f}" for r in rows
            )
            out.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[way]}" stroke-width="2"/>')
    for n, way in enumerate(runs):
        x, y = gap + n % 3 * (width - gap) / 3, height - 56 + n // 3 * 18
        out.append(f'<rect x="{x:.0f}" y="{y}" width="14" height="4" fill="{COLOURS[way]}"/>')
        out.append(f'<text x="{x + 20:.0f}" y="{y + 6}">{html.escape(WAYS[way])}</text>')
    out.append(f'<text x="{gap}" y="{height - 8}" fill="#555">{html.escape(told)}</text></svg>')
    return "\n".join(out) + "\n"
