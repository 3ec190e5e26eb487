"""run_squad.py on one thread, measured in turns; a child of `windows_speed`.

python -m benchmarks.tasks.windows_speed_ours --do_train --train_file=... (flags of the script)
"""

from benchmarks.step import meter_in_turns
from bert_tf import commands
from bert_tf.training.finetuning import finetune


def main():
    meter_in_turns.use_one_thread()
    finetune.Meter = meter_in_turns.MeterInTurns
    commands.run("squad")


if __name__ == "__main__":
    main()
