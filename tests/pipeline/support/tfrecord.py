"""TFRecord files of tf.train.Examples, read and written without TensorFlow."""

import gzip
import struct


def table_of_crc32c():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
        table.append(byte)
    return table


CRC32C = table_of_crc32c()


def masked_crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc = crc >> 8 ^ CRC32C[(crc ^ byte) & 255]
    crc ^= 0xffffffff
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def records(data):
    """The records of a file that is not compressed, with right checksums."""
    while data:
        size, check = struct.unpack("<QI", data[:12])
        record, (end_check,) = data[12:12 + size], struct.unpack("<I", data[12 + size:16 + size])
        assert check == masked_crc32c(data[:8]) and end_check == masked_crc32c(record)
        yield record
        data = data[16 + size:]


def fields(message):
    """(number, value) of each delimited field of a protobuf message."""
    def varint(at):
        number = shift = 0
        while True:
            number, shift, at = number | (message[at] & 127) << shift, shift + 7, at + 1
            if message[at - 1] < 128:
                return number, at
    at = 0
    while at < len(message):
        tag, at = varint(at)
        size, at = varint(at)
        assert tag & 7 == 2
        yield tag >> 3, message[at:at + size]
        at += size


def example(record):
    """{name: (kind, bytes)} of a tf.train.Example; kind 1 is bytes, 2 floats."""
    features = {}
    for _, entry in fields(dict(fields(record))[1]):
        name, feature = (dict(fields(entry))[number] for number in (1, 2))
        (kind, values), = fields(feature)
        features[name.decode()] = (kind, dict(fields(values))[1])
    return features


def record(features):
    """The tf.train.Example of {name: (kind, bytes)}."""
    def field(number, data):
        size, head = len(data), bytes([number << 3 | 2])
        while size > 127:
            head, size = head + bytes([size & 127 | 128]), size >> 7
        return head + bytes([size]) + data
    entries = b"".join(field(1, field(1, name.encode()) + field(2, field(kind, field(1, data))))
                       for name, (kind, data) in features.items())
    return field(1, entries)


def write(path, examples, compress):
    """Records of these features as TensorFlow would write them."""
    with (gzip.open if compress else open)(path, "wb") as file:
        for message in map(record, examples):
            size = struct.pack("<Q", len(message))
            file.write(size + struct.pack("<I", masked_crc32c(size)) + message)
            file.write(struct.pack("<I", masked_crc32c(message)))
