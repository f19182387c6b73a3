"""The page that simulates, in a real browser: the same numbers as here, and links that follow the pointer."""

import json

import numpy as np
import pytest

import phistar as ps
from phistar.view.robot_page import STEP, simulating_page, step_function

pytestmark = pytest.mark.browser
START = np.array([0, 0.8, 0, 0, 0.1, 0])


def state(page):
    return json.loads(page.evaluate("JSON.stringify(simulation.state)"))


@pytest.fixture
def page(browser, tmp_path):
    opened, complaints = browser.new_page(), []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.goto(simulating_page(ps.load("puma560"), tmp_path / "arm.html", START).as_uri())
    opened.wait_for_function("window.simulation !== undefined")
    yield opened
    assert complaints == []
    opened.close()


def test_its_steps_are_those_of_machine_code(page):
    page.click("#pause")
    page.click("#again")
    page.evaluate("simulation.steps(400)")
    model = ps.load("puma560")
    step, q, v = ps.compile(step_function(model), model), START, np.zeros(6)
    for _ in range(400):
        q, v, _ = step(q, v, np.zeros(36), [STEP])
    found = state(page)
    assert np.abs(np.array(found["q"]) - q).max() < 1e-9
    assert np.abs(np.array(found["v"]) - v).max() < 1e-7


def test_a_link_follows_the_pointer_and_the_robot_goes_on(page):
    """Of a picture of 900 × 600, the middle is inside the robot."""
    page.click("#pause")
    page.click("#again")
    page.evaluate("simulation.steps(1)")
    page.mouse.move(450, 330)
    page.mouse.down()
    page.mouse.move(560, 330, steps=4)
    page.evaluate("simulation.steps(1000)")
    pulled = state(page)
    page.mouse.up()
    page.click("#again")
    page.evaluate("simulation.steps(1001)")
    assert np.abs(np.array(state(page)["q"]) - pulled["q"]).max() > 0.05
    page.click("#pause")
    before = state(page)["time"]
    page.wait_for_timeout(700)
    assert state(page)["time"] > before


def test_the_robot_is_drawn(page):
    page.wait_for_timeout(500)
    colors = {tuple(x) for x in page.evaluate(PIXELS)}
    assert len(colors) > 20


PIXELS = """() => { const gl = document.querySelector("canvas").getContext("webgl"), found = [];
  return new Promise((done) => requestAnimationFrame(() => { requestAnimationFrame(() => {
    const width = gl.drawingBufferWidth, height = gl.drawingBufferHeight, all = new Uint8Array(4 * width * height);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, all);
    for (let i = 0; i < all.length; i += 400) found.push(Array.from(all.slice(i, i + 3)));
    done(found); }); })); }"""
