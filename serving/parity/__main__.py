"""Compare answers of a server with recorded ones.  --help lists every flag."""

from bert_tf import commands

if __name__ == "__main__":
    commands.run("parity")
