#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom-train over a quantised base against bitsandbytes, transformers and PEFT on the CPU.

    parity_quantised.py goldens FOLDER    writes FOLDER/numbers.json, what bitsandbytes makes of some numbers,
                                          FOLDER/adamw8bit.json, what 20 steps of its AdamW8bit make of some, and FOLDER/nf4 and nf4-dq: tiny models as transformers saves them, with golden.json
    parity_quantised.py compare PROGRAM   trains adapters with PROGRAM (headroom-train) and with PEFT for 50 steps over the same
                                          quantised base, and has transformers read the base that PROGRAM wrote

Run it in the environment that tools/venv makes, after `pip install bitsandbytes` in a copy of it (0.50.2 was used).
src/trainer/quantised_test.cpp and adamw8bit_test.cpp read the goldens.
"""
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile

import bitsandbytes
import parity
import torch
import transformers
from bitsandbytes import functional
from bitsandbytes.backends.cpu import ops as cpu_ops
from peft import PeftModel

FAMILIES = ("llama", "qwen2", "qwen3", "phi3", "gemma2", "gpt2")
# Odd sizes: blocks of 64 end in the middle of rows, and the last one is short.
SIZES = dict(hidden_size=20, intermediate_size=28, head_dim=6)


def numbers(count, seed):
    """As parity.made_up(), but with blocks of different size: every 64th number on, smaller or larger by powers of two."""
    made = parity.made_up(count, seed)
    return [x * 2.0 ** ((i // 64) * 5 % 7 - 3) for i, x in enumerate(made)]


def whole(tensor):
    return [round(x, 9) for x in tensor.float().flatten().tolist()]


def write_numbers(path):
    weight = torch.tensor(numbers(23 * 21, 1)).reshape(23, 21)
    packed, state = functional.quantize_4bit(weight, quant_type="nf4", compress_statistics=False)
    found = {"nf4": {"packed": packed.flatten().tolist(), "absmax": whole(state.absmax),
                     "dequantised": whole(functional.dequantize_4bit(packed, state))}}
    packed, state = functional.quantize_4bit(weight, quant_type="nf4", compress_statistics=True)
    found["nf4-dq"] = {"absmax": state.absmax.tolist(), "nested_absmax": whole(state.state2.absmax),
                       "nested_offset": state.offset.item(), "dequantised": whole(functional.dequantize_4bit(packed, state))}
    scales = torch.tensor(parity.made_up(300, 7)) + 2
    offset = scales.mean()
    codes, state = functional.quantize_blockwise(scales - offset, blocksize=256)
    found["scales"] = {"codes": codes.tolist(), "nested": whole(state.absmax), "offset": offset.item(),
                       "dequantised": whole(functional.dequantize_blockwise(codes, state) + offset)}
    found["dynamic_map"] = [round(x, 10) for x in functional.create_dynamic_map().tolist()]
    codes, rows, _ = functional.int8_vectorwise_quant(weight)
    found["int8"] = {"codes": codes.flatten().tolist(), "SCB": whole(rows),
                     "dequantised": whole(functional.int8_vectorwise_dequant(codes, rows))}
    path.write_text(json.dumps(found) + "\n")


def quantise_exactly(numbers, code, absmax, codes, blocksize):
    """To the nearest code, as bitsandbytes' GPU kernels do. Its CPU build looks codes up in a table of equal cells, which are
    wider than the steps of the map near 0."""
    rows = torch.nn.functional.pad(numbers.flatten(), (0, -numbers.numel() % blocksize)).view(-1, blocksize)
    absmax.copy_(rows.abs().amax(1))
    scaled = (rows * (1 / absmax.clamp_min(1e-38)).view(-1, 1)).flatten()[:numbers.numel()]
    codes.copy_((scaled.unsqueeze(-1) - code).abs().argmin(-1).view(codes.shape))


def write_adamw8bit(path):
    """20 steps over a parameter whose last block is short: every 7th number after the first one and the last, and the states."""
    weight = torch.nn.Parameter(torch.tensor(parity.made_up(41 * 101, 3)).reshape(41, 101))
    optimizer, found = bitsandbytes.optim.AdamW8bit([weight], lr=0.01, weight_decay=0.1), {}
    cpu_ops._quant_blockwise_fp32_direct = quantise_exactly
    for step in range(1, 21):
        weight.grad = torch.tensor(numbers(weight.numel(), 1000 * step)).reshape(weight.shape)
        optimizer.step()
        if step not in (1, 20):
            continue
        state = optimizer.state[weight]
        found["first" if step == 1 else "last"] = {
            "every_7th": [round(x, 8) for x in weight.flatten().tolist()[::7]],
            "mean": state["state1"].flatten().tolist()[::7], "variance": state["state2"].flatten().tolist()[::7],
            "mean_scale": whole(state["absmax1"]), "variance_scale": whole(state["absmax2"])}
    found["unsigned_dynamic_map"] = [round(x, 10) for x in functional.create_dynamic_map(signed=False).tolist()]
    path.write_text(json.dumps(found) + "\n")


def settings_of(word, dtype):
    if word == "int8":
        return transformers.BitsAndBytesConfig(load_in_8bit=True)
    return transformers.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype,
                                           bnb_4bit_use_double_quant=word == "nf4-dq")


def load(folder, word=None, dtype=torch.float32):
    """The model, quantised on loading if a word says so, or as its own config says."""
    how = dict(quantization_config=settings_of(word, dtype)) if word else {}
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager", device_map="cpu",
                                                             **how)


def make_model(family):
    kind, settings = parity.FAMILIES[family]
    if family not in ("gpt2", "phi3"):
        settings = settings | SIZES
        parity.FAMILIES[family + "-odd"] = kind, settings
        return parity.make_model(family + "-odd")
    return parity.make_model(family)


def write_folder(place, word):
    with tempfile.TemporaryDirectory(prefix="headroom-parity-") as scratch:
        make_model("qwen2").save_pretrained(scratch)
        model = load(scratch, word)
    model.save_pretrained(place)
    (place / "generation_config.json").unlink(missing_ok=True)
    samples = parity.make_samples([20, 13, 7])
    with torch.no_grad():
        logits = model(torch.tensor([samples[0]])).logits[0]
    golden = {"samples": samples, "logits": [[round(x, 7) for x in row] for row in logits.tolist()]}
    (place / "golden.json").write_text(json.dumps(golden) + "\n")


def write_goldens(folder):
    folder.mkdir(parents=True, exist_ok=True)
    write_numbers(folder / "numbers.json")
    write_adamw8bit(folder / "adamw8bit.json")
    for word in ("nf4", "nf4-dq"):
        write_folder(folder / word, word)


def run(program, folder, output, *settings):
    lora = ["method.kind = \"qlora\"", "method.rank = 4", "method.alpha = 8"]
    if "Phi3" in (folder / "model" / "config.json").read_text():
        lora.append("method.targets = [\"o\", \"down\"]")
    return parity.run_headroom(program, folder, output, *lora, *settings)


def dequantised(folder):
    """A plain model with the numbers that the base written by headroom-train stands for, by bitsandbytes' own functions."""
    quantised = load(folder)
    plain = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.from_pretrained(folder.parent / "model"),
                                                          attn_implementation="eager").float()
    weights = {name: value for name, value in quantised.state_dict().items()}
    for name, module in quantised.named_modules():
        if isinstance(module, bitsandbytes.nn.Linear4bit):
            weights[name + ".weight"] = functional.dequantize_4bit(module.weight.data, module.weight.quant_state).float()
        elif isinstance(module, bitsandbytes.nn.Linear8bitLt):
            scales = module.weight.SCB if module.weight.SCB is not None else module.state.SCB
            weights[name + ".weight"] = functional.int8_vectorwise_dequant(module.weight.data, scales).float()
    if "GPT2" in type(plain).__name__:  # Conv1D holds [in, out].
        weights = {name: value.T if value.ndim == 2 and ".h." in name else value for name, value in weights.items()}
    missing, _ = plain.load_state_dict(weights, strict=False)
    assert not [name for name in missing if name != "lm_head.weight"], missing
    return plain


