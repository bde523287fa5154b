#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom-train's tokenizers against Hugging Face's: small ones of every kind, trained on the texts of this repository.

    tokens.py compare PROGRAM [KIND ...]   2,000 texts through PROGRAM (encode_tokens) and through tokenizers: the ids, and
                                           the text that they stand for, are equal, or the difference is printed
    tokens.py characters PROGRAM [KIND ...] the same for every character of Unicode, beside letters, digits and marks
    tokens.py goldens FOLDER [KIND ...]    writes FOLDER/KIND.json and FOLDER/KIND.golden.jsonl, which
                                           src/tokens/golden_test.cpp reads
    tokens.py tokenizer KIND FILE          writes that tokenizer, to measure with: encode_tokens FILE TEXT

Run it in the environment that tools/venv makes (./dev venv), or where the package tokenizers is installed.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXTS = 2000
GOLDEN_TEXTS = 80
# The regular expressions of the families, as their tokenizer.json has them.
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|"
         r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def special(content, **flags):
    return AddedToken(content, special=True, normalized=flags.pop("normalized", False), **flags)


def byte_level(split, normalizer=None, **flags):
    tokenizer = Tokenizer(models.BPE(**flags))
    if normalizer:
        tokenizer.normalizer = normalizer
    words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=split is None)
    tokenizer.pre_tokenizer = words if split is None else pre_tokenizers.Sequence(split + [words])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer, pre_tokenizers.ByteLevel.alphabet()


def isolated(pattern):
    return pre_tokenizers.Split(Regex(pattern), "isolated")


def gpt2():
    return *byte_level(None), [special("<|endoftext|>", normalized=True)]


def llama3():
    tokenizer, alphabet = byte_level([isolated(LLAMA3)], ignore_merges=True)
    return tokenizer, alphabet, [special(f"<|{name}|>") for name in
                                 ("begin_of_text", "end_of_text", "start_header_id", "end_header_id", "eot_id")]


def qwen2():
    tokenizer, alphabet = byte_level([isolated(QWEN2)], normalizers.NFC())
    return tokenizer, alphabet, [special(f"<|{name}|>") for name in ("endoftext", "im_start", "im_end")] + [
        AddedToken("<tool_call>", normalized=False), AddedToken("</think>", normalized=False)]


def o200k():
    return *byte_level([isolated(O200K)]), [special("<|endoftext|>"), special("<|return|>", rstrip=True)]


def falcon():
    split = [pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False),
             pre_tokenizers.Digits(individual_digits=False), isolated("[0-9][0-9][0-9]")]
    tokenizer, alphabet = byte_level(None)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(split)
    return tokenizer, alphabet, [special(">>TITLE<<", lstrip=True)]


def deepseek():
    split = [isolated("[\r\n]"), isolated(r"\s?\p{L}+"), isolated(r"\s?\p{P}+"), isolated("[一-龥ࠀ-一가-퟿]+"),
             pre_tokenizers.Digits(individual_digits=True)]
    return *byte_level(split), [special("<｜end▁of▁sentence｜>", normalized=True)]


BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def sentence_piece(normalizer, pre_tokenizer, decoder):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre_tokenizer:
        tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoder
    return tokenizer


def spaces_back(strip):
    parts = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    return decoders.Sequence(parts + ([decoders.Strip(" ", 1, 0)] if strip else []))


def llama2():
    tokenizer = sentence_piece(normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), None,
                               spaces_back(True))
    return tokenizer, [], [special("<unk>", normalized=True), special("<s>"), special("</s>")]


def mistral():
    scheme = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="first", split=False)
    return sentence_piece(None, scheme, spaces_back(True)), [], [
        special(content) for content in ("<unk>", "<s>", "</s>", "[INST]", "[/INST]")]


def gemma():
    tokenizer = sentence_piece(normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"),
                               spaces_back(False))
    return tokenizer, [], [special(content) for content in ("<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>",
                                                            "<end_of_turn>")] + [
        AddedToken("\n\n", normalized=False), AddedToken("▁▁", normalized=False), AddedToken("<b>", normalized=False)]


def metaspace():
    tokenizer = sentence_piece(normalizers.NFKC(), pre_tokenizers.Metaspace(prepend_scheme="always"),
                               decoders.Metaspace())
    return tokenizer, [], [special("<unk>"), special("<s>"), AddedToken("day", single_word=True),
                           AddedToken("Loud", lstrip=True, rstrip=True), AddedToken("ﬁx")]


