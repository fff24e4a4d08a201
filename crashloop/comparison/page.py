"""A comparison or a matrix as one HTML page, in the dress of report.html and under the same restrictions."""

from crashloop.comparison import stress_words, words
from crashloop.comparison.comparison import Comparison
from crashloop.comparison.matrix import Matrix
from crashloop.comparison.stress_comparison import StressComparison
from crashloop.report.html import page


def comparison_to_html(comparison: Comparison) -> str:
    """The whole page."""
    return page("comparison.html.j2", comparison=comparison, said=words.headline(comparison), words=words)


def stress_comparison_to_html(comparison: StressComparison) -> str:
    """The whole page."""
    said = stress_words.stress_headline(comparison)
    return page("stress-comparison.html.j2", comparison=comparison, said=said, words=words, stress=stress_words)


def matrix_to_html(matrix: Matrix) -> str:
    """The whole page."""
    return page("matrix.html.j2", matrix=matrix, words=words)
