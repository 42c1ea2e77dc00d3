"""Runs ONNX models for onnx_test.go: a JSON list in, a JSON list out. It needs the packages onnxruntime and numpy."""
import base64
import json
import sys

import numpy
import onnxruntime

if sys.argv[1:] == ["probe"]:
    sys.exit(0)
results = []
for job in json.load(sys.stdin):
    session = onnxruntime.InferenceSession(base64.b64decode(job["Model"]), providers=["CPUExecutionProvider"])
    feeds = {
        name: numpy.array(x["Ints"] or x["Floats"], dtype=numpy.int32 if x["Ints"] else numpy.float32).reshape(x["Shape"])
        for name, x in job["Inputs"].items()
    }
    y = session.run(None, feeds)[0]
    results.append({"Name": session.get_outputs()[0].name, "Shape": y.shape, "Floats": [float(v) for v in y.ravel()]})
print(json.dumps(results))
