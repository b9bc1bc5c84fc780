"""`python -m benchmarks.interval_coverage PICTURE`: draw the grid, print the worst coverage."""

import sys

from benchmarks.interval_coverage.draw import draw_coverage

if __name__ == "__main__":
    for title, worst in draw_coverage(sys.argv[1]).items():
        sys.stdout.write(f"{title}: worst coverage {100 * worst:.3f}%\n")
