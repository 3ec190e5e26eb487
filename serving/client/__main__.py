"""Ask a model on a server about texts.  --help lists every flag."""

from bert_tf import commands

if __name__ == "__main__":
    commands.run("client")
