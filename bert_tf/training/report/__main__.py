"""python -m bert_tf.training.report: writes the HTML report of a run."""

from bert_tf import flagging
from bert_tf.training.report import page

if __name__ == "__main__":
    flagging.run(page.main, page.ReportOptions)
