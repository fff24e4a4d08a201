"""What a page hides from people who see little, or who have no mouse: measured in a browser (WCAG 2.1, AA)."""

from playwright.sync_api import Page

_FAINT = """
() => {
  const parsed = (text) => {
    const [red, green, blue, alpha] = text.match(/[\\d.]+/g).map(Number);
    return { rgb: [red, green, blue], alpha: alpha ?? 1 };
  };
  const over = (top, alpha, below) => top.map((each, place) => alpha * each + (1 - alpha) * below[place]);
  const luminance = (rgb) => {
    const [red, green, blue] = rgb.map((each) => each / 255).map((each) =>
      each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ancestors = (element) => element ? [...ancestors(element.parentElement), element] : [];
  const contrast = (element) => {
    const style = getComputedStyle(element);
    let ground = [255, 255, 255];
    let opacity = 1;
    for (const each of ancestors(element)) {
      const { backgroundColor, opacity: own } = getComputedStyle(each);
      const paint = parsed(backgroundColor);
      opacity *= Number(own);
      ground = over(paint.rgb, paint.alpha * opacity, ground);
    }
    const ink = parsed(element.closest("svg") ? style.fill : style.color);
    const [light, dark] = [luminance(over(ink.rgb, ink.alpha * opacity, ground)), luminance(ground)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  const least = (element) => {
    const { fontSize, fontWeight } = getComputedStyle(element);
    return parseFloat(fontSize) >= (Number(fontWeight) >= 700 ? 18.66 : 24) ? 3 : 4.5;
  };
  const hasText = (element) => [...element.childNodes].some((each) => each.nodeType === 3 && each.data.trim());
  return [...document.body.querySelectorAll("*")]
    .filter((each) => hasText(each) && each.checkVisibility() && !each.closest("title, script"))
    .filter((each) => contrast(each) < least(each))
    .map((each) => `${each.textContent.trim().slice(0, 40)}: ${contrast(each).toFixed(1)}`);
}
"""

_OUT_OF_REACH = """
() => [...document.body.querySelectorAll("*")]
  .filter((each) => ["auto", "scroll"].includes(getComputedStyle(each).overflowX) && each.scrollWidth > each.clientWidth)
  .filter((each) => each.tabIndex < 0 && !each.querySelector("a[href], button, input, summary, [tabindex='0']"))
  .map((each) => `${each.tagName}.${each.className}`)
"""


def faint_texts(page: Page) -> list[str]:
    """Visible texts whose contrast with what lies below them is under 4.5 (3 if they are large), with that contrast."""
    found: list[str] = page.evaluate(_FAINT)
    return found


def out_of_reach(page: Page) -> list[str]:
    """Parts that scroll sideways, and that a keyboard cannot scroll: neither they nor anything in them takes the focus."""
    found: list[str] = page.evaluate(_OUT_OF_REACH)
    return found
