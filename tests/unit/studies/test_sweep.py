"""Sweeps: the results of single runs, more values, other studies refused, failures reported."""

import dataclasses
import functools
import threading

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import stiction as st
from stiction.studies import Grid, Paired, Range, Sobol, Study
from stiction.studies.members import label_of
from stiction.studies.results import STATUSES
from stiction.studies.study import screen


def fails_at(run):
    if 0.19 < run.system.law.mu < 0.21:
        raise ZeroDivisionError("a function of the user")
    return {"mu": run.system.law.mu}


def frictions(run):
    return {"mu": run.system.law.mu}


def constant(v, k):
    return k


def test_same_as_single_runs(chain, tmp_path):
    fields = {"law.mu": [0.1, 0.2, 0.25], "load.rate": [0.5, 1.0], "mass[2]": [1.0, 3.0]}
    seen = []
    sweep = st.Sweep(chain, fields, results=("onset_force", "events.slip"), t_span=(0.0, 8.0))
    study = sweep.run(tmp_path / "study", workers=2, chunk=5, progress=seen.append)
    data = study.data
    assert dict(data.sizes) == {"law.mu": 3, "load.rate": 2, "mass[2]": 2, "onset_force_place": 3}
    for mu in fields["law.mu"]:
        for rate in fields["load.rate"]:
            one = dataclasses.replace(
                chain, mass=[1.0, 1.0, 3.0], law=st.Coulomb(mu), load=st.Ramp(rate)
            )
            run = st.solve(one, t_span=(0.0, 8.0), save=2)
            cell = data.sel({"law.mu": mu, "load.rate": rate, "mass[2]": 3.0})
            wanted = np.array(run.quantities["onset_force"].value, dtype=float)
            assert np.array_equal(cell["onset_force"], wanted, equal_nan=True)
            assert cell["events"] == len(run.event_log)
            assert cell["imbalance"] == run.energy.imbalance_rel
    assert (data["status"] == 0).all()
    assert data["onset_force"].attrs["units"] == "N"
    assert (seen[-1].done, seen[-1].members) == (12, 12)
    assert "12 of 12" in str(seen[-1])


def test_names_and_counts_of_numpy_are_those_of_python(chain, tmp_path):
    def study(text, count):
        fields, results = {text("law.mu"): [0.1, 0.2]}, (text("max(onset_force)"),)
        more = {"t_span": (0.0, 8.0), "trajectories": count(3), "title": text("a title")}
        sweep = st.Sweep(chain, fields, results=results, **more)
        return sweep.run(tmp_path / "study", workers=1, chunk=count(1))

    first = study(np.str_, np.int64)
    # the same study: no member is solved again, and another digest would be refused
    assert study(str, int).manifest == first.manifest
    assert first.complete


def test_the_longest_lists_have_room_in_any_order(tmp_path):
    chain = st.Chain(mass=1.0, stiffness=20.0, load=st.Ramp(1.0), law=st.Coulomb(0.2), n=2)
    rows = []
    for n in ([2, 3, 4], [3, 4, 2]):
        names = ("onset_force", "final.x")
        found = st.Sweep(chain, {"n": n}, results=names, t_span=(0.0, 12.0))
        study = found.run(tmp_path / str(n[0]), workers=1)
        assert not study.notes
        order = np.argsort(study.table["n"])
        rows.append([study.table[name][order] for name in names])
    for one, other in zip(*rows, strict=True):
        assert one.shape == (3, 4)
        np.testing.assert_array_equal(one, other)
        assert np.isfinite(one).sum(axis=1).tolist() == [2, 3, 4]


def test_results_of_saved_states_are_those_of_single_runs(tmp_path):
    chain = st.Chain(mass=1.0, stiffness=20.0, load=st.Ramp(1.0), law=st.StaticKinetic(0.4, 0.2))
    names = ("stick_above_kinetic", "audit.stick_within_bound")
    found = st.Sweep(chain, {"load.rate": [0.9, 1.0]}, results=names, t_span=(0.0, 12.0))
    study = found.run(tmp_path / "jump", workers=1)
    run = st.solve(chain, t_span=(0.0, 12.0))
    assert study.table[names[0]][1] == run.quantities[names[0]].value > 1.5
    (check,) = [check for check in run.audit if check.check == "stick_within_bound"]
    assert study.table[names[1]][1] == check.value


def test_any_system_is_swept(tmp_path):
    sweep = st.Sweep("belt-oscillator", {"alpha": [0.1, 0.2]}, results="period", t_span=(0.0, 20.0))
    study = sweep.run(tmp_path / "belt", workers=1)
    # closed form of the scenario at alpha = 0.1
    assert study.table["period"][0] == pytest.approx(6.43947489010524, rel=1e-9)


