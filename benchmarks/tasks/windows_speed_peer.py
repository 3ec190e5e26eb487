"""transformers' updates on the windows of questions, in turns; a child of `windows_speed`.

python -m benchmarks.tasks.windows_speed_peer --train_file=... (flags of question_answering_peer)
"""

import torch
import transformers

from benchmarks.tasks import question_answering_peer as peer
from benchmarks.turns import Turns


def main():
    arguments = peer.parsed(None)
    torch.set_num_threads(1)
    torch.manual_seed(arguments.random_seed)
    transformers.logging.set_verbosity_error()
    tokenizer, model = peer.start(arguments.init_checkpoint)
    windows = list(peer.cut(peer.read(arguments.train_file), tokenizer, arguments))
    factors = torch.randn(2, 2048, 2048)
    turns = Turns(lambda: torch.mm(factors[0], factors[1]))
    for num_tokens, num_positions in peer.updates(model, windows, arguments):
        turns.advance(1, num_tokens, num_positions)


if __name__ == "__main__":
    main()