@contextlib.contextmanager
def in_place_of_model(folder, other):
    (folder / "model").rename(folder / "aside")
    other.rename(folder / "model")
    yield
    (folder / "model").rename(other)
    (folder / "aside").rename(folder / "model")


def compare_read(program, folder, samples, word):
    """The loss over a base that transformers has quantised and saved."""
    theirs = folder / ("theirs-" + word)
    load(folder / "model", word).save_pretrained(theirs)
    with in_place_of_model(folder, theirs):
        losses, _, _ = run(program, folder, "read-" + word, "data.epochs = 1", "optimizer.learning_rate = 0")
    with torch.no_grad():
        expected = dequantised(theirs)(**parity.make_batch(samples)).loss.item()
    return abs(losses[0] - expected)


def compare_one(program, folder, samples, word):
    base = [f"method.base = \"{word}\""]
    _, _, start = run(program, folder, "start-" + word, "data.epochs = 1", "optimizer.learning_rate = 0", *base)
    written = folder / ("base-" + word)
    ran = subprocess.run([program, folder / "job.toml", "--output", folder / "once", "--save-base", written, "--quiet"],
                         capture_output=True, text=True)
    if ran.returncode != 0:
        sys.exit(f"headroom-train: exit {ran.returncode}\n{ran.stderr}")
    rest = [f"data.epochs = {parity.STEPS}", "optimizer.learning_rate = 1e-3"]
    losses, norms, output = run(program, folder, "run-" + word, *rest, *base)
    # The same from the folder that holds the base as it is: every loss is the same to the last digit.
    with in_place_of_model(folder, written):
        again, _, _ = run(program, folder, "stored-" + word, *rest)
    found = {"read": compare_read(program, folder, samples, word), "stored": parity.farthest(losses, again)}
    plain = PeftModel.from_pretrained(dequantised(written), start, is_trainable=True)
    expected, expected_norms = parity.train(plain, samples, parity.STEPS, learning_rate=1e-3)
    found |= {"losses": parity.farthest(losses, expected), "norms": parity.farthest(norms, expected_norms)}
    if word != "int8":  # LLM.int8 rounds what it multiplies as well.
        peft = PeftModel.from_pretrained(load(written), start, is_trainable=True)
        theirs, _ = parity.train(peft, samples, parity.STEPS, learning_rate=1e-3)
        found["bitsandbytes"] = parity.farthest(losses, theirs)
        codes = quantised_by_transformers(folder / "model", written, word)
        found["codes that differ"] = codes
    after = PeftModel.from_pretrained(dequantised(written), output)
    found["logits after"] = parity.difference(parity.logits_of(after, samples), parity.logits_of(plain, samples))
    return found


