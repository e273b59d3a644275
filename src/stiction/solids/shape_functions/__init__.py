"""Shape functions of elements, their Jacobians, and hulls that bound them."""
