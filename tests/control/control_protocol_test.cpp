#include "control/control_protocol.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

namespace trama {
namespace {

using testing::HasSubstr;
using Json = nlohmann::ordered_json;

// From a heap block that ends where the line does.
DecodedRequest decode(std::string_view line) {
  const auto block = std::make_unique<char[]>(line.size());
  std::memcpy(block.get(), line.data(), line.size());
  return decode_request({block.get(), line.size()});
}

TEST(ControlProtocol, WhatIsWrittenIsRead) {
  ControlRequest add, remove, windows, rotate, ephemeral;
  add.verb = ControlVerb::exclude_add;
  add.range = "2001:db8::/32:both";
  remove.verb = ControlVerb::exclude_remove;
  remove.range = "192.0.2.0/24";
  windows.verb = ControlVerb::windows;
  windows.last = 64;
  rotate.verb = ControlVerb::rotate_key;
  rotate.key_file = "/etc/trama/\xC3\xA4\\\"key";
  ephemeral.verb = ControlVerb::rotate_key;
  ephemeral.ephemeral = true;
  std::vector<ControlRequest> all{add, remove, windows, rotate, ephemeral};
  for (const ControlVerb verb : {ControlVerb::status, ControlVerb::counters, ControlVerb::exclude_list,
                                 ControlVerb::reload, ControlVerb::flush, ControlVerb::stop}) {
    all.emplace_back();
    all.back().verb = verb;
  }
  for (const RequestId& id : {RequestId(), RequestId(int64_t{-7}), RequestId(std::string("a \"name\""))}) {
    for (const ControlRequest& request : all) {
      const std::string line = encode_request(request, id);
      SCOPED_TRACE(line);
      ASSERT_EQ(line.find('\n'), line.size() - 1);
      const DecodedRequest decoded = decode(std::string_view(line).substr(0, line.size() - 1));
      ASSERT_TRUE(decoded.request) << decoded.request.error().text;
      EXPECT_EQ(*decoded.request, request);
      EXPECT_EQ(decoded.id, id);
    }
  }
}

TEST(ControlProtocol, EveryVerbHasOneName) {
  const auto names = control_verbs();
  EXPECT_EQ(names.size(), 10U);
  for (const std::string& name : names) {
    const auto verb = find_control_verb(name);
    ASSERT_TRUE(verb) << name;
    EXPECT_EQ(to_string(*verb), name);
  }
}

TEST(ControlProtocol, RefusesWhatIsNoRequest) {
  const struct {
    std::string line, error, hint;
  } cases[] = {
      {"", "not JSON", "as in"},
      {"status", "not JSON", "as in"},
      {R"({"trama": 1)", "not JSON", "as in"},
      {R"({"trama": 1, "request": "status"} x)", "not JSON", ""},
      {R"({"trama": 1, "request": "status"}{})", "not JSON", ""},
      {"{\"trama\": 1, \"request\": \"sta\xFFtus\"}", "not JSON", ""},
      {"7", "not an object", "as in"},
      {R"("status")", "not an object", ""},
      {"null", "null", ""},
      {"[]", "not an object", ""},
      {R"([{"trama": 1, "request": "status"}])", "not an object", ""},
      {R"({"trama": 1, "request": {"status": 1}})", "no objects in it", ""},
      {R"({"trama": 1, "request": ["status"]})", "no lists in it", ""},
      {R"({"trama": 1, "request": null})", "null", ""},
      {R"({"trama": 1.0, "request": "status"})", "whole ones", ""},
      {R"({"trama": 18446744073709551615, "request": "status"})", "too large", ""},
      {R"({"trama": 99999999999999999999999, "request": "status"})", "whole ones", ""},
      {R"({"request": "status"})", "version", "as in"},
      {R"({"trama": "1", "request": "status"})", "version", ""},
      {R"({"trama": true, "request": "status"})", "version", ""},
      {R"({"trama": 2, "request": "status"})", "speaks version 1", ""},
      {R"({"trama": 1})", "`request` is missing", "as in"},
      {R"({"trama": 1, "request": 7})", "`request` is missing, or isn't a text", ""},
      {R"({"trama": 1, "request": "stauts"})", "no request `stauts`", "did you mean `status`"},
      {R"({"trama": 1, "request": ""})", "no request", "there are"},
      {R"({"trama": 1, "request": "exclude"})", "no request `exclude`", "exclude add"},
      {R"({"trama": 1, "trama": 1, "request": "status"})", "`trama` is there twice", ""},
      {R"({"trama": 1, "request": "status", "request": "stop"})", "`request` is there twice", ""},
      {R"({"trama": 1, "request": "status", "last": 3})", "`status` has no field `last`", "it takes none"},
      {R"({"trama": 1, "request": "exclude add", "rnage": "x"})", "no field `rnage`", "did you mean `range`"},
      {R"({"trama": 1, "request": "exclude add"})", "range is missing", "as in"},
      {R"({"trama": 1, "request": "exclude add", "range": ""})", "`range` is a text", ""},
      {R"({"trama": 1, "request": "exclude add", "range": 7})", "`range` is a text", ""},
      {R"({"trama": 1, "request": "exclude add", "range": "10.0.0.0/8\n"})", "control character", ""},
      {R"({"trama": 1, "request": "rotate-key", "key_file": "a\u0000b"})", "control character", ""},
      {R"({"trama": 1, "request": "rotate-key"})", "takes a key file, or makes a key", "ephemeral"},
      {R"({"trama": 1, "request": "rotate-key", "ephemeral": false})", "takes a key file", ""},
      {R"({"trama": 1, "request": "rotate-key", "key_file": "k", "ephemeral": true})", "takes a key file", ""},
      {R"({"trama": 1, "request": "rotate-key", "ephemeral": 1})", "true or false", ""},
      {R"({"trama": 1, "request": "windows", "last": 0})", "1 to 64", ""},
      {R"({"trama": 1, "request": "windows", "last": 65})", "1 to 64", ""},
      {R"({"trama": 1, "request": "windows", "last": -1})", "1 to 64", ""},
      {R"({"trama": 1, "request": "windows", "last": "3"})", "1 to 64", ""},
      {R"({"trama": 1, "request": "status", "id": true})", "`id` is", ""},
      {R"({"trama": 1, "request": "status", "id": ")" + std::string(129, 'x') + "\"}", "`id` is", ""},
      {R"({"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"l":1,"m":1,"n":1,"o":1,"p":1,"q":1})",
       "too many fields", ""},
      {std::string(kMaxRequestBytes + 1, ' '), "at most 65536 bytes", ""},
      {std::string(kMaxRequestBytes, '['), "not an object", ""},
      {"{\"a\":" + std::string(kMaxRequestBytes - 5, '['), "no lists in it", ""},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.line.substr(0, 100));
    const DecodedRequest decoded = decode(c.line);
    ASSERT_FALSE(decoded.request);
    EXPECT_THAT(decoded.request.error().text, HasSubstr(c.error));
    EXPECT_THAT(decoded.request.error().hint, HasSubstr(c.hint));
  }
}

