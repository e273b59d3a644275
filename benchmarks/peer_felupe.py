"""FElupe: a solid body, its vector and its matrix; FElupe keeps the pattern of the matrix."""

import importlib.metadata

import felupe
import numpy as np
from solid_case import Solver, serve


class Plane:
    """The law for plane deformation gradients: a user's own material, 16 moduli instead of 81."""

    def __init__(self, mu, lam):
        self.mu, self.lam = mu, lam
        self.x = [np.eye(2), np.zeros(0)]

    def _inverse(self, f):
        det = f[0, 0] * f[1, 1] - f[0, 1] * f[1, 0]
        back = np.empty_like(f)
        back[0, 0], back[1, 1] = f[1, 1] / det, f[0, 0] / det
        back[0, 1], back[1, 0] = -f[1, 0] / det, -f[0, 1] / det
        return back, self.lam * np.log(det) - self.mu

    def gradient(self, x):
        back, pull = self._inverse(x[0])
        return [self.mu * x[0] + pull * back, x[-1]]

    def hessian(self, x):
        back, pull = self._inverse(x[0])
        made = np.empty((2, 2, *x[0].shape))
        for i, j, k, m in np.ndindex(2, 2, 2, 2):
            made[i, j, k, m] = self.lam * back[i, j] * back[k, m] - pull * back[i, m] * back[k, j]
            if i == k and j == m:
                made[i, j, k, m] += self.mu
        return [made]


def prepare(case, settings):
    mesh = felupe.Mesh(case.points, case.cells, cell_type="quad")
    region = felupe.RegionQuad(mesh)
    if settings["material"] == "own, in the plane":
        field = felupe.FieldContainer([felupe.Field(region, dim=2)])
        law = Plane(case.mu, case.lam)
    else:
        field = felupe.FieldContainer([felupe.FieldPlaneStrain(region, dim=2)])
        law = felupe.NeoHookeCompressible(mu=case.mu, lmbda=case.lam)
    body = felupe.SolidBody(law, field)

    def assemble(u):
        field[0].values[:] = u
        force = body.assemble.vector(field)
        # the deformation gradient of the line above is still there
        return force, body.assemble.matrix()

    def decode(made):
        force, matrix = made
        shape = case.u.shape
        return force.toarray().reshape(shape), (matrix @ case.v.ravel()).reshape(shape)

    return Solver(np.copy, assemble, decode, f"SolidBody, material {settings['material']}")


if __name__ == "__main__":
    serve(prepare, {"felupe": importlib.metadata.version("felupe")})
