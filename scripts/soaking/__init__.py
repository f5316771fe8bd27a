"""Long-running mixed load: honest users and hostile clients against one server.

server.py     starts `oda serve` with all applications, a database, keys and a model model.py
script of the model's answers honest.py     users who talk and check each answer hostile/
clients that are slow, silent, huge, broken or forged watch.py      resource usage of the server,
sampled every ten seconds verdict.py    checks that usage is bounded and that honest users were
served report.py     the results as a section of docs/reliability.md
"""