TEST(ControlProtocol, ALineOfTheGreatestLengthIsRead) {
  std::string line = R"({"trama": 1, "request": "status"})";
  line.insert(1, kMaxRequestBytes - line.size(), ' ');
  EXPECT_TRUE(decode(line).request);
}

TEST(ControlProtocol, TheIdComesBackAlsoWithAnError) {
  const auto id_of = [](std::string_view line) { return decode(line).id; };
  EXPECT_EQ(id_of(R"({"id": "a", "trama": 1, "request": "nothing"})"), RequestId("a"));
  EXPECT_EQ(id_of(R"({"trama": 2, "request": "status", "id": 7})"), RequestId(int64_t{7}));
  EXPECT_EQ(id_of(R"({"id": 7, "request": [)"), RequestId(int64_t{7}));
  EXPECT_EQ(id_of(R"({"id": 7)"), RequestId(int64_t{7}));
  EXPECT_EQ(id_of("x"), RequestId());
  EXPECT_EQ(encode_failure(RequestId(int64_t{7}), {Severity::error, {}, "no", "yes"}),
            "{\"trama\":1,\"id\":7,\"ok\":false,\"error\":\"no\",\"hint\":\"yes\"}\n");
}

// Whoever mistakes the socket for another place may send a key or an address there.
TEST(ControlProtocol, NoErrorRepeatsWhatMayBeSecret) {
  const std::string key = "15e2178d33a4cf80130a5b164990 7d10";
  for (const std::string& line :
       {R"({"trama": 1, "request": ")" + key + "\"}", R"({"trama": 1, "request": "status", ")" + key + "\": 1}",
        R"({")" + key + R"(": 1, ")" + key + "\": 1}", key}) {
    const DecodedRequest decoded = decode(line);
    ASSERT_FALSE(decoded.request);
    EXPECT_EQ(encode_failure(decoded.id, decoded.request.error()).find("15e2178d"), std::string::npos) << line;
  }
}