def unknown():
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=False))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Strip(), normalizers.NFD()])
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer, [], [special("<unk>"), AddedToken("Straße", normalized=True)]


KINDS = {kind.__name__: kind for kind in (gpt2, llama3, qwen2, o200k, falcon, deepseek, llama2, mistral, gemma, metaspace,
                                          unknown)}
AROUND = {"llama3": ("<|begin_of_text|>", None), "llama2": ("<s>", None), "mistral": ("<s>", "</s>"),
          "gemma": ("<bos>", None)}


def corpus():
    paths = sorted((ROOT / "examples/first-job/text").glob("*.md")) + sorted((ROOT / "docs").glob("*.md"))
    return [path.read_text() for path in paths] + ["na\u00efve caf\u00e9 \u65e5\u672c\u8a9e \u0440\u0443\u0441 " * 50]


def make(kind, size=3000):
    tokenizer, alphabet, added = KINDS[kind]()
    tokens = list(added)
    if getattr(tokenizer.model, "byte_fallback", False):
        tokens += [AddedToken(byte, special=True) for byte in BYTES]
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False,
                                  special_tokens=[token.content for token in tokens])
    texts = corpus()
    if not alphabet:  # Without words the trainer would merge whole texts.
        tokenizer.pre_tokenizer, real = pre_tokenizers.Metaspace(), tokenizer.pre_tokenizer
        tokenizer.train_from_iterator(texts, trainer)
        tokenizer.pre_tokenizer = real
    else:
        tokenizer.train_from_iterator(texts, trainer)
    # The trainer makes every one of them special and found in the text; bytes are neither.
    value = json.loads(tokenizer.to_str())
    value["added_tokens"] = []
    tokenizer = Tokenizer.from_str(json.dumps(value))
    for token in added:
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    if kind in AROUND:
        before, behind = AROUND[kind]
        names = [name for name in (before, behind) if name]
        template = " ".join(filter(None, (before, "$A", behind)))
        tokenizer.post_processor = processors.TemplateProcessing(
            single=template, special_tokens=[(name, tokenizer.token_to_id(name)) for name in names])
    return tokenizer


def characters(rng):
    """A function that draws characters of every kind that tokenizers treat differently."""
    classes = ["abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789", " ", "  \t\n\r\x0b\x0c\x85\u00a0",
               "\u2028\u2029\u3000\u180e\u200b\u200c\u200d\u2060\ufeff\u00ad", ".,;:!?'\"()[]{}<>|/\\#$%&*+-=@^_`~",
               "\u0301\u0308\u0327\u0338\u0345\u05b0\u064b\u093f\u0b57\u1161\u11a8\u20dd", "éüßñçøåİıſǅK\u212bΩ", "日本語漢字かなカナ한글",
               "ابجد١٢٣אבגहिन्दी१२३ไทย", "😀👍🏽👨\u200d👩\u200d👧🇩🇪❤\ufe0f", "Ⅳⅷ²½①Ⓐ🅰٠৪", "▁Ġ｜", "\x00\x01\x1b\x7f\x9f\ufffd\ufffe\U0010ffff"]
    def draw():
        if rng.random() < 0.03:
            while True:
                code = rng.randrange(0x110000)
                if 0xd800 <= code < 0xe000 or unicodedata.category(chr(code)) == "Cn" or too_new(chr(code)):
                    continue
                return chr(code)
        return rng.choice(rng.choice(classes))
    return draw


def too_new(character):
    """Of a version of Unicode that one of the libraries does not have."""
    return unicodedata.ucd_3_2_0.category(character) == "Cn"


def make_texts(tokenizer, kind, count):
    rng = random.Random(f"texts of {kind}")
    draw = characters(rng)
    added = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
    words = " ".join(corpus()).split(" ")
    texts = ["", " ", "  ", "\n", "\n\n", "a", " a", "a ", "\t\ta", "Hello, world!", "don't DON'T we'll 'S 'ſ", "1234567 12 3",
             "a" * 3000, " " * 2000, "\n" * 500, "1" * 700, "é" * 600, "e\u0301" * 300, "▁▁ ▁", "x" + "\u0301" * 200, "ab " * 400,
             "İ I ı ß ẞ ﬁ ﬃ Å", "".join(map(chr, range(0x300))), "日" * 400, "👨\u200d👩\u200d👧\u200d👦" * 30]
    texts += added + [f"a{token}b" for token in added] + [f"  {token}  {token}{token} " for token in added]
    while len(texts) < count:
        length = rng.choice((1, 2, 3, 5, 8, 13, 40, 200))
        parts = []
        for _ in range(length):
            roll = rng.random()
            if roll < 0.45:
                parts.append(draw())
            elif roll < 0.65:
                parts.append(rng.choice(words) + rng.choice(("", " ", "\n")))
            elif roll < 0.72 and added:
                parts.append(rng.choice(added))
            elif roll < 0.75 and added:
                token = rng.choice(added)
                parts.append(token[:rng.randrange(len(token) + 1)])
            elif roll < 0.8:
                parts.append(draw() * rng.randrange(1, 30))
            else:
                parts.append(" " * rng.randrange(1, 4) + draw())
        texts.append("".join(parts))
    return texts[:max(count, 0)]


