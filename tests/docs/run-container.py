#!/usr/bin/env python3
# SPDX-FileCopyrightText: The blkhash authors
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the command of the container of a Kubernetes Job on this host.

    run-container.py FILE [NAME=VALUE]...

FILE is the Job in YAML.  Environment variables are those of FILE; NAME=VALUE
replaces or adds one, because there are no volumes.
"""

import os
import sys

import yaml

with open(sys.argv[1]) as f:
    (container,) = yaml.safe_load(f)["spec"]["template"]["spec"]["containers"]
env = {variable["name"]: variable["value"] for variable in container["env"]}
env.update(argument.split("=", 1) for argument in sys.argv[2:])
os.execvpe(container["command"][0], container["command"],
           dict(os.environ, **env))
