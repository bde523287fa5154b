# SPDX-License-Identifier: Apache-2.0
"""The steps of `headroom test` in onnxruntime: single operations, each a model of its own. It computes, and does not train."""
import numpy
import onnxruntime

from headroom_steps import array_steps
from headroom_steps.onnx_model import FLOAT, FLOAT16, model
from headroom_steps.protocol import failed, skipped

CPU = "CPUExecutionProvider"
GPUS = ("MIGraphXExecutionProvider", "ROCMExecutionProvider", "CUDAExecutionProvider")
OPERATIONS = {"matmul": ("MatMul", {}), "layer_norm": ("LayerNormalization", {"axis": -1, "epsilon": 1e-5}), "softmax": ("Softmax", {"axis": -1}),
              "convolution": ("Conv", {"kernel_shape": (3, 3), "pads": (1, 1, 1, 1)})}
NO_TRAINING = "onnxruntime computes, and does not train"


def version():
    return onnxruntime.__version__


def provider_of(device):
    return CPU if device == "cpu" else next(one for one in GPUS if one in onnxruntime.get_available_providers())


def devices():
    """A provider for GPUs uses the first; it names neither it nor its memory."""
    found = [one for one in GPUS if one in onnxruntime.get_available_providers()]
    return [{"name": found[0], "device": "cuda:0", "pci": None, "free": 0, "total": 0, "target": None}] if found else []


class FellBack(Exception):
    pass


class Steps(array_steps.Steps):
    name = "onnxruntime"

    def __init__(self, device, options):
        super().__init__(device, options)
        self.provider = provider_of(device)

    def session(self, data):
        settings = onnxruntime.SessionOptions()
        settings.log_severity_level = 3
        session = onnxruntime.InferenceSession(data, settings, providers=[self.provider])
        if session.get_providers()[0] != self.provider:
            raise FellBack(f"{self.provider} could not be used: onnxruntime went back to {session.get_providers()[0]}")
        return session

    def compute(self, operation, dtype, inputs):
        name, attributes = OPERATIONS[operation]
        element = FLOAT16 if dtype == "fp16" else FLOAT
        if operation == "layer_norm":
            inputs = [*inputs, numpy.ones(inputs[0].shape[-1], numpy.float32)]  # The scale is an input.
        output = inputs[0].shape if operation != "convolution" else (inputs[0].shape[0], inputs[1].shape[0], *inputs[0].shape[2:])
        session = self.session(model(name, element, [one.shape for one in inputs], output, **attributes))
        return session.run(None, {str(index): numpy.ascontiguousarray(one) for index, one in enumerate(inputs)})[0]

    def check(self, *arguments):
        try:
            return super().check(*arguments)
        except FellBack as error:
            return failed(str(error), kind="fallback")

    def matmul_bf16(self):
        return skipped("numpy, by which onnxruntime is fed, has no bfloat16")

    def attention(self):
        return skipped("ONNX has attention as an operation only from opset 23 on")

    def memory(self):
        return skipped("onnxruntime gives no memory to its users")

    def network(self):
        return skipped(NO_TRAINING)

    def training(self):
        return skipped(NO_TRAINING)

    def rate(self):
        if self.on_gpu:
            return skipped("what is measured from outside is the way to the GPU and back, too")
        return super().rate()

    def bandwidth(self):
        return skipped("onnxruntime gives no memory to its users")

    def product(self, size, dtype):
        matrix = array_steps.narrowed(self.draw(size, size), dtype)
        session = self.session(model("MatMul", FLOAT16 if dtype == "fp16" else FLOAT, [matrix.shape, matrix.shape], matrix.shape))
        return lambda: session.run(None, {"0": matrix, "1": matrix})