def quantised_by_transformers(plain, written, word):
    """Which part of the packed bytes is another where transformers quantises the model itself."""
    theirs, ours = load(plain, word).state_dict(), load(written).state_dict()
    names = [name for name in theirs if name + ".absmax" in theirs]
    different = sum((theirs[name] != ours[name]).sum().item() for name in names)
    return different / sum(theirs[name].numel() for name in names)


def compare(program):
    bad = 0
    for family in FAMILIES:
        for word in ("nf4", "nf4-dq", "int8"):
            with tempfile.TemporaryDirectory(prefix="headroom-parity-") as scratch:
                folder = pathlib.Path(scratch)
                make_model(family).save_pretrained(folder / "model")
                samples = parity.make_samples([32, 21, 9, 30, 2, 17])
                (folder / "ids.txt").write_text("\n".join(" ".join(map(str, sample)) for sample in samples) + "\n")
                found = compare_one(program, folder, samples, word)
            good = found["stored"] == 0 and max(found["losses"], found.get("bitsandbytes", 0)) <= parity.LOSS_TOLERANCE \
                and found.get("codes that differ", 0) <= 0.001 and found["read"] <= parity.LOADED_TOLERANCE
            bad += not good
            print(f"{'ok ' if good else 'BAD'} {family:10} {word:8} "
                  + ", ".join(f"{what} {value:.1e}" for what, value in found.items()), flush=True)
    return bad


def main(words):
    if len(words) != 2 or words[0] not in ("goldens", "compare"):
        sys.exit(__doc__)
    torch.set_num_threads(1)
    if words[0] == "compare":
        sys.exit(1 if compare(pathlib.Path(words[1]).resolve()) else 0)
    write_goldens(pathlib.Path(words[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
