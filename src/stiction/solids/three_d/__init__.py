"""Three-dimensional deformable bodies: hexahedra swept from a plane section, and their drawing."""
