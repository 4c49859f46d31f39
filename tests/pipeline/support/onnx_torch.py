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
        x = x[(slice(None),) * (axis % x.ndim) + (slice(start, end),)]
    return x


def unsqueeze(x, axes):
    rank = x.ndim + len(axes)
    for axis in sorted(axis % rank for axis in axes.tolist()):
        x = x.unsqueeze(axis)
    return x


def reshape(x, shape):
    return x.reshape([x.shape[i] if size == 0 else size for i, size in enumerate(shape.tolist())])


def cast(x, to):
    assert to == onnx.TensorProto.FLOAT
    return x.to(torch.float32)


OPERATIONS = {
    "Abs": torch.abs,
    "Add": lambda a, b: a + b,
    "And": torch.logical_and,
    "Asinh": torch.asinh,
    "AveragePool": lambda x, kernel_shape, strides: functional.avg_pool3d(x, kernel_shape, strides),
    "Cast": cast,
    "Clip": lambda x, low, high: x.clamp(low.item(), high.item()),
    "Concat": lambda *parts, axis: torch.cat(parts, axis),
    "Conv": convolution,
    "ConvTranspose": transposed_convolution,
    "Div": lambda a, b: a / b,
    "Exp": torch.exp,
    "Flatten": lambda x: x.reshape(x.shape[0], -1),
    "Gather": lambda x, indices, axis: x.index_select(axis, indices),
    "Gemm": lambda a, b, c, transB=0: a @ (b.T if transB else b) + c,
    "GlobalAveragePool": lambda x: x.mean(dim=tuple(range(2, x.ndim)), keepdim=True),
    "GreaterOrEqual": torch.ge,
    "Identity": lambda x: x,
    "LeakyRelu": lambda x, alpha: functional.leaky_relu(x, alpha),
    "Less": torch.lt,
    "Log": torch.log,
    "MatMul": torch.matmul,
    "Max": torch.maximum,
    "MaxPool": lambda x, kernel_shape, strides: functional.max_pool3d(x, kernel_shape, strides),
    "Min": torch.minimum,
    "Mul": lambda a, b: a * b,
    "Neg": torch.neg,
    "ReduceMean": lambda x, axes, keepdims=1: x.mean(dim=axes, keepdim=bool(keepdims)),
    "ReduceSum": lambda x, axes, keepdims=1: x.sum(dim=axes.tolist(), keepdim=bool(keepdims)),
    "ReduceSumSquare": lambda x, axes, keepdims=1: x.square().sum(dim=axes, keepdim=bool(keepdims)),
    "Reshape": reshape,
    "Resize": resize,
    "Sign": torch.sign,
    "Slice": slices,
    "Softmax": lambda x, axis: torch.softmax(x, axis),
    "Sqrt": torch.sqrt,
    "Sub": lambda a, b: a - b,
    "Sum": lambda *terms: sum(terms),
    "Tanh": torch.tanh,
    "Transpose": lambda x, perm: x.permute(perm),
    "Unsqueeze": unsqueeze,
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
