"""Write the vectors that an encoder gives texts to a file.  --help lists every flag."""

from bert_tf import commands

if __name__ == "__main__":
    commands.run("features")
