// SPDX-License-Identifier: Apache-2.0
#include "tokens/chat.h"

#include <array>
#include <utility>

#include "tokens/characters.h"

namespace headroom::tokens {
namespace {

constexpr std::array<std::string_view, 5> names = {"chatml", "llama3", "gemma", "mistral", "plain"};

std::string trimmed(std::string_view text) {
  return std::string(without_white_space_behind(without_white_space_before(text)));
}

// Puts exchanges together. An answer that is not learned is a part of what is read.
class Renderer {
 public:
  void read(std::string_view text) { current_.prompt += text; }
  void answer(const Message& message, std::string_view text, bool ends = false) {
    if (!message.learned || text.empty()) return read(text);
    current_.answer = text;
    current_.ends = ends;
    exchanges_.push_back(std::exchange(current_, {}));
  }
  std::vector<Exchange> finish() {
    if (!current_.prompt.empty()) exchanges_.push_back(std::exchange(current_, {}));
    return std::move(exchanges_);
  }

 private:
  std::vector<Exchange> exchanges_;
  Exchange current_;
};

// Qwen2.5 and others; without the system prompt that some of their templates add.
void render_chatml(const std::vector<Message>& messages, Renderer& out) {
  for (const Message& message : messages) {
    const bool answers = message.role == Role::assistant;
    out.read("<|im_start|>");
    out.read(answers ? "assistant" : message.role == Role::system ? "system" : "user");
    out.read("\n");
    if (answers) {
      out.answer(message, message.content + "<|im_end|>");
    } else {
      out.read(message.content + "<|im_end|>");
    }
    out.read("\n");
  }
}

void render_llama3(const std::vector<Message>& messages, Renderer& out) {
  for (const Message& message : messages) {
    const bool answers = message.role == Role::assistant;
    out.read("<|start_header_id|>");
    out.read(answers ? "assistant" : message.role == Role::system ? "system" : "user");
    out.read("<|end_header_id|>\n\n");
    const std::string content = trimmed(message.content) + "<|eot_id|>";
    if (answers) {
      out.answer(message, content);
    } else {
      out.read(content);
    }
  }
}

// Of families without a role for it, the system's message begins that of the user.
std::vector<Message> without_system(const std::vector<Message>& messages) {
  std::vector<Message> rest;
  std::string system;
  for (const Message& message : messages) {
    if (message.role == Role::system) {
      system += trimmed(message.content) + "\n\n";
      continue;
    }
    rest.push_back(message);
    if (message.role == Role::user)
      rest.back().content = std::exchange(system, {}) + message.content;
  }
  return rest;
}

void render_gemma(const std::vector<Message>& messages, Renderer& out) {
  for (const Message& message : without_system(messages)) {
    const std::string content = trimmed(message.content) + "<end_of_turn>";
    if (message.role == Role::assistant) {
      out.read("<start_of_turn>model\n");
      out.answer(message, content);
    } else {
      out.read("<start_of_turn>user\n" + content);
    }
    out.read("\n");
  }
}

// Mistral 7B Instruct v0.3, whose [INST] is a token; before it, it was text with blanks around.
void render_mistral(const std::vector<Message>& messages, bool has_token, Renderer& out) {
  for (const Message& message : without_system(messages)) {
    if (message.role == Role::assistant) {
      out.answer(message, " " + trimmed(message.content) + "</s>");
    } else {
      out.read("[INST] " + message.content + (has_token ? "[/INST]" : " [/INST]"));
    }
  }
}

void render_plain(const std::vector<Message>& messages, Renderer& out) {
  for (const Message& message : messages) {
    if (message.role == Role::system) {
      out.read(message.content + "\n\n");
    } else if (message.role == Role::user) {
      out.read("User: " + message.content + "\n");
    } else {
      out.read("Assistant:");
      out.answer(message, " " + message.content, true);
      out.read("\n");
    }
  }
}

}  // namespace

std::string_view to_string(ChatTemplate chat_template) {
  return names.at(static_cast<std::size_t>(chat_template));
}

std::optional<ChatTemplate> find_template(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<ChatTemplate>(i);
  return std::nullopt;
}

ChatTemplate recognise_template(const TextEncoder& encoder) {
  constexpr std::array<std::pair<std::string_view, ChatTemplate>, 4> signs = {
      {{"<|im_start|>", ChatTemplate::chatml},
       {"<|start_header_id|>", ChatTemplate::llama3},
       {"<start_of_turn>", ChatTemplate::gemma},
       {"[INST]", ChatTemplate::mistral}}};
  for (const auto& [token, chat_template] : signs)
    if (encoder.has_added(token)) return chat_template;
  return ChatTemplate::plain;
}

std::vector<Exchange> render(const std::vector<Message>& messages, ChatTemplate chat_template,
                             const TextEncoder& encoder) {
  Renderer out;
  const auto begin_with = [&](std::string_view token) {
    if (encoder.has_added(token)) out.read(token);
  };
  switch (chat_template) {
    case ChatTemplate::chatml:
      render_chatml(messages, out);
      break;
    case ChatTemplate::llama3:
      begin_with("<|begin_of_text|>");
      render_llama3(messages, out);
      break;
    case ChatTemplate::gemma:
      begin_with("<bos>");
      render_gemma(messages, out);
      break;
    case ChatTemplate::mistral:
      begin_with("<s>");
      render_mistral(messages, encoder.has_added("[INST]"), out);
      break;
    case ChatTemplate::plain:
      render_plain(messages, out);
      break;
  }
  return out.finish();
}

}  // namespace headroom::tokens
