"""Serve a SavedModel over TensorFlow Serving's REST API.  --help lists every flag."""

from bert_tf import flagging
from serving import options


def main(server_options):
    from serving import server

    server.run(server_options)


if __name__ == "__main__":
    flagging.run(main, options.Server)
