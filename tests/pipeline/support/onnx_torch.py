"""Runs an ONNX model by PyTorch's functions, node by node, as onnx.ai's operator documents define them."""

import numpy as np
import onnx
import torch
import torch.nn.functional as functional
from onnx import numpy_helper

# Debian 13's PyTorch computes by oneDNN 3.7, which loses values when it copies channels that do not fill a block (its
# issue 3280): a convolution of 85 channels had errors of a fifth.
torch.backends.mkldnn.enabled = False


def attributes(node):
    return {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}


def convolution(x, weights, biases, kernel_shape, strides, pads):
    assert list(weights.shape[2:]) == list(kernel_shape) and pads[:3] == pads[3:]
    return functional.conv3d(x, weights, biases, stride=strides, padding=pads[:3])


def transposed_convolution(x, weights, biases, kernel_shape, strides, pads):
    assert list(weights.shape[2:]) == list(kernel_shape) and pads[:3] == pads[3:]
    return functional.conv_transpose3d(x, weights, biases, stride=strides, padding=pads[:3])


def resize(x, roi, scales, mode, coordinate_transformation_mode, nearest_mode=b"floor"):
    assert roi is None and scales[:2].tolist() == [1, 1] and nearest_mode == b"floor"
    factors = [int(factor) for factor in scales[2:].tolist()]
    assert factors == scales[2:].tolist()
    if mode == b"nearest":
        assert coordinate_transformation_mode == b"asymmetric"
        return functional.interpolate(x, scale_factor=factors, mode="nearest")
    assert (mode, coordinate_transformation_mode) == (b"linear", b"half_pixel")
    return functional.interpolate(x, scale_factor=factors, mode="trilinear", align_corners=False)


def slices(x, starts, ends, axes):
    for start, end, axis in zip(starts.tolist(), ends.tolist(), axes.tolist()):
        x = x[(slice(None),) * axis + (slice(start, end),)]
    return x


OPERATIONS = {
    "Add": lambda a, b: a + b,
    "AveragePool": lambda x, kernel_shape, strides: functional.avg_pool3d(x, kernel_shape, strides),
    "Concat": lambda *parts, axis: torch.cat(parts, axis),
    "Conv": convolution,
    "ConvTranspose": transposed_convolution,
    "Div": lambda a, b: a / b,
    "Flatten": lambda x: x.reshape(x.shape[0], -1),
    "GlobalAveragePool": lambda x: x.mean(dim=tuple(range(2, x.ndim)), keepdim=True),
    "Gemm": lambda a, b, c, transB: a @ (b.T if transB else b) + c,
    "Identity": lambda x: x,
    "LeakyRelu": lambda x, alpha: functional.leaky_relu(x, alpha),
    "Log": torch.log,
    "Max": torch.maximum,
    "MaxPool": lambda x, kernel_shape, strides: functional.max_pool3d(x, kernel_shape, strides),
    "Mul": lambda a, b: a * b,
    "ReduceMean": lambda x, axes: x.mean(dim=axes, keepdim=True),
    "Resize": resize,
    "Slice": slices,
    "Sub": lambda a, b: a - b,
    "Sum": lambda *terms: sum(terms),
    "Tanh": torch.tanh,
    "Unsqueeze": lambda x, axes: x.reshape(*x.shape, *([1] * len(axes))),
}


def evaluate(model, **inputs):
    """Outputs by name, of an onnx.ModelProto."""
    tensors = {tensor.name: torch.from_numpy(numpy_helper.to_array(tensor).copy()) for tensor in model.graph.initializer}
    tensors.update({name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in inputs.items()})
    tensors[""] = None  # an input left out
    with torch.no_grad():
        for node in model.graph.node:
            result = OPERATIONS[node.op_type](*[tensors[name] for name in node.input], **attributes(node))
            tensors[node.output[0]] = result
    return {value.name: tensors[value.name].numpy() for value in model.graph.output}
