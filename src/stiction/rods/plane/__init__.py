"""A rod on a rigid plane: it rolls, slips, bounces and lifts."""
