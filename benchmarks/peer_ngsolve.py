"""NGSolve: the first variation of the energy as symbols, linearised by the program."""

import importlib.metadata

import ngsolve as ng
import numpy as np
from netgen.meshing import Element1D, Element2D, FaceDescriptor, MeshPoint, Pnt
from netgen.meshing import Mesh as NetgenMesh
from solid_case import Solver, serve


def mesh_of(case):
    """Return the block as a mesh of NGSolve; nodes keep their numbers."""
    made = NetgenMesh(dim=2)
    nodes = [made.Add(MeshPoint(Pnt(x, y, 0.0))) for x, y in case.points]
    made.Add(FaceDescriptor(surfnr=1, domin=1, bc=1))
    made.SetMaterial(1, "block")
    for cell in case.cells:
        made.Add(Element2D(1, [nodes[k] for k in cell]))
    # one edge is enough of a boundary: nothing is integrated there
    made.Add(Element1D([nodes[case.cells[0, 0]], nodes[case.cells[0, 1]]], index=1))
    return ng.Mesh(made)


def prepare(case, settings):
    ng.SetNumThreads(1)
    mesh = mesh_of(case)
    space = ng.H1(mesh, order=1, dim=2)
    g = 0.5 / np.sqrt(3.0)
    places = [(0.5 + a, 0.5 + b) for b in (-g, g) for a in (-g, g)]
    rule = {ng.QUAD: ng.IntegrationRule(points=places, weights=[0.25] * 4)}
    u, v = space.TnT()
    grad = ng.Grad(u)
    f = grad + ng.Id(2)
    form = ng.BilinearForm(space)
    compiled = settings["compiled"]
    dx = ng.dx(intrules=rule)
    det = ng.Det(f)
    stress = case.mu * f + (case.lam * ng.log(det) - case.mu) / det * ng.Cof(f)
    power = ng.InnerProduct(stress, ng.Grad(v))
    more = {"realcompile": True, "wait": True} if compiled == "c++" else {}
    form += power.Compile(**more) * dx
    state = ng.GridFunction(space)
    out = state.vec.CreateVector()

    def encode(values):
        vector = state.vec.CreateVector()
        vector.FV().NumPy()[:] = values.reshape(vector.FV().NumPy().shape)
        return vector

    def plain(vector):
        return np.array(vector.FV().NumPy()).reshape(case.u.shape)

    def assemble(x):
        form.Apply(x, out)
        form.AssembleLinearization(x, reallocate=False)
        return out, form.mat

    def decode(made):
        r, k = made
        product = state.vec.CreateVector()
        product.data = k * encode(case.v)
        return plain(r), plain(product)

    return Solver(encode, assemble, decode, f"variation, H1, compiled: {compiled}")


if __name__ == "__main__":
    serve(prepare, {"ngsolve": importlib.metadata.version("ngsolve")})
