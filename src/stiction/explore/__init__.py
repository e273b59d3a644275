"""A local web page to change scenarios by sliders, run them, view and save the results.

`session` answers the requests of a page, without a server; `hub` owns the process that solves;
`server` is Panel's part, an extra. Nothing here is imported before `stiction explore` is called.
"""
