"""SavedModels to the contract of TensorFlow Hub: text preprocessing and encoders."""
