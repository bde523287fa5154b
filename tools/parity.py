#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom-train against transformers and PEFT on the CPU: tiny models with random weights, of every family it trains.

    parity.py goldens FOLDER [FAMILY ...]   writes FOLDER/FAMILY: config.json, model.safetensors, golden.json;
                                            of phi3 also lora.json
    parity.py optimizers FILE               writes what 20 steps of torch's SGD and transformers' Adafactor make of numbers
    parity.py compare PROGRAM [FAMILY ...]  trains each with PROGRAM (headroom-train) and with transformers, in full and
                                            with LoRA, for 50 steps, and has them read what PROGRAM wrote

Run it in the environment that tools/venv makes. src/trainer/parity_test.cpp reads the goldens, optimizers_test.cpp the file.
"""
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model

STEPS = 50
LOSS_TOLERANCE = 1e-4  # Of every step's loss.
LOADED_TOLERANCE = 1e-5  # Of the loss before the first step, and of the logits of a merged adapter.

SHARED = dict(hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
              head_dim=8, vocab_size=32, max_position_embeddings=64, tie_word_embeddings=False, pad_token_id=None,
              bos_token_id=None, eos_token_id=None)
# The second layer of those with windows sees only six tokens.
FAMILIES = {
    "llama": (transformers.LlamaConfig, SHARED | dict(attention_bias=True, mlp_bias=True)),
    "qwen2": (transformers.Qwen2Config, SHARED | dict(tie_word_embeddings=True)),
    "qwen2-window": (transformers.Qwen2Config,
                     SHARED | dict(use_sliding_window=True, sliding_window=6, max_window_layers=1)),
    "qwen3": (transformers.Qwen3Config, SHARED | dict(rope_parameters={"rope_type": "default", "rope_theta": 1e6})),
    "qwen3-tied-bias": (transformers.Qwen3Config, SHARED | dict(tie_word_embeddings=True, attention_bias=True)),
    "phi3": (transformers.Phi3Config, {key: value for key, value in SHARED.items() if key != "head_dim"}),
    "mistral": (transformers.MistralConfig, SHARED | dict(sliding_window=6)),
    "gpt2": (transformers.GPT2Config,
             dict(n_embd=16, n_inner=24, n_layer=2, n_head=4, n_positions=64, vocab_size=SHARED["vocab_size"], attn_pdrop=0,
                  embd_pdrop=0, resid_pdrop=0, bos_token_id=None, eos_token_id=None)),
    # Positions stretched in each of transformers' ways. The samples are longer than what the model was first trained on, but
    # for longrope's, which has other frequencies from there on.
    "llama-llama3": (transformers.LlamaConfig,
                     SHARED | dict(rope_parameters={"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
                                                    "high_freq_factor": 4.0, "original_max_position_embeddings": 16})),
    "llama-linear": (transformers.LlamaConfig,
                     SHARED | dict(rope_parameters={"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0})),
    "qwen2-yarn": (transformers.Qwen2Config,
                   SHARED | dict(rope_parameters={"rope_type": "yarn", "rope_theta": 1e3, "factor": 4.0,
                                                  "original_max_position_embeddings": 16, "beta_fast": 2})),
    "phi3-longrope": (transformers.Phi3Config,
                      {key: value for key, value in SHARED.items() if key != "head_dim"} |
                      dict(max_position_embeddings=128, original_max_position_embeddings=64,
                           rope_parameters={"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0, 1.5],
                                            "long_factor": [2.0, 9.0]})),
    # A width whose root is no whole number, an attention that is not scaled by its heads' size, and caps so low that they bend.
    "gemma2": (transformers.Gemma2Config,
               SHARED | dict(hidden_size=20, tie_word_embeddings=True, sliding_window=6, query_pre_attn_scalar=12,
                             attn_logit_softcapping=1.5, final_logit_softcapping=10.0)),
    "gemma2-uncapped": (transformers.Gemma2Config,
                        SHARED | dict(attention_bias=True, sliding_window=6, attn_logit_softcapping=None,
                                      final_logit_softcapping=None)),
    "gemma": (transformers.GemmaConfig, SHARED | dict(hidden_size=20, tie_word_embeddings=True, hidden_act="gelu_pytorch_tanh")),
}

STRETCHED = ("llama-llama3", "llama-linear", "qwen2-yarn", "phi3-longrope")

# The keys of a job's [optimizer] and what they mean in torch and transformers.
OPTIMIZERS = {
    "sgd": (torch.optim.SGD, dict(learning_rate=0.05), dict(lr=0.05)),
    "sgd momentum": (torch.optim.SGD, dict(learning_rate=0.01, momentum=0.9, weight_decay=0.1),
                     dict(lr=0.01, momentum=0.9, weight_decay=0.1)),
    "sgd nesterov": (torch.optim.SGD, dict(learning_rate=0.01, momentum=0.8, nesterov=True, weight_decay=0.2),
                     dict(lr=0.01, momentum=0.8, nesterov=True, weight_decay=0.2)),
    "adafactor": (transformers.Adafactor, dict(learning_rate=0.01),
                  dict(lr=0.01, relative_step=False, scale_parameter=False)),
    "adafactor decay clipped": (transformers.Adafactor, dict(learning_rate=0.02, weight_decay=0.3, clip_threshold=0.4),
                                dict(lr=0.02, relative_step=False, scale_parameter=False, weight_decay=0.3, clip_threshold=0.4)),
    "adafactor scaled": (transformers.Adafactor, dict(learning_rate=0.05, scale_parameter=True, weight_decay=0.1),
                         dict(lr=0.05, relative_step=False, weight_decay=0.1)),
    "adafactor relative": (transformers.Adafactor, dict(), dict()),
    "adafactor relative plain": (transformers.Adafactor, dict(scale_parameter=False), dict(scale_parameter=False)),
    "adafactor warmup": (transformers.Adafactor, dict(warmup_init=True, scale_parameter=False),
                         dict(warmup_init=True, scale_parameter=False)),
}
SHAPES = [[5, 7], [2, 33], [1, 4], [11]]


def make_model(family):
    """Every weight far from its initial value, so that no term is left out of what is compared."""
    kind, settings = FAMILIES[family]
    torch.manual_seed(5)
    model = transformers.AutoModelForCausalLM.from_config(kind(**settings), attn_implementation="eager")
    norm = 0 if family.startswith("gemma") else 1  # Gemma's norms multiply by 1 + weight.
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.normal_(norm if name.endswith(("norm.weight", "ln_1.weight", "ln_2.weight", "ln_f.weight")) else 0, 0.2)
    return model.float()


def make_samples(lengths):
    generator = torch.Generator().manual_seed(3)
    return [torch.randint(1, SHARED["vocab_size"], (length,), generator=generator).tolist() for length in lengths]


def make_batch(samples):
    longest = max(map(len, samples))
    pad = [longest - len(sample) for sample in samples]
    return dict(input_ids=torch.tensor([sample + [0] * n for sample, n in zip(samples, pad)]),
                attention_mask=torch.tensor([[1] * len(sample) + [0] * n for sample, n in zip(samples, pad)]),
                labels=torch.tensor([sample + [-100] * n for sample, n in zip(samples, pad)]))


def train(model, samples, steps, learning_rate=1e-2, schedule="constant", warmup=0, max_norm=None, make=None):
    """Losses and gradient norms of steps on all samples at once."""
    model.train()
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = make(trained) if make else torch.optim.AdamW(trained, lr=learning_rate, weight_decay=0.01)
    # One that finds its own rate has none that could be scheduled.
    scheduled = all(group["lr"] is not None for group in optimizer.param_groups)
    scheduler = scheduled and transformers.get_scheduler(schedule, optimizer, num_warmup_steps=warmup, num_training_steps=steps)
    batch, losses, norms = make_batch(samples), [], []
    for _ in range(steps):
        loss = model(**batch).loss
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(trained, max_norm or float("inf")).item())
        optimizer.step()
        if scheduler:
            scheduler.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses, norms


def write_goldens(folder, families):
    for family in families:
        place = pathlib.Path(folder) / family
        model = make_model(family)
        model.save_pretrained(place)
        samples = make_samples([20, 13, 7])
        with torch.no_grad():
            logits = model(torch.tensor([samples[0]])).logits[0]
        golden = {"samples": samples, "logits": [[round(x, 7) for x in row] for row in logits.tolist()]}
        golden["losses"], golden["norms"] = train(model, samples, 5)
        (place / "golden.json").write_text(json.dumps(golden) + "\n")
        (place / "generation_config.json").unlink(missing_ok=True)
        print(f"{place}: loss {golden['losses'][0]:.6f} to {golden['losses'][-1]:.6f}")
        if family == "phi3":
            write_lora_golden(folder)


def write_lora_golden(folder):
    """Phi-3 with adapters on its fused matrices: parity_test.cpp puts these numbers into ours."""
    place = pathlib.Path(folder) / "phi3" / "lora.json"
    model = get_peft_model(make_model("phi3"), LoraConfig(r=2, lora_alpha=6, target_modules=["qkv_proj", "gate_up_proj", "o_proj"]))
    adapters = {}
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if not weight.requires_grad:
                continue
            weight.copy_(torch.round(torch.empty_like(weight).normal_(0, 0.2) * 1e6) / 1e6)
            name = name.removeprefix("base_model.model.").replace(".default.", ".")
            adapters[name] = [[round(x, 6) for x in row] for row in weight.tolist()]
    losses, norms = train(model, make_samples([20, 13, 7]), 5)
    place.write_text(json.dumps({"adapters": adapters, "losses": losses, "norms": norms}) + "\n")
    print(f"{place}: loss {losses[0]:.6f} to {losses[-1]:.6f}")


def made_up(count, seed):
    """Numbers from -1 to 1 that are exact in fp32; optimizers_test.cpp makes the same."""
    numbers = []
    for _ in range(count):
        seed = (1664525 * seed + 1013904223) % 2**32
        numbers.append((seed >> 8) / 2**23 - 1)
    return numbers


def write_optimizers(path):
    found = {}
    for name, (kind, keys, words) in OPTIMIZERS.items():
        weights = [torch.nn.Parameter(torch.tensor(made_up(math.prod(shape), i)).reshape(shape))
                   for i, shape in enumerate(SHAPES)]
        optimizer, ends = kind(weights, **words), []
        for step in range(1, 21):
            for i, weight in enumerate(weights):
                weight.grad = torch.tensor(made_up(weight.numel(), 1000 * step + i)).reshape(weight.shape)
            optimizer.step()
            if step in (1, 20):
                ends.append([[round(x, 8) for x in weight.flatten().tolist()] for weight in weights])
        found[name] = {"keys": {"kind": "sgd" if kind is torch.optim.SGD else "adafactor"} | keys, "first": ends[0], "last": ends[1]}
    pathlib.Path(path).write_text(json.dumps({"shapes": SHAPES, "optimizers": found}) + "\n")


def run_headroom(program, folder, output, *settings):
    """headroom-train on FOLDER/model with all samples in one micro-batch; its losses, norms and output folder."""
    lines = ["model.config = \"model\"", "compute.dtype = \"fp32\"", "engine.kind = \"headroom\"",
             "data.path = \"ids.txt\"", "data.kind = \"tokens\"", "batch.micro = 6", "batch.sequence = 32",
             "device.capacity = \"256MiB\"", *settings]
    (folder / "job.toml").write_text("\n".join(lines) + "\n")
    ran = subprocess.run([program, folder / "job.toml", "--output", folder / output, "--quiet"], capture_output=True,
                         text=True)
    if ran.returncode != 0:
        sys.exit(f"headroom-train: exit {ran.returncode}\n{ran.stderr}")
    steps = [json.loads(line) for line in (folder / output / "metrics.jsonl").read_text().splitlines()]
    return [step["loss"] for step in steps], [step["gradient_norm"] for step in steps], folder / output


def farthest(left, right):
    assert len(left) == len(right), (len(left), len(right))
    return max(abs(a - b) for a, b in zip(left, right))


def logits_of(model, samples):
    with torch.no_grad():
        return [model.eval()(torch.tensor([sample])).logits for sample in samples]


def difference(left, right):
    return max((a - b).abs().max().item() for a, b in zip(left, right))


def compare_full(program, folder, samples, schedule):
    settings = [f"data.epochs = {STEPS}", "optimizer.learning_rate = 1e-2"]
    wanted = dict(learning_rate=1e-2)
    if schedule:
        settings += ["optimizer.schedule = \"cosine\"", "optimizer.warmup_steps = 5", "optimizer.max_grad_norm = 0.5"]
        wanted |= dict(schedule="cosine", warmup=5, max_norm=0.5)
    losses, norms, output = run_headroom(program, folder, "full-cosine" if schedule else "full", *settings)
    model = load(folder / "model")
    expected, expected_norms = train(model, samples, STEPS, **wanted)
    return {"losses": farthest(losses, expected), "norms": farthest(norms, expected_norms),
            "logits after": difference(logits_of(load(output), samples), logits_of(model, samples))}


def compare_optimizer(program, folder, samples, name):
    kind, keys, words = OPTIMIZERS[name]
    keys = {"kind": name.split()[0]} | keys
    settings = [f"data.epochs = {STEPS}"] + [f"optimizer.{key} = {json.dumps(value)}" for key, value in keys.items()]
    losses, norms, output = run_headroom(program, folder, name.replace(" ", "-"), *settings)
    model = load(folder / "model")
    expected, expected_norms = train(model, samples, STEPS, make=lambda weights: kind(weights, **words))
    return {"losses": farthest(losses, expected), "norms": farthest(norms, expected_norms),
            "logits after": difference(logits_of(load(output), samples), logits_of(model, samples))}


def load(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")


def compare_lora(program, folder, samples):
    lora = ["method.kind = \"lora\"", "method.rank = 4", "method.alpha = 8"]
    # A rate of 0 shows the adapter that the run begins with.
    _, _, start = run_headroom(program, folder, "lora-start", "data.epochs = 1", "optimizer.learning_rate = 0", *lora)
    # At 1e-2 AdamW makes steps of that size from gradients that are all rounding: after 40 of them transformers in fp32
    # and in fp64 are 3e-5 apart as well.
    losses, norms, output = run_headroom(program, folder, "lora", f"data.epochs = {STEPS}",
                                         "optimizer.learning_rate = 1e-3", *lora)
    model = PeftModel.from_pretrained(load(folder / "model"), start, is_trainable=True)
    expected, expected_norms = train(model, samples, STEPS, learning_rate=1e-3)
    written = PeftModel.from_pretrained(load(folder / "model"), output)
    ours, theirs = logits_of(written, samples), logits_of(model, samples)
    merged = logits_of(written.merge_and_unload(), samples)
    return {"losses": farthest(losses, expected), "norms": farthest(norms, expected_norms),
            "logits after": difference(ours, theirs), "merged": difference(merged, ours)}


def compare_untrained(program, folder, samples):
    """The loss of a run that changes nothing."""
    losses, _, output = run_headroom(program, folder, "same", "data.epochs = 1", "optimizer.learning_rate = 0")
    with torch.no_grad():
        expected = load(folder / "model")(**make_batch(samples)).loss.item()
    return {"loss before training": abs(losses[0] - expected)}


def compare(program, families):
    bad = 0
    for family in families:
        with tempfile.TemporaryDirectory(prefix="headroom-parity-") as scratch:
            folder = pathlib.Path(scratch)
            make_model(family).save_pretrained(folder / "model")
            samples = make_samples([32, 21, 9, 30, 2, 17])
            (folder / "ids.txt").write_text("\n".join(" ".join(map(str, sample)) for sample in samples) + "\n")
            found = {"untrained": compare_untrained(program, folder, samples),
                     "full": compare_full(program, folder, samples, False),
                     "full, cosine, clipped": compare_full(program, folder, samples, True),
                     "lora": compare_lora(program, folder, samples)}
            for name in OPTIMIZERS:
                # Phi-3's fused matrices are several parameters here. Of GPT-2's c_attn.bias a third, that of k, has a
                # gradient of rounding alone, which Adafactor makes steps of: after 50 of them transformers in fp32 and
                # in fp64 are 0.1 apart.
                # Of Gemma's tiny models noise of 1e-7 in the first weights grows to 1e-4 and more within 50 steps of most of
                # these, transformers beside itself; of two it does not.
                # The same is so of the models with stretched positions, with and without the stretch.
                calm = name in ("sgd momentum", "adafactor warmup") or not (family.startswith("gemma") or family in STRETCHED)
                if calm and (family.split("-")[0] not in ("phi3", "gpt2") or name.startswith("sgd")):
                    found[name] = compare_optimizer(program, folder, samples, name)
        for run, differences in found.items():
            good = differences.get("losses", 0) <= LOSS_TOLERANCE and max(
                differences.get("loss before training", 0), differences.get("merged", 0)) <= LOADED_TOLERANCE
            bad += not good
            print(f"{'ok ' if good else 'BAD'} {family:16} {run:24} "
                  + ", ".join(f"{what} {value:.1e}" for what, value in differences.items()), flush=True)
    return bad


def main(words):
    if len(words) < 2 or words[0] not in ("goldens", "optimizers", "compare"):
        sys.exit(__doc__)
    if words[0] == "optimizers":
        return write_optimizers(words[1])
    families = words[2:] or list(FAMILIES)
    unknown = [family for family in families if family not in FAMILIES]
    if unknown:
        sys.exit(f"parity.py: expected families of {', '.join(FAMILIES)}; found {', '.join(unknown)}")
    torch.set_num_threads(1)
    if words[0] == "compare":
        sys.exit(1 if compare(pathlib.Path(words[1]).resolve(), families) else 0)
    write_goldens(words[1], families)


if __name__ == "__main__":
    main(sys.argv[1:])
