#include "options.h"

#include <CLI/CLI.hpp>
#include <limits>

#include "command.h"
#include "flags.h"

namespace regard::cli {
namespace {

constexpr char kMeaning[] = "What attention means";
constexpr char kUnserved[] = "Not served by this version";
constexpr char kEngine[] = "How it is computed";

/// Stands for an option that the library refuses by name before it reads any of its memory.
ConstTensor unread(const std::string& text) {
  static constexpr float kNothing = 0;
  return text.empty() ? ConstTensor{} : view(&kNothing, {1, 1, 1, 1});
}

void add_unserved_flags(CLI::App& app, AttentionFlags& flags) {
  app.option_defaults()->group(kUnserved);
  add_number(app, {"--softcap", "NUMBER", "scores become c tanh(s / c); 0 is off"}, flags.softcap);
  add_text(app, {"--bias", "FILE", "numbers added to the scores"}, flags.bias);
  add_text(app, {"--alibi-slopes", "FILE", "score loses slope x distance"}, flags.alibi_slopes);
  add_text(app, {"--sinks", "FILE", "one logit a head in the denominator"}, flags.sinks);
  add_text(app, {"--mask", "FILE", "true where a row reads a key"}, flags.mask);
  add_value(app, {"--window", "L,R", "keys read left and right of a row's position"},
            [&flags](const std::string& text) {
              flags.window = parse_integers("--window", text, ',');
              if (flags.window.size() == 2) return;
              throw Error("--window: '" + text + "' is not two numbers LEFT,RIGHT");
            });
  add_integers(app, {"--q-len", "N,...", "query rows of each batch entry"}, flags.q_len);
  add_integers(app, {"--kv-len", "N,...", "keys of each batch entry"}, flags.kv_len);
}

}  // namespace

Options AttentionFlags::options() const {
  Options options;
  options.scale = scale;
  options.softcap = softcap.value_or(0);
  options.causal = causal;
  options.q_offset = q_offset;
  if (window.size() == 2) options.window = {window[0], window[1]};
  options.q_len = q_len;
  options.kv_len = kv_len;
  options.rows = rows;
  options.mask = unread(mask);
  options.bias = unread(bias);
  options.alibi_slopes = unread(alibi_slopes);
  options.sinks = unread(sinks);
  options.precision = precision;
  options.path = path;
  const std::int64_t wanted = threads.value_or(0);
  if (wanted > std::numeric_limits<int>::max() || wanted < std::numeric_limits<int>::min()) {
    throw Error("--threads: " + std::to_string(wanted) + " is beyond any machine");
  }
  options.threads = int(wanted);
  return options;
}

const Choices<Path>& path_names() {
  static const Choices<Path> names = {{"auto", Path::automatic},
                                      {"direct", Path::direct},
                                      {"tiles", Path::tiles},
                                      {"decode", Path::decode}};
  return names;
}

void add_meaning_flags(CLI::App& app, AttentionFlags& flags) {
  app.option_defaults()->group(kMeaning);
  add_number(app, {"--scale", "NUMBER", "factor on q.k, used as it is; default 1/sqrt(D)"},
             flags.scale);
  add_choice<Causal>(app, "--causal",
                     "none (default): every row reads every key; top_left: row 0 reads key 0 "
                     "alone; bottom_right: the last row reads every key",
                     {{"none", Causal::none},
                      {"top_left", Causal::top_left},
                      {"bottom_right", Causal::bottom_right}},
                     flags.causal);
  add_integers(app,
               {"--q-offset", "N,...",
                "with --causal, row i reads keys 0 to i + N; one number, or one for each batch "
                "entry"},
               flags.q_offset);
  add_unserved_flags(app, flags);
  app.option_defaults()->group("Flags");
}

void add_engine_flags(CLI::App& app, AttentionFlags& flags) {
  app.option_defaults()->group(kEngine);
  add_integer(app, {"--threads", "N", "default 0: as many as OMP_NUM_THREADS or the CPUs allow"},
              flags.threads);
  add_choice<Path>(app, "--path", "pins a loop; default auto (this version has direct)",
                   path_names(), flags.path);
  add_choice<Precision>(
      app, "--precision", "high keeps weights in f32 for half types; f32 and f64 do not differ",
      {{"default", Precision::default_}, {"high", Precision::high}}, flags.precision);
  app.option_defaults()->group("Flags");
}

}  // namespace regard::cli
