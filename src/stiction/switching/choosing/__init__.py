"""Where the model does not decide: the ways on, starts, what policies choose among, refusals."""
