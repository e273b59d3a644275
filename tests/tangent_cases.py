"""Random chains for derivatives, and derivatives by extrapolated differences of runs."""

import numpy as np

import stiction as st


def random_chain(rng, laws=4):
    """Return a chain with any walls, load and law, and names of numbers that it depends on."""
    n = int(rng.integers(1, 7))
    supports = str(rng.choice(["left", "right", "both"] + (["none"] if n > 1 else [])))
    springs = n - 1 + {"left": 1, "right": 1, "both": 2, "none": 0}[supports]
    kind = int(rng.integers(laws))
    low = float(rng.uniform(0.05, 0.4))
    high = low + float(rng.uniform(0.02, 0.2))
    law = [
        st.Coulomb(low),
        st.StaticKinetic(high, low),
        st.ExponentialWeakening(high, low, float(rng.uniform(0.3, 2.0))),
        st.laws.Stribeck(high, low, float(rng.uniform(0.5, 2.0)), 2.0, 0.02),
    ][kind]
    load, loads = [
        (st.Ramp(float(rng.uniform(-3, 3)), float(rng.uniform(-3, 3))), ["rate", "start"]),
        (
            st.chains.Sine(*(float(rng.uniform(*ends)) for ends in [(1, 12), (0.3, 4), (-3, 3)])),
            ["amplitude", "angular_frequency", "phase"],
        ),
        (
            st.chains.PiecewiseLinear([0.31, 0.97, 2.03], rng.uniform(-8.0, 8.0, 3)),
            ["time[1]", "value[1]"],
        ),
    ][int(rng.integers(3))]
    chain = st.Chain(
        mass=rng.uniform(0.5, 3.0, n),
        stiffness=10.0 ** rng.uniform(0.5, 2.0, springs),
        damping=rng.uniform(0.0, 0.5, springs) if rng.random() < 0.6 else 0.0,
        load=load,
        law=law,
        x0=rng.uniform(-0.3, 0.3, n),
        v0=rng.uniform(-1.0, 1.0, n),
        supports=supports,
        normal_force=rng.uniform(2.0, 12.0, n) if rng.random() < 0.5 else None,
        belt_speed=0.4 if rng.random() < 0.3 else 0.0,
        plate_stiffness=rng.uniform(0.5, 5.0, n) if rng.random() < 0.3 else 0.0,
        plate_speed=0.2 if rng.random() < 0.5 else 0.0,
    )
    of_law = [["mu"], ["mu_static", "mu_kinetic"], *[["mu_static", "mu_kinetic", "v_scale"]] * 2]
    i, j = int(rng.integers(n)), int(rng.integers(springs))
    names = [f"law.{name}" for name in of_law[kind]] + [f"load.{name}" for name in loads]
    names += [f"mass[{i}]", f"stiffness[{j}]", f"damping[{j}]", f"x0[{i}]", f"v0[{i}]"]
    names += ["belt_speed", "plate_speed", f"plate_stiffness[{i}]", f"load_vector[{i}]"]
    names += [f"normal_force[{i}]"] if chain.normal_force is not None else ["gravity"]
    # a damper or spring of zero has no difference to both sides
    bounded = ("damping", "plate_stiffness")
    names = [x for x in names if not x.startswith(bounded) or chain.parameter(x) > 0.0]
    return chain, [str(name) for name in rng.permutation(names)[:5]]


def values(tangents):
    """Return the final state, the times of events and the other quantities in one array."""
    times = [event.time for event in tangents.events]
    return np.concatenate([tangents.final, times, [q.value for q in tangents.quantities]])


def derivatives(tangents):
    """Return the derivatives of `values` by the directions."""
    m = len(tangents.directions)
    times = [event.time_by for event in tangents.events]
    rows = [tangents.final_by, times, [q.by for q in tangents.quantities]]
    return np.concatenate([np.reshape(part, (-1, m)) for part in rows])


def differenced(chain, name, method, t_span, order, wanted=0.0, steps=5):
    """Return derivatives by extrapolated central differences and their error; None for none.

    The step falls until no event changes its place in the order and the error is below `wanted`,
    or least.
    """
    at, best = chain.parameter(name), None
    step = 0.03 * max(abs(at), 0.1)
    for _ in range(14):
        found = _extrapolated(chain, name, method, t_span, order, at, step, steps)
        if found is not None and (best is None or found[1] < best[1]):
            best = found
        elif best is not None:
            break
        if best is not None and best[1] <= wanted:
            break
        step /= 4.0
    return best


def _extrapolated(chain, name, method, t_span, order, at, step, steps):
    rows = []
    for k in range(steps):
        h, ends = step * 2.0**-k, []
        for sign in (1, -1):
            try:
                moved = chain.with_parameter(name, at + sign * h)
                ends.append(moved.tangents(method, t_span, ()))
            except st.ModelError:
                return None
            if ends[-1].order != order:
                return None
        rows.append((values(ends[0]) - values(ends[1])) / (2.0 * h))
    table = [np.array(rows)]
    for k in range(1, steps):
        last = table[-1]
        table.append(last[1:] + (last[1:] - last[:-1]) / (4.0**k - 1.0))
    # the last correction is this difference over 4^(steps - 1) - 1 where the errors fall as powers
    # of the step, which they do not yet near a change of the order of events
    return table[-1][0], np.abs(table[-2][1] - table[-2][0]).max()
