"""NGSolve: the energy or its first variation as symbols, linearised by the program."""

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
    if settings["space"] == "VectorH1":
        space = ng.VectorH1(mesh, order=1)
    else:
        space = ng.H1(mesh, order=1, dim=2)
    g = 0.5 / np.sqrt(3.0)
    places = [(0.5 + a, 0.5 + b) for b in (-g, g) for a in (-g, g)]
    rule = {ng.QUAD: ng.IntegrationRule(points=places, weights=[0.25] * 4)}
    u, v = space.TnT()
    grad = ng.Grad(u)
    f = grad + ng.Id(2)
    form = ng.BilinearForm(space, symmetric=settings["half"])
    compiled = settings["compiled"]

    def ready(cf):
        if compiled == "c++":
            return cf.Compile(realcompile=True, wait=True)
        return cf.Compile() if compiled == "tree" else cf

    dx = ng.dx(intrules=rule)
    if settings["form"] == "energy":
        det = ng.Det(f)
        psi = 0.5 * case.mu * (ng.InnerProduct(f, f) - 2.0)
        psi += -case.mu * ng.log(det) + 0.5 * case.lam * ng.log(det) ** 2
        form += ng.Variation(ready(psi) * dx)
    else:
        det = ng.Det(f)
        stress = case.mu * f + (case.lam * ng.log(det) - case.mu) / det * ng.Cof(f)
        form += ready(ng.InnerProduct(stress, ng.Grad(v))) * dx
    state = ng.GridFunction(space)
    out = state.vec.CreateVector()
    n, interleaved = case.u.shape[0], settings["space"] != "VectorH1"

    def encode(values):
        vector = state.vec.CreateVector()
        flat = values if interleaved else values.T
        vector.FV().NumPy()[:] = np.ascontiguousarray(flat).reshape(vector.FV().NumPy().shape)
        return vector

    def plain(vector):
        flat = np.array(vector.FV().NumPy()).ravel()
        return flat.reshape(n, 2) if interleaved else flat.reshape(2, n).T

    def assemble(x):
        form.Apply(x, out)
        form.AssembleLinearization(x, reallocate=False)
        return out, form.mat

    def decode(made):
        r, k = made
        product = state.vec.CreateVector()
        product.data = k * encode(case.v)
        return plain(r), plain(product)

    words = [settings["form"], settings["space"], f"compiled: {compiled}"]
    words += ["half of the matrix stored"] if settings["half"] else []
    return Solver(encode, assemble, decode, ", ".join(words))


if __name__ == "__main__":
    serve(prepare, {"ngsolve": importlib.metadata.version("ngsolve")})
