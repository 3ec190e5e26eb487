"""Write what Docker and Kubernetes need for TensorFlow Serving.  --help lists every flag."""

from bert_tf import commands

if __name__ == "__main__":
    commands.run("deploy")
