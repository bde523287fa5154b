# SPDX-License-Identifier: Apache-2.0
"""A llama of two layers with random weights, about 300 KiB, as a GGUF file (ggml-org/ggml: docs/gguf.md)."""
import random
import struct

STRING, UINT32, FLOAT32, INT32, ARRAY = 8, 4, 6, 5, 9
ALIGNMENT = 32
WIDTH, HEADS, HIDDEN, LAYERS, CONTEXT = 64, 4, 128, 2, 128
CONTROL, UNKNOWN, NORMAL, BYTE = 3, 2, 1, 6
TOKENS = [("<unk>", UNKNOWN), ("<s>", CONTROL), ("</s>", CONTROL), ("\u2581", NORMAL)] + [
    (f"<0x{byte:02X}>", BYTE) for byte in range(256)]


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def entry(key, kind, value):
    packed = text(value) if kind == STRING else struct.pack({UINT32: "<I", FLOAT32: "<f"}[kind], value)
    return text(key) + struct.pack("<I", kind) + packed


def array(key, kind, values):
    packed = b"".join(text(v) if kind == STRING else struct.pack({FLOAT32: "<f", INT32: "<i"}[kind], v) for v in values)
    return text(key) + struct.pack("<IIQ", ARRAY, kind, len(values)) + packed


def entries():
    numbers = {"context_length": CONTEXT, "embedding_length": WIDTH, "block_count": LAYERS, "feed_forward_length": HIDDEN,
               "attention.head_count": HEADS, "attention.head_count_kv": HEADS, "rope.dimension_count": WIDTH // HEADS,
               "vocab_size": len(TOKENS)}
    special = {"bos": 1, "eos": 2, "unknown": 0}
    return ([entry("general.architecture", STRING, "llama")]
            + [entry(f"llama.{key}", UINT32, value) for key, value in numbers.items()]
            + [entry("llama.attention.layer_norm_rms_epsilon", FLOAT32, 1e-5),
               entry("tokenizer.ggml.model", STRING, "llama"),
               array("tokenizer.ggml.tokens", STRING, [token for token, _ in TOKENS]),
               array("tokenizer.ggml.scores", FLOAT32, [0.0] * len(TOKENS)),
               array("tokenizer.ggml.token_type", INT32, [kind for _, kind in TOKENS])]
            + [entry(f"tokenizer.ggml.{key}_token_id", UINT32, value) for key, value in special.items()])


def shapes():
    """Sizes with the one that varies fastest first."""
    yield "token_embd.weight", (WIDTH, len(TOKENS))
    yield "output.weight", (WIDTH, len(TOKENS))
    yield "output_norm.weight", (WIDTH,)
    for layer in range(LAYERS):
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            yield f"blk.{layer}.{name}.weight", (WIDTH, WIDTH)
        yield f"blk.{layer}.ffn_gate.weight", (WIDTH, HIDDEN)
        yield f"blk.{layer}.ffn_up.weight", (WIDTH, HIDDEN)
        yield f"blk.{layer}.ffn_down.weight", (HIDDEN, WIDTH)
        yield f"blk.{layer}.attn_norm.weight", (WIDTH,)
        yield f"blk.{layer}.ffn_norm.weight", (WIDTH,)


def write(path):
    draw, tensors, data = random.Random(0), [], b""
    for name, shape in shapes():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = [1.0] * count if len(shape) == 1 else [draw.gauss(0, 0.05) for _ in range(count)]
        tensors.append(text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, len(data)))  # 0: float32.
        data += struct.pack(f"<{count}f", *values)
        data += b"\0" * (-len(data) % ALIGNMENT)
    rows = entries()
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(rows)) + b"".join(rows) + b"".join(tensors)
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % ALIGNMENT) + data)
