"""The book in a browser, opened from a file: search, formulas, definitions, keyboard, narrow screens, no errors."""

import pytest

pytest.importorskip("selenium", reason="make browser-test installs it")

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from tests.theorem_engine.showing import chromium

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not chromium.is_installed(), reason="make browser-test installs chromium-driver"),
]
ENTRY = "marion2025/manifold-risk.html"
NARROW, WIDE = (390, 844), (1100, 900)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    driver = chromium.started(tmp_path_factory.mktemp("profile"))
    yield driver
    driver.quit()


@pytest.fixture
def visit(browser, book):
    """Open a page of the book at a size; on leaving, the console must be empty."""

    def opened(place, size=WIDE):
        width, height = size
        # the window of a browser has a least width; what pages see has not
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        )
        browser.get((book / place).as_uri())
        return browser

    yield opened
    assert browser.get_log("browser") == []


def all_pages(book):
    return sorted(path.relative_to(book).as_posix() for path in book.rglob("*.html"))


def boxes(driver, selector):
    return driver.execute_script(
        "return Array.from(document.querySelectorAll(arguments[0])).map(function (e) {"
        "  var r = e.getBoundingClientRect(); return [r.width, r.height, r.left, r.right]; });",
        selector,
    )


def test_the_search_finds_by_word_synonym_and_slip(visit):
    driver = visit("index.html")
    field = driver.find_element(By.ID, "search")

    def hits(text):
        field.clear()
        field.send_keys(text)
        return [a.get_attribute("href") for a in driver.find_elements(By.CSS_SELECTOR, "#hits a")]

    assert hits("manifold")[0].endswith(ENTRY)
    assert any(h.endswith("liao2026/ridge-error.html") for h in hits("ridge regression"))
    assert any(h.endswith("liao2026/ridge-error.html") for h in hits("rigde"))
    assert "for ridge" in driver.find_element(By.CSS_SELECTOR, "#hits p").text
    assert any("guide/what-a-verdict-means.html" in h for h in hits("verdict agrees"))
    assert hits("xyzzyplugh") == []
    assert "Nothing" in driver.find_element(By.CSS_SELECTOR, "#hits p").text


def test_the_search_is_used_with_the_keyboard_alone(visit):
    driver = visit("index.html")
    driver.find_element(By.TAG_NAME, "body").send_keys("/")
    assert driver.switch_to.active_element.get_attribute("id") == "search"
    driver.switch_to.active_element.send_keys("manifold")
    driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    assert driver.switch_to.active_element.get_attribute("href").endswith(ENTRY)
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    WebDriverWait(driver, 10).until(lambda d: d.current_url.endswith(ENTRY))


def test_formulas_and_pictures_have_boxes(visit):
    driver = visit("marion2025/risk.html")
    formulas = boxes(driver, ".statement math")
    assert len(formulas) >= 10
    assert all(width > 5 and height > 8 for width, height, _, _ in formulas)
    fractions = boxes(driver, ".statement mfrac")
    plain = boxes(driver, ".statement mi")
    # a browser that does not know fractions would put both parts on one line
    assert max(f[1] for f in fractions) > 1.5 * min(p[1] for p in plain if p[1])
    (curve,) = boxes(driver, "svg.plot .curve")
    assert curve[0] > 200
    assert curve[1] > 20
    assert len(boxes(driver, "svg.graph .node")) > 3


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["390", "1100"])
def test_no_page_is_wider_than_the_screen(visit, book, size):
    for place in all_pages(book):
        driver = visit(place, size)
        shown, wanted = driver.execute_script(
            "return [document.documentElement.clientWidth, document.documentElement.scrollWidth];"
        )
        assert wanted <= shown, f"{place}: {wanted} px on {shown}"


def test_what_is_wide_can_be_scrolled_with_the_keyboard(visit):
    driver = visit(ENTRY, NARROW)
    wide = driver.execute_script(
        "return Array.from(document.querySelectorAll('.wide, .line, pre')).filter(function (e) {"
        "  return e.scrollWidth > e.clientWidth + 1 && e.tabIndex < 0; }).length;"
    )
    assert wide == 0


def test_a_definition_opens_and_closes_where_a_formula_uses_it(visit):
    driver = visit(ENTRY)
    sign = driver.find_element(By.CSS_SELECTOR, ".statement [data-opens][role=button]")
    name = sign.get_attribute("data-opens")
    sign.click()
    opened = driver.find_element(By.CSS_SELECTOR, ".statement .opened")
    assert opened.get_attribute("data-of") == name
    assert boxes(driver, ".statement .opened math")[0][1] > 8
    line = driver.execute_script(
        "return arguments[0].closest('.line').nextElementSibling === arguments[1];", sign, opened
    )
    assert line, "it opens below the line that uses it"
    driver.execute_script("arguments[0].focus();", sign)
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert driver.find_elements(By.CSS_SELECTOR, ".statement .opened") == []
    driver.switch_to.active_element.send_keys(Keys.SPACE)
    assert len(driver.find_elements(By.CSS_SELECTOR, ".statement .opened")) == 1


def test_words_are_explained_in_place_without_a_mouse(visit):
    driver = visit(ENTRY)
    summary = driver.find_element(By.CSS_SELECTOR, "details.term summary")
    words = driver.find_element(By.CSS_SELECTOR, "details.term p")
    assert not words.is_displayed()
    driver.execute_script("arguments[0].focus();", summary)
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert words.is_displayed()


def test_every_page_can_be_walked_with_the_tab_key(visit):
    driver = visit(ENTRY)
    seen = []
    for _ in range(12):
        driver.switch_to.active_element.send_keys(Keys.TAB)
        element = driver.switch_to.active_element
        seen.append(element.get_attribute("outerHTML")[:60])
    assert 'class="skip"' in seen[0]
    assert any('id="search"' in text for text in seen)
    assert any("<summary" in text for text in seen)
    assert any("data-opens" in text or "<mrow" in text for text in seen)


def test_boxes_of_the_graph_lead_to_the_pages_of_entries(visit):
    driver = visit("marion2025/index.html")
    link = driver.find_element(By.CSS_SELECTOR, "svg.graph a[href*='gaussian']")
    driver.execute_script("arguments[0].focus();", link)
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    WebDriverWait(driver, 10).until(lambda d: "/gaussian/" in d.current_url)
