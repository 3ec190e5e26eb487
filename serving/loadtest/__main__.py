"""Measure throughput and latency of a model on a server.  --help lists every flag."""

from bert_tf import commands

if __name__ == "__main__":
    commands.run("loadtest")
