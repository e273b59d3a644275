"""GetFEM: its generic assembly language, residual and tangent from one text.

Called through the system's Python. The tangent follows from the residual by the program's own
differentiation of the text.
"""

import getfem as gf
import numpy as np
from solid_case import Solver, serve

RESIDUAL = "(mu*(Id(2)+Grad_u) + (lam*log(Det(Id(2)+Grad_u))-mu)*Inv(Id(2)+Grad_u)'):Grad_Test_u"


def mesh_of(case):
    """Return the block as a mesh of GetFEM; nodes keep their numbers."""
    mesh = gf.Mesh("empty", 2)
    mesh.add_point(case.points.T)
    # this program counts the corners of a quadrilateral row by row
    corners = case.cells[:, [0, 1, 3, 2]]
    mesh.add_convex(gf.GeoTrans("GT_QK(2,1)"), case.points[corners].transpose(2, 1, 0))
    return mesh


def prepare(case, settings):
    mesh = mesh_of(case)
    mf = gf.MeshFem(mesh, 2)
    mf.set_fem(gf.Fem("FEM_QK(2,1)"))
    mim = gf.MeshIm(mesh, gf.Integ("IM_GAUSS_PARALLELEPIPED(2,3)"))
    # one unknown of each component per node, x first, in the order in which the program met them
    nodes = mf.basic_dof_nodes()[:, ::2].T
    order = np.lexsort(np.round(nodes, 9).T)
    ours = np.lexsort(np.round(case.points, 9).T)
    number = np.empty(ours.size, int)
    number[order] = ours
    assert np.allclose(nodes, case.points[number], atol=1e-8)

    def encode(u):
        return u[number].ravel()

    def plain(vector):
        made = np.empty_like(case.u)
        made[number] = np.reshape(vector, (-1, 2))
        return made

    route = settings["route"]
    constants = ("mu", 0, case.mu, "lam", 0, case.lam)
    if route == "model":
        model = gf.Model("real")
        # the model does not keep what it refers to
        saved = (mesh, mf, mim)
        model.add_fem_variable("u", mf)
        model.add_initialized_data("mu", case.mu)
        model.add_initialized_data("lam", case.lam)
        model.add_nonlinear_term(mim, RESIDUAL)

        def assemble(u):
            model.set_variable("u", u)
            assert saved
            model.assembly("build_all")
            return -model.rhs(), model.tangent_matrix()

    else:

        def assemble(u):
            known = ("u", 1, mf, u, *constants)
            return tuple(gf.asm_generic(mim, order, RESIDUAL, -1, *known) for order in (1, 2))

    def decode(made):
        r, k = made
        return plain(r), plain(k.mult(encode(case.v)))

    return Solver(encode, assemble, decode, f"{route}, residual")


if __name__ == "__main__":
    gf.util_trace_level(0)
    serve(prepare, {"getfem": str(gf.getfem_env("version"))})
