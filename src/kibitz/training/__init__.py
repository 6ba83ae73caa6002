"""How networks learn: games -> batches -> losses -> gradients -> weights -> network files.

Importing the room loads no torch, its modules do (but `config`, `memory`, `metrics` and `curve`).

    loop        the training loop; state: what it begins with and what a checkpoint holds
    step        one step, on one process or several; loss, ragged: what it makes small
    optimiser   how weights move; average: their average along the way
    validate    figures of held-out games; checkpoint: files to go on from
    metrics     metrics.jsonl and reports of strength; curve: tables and figures of them
    cycle       trainings, averages and matches as a list of stages; stages: each done once
    config      all settings; memory: settings of the process; kernels: compiled loops
"""
