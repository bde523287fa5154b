# SPDX-License-Identifier: Apache-2.0
"""GGUF files without their data: a model's keys and tensors, as long as the file would be (a hole on the disk).

Tests need the header alone; a type's blocks decide what a tensor takes. Format: ggml-org/ggml, docs/gguf.md.
"""
import struct

TYPES = {"F32": (0, 1, 4), "F16": (1, 1, 2), "Q4_0": (2, 32, 18), "Q5_0": (6, 32, 22), "Q5_1": (7, 32, 24), "Q8_0": (8, 32, 34),
         "Q2_K": (10, 256, 84), "Q3_K": (11, 256, 110), "Q4_K": (12, 256, 144), "Q5_K": (13, 256, 176), "Q6_K": (14, 256, 210), "MXFP4": (39, 32, 17)}
ALIGNMENT = 32
# What llama-quantize takes where a row is no whole number of blocks (ggml-org/llama.cpp: src/llama-quant.cpp).
SHORT_ROWS = {"Q4_K": "Q5_0", "Q5_K": "Q5_1", "Q6_K": "Q8_0"}


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def pair(key, value):
    if isinstance(value, str):
        return text(key) + struct.pack("<I", 8) + text(value)
    if isinstance(value, float):
        return text(key) + struct.pack("<If", 6, value)
    return text(key) + struct.pack("<II", 4, value)


def type_of(model, name, layer=0):
    """A tensor's type: one for all, or by the rules of a mix (llama-quant.cpp, llama_tensor_get_type_impl)."""
    one = model.get("type", "Q4_K")
    if "_exps" in name:
        one = model.get("expert_type", one)
    if "ffn_down" in name:
        one = model.get("down_type", one)
    if model.get("mix") != "Q4_K_M":
        return one
    eighth, layers = model["layers"] // 8, model["layers"]
    more = layer < eighth or layer >= 7 * layers // 8 or (layer - eighth) % 3 == 2
    if name == "attn_qkv":
        return "Q5_K"
    if name == "token_embd":
        return "Q6_K" if model.get("tied") else "Q4_K"
    return "Q6_K" if more and name in ("attn_v", "ffn_down", "ffn_down_exps") else "Q4_K"


def tensors_of(model):
    """(name, shape innermost first, type) of each tensor of a model by its numbers."""
    for name, shape in shapes_of(model):
        if name.endswith((".bias", "norm.weight", "sinks.weight", "ffn_gate_inp.weight")):
            yield name, shape, "F32"
        elif name == "output.weight":
            yield name, shape, model.get("output_type", "Q6_K")
        elif name.startswith("blk."):
            _, layer, part, _ = name.split(".")
            yield name, shape, type_of(model, part, int(layer))
        else:
            yield name, shape, model.get("embedding_type") or type_of(model, "token_embd")