def test_values_are_added(sweep, tmp_path):
    place = tmp_path / "study"
    few = sweep(5).run(place, workers=1, chunk=2)
    before = few.table["final.x"]
    more = sweep(9).run(place, workers=1)
    assert (few.members, more.members, len(more.manifest.batches)) == (5, 9, 2)
    assert np.array_equal(more.table["final.x"][:5], before)
    # in the order of the values, and the same as at one go
    whole = sweep(9).run(tmp_path / "whole", workers=1)
    assert more.data.identical(whole.data)
    # nothing is left to do
    assert sweep(5).run(place).members == 9


def test_a_sobol_sequence_is_added_to(chain, tmp_path):
    fields = {"law.mu": Range(0.1, 0.3)}
    for members in (8, 16):
        sweep = st.Sweep(chain, fields, Sobol(members), "stop_time", t_span=(0.0, 2.0))
        study = sweep.run(tmp_path / "study", workers=1)
    assert study.members == 16
    assert "member" in study.data.dims


def test_another_study_is_refused(sweep, tmp_path):
    place = tmp_path / "study"
    sweep(3).run(place, workers=1)
    for other, words in (
        (sweep(3, results="stop_time"), "other saved results"),
        (sweep(3, t_span=(0.0, 4.0)), "another scenario"),
        (sweep(3, trajectories=5), "other trajectories"),
        (sweep(3, design=Paired()), "another design"),
    ):
        with pytest.raises(st.StoreError, match=words):
            other.run(place)


def test_other_code_is_refused(sweep, tmp_path, monkeypatch):
    sweep(3).run(tmp_path / "study", workers=1)
    monkeypatch.setattr("stiction.studies.sweep.code_digest", lambda _: "another")
    with pytest.raises(st.StoreError, match="other code of stiction"):
        sweep(3).run(tmp_path / "study")


def test_a_changed_function_is_refused(sweep, tmp_path):
    made = [lambda run, k=k: {"late": k * run.t_end} for k in (1.0, 2.0)]
    sweep(2, results=made[0]).run(tmp_path / "study", workers=1)
    with pytest.raises(st.StoreError, match="another function"):
        sweep(2, results=made[1]).run(tmp_path / "study")
    # what has no pickle may be another function in every call
    unknown = functools.partial(lambda run, k: {"late": 1.0}, k=threading.Lock())
    with pytest.warns(UserWarning, match="cannot be pickled"):
        sweep(2, results=unknown).run(tmp_path / "unknown", workers=1)
    again = pytest.raises(st.StoreError, match="another function")
    with pytest.warns(UserWarning, match="cannot be pickled"), again:
        sweep(2, results=unknown).run(tmp_path / "unknown")
    with pytest.raises(st.ScenarioError, match="without shards"):
        sweep(2, results=unknown).run(tmp_path / "shards", shard=(1, 2))
    # an object with the same state is the same
    for k in (0.5, 0.5, 1.0):
        spline = CubicSpline([0.0, 1.0], [0.0, k])
        known = sweep(2, results=lambda run, s=spline: {"late": float(s(1.0))})
        if k == 0.5:
            known.run(tmp_path / "known", workers=1)
    with pytest.raises(st.StoreError, match="another function"):
        known.run(tmp_path / "known")


