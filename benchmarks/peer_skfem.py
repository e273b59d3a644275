"""scikit-fem: one linear and one bilinear form, written in components.

A form is called once for each pair of local functions, so that the stress and the moduli are
computed in advance, and each vector function has one component only, which the form cannot know.
`blocks` goes round that: scalar functions and one form for each pair of components; the matrices
are put together by the places of their entries, which are found once.
"""

import importlib.metadata

import numpy as np
import skfem
from skfem import BilinearForm, LinearForm
from solid_case import Solver, serve


def strains(du, mu, lam):
    """Return F^-T, and lam ln J - mu, of displacement gradients du (2, 2, e, q)."""
    f = du + np.eye(2)[:, :, None, None]
    det = f[0, 0] * f[1, 1] - f[0, 1] * f[1, 0]
    back = np.array([[f[1, 1], -f[1, 0]], [-f[0, 1], f[0, 0]]]) / det
    return f, back, lam * np.log(det) - mu


@LinearForm
def force(v, w):
    return (
        w.p[0, 0] * v.grad[0, 0]
        + w.p[0, 1] * v.grad[0, 1]
        + w.p[1, 0] * v.grad[1, 0]
        + w.p[1, 1] * v.grad[1, 1]
    )


@BilinearForm
def stiffness(u, v, w):
    f, g, b = u.grad, v.grad, w.b
    one = b[0, 0] * f[0, 0] + b[0, 1] * f[0, 1] + b[1, 0] * f[1, 0] + b[1, 1] * f[1, 1]
    two = b[0, 0] * g[0, 0] + b[0, 1] * g[0, 1] + b[1, 0] * g[1, 0] + b[1, 1] * g[1, 1]
    same = f[0, 0] * g[0, 0] + f[0, 1] * g[0, 1] + f[1, 0] * g[1, 0] + f[1, 1] * g[1, 1]
    # tr(F^-1 grad u F^-1 grad v)
    c00, c01 = b[0, 0] * f[0, 0] + b[1, 0] * f[1, 0], b[0, 0] * f[0, 1] + b[1, 0] * f[1, 1]
    c10, c11 = b[0, 1] * f[0, 0] + b[1, 1] * f[1, 0], b[0, 1] * f[0, 1] + b[1, 1] * f[1, 1]
    d00, d01 = b[0, 0] * g[0, 0] + b[1, 0] * g[1, 0], b[0, 0] * g[0, 1] + b[1, 0] * g[1, 1]
    d10, d11 = b[0, 1] * g[0, 0] + b[1, 1] * g[1, 0], b[0, 1] * g[0, 1] + b[1, 1] * g[1, 1]
    turned = c00 * d00 + c01 * d10 + c10 * d01 + c11 * d11
    return w.mu * same + w.lam * one * two - w.pull * turned


@LinearForm
def part_of_force(v, w):
    return w.p0 * v.grad[0] + w.p1 * v.grad[1]


@BilinearForm
def part_of_stiffness(u, v, w):
    f, g = u.grad, v.grad
    return (w.a00 * f[0] + w.a01 * f[1]) * g[0] + (w.a10 * f[0] + w.a11 * f[1]) * g[1]


def whole(case, mesh):
    """Vector functions, as in the examples of the program."""
    basis = skfem.Basis(mesh, skfem.ElementVector(skfem.ElementQuad1()), intorder=3)

    def encode(u):
        made = np.empty(basis.N)
        made[basis.nodal_dofs] = u.T
        return made

    def assemble(u):
        f, back, pull = strains(basis.interpolate(u).grad, case.mu, case.lam)
        r = force.assemble(basis, p=case.mu * f + pull * back)
        k = stiffness.assemble(basis, b=back, pull=pull, mu=case.mu, lam=case.lam)
        return r, k

    def decode(made):
        r, k = made
        return r[basis.nodal_dofs].T, (k @ encode(case.v))[basis.nodal_dofs].T

    return Solver(encode, assemble, decode, "vector functions")


def blocks(case, mesh):
    """Scalar functions, one form for each pair of components; the tangent is symmetric."""
    from scipy.sparse import coo_matrix

    basis = skfem.Basis(mesh, skfem.ElementQuad1(), intorder=3)
    n = basis.N
    places = part_of_stiffness.coo_data(basis, a00=1.0, a01=0.0, a10=0.0, a11=1.0).indices
    rows = np.concatenate([places[0] + n * i for i in (0, 0, 1, 1)])
    columns = np.concatenate([places[1] + n * k for k in (0, 1, 0, 1)])
    numbers = np.unique(rows.astype(np.int64) * 2 * n + columns, return_inverse=True)
    pattern = coo_matrix((np.ones(rows.size), (rows, columns)), shape=(2 * n, 2 * n)).tocsr()
    pattern.sort_indices()
    where = numbers[1].ravel()

    def assemble(u):
        du = np.array([basis.interpolate(u[0]).grad, basis.interpolate(u[1]).grad])
        f, b, pull = strains(du, case.mu, case.lam)
        p = case.mu * f + pull * b
        r = np.concatenate([part_of_force.assemble(basis, p0=p[i, 0], p1=p[i, 1]) for i in (0, 1)])
        parts = {}
        for i, k in ((0, 0), (0, 1), (1, 1)):
            a = {}
            for j, m in np.ndindex(2, 2):
                a[f"a{j}{m}"] = case.lam * b[i, j] * b[k, m] - pull * b[i, m] * b[k, j]
                if i == k and j == m:
                    a[f"a{j}{m}"] += case.mu
            parts[i, k] = part_of_stiffness.coo_data(basis, **a).data
        # data are ordered by column, then row function of an element
        parts[1, 0] = parts[0, 1].reshape(4, 4, -1).swapaxes(0, 1).ravel()
        data = np.concatenate([parts[0, 0], parts[0, 1], parts[1, 0], parts[1, 1]])
        k = pattern.copy()
        k.data = np.bincount(where, weights=data, minlength=pattern.nnz)
        return r, k

    def encode(u):
        return np.ascontiguousarray(u.T)

    def decode(made):
        r, k = made
        return r.reshape(2, n).T, (k @ encode(case.v).ravel()).reshape(2, n).T

    return Solver(encode, assemble, decode, "scalar functions, pattern cached")


def prepare(case, settings):
    mesh = skfem.MeshQuad(np.ascontiguousarray(case.points.T), np.ascontiguousarray(case.cells.T))
    return {"whole": whole, "blocks": blocks}[settings["route"]](case, mesh)


if __name__ == "__main__":
    serve(prepare, {"scikit-fem": importlib.metadata.version("scikit-fem")})
