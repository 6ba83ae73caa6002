"""A cluster of Ray on this machine, each of its machines a group of processes, to try things out.

    RAY_AUTH_MODE=token python examples/local_cluster.py 3
    RAY_AUTH_MODE=token kibitz selfplay games --cluster 192.0.2.2:6379   (the address it prints)

Lines on standard input: `worker` kills a process at work, `node` removes a machine, `add` adds one;
the end of input ends the cluster.
"""

import os
import signal
import subprocess
import sys

from ray.cluster_utils import Cluster

STORE_BYTES = 80 << 20  # of each machine: networks and results pass through it


def processes_at_work() -> list[int]:
    """Processes of Ray that do a task now, by the title that Ray gives them."""
    listed = subprocess.run(["ps", "-eo", "pid=,args="], capture_output=True, text=True, check=True)
    lines = [line.split(None, 1) for line in listed.stdout.splitlines()]
    return [int(pid) for pid, title in lines if title.startswith("ray::_do")]


def main(machines: int) -> None:
    """Start the cluster, and do what standard input says."""
    os.environ.setdefault("RAY_worker_niceness", "0")  # else 15: behind all that runs here
    head = {"num_cpus": 0, "include_dashboard": False, "object_store_memory": STORE_BYTES}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    worker = {"num_cpus": 1, "object_store_memory": STORE_BYTES}
    nodes = [cluster.add_node(**worker) for _ in range(machines)]
    print(f"{cluster.address} {machines} machines", flush=True)
    try:
        for line in sys.stdin:
            done = line.strip()
            if done == "worker":
                pids = processes_at_work()
                for pid in pids[:1]:
                    os.kill(pid, signal.SIGKILL)
                done = f"killed {pids[:1]} of {pids}"
            elif done == "node":
                cluster.remove_node(nodes.pop(), allow_graceful=False)
                done = f"removed, {len(nodes)} machines are left"
            elif done == "add":
                nodes.append(cluster.add_node(**worker))
                done = f"added, {len(nodes)} machines"
            print(done, flush=True)
    finally:
        cluster.shutdown()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
