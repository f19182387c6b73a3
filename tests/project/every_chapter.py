"""A program that uses every chapter, for the type checker: see test_types.py."""

import numpy as np

import phistar as ps

arm = ps.load("puma560")
version = ps.__version__
q, v, tau = np.zeros((3, arm.nv))
name, dofs, joints, bodies, frames = arm.name, arm.nv, arm.joints, arm.bodies, arm.frames
gravity, start, moved, between = arm.gravity, arm.neutral(), arm.integrate(q, v), arm.difference(q, q)
joint = arm.joint("joint1")
places = joint.q_slice, joint.nv, joint.name
drawn = arm.random(np.random.default_rng(0))
changed = arm.replace(gravity=(0, 0, -1.62))
chain, planar = ps.chain(7), ps.planar_chain(2)
table = ps.from_dh([{"a": 0.3, "alpha": 0.0, "d": 0.0, "theta": 0.0}])
builder = ps.ModelBuilder("two", gravity=(0, 0, 0))
link = ps.Inertia(1.0, (0.1, 0, 0), np.eye(3))
builder.body("a", joint=ps.Revolute(axis=(0, 0, 1)), inertia=link)
built = builder.build()
pose = ps.Pose(xyz=(1, 0, 0))
rotation, position, tensor = pose.rotation, pose.translation, link.tensor
shape = ps.Geometry(ps.Box((1, 1, 1)))

pose_of = ps.forward_kinematics(arm, q, "tool")
jacobian = ps.jacobian(arm, q, "tool")
drift = ps.jacobian_dot_v(arm, q, v, "tool")
torque = ps.inverse_dynamics(arm, q, v, v)
acceleration = ps.forward_dynamics(arm, q, v, tau, {"tool": np.zeros(6)})
mass, inverse = ps.mass_matrix(arm, q), ps.mass_matrix_inverse(arm, q)
forces = ps.bias(arm, q, v), ps.gravity_load(arm, q), ps.joint_friction(arm, q, v)
factors = ps.innovations(arm, q)
factor, diagonal = factors.factor, factors.D
space = ps.operational_space(arm, q, v, "tool")
inertia, coriolis, weight = space.inertia, space.coriolis, space.gravity
change = ps.tip_acceleration_change(arm, q, "tool", np.zeros(6))
slopes = ps.inverse_dynamics_derivatives(arm, q, v, v)
by_q = slopes.dq
forward = ps.forward_dynamics_derivatives(arm, q, v, tau)
by_tau = forward.dtau
linear = ps.linearize(arm, q, v, tau)
A_matrix = linear.A
center, momentum = ps.center_of_mass(arm, q), ps.momentum(arm, q, v)
energy, height = ps.kinetic_energy(arm, q, v), ps.potential_energy(arm, q)
regressor = ps.regressor(arm, q, v, v)
composite = ps.composite_inertia(arm, q)

statement = ps.forward_dynamics.statement
derivation, algorithm, cost, sweeps = statement.derivation(), statement.algorithm(), statement.cost(7), statement.sweeps
A = ps.algebra(arm, frames=["tool"])
expression = (A.J @ A.mass.inv @ A.J.T).inv
shown, latex, simple = expression.show(), expression.latex(), expression.simplify()
dense, applied = expression.dense(q), expression.apply(q, np.ones(6))
compiled = ps.compile(expression, arm)
value = compiled(q, np.ones(6))
symbols = ps.symbolic(planar)

pair = ps.load("wd89_fig1")
assembled = ps.assemble(pair, pair.neutral())
residual = ps.loop_residual(pair, assembled)
closing = ps.constraint_forces(pair, assembled, np.zeros(pair.nv), np.zeros(pair.nv))
report = ps.loops.loop_report(pair, assembled)
freedom = report.freedom

run = ps.simulate(arm, q, v, 0.1)
times, places_over_time, rates_over_time, energies = run.t, run.q, run.v, run.energy
flight = ps.rollout(arm, q, v, dt=1e-3, steps=10)
many = flight.q
scene = ps.Scene.load("grapple")

law = ps.control.PDControl(arm, kp=1.0)
held = law(0.0, q, v, law.reference(q))
solution = ps.control.inverse_kinematics(arm, pose_of, "tool")
found = solution.q
path = ps.control.joint_trajectory(arm, [q, q + 1.0], velocity=1.0, acceleration=1.0)
duration = path.duration
measure = ps.control.manipulability(arm, q, "tool")

filtered = ps.estimation.forward_dynamics(arm, q, v, tau)
covariances = ps.estimation.covariances(arm, q)
innovation = covariances.innovations
watch = ps.estimation.observability(arm, q, "tool")
rank = watch.rank

flyer = ps.load("freeflyer")
flying = flyer.neutral()
internal = ps.freeflying.mass_matrix(flyer, flying)
parts = ps.freeflying.energy(flyer, flying, np.zeros(flyer.nv))
rigid = parts.rigid
generalized = ps.freeflying.generalized_jacobian(flyer, flying, "left_link1")
turned = flyer.rerooted("base")

