"""What `import bert_tf` offers to Python: a tokenizer, layers and models for Keras, and `load`."""
