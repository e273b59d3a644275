"""The nonholonomic leapfrog: explicit, second order, exact in rolling."""