def test_a_strange_folder_is_refused(sweep, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(st.StoreError, match="other files"):
        sweep(2).run(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


def test_failures_are_counted_apart(sweep, tmp_path):
    study = sweep(9, results=fails_at).run(tmp_path / "study", workers=2, chunk=2)
    assert study.counts() == {"failed": 1, "audit": 0, "determinism": 0}
    row = study.failures.iloc[0]
    assert row["law.mu"] == pytest.approx(0.2)
    assert row["reason"] == "ZeroDivisionError: a function of the user"
    assert np.isnan(study.table["mu"][row["member"]])
    assert (study.table["status"] == 0).sum() == 8


def test_an_error_of_the_machine_is_no_error_of_a_function(sweep, tmp_path):
    for error in (OSError, MemoryError):

        def full(run, error=error):
            raise error("none is left")

        with pytest.raises(error, match="none is left"):
            sweep(2, results=full).run(tmp_path / "study", workers=1)


def test_a_function_may_fail_in_the_first_member_or_return_more_later(sweep, tmp_path):
    def found(run):
        mu = run.system.law.mu
        if mu < 0.11:
            raise ValueError("mine")
        return {"mu": mu, "late": 1.0} if mu > 0.29 else {"mu": mu}

    study = sweep(3, results=found).run(tmp_path / "study", workers=1)
    first, last = study.failures["reason"]
    assert first == "ValueError: mine"
    assert last.startswith("late: a result that the first")
    with pytest.raises(st.ScenarioError, match="ZeroDivisionError"):
        sweep(3, results=lambda run: {"late": 1.0 / 0.0}).run(tmp_path / "none", workers=1)


def test_audits_and_lost_determinism_are_counted(tmp_path):
    sweep = st.Sweep("wheel-into-two-fold", {"method.rtol": [1e-10, 1e-9]})
    study = sweep.run(tmp_path / "study", workers=1)
    assert study.counts()["determinism"] == 2
    assert "two_fold" in study.failures["reason"][0]


def test_untrusted_members_count_as_failed(tmp_path):
    chain = st.Chain(mass=[1.0] * 3, stiffness=20.0, load=st.Constant(10.0), law=st.Coulomb(0.05))
    newton = st.chains.RegularizedTheta(1e-2, 1.0, 1e-3)
    fields = {"method.line_search": [True, False]}
    sweep = st.Sweep(chain, fields, t_span=(0.0, 4.0), method=newton)
    study = sweep.run(tmp_path / "study", workers=1)
    ends = [STATUSES[code] for code in study.table["status"].tolist()]
    assert ends == ["solved", "untrusted"]
    assert study.counts()["failed"] == 1
    assert study.failures["reason"].str.startswith("untrusted: ").sum() == 1
    assert "1 untrusted" in screen(study)


def test_old_places_of_statuses_stay():
    """Studies of earlier versions hold places in this list."""
    assert STATUSES[:11] == (
        "solved",
        "stopped",
        "work_limit",
        "unconverged",
        "no_continuation",
        "not_finite",
        "accumulation",
        "interrupted",
        "refused",
        "error",
        "died",
    )


def test_refused_members_are_reported(chain, tmp_path):
    # each end by itself makes a system, both together do not
    fields = {"mass": [[1.0, 1.0, 1.0], [1.0, 2.0]], "x0": [0.0, [0.0, 0.0, 0.1]]}
    sweep = st.Sweep(chain, fields, results="stop_time", t_span=(0.0, 1.0))
    study = sweep.run(tmp_path / "study", workers=1)
    assert study.counts()["failed"] == 1
    assert study.failures["reason"][0].startswith("refused: ")


def test_trajectories_are_saved(sweep, tmp_path):
    study = sweep(3, trajectories=5).run(tmp_path / "study", workers=1)
    assert study.data["x_over_time"].dims == ("law.mu", "row", "mass")
    assert study.data["time"][0].values.tolist() == [0.0, 2.0, 4.0, 6.0, 8.0]


def test_objects_are_swept(chain, tmp_path):
    laws = [st.Coulomb(0.2), st.StaticKinetic(mu_static=0.3, mu_kinetic=0.2)]
    sweep = st.Sweep(chain, {"law": laws}, results="max(onset_force)", t_span=(0.0, 4.0))
    study = sweep.run(tmp_path / "study", workers=1)
    single = [
        st.solve(dataclasses.replace(chain, law=law), t_span=(0.0, 4.0), save=2) for law in laws
    ]
    wanted = [max(filter(None, run.quantities["onset_force"].value)) for run in single]
    assert study.table["max(onset_force)"].tolist() == wanted
    assert str(laws[1]) in study.table["law"]
    with pytest.raises(st.ScenarioError, match=r"(?s)Study\.run.*stored by their text"):
        study.run(0)


def test_fractions_are_not_added_to_whole_numbers(chain, tmp_path):
    sweeps = [
        st.Sweep(chain, {"load.rate": rates}, results="final.x", t_span=(0.0, 1.0))
        for rates in ([1, 2], [3.0], [1.5])
    ]
    for sweep in sweeps[:2]:
        study = sweep.run(tmp_path / "study", workers=1)
    assert study.members == 3
    with pytest.raises(st.StoreError, match=r"load\.rate with fractions"):
        sweeps[2].run(tmp_path / "study", workers=1)


def test_objects_that_differ_in_omitted_entries(tmp_path):
    bounds = [[0.3] * 20, [0.3] * 20, [0.3] * 20]
    bounds[0][9], bounds[1][10], bounds[2][10] = 0.4, 0.4, 0.4 + 1e-9
    chain = st.Chain(mass=[1.0] * 20, stiffness=20.0, load=st.Ramp(rate=1.0), law=st.Coulomb(0.3))
    every = {
        "law": [st.Coulomb(mu) for mu in bounds],
        "law.mu": [np.array(mu) for mu in bounds],
    }
    for path, values in every.items():
        sweep = st.Sweep(chain, {path: values}, results=frictions, t_span=(0.0, 0.01))
        study = sweep.run(tmp_path / path, workers=1)
        assert study.table["mu"].tolist() == bounds
        assert len(set(study.table[path])) == 3


def test_functions_of_one_name_are_different_values(chain):
    shown, owner = set(), threading.Lock()
    for k in (1.0, 2.0):
        table = {"mu": k}
        for mu in (lambda v, k=k: k, lambda v, t=table: t["mu"], functools.partial(constant, k=k)):
            shown.add(label_of(st.UserFriction(mu, lambda v: 0.0)))
    assert len(shown) == 6
    laws = [
        st.UserFriction(lambda v, o=owner: float(o is not None), lambda v: 0.0) for _ in range(2)
    ]
    st.Sweep(chain, {"law": [laws[0], st.Coulomb(0.1)]}, t_span=(0.0, 1.0))
    with pytest.raises(st.ScenarioError, match="cannot compare"):
        st.Sweep(chain, {"law": laws}, t_span=(0.0, 1.0))
    splines = [CubicSpline([0.0, 1.0], [0.0, k]) for k in (1.0, 2.0)]
    loads = [st.UserLoad(lambda t, s=s: float(s(t))) for s in splines]
    assert len({label_of(load) for load in (*loads, st.UserLoad(splines[0]))}) == 3


def test_a_field_with_the_name_of_an_axis_is_swept(chain, tmp_path):
    masses = [[1.0, 1.0, 1.0], [1.0, 2.0, 1.0]]
    for design in (Grid(), Paired()):
        sweep = st.Sweep(chain, {"mass": masses}, design, "final.x", t_span=(0.0, 1.0))
        data = sweep.run(tmp_path / type(design).__name__, workers=1).data
        assert data["final.x"].shape == (2, 3)
        assert data["swept mass"].values.tolist() == list(map(str, masses))


def test_a_member_is_solved_again(sweep, tmp_path):
    study = sweep(3).run(tmp_path / "study", workers=1)
    run = study.run(1)
    assert run.final["x"].tolist() == study.table["final.x"][1].tolist()


def test_shards_make_the_whole(sweep, tmp_path):
    for i in (1, 2, 3):
        part = sweep(9).run(tmp_path / "parts", shard=(i, 3), chunk=2, workers=1)
        assert part.complete == (i == 3)
    whole = sweep(9).run(tmp_path / "whole", workers=1)
    assert part.data.identical(whole.data)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"scenario": "slip-wav"}, "did you mean 'slip-wave'"),
        ({"fields": {"law.mue": [0.1]}}, "did you mean 'mu'"),
        ({"fields": {"law.mu": [0.1, -1.0]}}, "mu"),
        ({"fields": {"law.mu": ["fast"]}}, "has another type"),
        ({"fields": [1]}, "a dictionary"),
        ({"design": "grid"}, "a design"),
        ({"trajectories": 1}, "trajectories"),
        ({"results": 3}, "names of results"),
        ({"scenario": st.Chain(mass=[1.0], stiffness=1.0)}, "a start and an end"),
        ({"scenario": 3}, "a name, a file"),
    ],
)
def test_bad_sweeps_are_refused(given, words):
    with pytest.raises(st.ModelError, match=words):
        st.Sweep(**{"scenario": "slip-wave", "fields": {"law.mu": [0.1, 0.2]}, **given})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "lokal"}, "engine"),
        ({"workers": 0}, "workers"),
        ({"shard": (3, 2)}, "i/n"),
        ({"chunk": -1}, "chunk"),
    ],
)
def test_bad_options_leave_nothing_behind(sweep, tmp_path, options, words):
    with pytest.raises(st.ModelError, match=words):
        sweep(2).run(tmp_path / "a" / "study", **options)
    assert not list(tmp_path.iterdir())


def test_an_unknown_result_leaves_nothing_behind(sweep, tmp_path):
    with pytest.raises(st.ScenarioError, match="did you mean 'stop_time'"):
        sweep(2, results="stop_tim").run(tmp_path / "a" / "study")
    assert not list(tmp_path.iterdir())


def test_a_folder_without_a_study_is_refused(tmp_path):
    with pytest.raises(st.StoreError, match="no study"):
        Study(tmp_path)
    assert Grid() == Grid()


def test_equal_members_are_solved_once(chain, tmp_path):
    values = np.array([0.3, 0.1, 0.3, 0.2, 0.1, -0.0, 0.0])
    given = {"one": {"law.mu": values}, "two": {"law.mu": values, "load.rate": np.ones(7)}}
    for name, fields in given.items():
        sweep = st.Sweep(chain, fields, design=Paired(), t_span=(0.0, 2.0), results="final.x")
        study = sweep.run(tmp_path / name, workers=1)
        assert study.table["law.mu"].tolist() == [0.3, 0.1, 0.2, 0.0]
