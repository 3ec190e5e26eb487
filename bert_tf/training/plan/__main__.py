"""python -m bert_tf.training.plan: what pre-training will need, before it runs."""

from bert_tf import flagging
from bert_tf.training.plan import planner
from bert_tf.training.plan.options import PlanOptions

if __name__ == "__main__":
    flagging.run(planner.main, PlanOptions)
