"""The measurements as text, for people who watch."""

from typing import Any


def lines(document: dict[str, Any]) -> list[str]:
    """One line per measurement, then one per comparison with theory."""
    text = [
        f"{'case':8}{'n':>10}  {'contender':17}"
        f"{'seconds':>10}{'wall':>10}{'peak MB':>9}{'bytes':>7}{'turns':>6}"
    ]
    for row in document["measurements"]:
        text.append(
            f"{row['case']:8}{row['n']:>10,}  {row['contender']:17}{row['seconds']:>10.5f}"
            f"{row['wall_seconds']:>10.5f}{row['peak_bytes'] / 1e6:>9.1f}"
            f"{row['bytes_per_report']:>7g}{row['turns']:>6}"
        )
    text.append(f"{'case':8}{'':10}  {'contender':17}{'mse/theory':>16}{'z':>7}{'z to ours':>10}")
    for found in document["accuracy"]:
        for name, row in found["contenders"].items():
            text.append(
                f"{found['case']:8}{found['n']:>10,}  {name:17}"
                f"{row['mse_over_theory']:>8.3f} ±{row['standard_error']:6.3f}"
                f"{row['z_against_theory']:>7.2f}{row['z_against_ours']:>10.2f}"
            )
    return text


def verdict(result: dict[str, Any]) -> str:
    """One promise, and whether it was kept."""
    bound = f">= {result['at_least']:g}" if "at_least" in result else f"<= {result['at_most']:g}"
    if "z" in result:
        found = f"|z| = {max(abs(z) for z in result['z']):.2f}"
    else:
        found = f"{result['ratio'] if 'ratio' in result else result['bytes']:.3g}"
    return f"{'kept' if result['kept'] else 'NOT KEPT':9}{result['what']}: {found} ({bound})"