def shapes_of(model):
    """(name, shape innermost first)."""
    hidden, heads, kv = model["hidden"], model["heads"], model["kv_heads"]
    head = model.get("head", hidden // heads)
    yield "token_embd.weight", (hidden, model["vocabulary"])
    yield "output_norm.weight", (hidden,)
    if not model.get("tied"):
        yield "output.weight", (hidden, model["vocabulary"])
    for i in range(model["layers"]):
        block = f"blk.{i}."
        yield block + "attn_norm.weight", (hidden,)
        if model.get("kv_rank"):
            yield from latent_shapes_of(model, block)
        elif model.get("fused"):
            yield block + "attn_qkv.weight", (hidden, (heads + 2 * kv) * head)
        else:
            yield block + "attn_q.weight", (hidden, heads * head)
            yield block + "attn_k.weight", (hidden, kv * head)
            yield block + "attn_v.weight", (hidden, kv * head)
        if model.get("bias"):
            yield block + "attn_q.bias", (heads * head,)
            yield block + "attn_k.bias", (kv * head,)
            yield block + "attn_v.bias", (kv * head,)
        if model.get("head_norms"):
            yield block + "attn_q_norm.weight", (head,)
            yield block + "attn_k_norm.weight", (head,)
        yield block + "attn_output.weight", (heads * model.get("head_out", head), hidden)
        if model["architecture"] == "gpt-oss":
            yield block + "attn_output.bias", (hidden,)
            yield block + "attn_sinks.weight", (heads,)
            yield block + "post_attention_norm.weight", (hidden,)
        else:
            yield block + "ffn_norm.weight", (hidden,)
        if model.get("post_norms"):
            yield block + "post_attention_norm.weight", (hidden,)
            yield block + "post_ffw_norm.weight", (hidden,)
        if model.get("experts") and i >= model.get("dense_layers", 0):
            wide, experts = model["expert_ff"], model["experts"]
            yield block + "ffn_gate_inp.weight", (hidden, experts)
            yield block + "ffn_gate_exps.weight", (hidden, wide, experts)
            yield block + "ffn_up_exps.weight", (hidden, wide, experts)
            yield block + "ffn_down_exps.weight", (wide, hidden, experts)
            if model.get("shared"):
                yield block + "exp_probs_b.bias", (experts,)
                yield block + "ffn_gate_shexp.weight", (hidden, wide)
                yield block + "ffn_up_shexp.weight", (hidden, wide)
                yield block + "ffn_down_shexp.weight", (wide, hidden)
            if model["architecture"] == "gpt-oss":
                yield block + "ffn_gate_inp.bias", (experts,)
                for part, rows in (("gate", wide), ("up", wide), ("down", hidden)):
                    yield f"{block}ffn_{part}_exps.bias", (rows, experts)
        elif model.get("fused"):
            yield block + "ffn_up.weight", (hidden, 2 * model["ff"])
            yield block + "ffn_down.weight", (model["ff"], hidden)
        else:
            yield block + "ffn_gate.weight", (hidden, model["ff"])
            yield block + "ffn_up.weight", (hidden, model["ff"])
            yield block + "ffn_down.weight", (model["ff"], hidden)


def latent_shapes_of(model, block):
    """Attention over latent keys and values, as DeepSeek has it: `absorbed` into queries and results, or not."""
    hidden, heads, rank, rope = model["hidden"], model["heads"], model["kv_rank"], model["rope"]
    key, value = model["head_in"], model["head_out"]
    yield block + "attn_q_a.weight", (hidden, model["q_rank"])
    yield block + "attn_q_a_norm.weight", (model["q_rank"],)
    yield block + "attn_q_b.weight", (model["q_rank"], heads * key)
    yield block + "attn_kv_a_mqa.weight", (hidden, rank + rope)
    yield block + "attn_kv_a_norm.weight", (rank,)
    if model.get("absorbed"):
        yield block + "attn_k_b.weight", (key - rope, rank, heads)
        yield block + "attn_v_b.weight", (rank, value, heads)
    else:
        yield block + "attn_kv_b.weight", (rank, heads * (key - rope + value))


def keys_of(model):
    architecture = model["architecture"]
    head = model.get("head", model["hidden"] // model["heads"])
    keys = {"block_count": model["layers"], "context_length": model.get("context", 32768),
            "embedding_length": model["hidden"], "feed_forward_length": model.get("ff", 0),
            "attention.head_count": model["heads"], "attention.head_count_kv": model["kv_heads"],
            "attention.key_length": head, "attention.value_length": model.get("head_v", head),
            "rope.dimension_count": model.get("rope", head),
            "rope.scaling.original_context_length": model.get("context", 32768),
            "vocab_size": model["vocabulary"], "attention.layer_norm_rms_epsilon": 1e-5}
    if model.get("experts"):
        keys |= {"expert_count": model["experts"], "expert_used_count": model["experts_used"],
                 "expert_feed_forward_length": model["expert_ff"]}
    if model.get("kv_rank"):
        keys |= {"attention.q_lora_rank": model["q_rank"], "attention.kv_lora_rank": model["kv_rank"],
                 "expert_gating_func": 2, "expert_weights_scale": 2.5}
    if model.get("window"):
        keys["attention.sliding_window"] = model["window"]
    yield pair("general.architecture", architecture)
    yield pair("tokenizer.ggml.model", "none")
    for key, value in keys.items():
        yield pair(f"{architecture}.{key}", value)


def write_model(path, model):
    pairs = list(keys_of(model))
    entries, offset = b"", 0
    count = 0
    for name, shape, kind in tensors_of(model):
        number, elements, size = TYPES[kind]
        if shape[0] % elements and model.get("mix"):
            number, elements, size = TYPES[SHORT_ROWS[kind]]
        elif shape[0] % elements:  # A type with smaller blocks where rows are too short.
            number, elements, size = TYPES["Q8_0" if shape[0] % 32 == 0 else "F16"]
        rows = 1
        for length in shape[1:]:
            rows *= length
        entries += text(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", n) for n in shape)
        entries += struct.pack("<IQ", number, offset)
        offset += -(-(rows * (shape[0] // elements) * size) // ALIGNMENT) * ALIGNMENT
        count += 1
    header = b"GGUF" + struct.pack("<IQQ", 3, count, len(pairs)) + b"".join(pairs) + entries
    start = -(-len(header) // ALIGNMENT) * ALIGNMENT
    with open(path, "wb") as file:
        file.write(header)
        file.truncate(start + offset)