TEST(ControlProtocol, AnswersAreAscii) {
  const std::string line = encode_result(RequestId("\xC3\xA4"), Json{{"name", "\x1b[31m\xC2\x9B\xFF"}});
  for (const unsigned char letter : line) EXPECT_TRUE(letter == '\n' || (letter >= 0x20 && letter < 0x7f)) << line;
}

TEST(ControlProtocol, AnswersAreReadBack) {
  const auto result = decode_answer(encode_result({}, Json{{"ranges", 3}}));
  ASSERT_TRUE(result);
  EXPECT_EQ(result->at("ranges"), 3);
  const auto failed = decode_answer(encode_failure({}, {Severity::error, {}, "no", "because"}));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().text, "no");
  EXPECT_EQ(failed.error().hint, "because");
  for (const char* strange :
       {"", "x", "{}", "[]", R"({"trama": 2, "ok": true, "result": {}})", R"({"trama": 1})", R"({"trama": 1, "ok": 1})",
        R"({"trama": 1, "ok": true})", R"({"trama": 1, "ok": false})", R"({"trama": 1, "ok": false, "error": 7})",
        R"({"trama": 1, "ok": false, "error": "x", "hint": 7})", "HTTP/1.1 400 Bad Request"}) {
    const auto answer = decode_answer(strange);
    ASSERT_FALSE(answer) << strange;
    EXPECT_THAT(answer.error().text, HasSubstr("no trama of this version")) << strange;
  }
}

// Anything at all is refused or understood, and what is understood can be said again.
TEST(ControlProtocol, RandomLines) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::vector<std::string> pieces{
      "{",           "}",     "\"",        ":",           ",",        "[",        "]",    "trama", "request", "status",
      "exclude add", "range", "\"id\":",   "1",           "-",        "1e9",      "null", "true",  "\\u00",   "\x80",
      " ",           "last",  "\"trama\"", "\"request\"", "\"stop\"", "\xF0\x9F", "\\",   "\n"};
  for (int round = 0; round < 20000; ++round) {
    std::string line = random() % 4 == 0 ? R"({"trama":1,"request":"windows","last":5,"id":"a"})" : "";
    for (size_t edits = 1 + random() % 12; edits > 0; --edits) {
      const std::string& piece = pieces[random() % pieces.size()];
      const size_t at = random() % (line.size() + 1);
      if (random() % 3 == 0)
        line.replace(at, random() % 4, piece);
      else
        line.insert(line.size() > 20 && random() % 2 == 0 ? at : line.size(), piece);
    }
    const DecodedRequest decoded = decode(line);
    if (!decoded.request) {
      EXPECT_FALSE(decoded.request.error().text.empty()) << line;
      continue;
    }
    const std::string again = encode_request(*decoded.request, decoded.id);
    const DecodedRequest second = decode(std::string_view(again).substr(0, again.size() - 1));
    ASSERT_TRUE(second.request) << line;
    EXPECT_EQ(*second.request, *decoded.request) << line;
    EXPECT_EQ(second.id, decoded.id) << line;
  }
}

}  // namespace
}  // namespace trama
