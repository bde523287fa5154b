#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom-train's reading of SentencePiece models against the library's and transformers': small models of every kind, trained
on the texts of this repository by the library itself.

    pieces.py compare PROGRAM [KIND ...]   2,000 texts through PROGRAM (encode_tokens) and through sentencepiece, then with
                                           added tokens through transformers' slow tokenizers (legacy off)
    pieces.py goldens FOLDER [KIND ...]    writes FOLDER/KIND.model, the files beside it as KIND.files.json and
                                           FOLDER/KIND.golden.jsonl, which golden_test.cpp reads

Needs the packages sentencepiece and tokenizers; for the second comparison also protobuf and transformers 4, the last that
has the slow tokenizers.
"""
import io
import json
import pathlib
import subprocess
import sys
import tempfile

import sentencepiece

import tokens

IDENTITY = dict(normalization_rule_name="identity", remove_extra_whitespaces=False)
ROLES = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}


def llama(**more):
    return dict(model_type="bpe", byte_fallback=True, split_digits=True, allow_whitespace_only_pieces=True, **IDENTITY) | more


# What the trainer is told, the class of transformers, and its tokenizer_config.json, special_tokens_map.json and
# added_tokens.json.
KINDS = {
    "llama": (llama(), "LlamaTokenizer", [ROLES | {"add_bos_token": True, "legacy": False}, {}, {}]),
    "mistral": (llama(control_symbols=["[INST]", "[/INST]"]), "LlamaTokenizer",
                [{"legacy": False, "add_eos_token": True, "pad_token": "[PAD]", "added_tokens_decoder": {
                    "3": {"content": "[INST]", "special": True}, "4": {"content": "[/INST]", "special": True, "rstrip": True},
                    "3005": {"content": "[PAD]", "special": True, "lstrip": True}}}, {}, {"<tool>": 3001}]),
    "old": (llama(control_symbols=["[INST]"]), "LlamaTokenizer",
            [{"legacy": True, "add_bos_token": False}, ROLES | {"pad_token": {"content": "[PAD]", "lstrip": True}},
             {"<tool>": 3001, "[PAD]": 3000}]),
    "gemma": (llama(add_dummy_prefix=False, bos_id=2, eos_id=1, pad_id=0, unk_id=3, bos_piece="<bos>", eos_piece="<eos>",
                    user_defined_symbols=["<b>", "\n\n", "\n\n\n", "▁▁", "▁▁▁", "day", "\t\t"],
                    control_symbols=["<start_of_turn>", "<end_of_turn>"]), "GemmaTokenizer",
              [{"bos_token": "<bos>", "eos_token": {"content": "<eos>", "__type": "AddedToken"}, "pad_token": "<pad>", "unk_token": "<unk>",
                "additional_special_tokens": ["<start_of_turn>", "<end_of_turn>"]}, {}, {}]),
    "t5": (dict(model_type="unigram", normalization_rule_name="nmt_nfkc", bos_id=-1, eos_id=1, pad_id=0, unk_id=2), "T5Tokenizer",
           [{"tokenizer_class": "T5Tokenizer", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>", "extra_ids": 0,
             "legacy": False}, {}, {"<extra_id_0>": 3000}]),
    "unigram": (dict(model_type="unigram", byte_fallback=True, normalization_rule_name="nmt_nfkc_cf",
                     user_defined_symbols=["<sep>", "ﬁx", "Day  x"]), None, [{}, {}, {}]),
    "nfkc": (dict(model_type="bpe", normalization_rule_name="nfkc", user_defined_symbols=["ab"]), None, [{}, {}, {}]),
}
FILES = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")


# In place of the library's own maps of characters, which have a quarter of a megabyte.
RULES = {"▁": " ", "ﬁ": "fi", "Ⅳ": "IV", "²": "2", "①": "1", "½": "1/2", "\t": " ", "\n": " ", "\u00a0": " ", "\u3000": " ", "e\u0301": "é",
         "A": "a", "K": "k", "İ": "i\u0307", "\ufeff": "", "\u200b": ""}


def train(kind, size=3000, rules=None):
    settings, _, _ = KINDS[kind]
    if rules and settings["normalization_rule_name"] != "identity":
        settings = settings | {"normalization_rule_tsv": rules}
    model = io.BytesIO()
    lines = [line for text in tokens.corpus() for line in text.split("\n") if line.strip()]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, vocab_size=size,
                                             minloglevel=2, num_threads=2, max_sentence_length=100000, **settings)
    return model.getvalue()


def special(kind):
    """What is found in a text by us and by transformers, and not by the library."""
    _, _, (config, roles, added) = KINDS[kind]
    names = ["<s>", "</s>", "<unk>", "<pad>", "<bos>", "<eos>", *KINDS[kind][0].get("control_symbols", []), *added]
    values = [*config.values(), *roles.values()]
    names += [value.get("content") if isinstance(value, dict) else value for value in values
              if isinstance(value, str) or isinstance(value, dict) and "content" in value]
    return sorted(set(names))


class Added:
    """What tokens.make_texts asks of a tokenizer."""

    def __init__(self, names):
        self.names = names

    def get_added_tokens_decoder(self):
        return {number: Added.Token(name) for number, name in enumerate(self.names)}

    class Token:
        def __init__(self, content):
            self.content = content


def ask(program, kind, model, texts):
    with tempfile.TemporaryDirectory() as folder:
        write(pathlib.Path(folder), kind, model)
        answer = subprocess.run([program, f"{folder}/tokenizer.model"], input="".join(json.dumps(text) + "\n" for text in texts),
                                text=True, stdout=subprocess.PIPE, check=True)
    lines = answer.stdout.split("\n")[:-1]
    assert len(lines) == len(texts), (len(lines), len(texts))
    return [json.loads(line) for line in lines]


def write(folder, kind, model):
    (folder / "tokenizer.model").write_bytes(model)
    for name, value in zip(FILES, KINDS[kind][2]):
        if value:
            (folder / name).write_text(json.dumps(value))


def report(kind, what, texts, expected, found):
    wrong = [number for number, ids in enumerate(expected) if ids != found[number]]
    for number in wrong[:5]:
        print(f"{kind}: {texts[number]!a:.300}\n  expected {expected[number]!a:.600}\n  found    {found[number]!a:.600}")
    print(f"{kind}, {what}: {len(texts)} texts, {sum(map(len, expected))} tokens, {len(wrong)} differ")
    return not wrong


def library_texts(kind, count=tokens.TEXTS):
    symbols = KINDS[kind][0].get("user_defined_symbols", [])
    texts = tokens.make_texts(Added(symbols), kind, 2 * count)
    return [text for text in texts if not any(name in text for name in special(kind))][:count]


def transformers_texts(kind, count=tokens.TEXTS):
    """Without control pieces that no file beside the model names, which transformers 4 does not find in a text, and without
    the sign for a blank, which it makes one."""
    names = special(kind)
    unnamed = [name for name in KINDS[kind][0].get("control_symbols", []) if name not in json.dumps(KINDS[kind][2])]
    texts = tokens.make_texts(Added([name for name in names if name not in unnamed]), kind + " with special tokens", 2 * count)
    return [text for text in texts if "▁" not in text and not any(name in text for name in unnamed)][:count]


def slow(kind, model):
    import transformers
    with tempfile.TemporaryDirectory() as folder:
        write(pathlib.Path(folder), kind, model)
        (pathlib.Path(folder) / "spiece.model").write_bytes(model)  # What T5Tokenizer calls it.
        return getattr(transformers, KINDS[kind][1]).from_pretrained(folder)


def truth(tokenizer, text):
    """The ids of a slow tokenizer. It puts a blank before an added token that begins a text, unless the token has a role; the
    fast ones do not, and neither does headroom-train."""
    ids = tokenizer(text).input_ids
    added = [token.content for token in tokenizer.added_tokens_decoder.values() if text.startswith(token.content)]
    place = 1 if ids and ids[0] == tokenizer.bos_token_id and getattr(tokenizer, "add_bos_token", False) else 0
    if added and ids[place:place + 1] == [tokenizer.sp_model.piece_to_id("▁")]:
        del ids[place]
    return ids


def compare(program, kind):
    model = train(kind)
    library = sentencepiece.SentencePieceProcessor(model_proto=model)
    texts = library_texts(kind)
    same = report(kind, "sentencepiece", texts, library.encode(texts), [line["plain"] for line in ask(program, kind, model, texts)])
    if KINDS[kind][1] is None:
        return same
    try:
        tokenizer = slow(kind, model)
    except ImportError as missing:
        print(f"{kind}: not compared with transformers: {missing}")
        return same
    if tokenizer.is_fast:
        print(f"{kind}: not compared with transformers: it has no slow tokenizer of this kind")
        return same
    texts = transformers_texts(kind)
    return report(kind, "transformers", texts, [truth(tokenizer, text) for text in texts],
                  [line["ids"] for line in ask(program, kind, model, texts)]) and same


def write_goldens(folder, kind):
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as rules:
        for text, becomes in RULES.items():
            rules.write(" ".join(f"{ord(one):X}" for one in text) + "\t" + " ".join(f"{ord(one):X}" for one in becomes) + "\n")
        rules.flush()
        model = train(kind, 700, rules.name)
    library = sentencepiece.SentencePieceProcessor(model_proto=model)
    (folder / f"{kind}.model").write_bytes(model)
    (folder / f"{kind}.files.json").write_text(json.dumps(KINDS[kind][2]) + "\n")
    short = lambda texts: [text for text in texts if len(text) < 120][-40:]
    with open(folder / f"{kind}.golden.jsonl", "w") as out:
        for text in short(library_texts(kind)):
            out.write(json.dumps({"input": text, "plain": library.encode(text)}, separators=(",", ":")) + "\n")
        if KINDS[kind][1] is None:
            return
        tokenizer = slow(kind, model)
        assert not tokenizer.is_fast
        for text in short(transformers_texts(kind)):
            out.write(json.dumps({"input": text, "ids": truth(tokenizer, text)}, separators=(",", ":")) + "\n")


def main(command, place, *kinds):
    kinds = kinds or list(KINDS)
    if command == "compare":
        sys.exit(0 if all([compare(place, kind) for kind in kinds]) else 1)
    if command == "goldens":
        for kind in kinds:
            write_goldens(pathlib.Path(place), kind)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
