#include "modules/support/nats_store_setup.hpp"

#include <nlohmann/json.hpp>

#include "libclient/transports/nats_subjects.hpp"

namespace trama {
namespace {

using nlohmann::json;

constexpr size_t kMostAnswer = 64 << 10;
constexpr int kNameInUse = 10058, kNoStream = 10059;
constexpr int64_t kDuplicatesNs = 120'000'000'000;  // within it, a window that is sent twice isn't even written twice

std::string api_of(const std::string& domain) { return "$JS." + domain + ".API"; }

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
      config["mirror"] = {{"name", name}, {"external", {{"api", api_of(domain_)}, {"deliver", ""}}}};
      return Question{nats_api(config_.mirror, "STREAM.CREATE." + name), config.dump()};
    }
    case Step::look_at_mirror: return Question{nats_api(config_.mirror, "STREAM.INFO." + name), ""};
    case Step::change_mirror: return Question{nats_api(config_.mirror, "STREAM.UPDATE." + name), changed_};
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

// Somebody has removed what was there a question ago: the next one makes it.
void NatsStoreSetup::make_again() {
  if (step_ == Step::look || step_ == Step::change) step_ = Step::make;
  if (step_ == Step::look_at_mirror || step_ == Step::change_mirror) step_ = Step::make_mirror;
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
  if (step_ == Step::make_mirror && code == kNameInUse) return step_ = Step::look_at_mirror, true;
  if (code != 0) {
    const bool making = step_ == Step::make;
    if (code == kNoStream) make_again();
    return fail("JetStream says: " + what, making ? "lower store_bytes, or raise max_file_store of the server" : "");
  }
  switch (step_) {
    case Step::make:
    case Step::change: after_ready(); break;
    case Step::look:
    case Step::look_at_mirror:
      try {
        const std::string config = said.at("config").dump();
        return step_ == Step::look ? compare(config) : compare_mirror(config);
      } catch (const json::exception&) {
        return fail("JetStream's answer makes no sense", "");
      }
    case Step::find_domain:
      domain_ = text_of(said, "domain");
      if (domain_.empty())
        return fail("the JetStream of the NATS server has no domain, so that none can mirror it",
                    "give its `jetstream` a `domain`, as control/nats/leaf.conf does");
      step_ = Step::make_mirror;
      break;
    case Step::make_mirror:
    case Step::change_mirror: step_ = Step::done; break;
    case Step::done: break;
  }
  return true;
}

// A stream that somebody else has made may be on more machines; but windows have to be found in it.
bool NatsStoreSetup::compare(const std::string& text) {
  const json config = json::parse(text);
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
  return fit_limits(text);
}

// Whatever bears the name there: only what copies our stream is a copy of it.
bool NatsStoreSetup::compare_mirror(const std::string& text) {
  const json config = json::parse(text);
  const std::string name = nats_store(url_);
  const json::json_pointer of_name("/mirror/name"), of_api("/mirror/external/api");
  const auto is = [&](const json::json_pointer& place, const std::string& wanted) {
    return config.contains(place) && config[place] == wanted;
  };
  if (!is(of_name, name) || !is(of_api, api_of(domain_)))
    return fail("the JetStream domain " + config_.mirror + " has a stream " + name + " that is no copy of this one",
                "remove it there, or give another name with ?store=NAME in the URL");
  return fit_limits(text);
}

// Ours is for the publisher to limit. A copy may keep more, for longer: that is what some have one for.
bool NatsStoreSetup::fit_limits(const std::string& text) {
  json config = json::parse(text);
  const bool of_mirror = step_ == Step::look_at_mirror;
  const auto bytes = config.value("max_bytes", int64_t{-1}), age_ns = config.value("max_age", int64_t{0});
  auto wanted_bytes = static_cast<int64_t>(config_.bytes), wanted_age_ns = config_.age_ns;
  if (of_mirror && (bytes <= 0 || bytes > wanted_bytes)) wanted_bytes = bytes;  // 0 and less: without a limit
  if (of_mirror && (age_ns <= 0 || age_ns > wanted_age_ns)) wanted_age_ns = age_ns;
  if (config.value("allow_direct", false) && bytes == wanted_bytes && age_ns == wanted_age_ns) {
    if (of_mirror)
      step_ = Step::done;
    else
      after_ready();
    return true;
  }
  config["allow_direct"] = true;
  config["max_bytes"] = wanted_bytes;
  config["max_age"] = wanted_age_ns;
  if (const auto window = config.value("duplicate_window", int64_t{0}); wanted_age_ns > 0 && window > wanted_age_ns)
    config["duplicate_window"] = wanted_age_ns;
  changed_ = config.dump();
  step_ = of_mirror ? Step::change_mirror : Step::change;
  return true;
}

}  // namespace trama
