"""A browser without a window, for tests of pages: quiet, alone with its profile, and the same for root."""

import os
import shutil

#: No sandbox, as continuous integration is root; nothing that asks the network or waits for a screen.
ARGUMENTS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-default-apps", "--no-first-run",
    "--no-default-browser-check", "--mute-audio", "--window-size=1280,1200",
)  # fmt: skip


def is_installed():
    """Whether the browser and its driver are there."""
    return shutil.which("chromium") is not None and shutil.which("chromedriver") is not None


def started(profile):
    """A driver of a browser that keeps its data in the folder given; the console is logged."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=shutil.which("chromedriver"), log_output=os.devnull)
    return webdriver.Chrome(options=options, service=service)