surface = ps.Surface(restitution=0.5)
margin = surface.margin
matrix_of_coriolis = ps.coriolis_matrix(arm, q, v)
centroidal = ps.centroidal_map(arm, q)
toward = ps.center_of_mass_jacobian(arm, q)
speeding = ps.frame_acceleration(arm, q, v, v, "tool")
swing = ps.modes(planar, q[:2])
frequencies = swing.frequencies

regulator = ps.control.lqr(np.eye(2), np.ones((2, 1)), np.eye(2), np.eye(1), steps=5)
feedback_gains, cost_to_go, log_det = regulator.gains, regulator.P, regulator.log_det
series = ps.estimation.kalman_filter(np.zeros((5, 1)), np.eye(1), np.eye(1), np.eye(1), np.eye(1), [0.0], np.eye(1))
estimated, likelihood, consistency = series.states, series.log_likelihood, series.nis
observer = ps.estimation.ForceObserver(arm)
observed = observer.start(q, v)
outside = observed.force
sight = ps.estimation.PoseFilter(0.01, 0.02)
first_sight = sight.start(np.eye(4))
tumbling, known = first_sight.spin, first_sight.covariance
optimal = ps.optimize.problem(planar, q[:2], dt=0.1, steps=5, running=[ps.optimize.control(1.0)])
motion = optimal.solve()
motion_q, motion_u, motion_cost, motion_gains = motion.q, motion.u, motion.cost, motion.gains
predictive = ps.control.ModelPredictiveControl(optimal)
sampling_period = predictive.period
base = ps.identify.base_parameters(planar)
combinations = base.names
excited = ps.identify.excitation(planar, 5.0, candidates=5)
excited_q, information = excited.q, excited.information
fitted = ps.identify.fit(planar, excited.q, excited.v, excited.a, np.zeros((500, 2)))
fitted_model, fitted_values = fitted.model, fitted.values
serving = ps.control.solve_tasks(arm, [ps.control.FrameTask("tool", pose_of)])
served = serving.q

plant = ps.Plant(gravity=(0, 0, 0), name="bench")
plant.add(arm, "arm", q=q)
plant.actuate("arm", "position", stiffness=100.0, damping=10.0)
plant.sense("contact_force", "arm/link6", name="touch")
resting = plant.state()
stepped = plant.step(resting, q, h=1e-3)
stepped_q, stepped_v = stepped.q, stepped.v
pushed = plant.acceleration(resting, q)
step_slopes = plant.step_derivatives(resting, q, 1e-3)
by_state, by_command = step_slopes.state, step_slopes.command
thousand = plant.rollout(resting, np.zeros((4, 6)), step=1e-3, steps=3)
plant_run = ps.simulate(plant, 0.1, step=1e-2)
plant_contacts, plant_events, plant_part = plant_run.contacts, plant_run.events, plant_run["arm"]
driven, commands, schema = plant.actuators, plant.nu, ps.Plant.json_schema()
one, touched_by = plant_run.member(0), plant_run.contact_torques

boom = ps.beam(length=1.0, EI=2.0, mass_per_length=1.0, modes=2)
boom_frequencies, boom_modes = boom.frequencies, boom.count
second = ps.inverse_dynamics_second_derivatives(arm, q, v, v)
curvature, dense_curvature = second.dqdq, second.dqdq.dense()
hybrid = ps.hybrid_dynamics(arm, q, v, tau, prescribed={"joint1": 0.0})
hybrid_forces = hybrid.forces
free_pair = pair.embedded(q=assembled)
independent = free_pair.embedding
closed_chain = ps.loops.closed_chain(pair, assembled, frames="link1")
mobile = closed_chain.mobility

orbit = ps.space.Orbit.circular(altitude=400e3)
orbit_period, orbit_state = orbit.period, orbit.at(10.0)
jet = ps.space.Thruster("hub", (0, 0, 0), (1, 0, 0), 2.0)
jet_wrench, jet_shares = jet.wrench, ps.space.allocate([jet], np.zeros(6))
hill, transition = ps.space.hill_axes((7e6, 0, 0), (0, 7.5e3, 0)), ps.space.clohessy_wiltshire(1e-3, 10.0)
falling = ps.space.OrbitalGravity(orbit)

image = ps.view.render(arm, q, (32, 24))
film_path, page_path = ps.view.film(run, "run.gif"), ps.view.simulating_page(arm, "arm.html")
viewer = ps.view.Viewer(arm)
viewer_address = viewer.address
drawn_operators = ps.view.operator_picture([A.phi])

sampled = ps.control.SampledFunction(lambda t, q, v: -q, period=0.01)
message = ps.onboard.JointState(0.0, ("a",), position=[0.1])
encoded, decoded = message.encode(), ps.onboard.JointState.decode(message.encode())
exported, fmu_path = ps.export_c(ps.mass_matrix, arm, "c"), ps.onboard.export_fmu(law, arm, "law.fmu")
wasm_paths, log_path = ps.export_wasm(ps.mass_matrix, arm, "w"), ps.write_mcap(run, "run.mcap")
log = ps.read_mcap("run.mcap")
logged = log.trajectory(arm)
kept, campaign = ps.save(arm, "arm.json"), ps.campaign("grapple", 2)
campaign_rows, campaign_summary = campaign.rows, campaign.summary
proof = (A.psi @ A.psi.inv).equals(A.I)
proved, certificate = proof.proved, derivation.certificate()
