"""The groups of flags in --help, by flag name: a name means the same in every script."""

# Required flags come first, whatever their group; flags in no group come last.
GROUPS: dict[str, tuple[str, ...]] = {
    "Common": (
        *("task_name", "task_file", "data_dir", "train_file", "dev_file", "test_file"),
        "predict_file",
        *("init_checkpoint", "do_train", "do_eval", "do_predict", "dry_run", "num_train_epochs"),
        *("num_train_steps", "train_batch_size", "learning_rate", "max_seq_length"),
        *("example_type", "dupe_factor", "num_workers", "hardware", "phases"),
    ),
    "Data": (
        *("text_column", "text_b_column", "label_column", "id_column", "task_type"),
        *("input_format", "text_field", "language", "segmented_text"),
    ),
    "Model and text": (
        *("bert_config_file", "vocab_file", "do_lower_case", "bert_hub_module_handle"),
        *("doc_stride", "max_query_length"),
        *("version_2_with_negative", "objective"),
        *("long_texts", "max_windows", "window_stride", "window_pooling", "document_context"),
    ),
    "Masks": (
        *("mask", "mask_granularity", "do_whole_word_mask", "max_ngram", "masked_lm_prob"),
        *("mask_prob", "random_prob", "max_predictions_per_seq", "dynamic_masking"),
    ),
    "Optimization": (
        *("num_warmup_steps", "warmup_proportion", "lr_schedule", "lr_power", "lr_end_ratio"),
        *("optimizer", "weight_decay_rate", "adam_bias_correction", "max_grad_norm"),
        *("random_seed", "max_train_examples", "unanswerable_window_rate"),
    ),
    "Small data sets": (
        *("recipe", "layer_lr_decay", "reinit_layers", "freeze_layers", "weight_decay_to_start"),
        "class_weights",
    ),
    "Feature-based approach": ("feature_based", "lstm_units"),
    "Teacher and ensemble": (
        *("teacher", "student_layers", "distillation_temperature", "distillation_alpha"),
        *("distillation_alpha_cos", "ensemble"),
    ),
    "Several runs": ("grid", "restarts", "parallel_runs", "keep_all_runs"),
    "Vectors": ("layers", "pooling", "combine_layers", "output_format", "output_dtype"),
    "Evaluation and prediction": (
        *("eval_input_file", "eval_batch_size", "max_eval_steps", "predict_batch_size"),
        *("eval_steps", "best_metric", "early_stopping_patience", "early_stopping_min_delta"),
        *("max_predict_examples", "n_best_size", "max_answer_length"),
        *("null_score_diff_threshold", "verbose_logging"),
        *("submission_file", "fill_missing", "wnli_majority"),
    ),
    "Saving and logging": ("save_checkpoints_steps", "keep_training_state", "log_steps"),
    "Speed and memory": (
        *("dtype", "num_micro_batches", "gradient_accumulation_steps", "length_buckets"),
        *(
            "stream_records",
            "train_records",
            "jit_compile",
            "recompute",
            "iterations_per_loop",
            "batch_size",
        ),
    ),
    "Records": ("short_seq_prob", "pad_to_max_seq_length", "scratch_dir"),
    "Devices": (
        *("distribution_strategy", "use_tpu", "tpu_name", "tpu_zone", "gcp_project", "master"),
        *("num_tpu_cores", "use_one_hot_embeddings"),
    ),
}
