"""A page on this machine in which scenarios are changed by sliders, run, watched and saved.

`session` is what a page may ask for, free of any server; `hub` keeps the process that solves;
`server` is Panel's part, an extra. Nothing here is imported before `stiction explore` is called.
"""