def truth(tokenizer, text):
    ids = tokenizer.encode(text).ids
    return {"ids": ids, "plain": tokenizer.encode(text, add_special_tokens=False).ids, "text": tokenizer.decode(ids)}


def ask(program, tokenizer, texts):
    """What PROGRAM says of each text, as lines of JSON."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "tokenizer.json"
        tokenizer.save(str(path))
        answer = subprocess.run([program, path], input="".join(json.dumps(text) + "\n" for text in texts), text=True,
                                stdout=subprocess.PIPE, check=True)
    lines = answer.stdout.split("\n")[:-1]
    assert len(lines) == len(texts), (len(lines), len(texts))
    return lines


def characters_differ(program, kind):
    """Whether a character is cut off, or changed, otherwise than tokenizers does it; which, by the age of Unicode."""
    tokenizer = make(kind)
    every = [chr(code) for code in range(0x110000) if not 0xd800 <= code < 0xe000 and
             unicodedata.category(chr(code)) not in ("Cn", "Co")]
    texts = [f"a{one}b 1{one}2 {one}{one}\u0301\n{one} ,{one}." for one in every]
    expected = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    wrong = [one for one, ids, line in zip(every, expected, ask(program, tokenizer, texts)) if json.loads(line)["ids"] != ids]
    codes = [f"{ord(one):04X}" for one in wrong]
    print(f"{kind}: {len(every)} characters of Unicode {unicodedata.unidata_version}, {len(wrong)} differ: {' '.join(codes[:400])}")
    return not wrong


def compare(program, kind):
    tokenizer = make(kind)
    texts = make_texts(tokenizer, kind, TEXTS)
    lines = ask(program, tokenizer, texts)
    wrong = 0
    tokens = 0
    for text, line in zip(texts, lines):
        expected, found = truth(tokenizer, text), json.loads(line)
        tokens += len(expected["ids"])
        for key, value in expected.items():
            same = found.get(key) == value
            # What was cut within a character: one U+FFFD for each byte, or one for several.
            if key == "text" and not same and "\ufffd" in value:
                same = value.replace("\ufffd", "") == found.get(key, "").replace("\ufffd", "")
            if not same:
                wrong += 1
                if wrong <= 5:
                    print(f"{kind}: {key} of {text!a:.300}\n  expected {value!a:.600}\n  found    {found.get(key, found)!a:.600}")
                break
    print(f"{kind}: {len(texts)} texts, {tokens} tokens, {wrong} differ")
    return wrong == 0


def write_goldens(folder, kind):
    tokenizer = make(kind, 700)
    folder.mkdir(parents=True, exist_ok=True)
    value = json.loads(tokenizer.to_str())
    (folder / f"{kind}.json").write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n")
    texts = [text for text in make_texts(tokenizer, kind, TEXTS) if len(text) < 120]
    texts = texts[:40] + texts[-(GOLDEN_TEXTS - 40):]
    with open(folder / f"{kind}.golden.jsonl", "w") as out:
        for text in texts:
            line = truth(tokenizer, text)
            if "\ufffd" in line["text"]:
                line["text"] = None
            out.write(json.dumps({"input": text} | line, separators=(",", ":")) + "\n")


def main(command, place, *kinds):
    kinds = kinds or list(KINDS)
    if command == "compare":
        sys.exit(0 if all([compare(place, kind) for kind in kinds]) else 1)
    if command == "characters":
        sys.exit(0 if all([characters_differ(place, kind) for kind in kinds]) else 1)
    if command == "goldens":
        for kind in kinds:
            write_goldens(pathlib.Path(place), kind)
    if command == "tokenizer":
        make(place, 32000).save(kinds[0])


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
