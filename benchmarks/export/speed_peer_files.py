"""What torch exports for ONNX Runtime, then fused, then as int8; speed.py starts it.

PYTHON speed_peer_files.py {"hugging_face": DIR, "folder": DIR, ...}
"""

import json
import sys


def main(task):
    import onnx
    import torch
    import transformers
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.transformers import optimizer

    load = transformers.AutoModelForSequenceClassification.from_pretrained
    model = load(task["hugging_face"], attn_implementation="eager").eval()
    model.config.return_dict = False
    ids = torch.ones(2, 7, dtype=torch.int64)
    folder, names = task["folder"], ["input_ids", "attention_mask", "token_type_ids"]
    torch.onnx.export(
        model,
        (ids, ids, ids * 0),
        f"{folder}/plain.onnx",
        input_names=names,
        output_names=["logits"],
        dynamic_axes={name: {0: "B", 1: "T"} for name in names},
        opset_version=17,
        dynamo=False,
    )
    fused = optimizer.optimize_model(
        f"{folder}/plain.onnx",
        model_type="bert",
        num_heads=task["num_heads"],
        hidden_size=task["hidden_size"],
        opt_level=1,
    )
    print(json.dumps(fused.get_fused_operator_statistics()))
    fused.save_model_to_file(f"{folder}/fused.onnx")
    quantize_dynamic(
        f"{folder}/fused.onnx",
        f"{folder}/int8.onnx",
        weight_type=QuantType.QInt8,
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
