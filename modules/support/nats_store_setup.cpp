#include "modules/support/nats_store_setup.hpp"

#include <nlohmann/json.hpp>

#include "libclient/transports/nats_subjects.hpp"

namespace trama {
namespace {

using nlohmann::json;

constexpr size_t kMostAnswer = 64 << 10;
constexpr int kNameInUse = 10058;
constexpr int64_t kDuplicatesNs = 120'000'000'000;  // within it, a window that is sent twice isn't even written twice

// The limits of one message a subject make a window that is sent again replace itself, and a note the one before.
json stream_config(const std::string& name, const NatsStoreConfig& config) {
  return {{"name", name},
          {"retention", "limits"},
          {"discard", "old"},
          {"storage", "file"},
          {"num_replicas", 1},
          {"max_consumers", -1},
          {"max_msgs", -1},
          {"max_msg_size", -1},
          {"max_bytes", config.bytes},
          {"max_age", config.age_ns},
          {"max_msgs_per_subject", 1},
          {"allow_direct", true}};
}

std::string text_of(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

std::optional<NatsStoreSetup::Question> NatsStoreSetup::question() const {
  const std::string name = nats_store(url_);
  switch (step_) {
    case Step::make: {
      json config = stream_config(name, config_);
      config["subjects"] = {nats_everything(url_)};
      config["duplicate_window"] = std::min(kDuplicatesNs, config_.age_ns);
      return Question{nats_api(url_.domain, "STREAM.CREATE." + name), config.dump()};
    }
    case Step::look: return Question{nats_api(url_.domain, "STREAM.INFO." + name), ""};
    case Step::change: return Question{nats_api(url_.domain, "STREAM.UPDATE." + name), changed_};
    case Step::find_domain: return Question{nats_api(url_.domain, "INFO"), ""};
    case Step::make_mirror: {
      json config = stream_config(name, config_);
      config["mirror"] = {{"name", name}, {"external", {{"api", "$JS." + domain_ + ".API"}, {"deliver", ""}}}};
      return Question{nats_api(config_.mirror, "STREAM.CREATE." + name), config.dump()};
    }
    case Step::done: break;
  }
  return std::nullopt;
}

void NatsStoreSetup::after_ready() { step_ = config_.mirror.empty() ? Step::done : Step::find_domain; }

bool NatsStoreSetup::fail(std::string error, std::string hint) {
  error_ = std::move(error);
  hint_ = std::move(hint);
  return false;
}

std::string NatsStoreSetup::refusal_in(std::span<const uint8_t> answer) {
  constexpr const char* kNonsense = "nothing that makes sense";
  if (answer.size() > kMostAnswer) return kNonsense;
  const json said = json::parse(answer.begin(), answer.end(), nullptr, false);
  if (!said.is_object() || !said.contains("error") || !said["error"].is_object()) return kNonsense;
  const std::string what = text_of(said["error"], "description");
  return what.empty() ? kNonsense : what;
}

bool NatsStoreSetup::hear(std::span<const uint8_t> answer) {
  if (answer.size() > kMostAnswer) return fail("JetStream's answer is too long to make sense", "");
  const json said = json::parse(answer.begin(), answer.end(), nullptr, false);
  if (!said.is_object()) return fail("the NATS server has no JetStream", "say `jetstream {}` in its configuration");
  int code = 0;
  std::string what;
  if (const auto error = said.find("error"); error != said.end() && error->is_object()) {
    what = text_of(*error, "description");
    const auto number = error->find("err_code");
    code = number != error->end() && number->is_number_integer() ? number->get<int>() : -1;
  }
  if (step_ == Step::make && code == kNameInUse) return step_ = Step::look, true;
  if (step_ == Step::make_mirror && code == kNameInUse) return step_ = Step::done, true;
  if (code != 0)
    return fail("JetStream says: " + what,
                step_ == Step::make ? "lower store_bytes, or raise max_file_store of the server" : "");
  switch (step_) {
    case Step::make:
    case Step::change: after_ready(); break;
    case Step::look: {
      const auto config = said.find("config");
      if (config == said.end() || !config->is_object()) return fail("JetStream's answer makes no sense", "");
      return compare(config->dump());
    }
    case Step::find_domain:
      domain_ = text_of(said, "domain");
      if (domain_.empty())
        return fail("the JetStream of the NATS server has no domain, so that none can mirror it",
                    "give its `jetstream` a `domain`, as control/nats/leaf.conf does");
      step_ = Step::make_mirror;
      break;
    case Step::make_mirror: step_ = Step::done; break;
    case Step::done: break;
  }
  return true;
}

// A stream that somebody else has made may store more than this, and on more machines; but windows have to be found
// in it.
bool NatsStoreSetup::compare(const std::string& text) {
  json config = json::parse(text);
  const std::string name = nats_store(url_);
  const auto subjects = config.find("subjects");
  const bool ours = subjects != config.end() && subjects->is_array() &&
                    std::find(subjects->begin(), subjects->end(), nats_everything(url_)) != subjects->end();
  if (!ours)
    return fail("there is a JetStream stream " + name + " that doesn't store " + nats_everything(url_),
                "give another name with ?store=NAME in the URL");
  if (config.value("max_msgs_per_subject", -1) != 1)
    return fail("the JetStream stream " + name + " keeps more than one message of a subject",
                "set its max_msgs_per_subject to 1");
  if (config.value("allow_direct", false) &&
      config.value("max_bytes", int64_t{-1}) == static_cast<int64_t>(config_.bytes) &&
      config.value("max_age", int64_t{0}) == config_.age_ns)
    return after_ready(), true;
  config["allow_direct"] = true;
  config["max_bytes"] = config_.bytes;
  config["max_age"] = config_.age_ns;
  if (config.value("duplicate_window", int64_t{0}) > config_.age_ns) config["duplicate_window"] = config_.age_ns;
  changed_ = config.dump();
  step_ = Step::change;
  return true;
}

}  // namespace trama
