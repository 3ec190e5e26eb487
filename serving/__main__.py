"""Serve a SavedModel over TensorFlow Serving's REST API.  --help lists every flag."""

from bert_tf import commands

if __name__ == "__main__":
    commands.run("serve")
