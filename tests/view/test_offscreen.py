"""Pictures and films without a browser: what is drawn is there, in front is in front, and files play."""

import builtins

import numpy as np
import pytest

import phistar as ps
from phistar.view.raster import nearest


def brute_nearest(flat, depth, width, height):
    """Owner of every pixel, one triangle and one pixel after the other; −1 where there is none."""
    best, owner = np.full((height, width), -np.inf), np.full((height, width), -1)
    for t, corners in enumerate(flat):
        edges = np.array([corners[1] - corners[0], corners[2] - corners[0]]).T
        for y in range(height):
            for x in range(width):
                b, c = np.linalg.solve(edges, np.array([x + 0.5, y + 0.5]) - corners[0])
                far = depth[t] @ np.array([1 - b - c, b, c])
                if b >= 0 and c >= 0 and b + c <= 1 and far > best[y, x]:
                    best[y, x], owner[y, x] = far, t
    return owner


def test_the_depth_buffer_keeps_the_nearest_triangle_at_every_pixel():
    random = np.random.default_rng(0)
    flat, depth = random.uniform(-5, 25, (30, 3, 2)), random.normal(size=(30, 3))
    pixel, owner, weight, far = nearest(flat, depth, 20, 16)
    found = np.full(20 * 16, -1)
    found[pixel] = owner
    np.testing.assert_array_equal(found.reshape(16, 20), brute_nearest(flat, depth, 20, 16))
    np.testing.assert_allclose(np.einsum("fc,fc->f", weight, depth[owner]), far, atol=1e-12)


def ball_in_front_of_a_box():
    builder = ps.ModelBuilder("two")
    for name, shape, x, color in (
        ("ball", ps.Sphere(0.3), 1.0, (1, 0, 0, 1)),
        ("box", ps.Box((1, 1, 1)), 0.0, (0, 0, 1, 1)),
    ):
        at = ps.Pose(xyz=(x, 0, 0))
        builder.body(name, "world", ps.Fixed(), at, geometry=[ps.Geometry(shape, color=color)])
    return builder.build()


def test_a_ball_in_front_of_a_box_is_red_on_blue_on_the_background():
    camera = ps.view.Camera((0, 0, 0), direction=(1, 0, 0), width=2.0)
    picture = ps.view.render(ball_in_front_of_a_box(), [], (80, 60), camera, background=(10, 200, 30))
    assert picture.shape == (60, 80, 3) and picture.dtype == np.uint8
    middle, edge, corner = picture[30, 40], picture[30, 57], picture[2, 2]
    assert middle[0] > 2 * middle[2] and edge[2] > 2 * edge[0] and tuple(corner) == (10, 200, 30)


def test_sizes_batches_and_endings_that_cannot_be_drawn_are_refused(tmp_path):
    model = ps.load("planar2")
    run = ps.simulate(model, [0.1, 0.2], [0, 0], 0.1, t_eval=np.linspace(0, 0.1, 3))
    with pytest.raises(ps.PhistarError, match="width and height"):
        ps.view.render(model, [0, 0], size=(0, 10))
    with pytest.raises(ps.PhistarError, match="one configuration"):
        ps.view.render(model, np.zeros((3, 2)))
    with pytest.raises(ps.PhistarError, match=r"\.mp4 or \.gif"):
        ps.view.film(run, tmp_path / "film.avi")
    with pytest.raises(ps.PhistarError, match="greater than 0"):
        ps.view.film(run, tmp_path / "film.gif", speed=0.0)


def moving():
    model = ps.load("puma560")
    return ps.simulate(model, model.neutral(), np.zeros(6), 0.4, t_eval=np.linspace(0, 0.4, 41), limits="ignore")


def test_films_have_a_frame_for_each_moment_and_something_moves_in_them(tmp_path):
    run = moving()
    gif = pytest.importorskip("PIL.Image").open(ps.view.film(run, tmp_path / "film.gif", (96, 72), rate=10))
    assert gif.n_frames == 5 and gif.size == (96, 72)
    av = pytest.importorskip("av")
    with av.open(str(ps.view.film(run, tmp_path / "film.mp4", (97, 72), rate=20, speed=0.5))) as container:
        pictures = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(pictures) == 17 and pictures[0].shape == (72, 96, 3)
    assert np.abs(pictures[0].astype(int) - pictures[-1]).max() > 50


def test_without_the_packages_the_way_out_is_told(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.split(".")[0] in ("av", "PIL", "mcap"):
            raise ImportError(name)
        return real(name, *rest, **more)

    run = moving()
    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setattr("phistar.view.rerun_files.importlib.util.find_spec", lambda name: None)
    for name, extra in (("a.mp4", "film"), ("a.gif", "film")):
        with pytest.raises(ps.PhistarError, match=rf"phistar\[{extra}\]"):
            ps.view.film(run, tmp_path / name, (32, 24))
    with pytest.raises(ps.PhistarError, match=r"phistar\[rerun\]"):
        ps.view.write_rerun(run, tmp_path / "a.rrd")
    with pytest.raises(ps.PhistarError, match=r"phistar\[mcap\]"):
        ps.write_mcap(run, tmp_path / "a.mcap")


def test_environments_render(tmp_path):
    pytest.importorskip("gymnasium")
    from phistar.gym import SceneEnv
    from phistar.gym_plants import PlantEnv

    plant = ps.Plant()
    plant.add_shape(ps.Plane())
    plant.add(ps.load("puma560"), "arm")
    plant.actuate("arm", "force")
    env = PlantEnv(plant, render_mode="rgb_array", picture_size=(64, 48))
    env.reset(seed=0)
    first = env.render()
    for _ in range(5):
        env.step(env.action_space.high)
    assert first is not None and first.shape == (48, 64, 3) and np.any(env.render() != first)
    assert PlantEnv(plant).render() is None
    scene = SceneEnv("bouncing", render_mode="rgb_array", picture_size=(40, 30))
    scene.reset(seed=0)
    assert scene.render().shape == (30, 40, 3) and scene.metadata["render_fps"] == 50
    with pytest.raises(ps.PhistarError, match="'rgb_array'"):
        PlantEnv(plant, render_mode="human")
