"""Numbers and names as people read them: no more digits than mean something."""

from featbert.text import printable, scaled

# The mark of a number that is no part of a row.
NONE = "–"


def percent(share: float | None, digits: int = 2) -> str:
    """0.63118 as `63.12`, with `digits` decimal places."""
    return NONE if share is None else f"{100 * share:z.{digits}f}"  # never -0.00


def p_value(p: float) -> str:
    """`0.013`, or `<0.001`."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def points(difference: float) -> str:
    """A difference of shares in percentage points, with its sign: `-1.30`, `+0.52`, `0.00`."""
    text = f"{100 * difference:+.2f}"
    return text if text.strip("+-0.") else text[1:]


def short_points(difference: float) -> str:
    """A difference in percentage points with one digit, or with two if one would hide its sign."""
    text = f"{100 * difference:+.1f}"
    return text if text.strip("+-0.") else points(difference)


def interval(low: float, high: float) -> str:
    """Ends of an interval of a difference in percentage points: `[-3.1, +4.2]`."""
    return f"[{short_points(low)}, {short_points(high)}]"


def duration(seconds: float) -> str:
    """Seconds as `0.4 s`, `42 s`, `1m 12s`, `2h 05m` or `3d 04h`."""
    if seconds < 0.05:
        return "<0.1 s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    minutes = round(seconds / 60)
    if minutes < 24 * 60:
        return f"{minutes // 60}h {minutes % 60:02d}m"
    hours = round(seconds / 3600)
    return f"{hours // 24}d {hours % 24:02d}h"


def size(n_bytes: float | None) -> str:
    """Bytes in decimal units: `512 B`, `12.3 MB`, `6.0 GB`."""
    return NONE if n_bytes is None else scaled(n_bytes, "B")


def parameters(n: float) -> str:
    """A count: `512`, `768 k`, `13.4 M`, `1.2 G`."""
    return scaled(n, "")


def operations(flops: float) -> str:
    """Operations as `3.4 GFLOP`, `60.0 TFLOP`, `1.2 PFLOP`."""
    return scaled(flops, "FLOP")


# By the unit of a currency (`featbert.analysis.cost`).
SHOWN = {
    "seconds": duration,
    "operations": operations,
    "bytes": size,
    "parameters": parameters,
}


def rate(per_second: float) -> str:
    """Three significant digits with thousands separators: `12,400`, `3.42`."""
    text = f"{per_second:.3g}"
    return text if per_second < 100 else f"{float(text):,.0f}"


def visible(text: str, keep: str = "") -> str:
    r"""`text` on one line, what would control a terminal written out (`\x1b`), except `keep`."""
    return printable(text, f"{keep}\xa0\u2009\u202f\u3000")
