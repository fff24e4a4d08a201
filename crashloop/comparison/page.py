"""A comparison or a matrix as one HTML page, in the layout of report.html and under the same restrictions."""

from crashloop.comparison import text
from crashloop.comparison.comparison import Comparison
from crashloop.comparison.matrix import Matrix
from crashloop.comparison.stress import text as stress_text
from crashloop.comparison.stress.comparison import StressComparison
from crashloop.report.html import page


def comparison_to_html(comparison: Comparison) -> str:
    """The whole page."""
    return page("comparison.html.j2", comparison=comparison, said=text.headline(comparison), words=text)


def stress_comparison_to_html(comparison: StressComparison) -> str:
    """The whole page."""
    said = stress_text.stress_headline(comparison)
    return page("stress-comparison.html.j2", comparison=comparison, said=said, words=text, stress=stress_text)


def matrix_to_html(matrix: Matrix) -> str:
    """The whole page."""
    return page("matrix.html.j2", matrix=matrix, words=text)
