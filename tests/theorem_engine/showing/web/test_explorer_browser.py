"""The explorer in a browser: a slider moves the curve, own points appear, a check is watched, a bad value is told."""

import re

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
#: Seconds to wait for anything; workers import the registry first.
PATIENCE = 90


@pytest.fixture(scope="module")
def address(port):
    return f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def driver(address, tmp_path_factory):
    found = chromium.started(tmp_path_factory.mktemp("profile"))
    found.get(f"{address}/gaussian/erf-square.html")
    until(found, lambda: curve(found))
    yield found
    found.quit()


def until(driver, condition):
    return WebDriverWait(driver, PATIENCE, 0.1).until(lambda _: condition())


def curve(driver):
    return driver.execute_script(
        "var p = document.querySelector('#explored .curve'); return p ? p.getAttribute('d') : '';"
    )


def test_a_slider_moves_the_data_of_the_curve_with_the_keyboard_alone(driver):
    before = curve(driver)
    bar = driver.find_element(By.CSS_SELECTOR, "[data-slider=g]")
    for _ in range(3):
        bar.send_keys(Keys.PAGE_UP)
    until(driver, lambda: curve(driver) not in ("", before))
    field = driver.find_element(By.CSS_SELECTOR, "input[data-letter=g][type=text]")
    assert float(field.get_attribute("value")) != 0.5


def test_a_bad_value_gives_the_sentence_of_the_engine(driver):
    field = driver.find_element(By.CSS_SELECTOR, "input[data-letter=g][type=text]")
    kept = field.get_attribute("value")
    field.clear()
    field.send_keys("-1", Keys.ENTER)
    until(driver, lambda: "outside [0, oo)" in driver.find_element(By.ID, "explorer-said").text)
    field.clear()
    field.send_keys(kept, Keys.ENTER)
    until(driver, lambda: "outside" not in driver.find_element(By.ID, "explorer-value").text)
    # what a browser notes of refused questions is about the network, not an error of a script
    assert all("422" in entry["message"] for entry in driver.get_log("browser"))


def test_points_of_ones_own_appear(driver, tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("t,value\n-1,0.5\n0.5,0.25\n2,0.9\n")
    driver.find_element(By.ID, "own").send_keys(str(path))
    until(driver, lambda: len(driver.find_elements(By.CSS_SELECTOR, "#explored .own")) == 3)
    path.write_text("a,b\n1,2\n")
    other = tmp_path / "other.csv"
    other.write_text("a,b\n1,2\n")
    driver.find_element(By.ID, "own").send_keys(str(other))
    until(driver, lambda: "needs columns t and value" in driver.find_element(By.ID, "explorer-said").text)


def test_a_kept_curve_stays_while_letters_move_on(driver):
    before = curve(driver)
    driver.find_element(By.ID, "keep").click()
    bar = driver.find_element(By.CSS_SELECTOR, "[data-slider=g]")
    bar.send_keys(Keys.HOME)
    until(driver, lambda: curve(driver) not in ("", before))
    assert len(driver.find_elements(By.CSS_SELECTOR, "#explored .kept[d], #explored path.kept")) == 1
    assert "g = " in driver.find_element(By.CSS_SELECTOR, "#explored .legend").text


def test_digits_and_certificates_are_asked_for_on_the_page(driver):
    field = driver.find_element(By.ID, "digits")
    field.send_keys("30", Keys.ENTER)
    until(driver, lambda: re.search(r"\d{29}", driver.find_element(By.ID, "explorer-value").text))
    driver.find_element(By.ID, "certified").click()
    until(driver, lambda: "(certified, balls" in driver.find_element(By.ID, "explorer-value").text)


def test_a_link_brings_back_the_letters(driver, address):
    driver.get(f"{address}/gaussian/erf-miss.html#point=%7B%22t%22%3A%223%22%7D")
    until(driver, lambda: curve(driver))
    assert driver.find_element(By.CSS_SELECTOR, "input[data-letter=t][type=text]").get_attribute("value") == "3"
    driver.find_element(By.ID, "link").click()
    until(driver, lambda: "%22t%22%3A%223%22" in driver.find_element(By.ID, "explorer-said").text)
    driver.get(f"{address}/gaussian/erf-square.html")
    until(driver, lambda: curve(driver))


def test_a_check_is_watched_until_it_is_sure(driver):
    driver.find_element(By.ID, "watch").click()
    until(driver, lambda: "agrees" in driver.find_element(By.ID, "explorer-check").text)
    assert "samples" in driver.find_element(By.ID, "explorer-check").text
