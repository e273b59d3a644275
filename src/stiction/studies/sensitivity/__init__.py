"""How results depend on parameters: by variance over a study, and by derivatives of one run."""
