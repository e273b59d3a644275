"""The four papers: their cases, figures and statements, each beside ours with a verdict."""
