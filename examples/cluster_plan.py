"""What `ray up` would run on which machine, by the file that describes a cluster; runs nothing.

python examples/cluster_plan.py examples/cluster.yaml
"""

import shlex
import sys
from pathlib import Path
from typing import Any

import yaml


def plan(cluster: dict[str, Any]) -> list[str]:
    """The commands, machine by machine, each as ssh would get it."""
    provider, user = cluster["provider"], cluster["auth"]["ssh_user"]
    if provider["type"] != "local":
        raise SystemExit(
            f"provider {provider['type']}: addresses are known only once they are rented"
        )
    roles = [(provider["head_ip"], "head"), *((ip, "worker") for ip in provider["worker_ips"])]
    lines = []
    for ip, role in roles:
        copies = cluster.get("file_mounts", {}).items()
        lines += [f"rsync {here} {user}@{ip}:{there}" for there, here in copies]
        commands = [*cluster["setup_commands"], *cluster[f"{role}_start_ray_commands"]]
        lines += [f"ssh {user}@{ip} {shlex.quote(command)}" for command in commands]
    return lines


if __name__ == "__main__":
    print("\n".join(plan(yaml.safe_load(Path(sys.argv[1]).read_text(encoding="utf-8")))))
