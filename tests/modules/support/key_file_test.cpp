// Key files: what is accepted and what is refused and why, who may read them, how they are made, and that nothing
// leaks.
#include "modules/support/key_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <string>
#include <type_traits>

#include "tests/support/scratch_folder.hpp"

namespace trama {
namespace {

using test::ScratchFolder;

static_assert(!std::is_copy_constructible_v<Key> && !std::is_copy_assignable_v<Key>);
static_assert(std::is_nothrow_move_constructible_v<Key>);

template <class T>
concept Printable = requires(std::ostream& out, const T& value) {
  out << value;
};
static_assert(!Printable<Key>);

// The sample key of Crypto-PAn 1.0.
const std::string kDigits = "1522178d33a4cf80130a5b1649907d10d8988f837979652762574c2d2a842202";
constexpr std::array<uint8_t, 32> kBytes = {21,  34,  23,  141, 51,  164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16,
                                            216, 152, 143, 131, 121, 121, 101, 39,  98, 87, 76, 45, 42, 132, 34,  2};

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](char c) { return static_cast<char>(toupper(c)); });
  return text;
}

std::string key_file(const ScratchFolder& folder, const std::string& contents, mode_t mode = 0600) {
  const std::string path = folder / "site.key";
  test::write_file(path, contents);
  EXPECT_EQ(chmod(path.c_str(), mode), 0);
  return path;
}

std::string bytes_of(const Key& key) { return {key.bytes().begin(), key.bytes().end()}; }
std::string sample_bytes() { return {kBytes.begin(), kBytes.end()}; }

TEST(KeyFile, IsRead) {
  const std::string zeros(64, '0');
  const std::string cases[][2] = {
      {kDigits, sample_bytes()},
      {kDigits + "\n", sample_bytes()},
      {upper(kDigits) + "\n", sample_bytes()},
      {zeros, std::string(32, '\0')},
  };
  for (const auto& [contents, bytes] : cases) {
    const ScratchFolder folder;
    const auto key = Key::load(key_file(folder, contents));
    ASSERT_TRUE(key.has_value()) << key.error().text;
    EXPECT_EQ(bytes_of(*key), bytes);
  }
}

struct Refused {
  std::string contents, reason;
};

const Refused kRefused[] = {
    {"", "the key file is empty"},
    {"\n", "holds 0 hexadecimal digits"},
    {kDigits.substr(0, 62), "holds 62 hexadecimal digits instead of 64"},
    {kDigits.substr(0, 63), "holds 63 hexadecimal digits instead of 64"},
    {kDigits + "a", "holds 65 hexadecimal digits instead of 64"},
    {kDigits + "a\n", "holds 65 hexadecimal digits instead of 64"},
    {kDigits + kDigits, "holds 128 hexadecimal digits instead of 64"},
    {kDigits.substr(0, 32), "holds 32 hexadecimal digits instead of 64"},
    {kDigits.substr(0, 31), "holds 31 hexadecimal digits instead of 64"},
    {kDigits + "\r\n", "carriage return"},
    {kDigits + "\n\n", "something behind the 64 digits"},
    {kDigits + "\n" + kDigits + "\n", "something behind the 64 digits"},
    {kDigits + " ", "something behind the 64 digits"},
    {kDigits + " # site key\n", "something behind the 64 digits"},
    {" " + kDigits, "character 1 of the key file is not a hexadecimal digit"},
    {"0x" + kDigits, "character 2 of the key file is not a hexadecimal digit"},
    {"15:22:17:8d:33:a4:cf:80:13:0a:5b:16:49:90:7d:10", "character 3 of the key file"},
    {kDigits.substr(0, 63) + "g", "character 64 of the key file"},
    {"32-char-str-for-AES-key-and-pad.", "32 raw bytes"},
    {sample_bytes(), "32 raw bytes"},
    {std::string(32, '\0'), "32 raw bytes"},
    {sample_bytes().substr(0, 31), "31 bytes that are not text"},
    {sample_bytes() + "\x80", "33 bytes that are not text"},
    {kDigits + std::string(1, '\0'), "65 bytes that are not text"},
    {std::string(256, 'a'), "holds 256 hexadecimal digits"},
    {std::string(257, 'a'), "longer than 256 bytes"},
    {std::string(100000, 'a'), "longer than 256 bytes"},
};

// No eight characters of the contents in a row, as they are or as digits.
void expect_no_leak(const std::string& contents, const std::string& message) {
  for (const std::string& secret : {contents, kDigits, upper(kDigits), sample_bytes()}) {
    for (size_t i = 0; i + 8 <= secret.size(); ++i) {
      EXPECT_EQ(message.find(secret.substr(i, 8)), std::string::npos) << message;
    }
  }
}

TEST(KeyFile, IsRefusedWithTheReason) {
  for (const Refused& one : kRefused) {
    const ScratchFolder folder;
    const std::string path = key_file(folder, one.contents);
    const auto key = Key::load(path);
    ASSERT_FALSE(key.has_value()) << one.reason;
    EXPECT_NE(key.error().text.find(one.reason), std::string::npos) << key.error().text << ", not: " << one.reason;
    EXPECT_FALSE(key.error().hint.empty()) << one.reason;
    EXPECT_EQ(key.error().place, (Place{path, 0}));
    expect_no_leak(one.contents, key.error().text + key.error().hint);
  }
}

TEST(KeyFile, MustBeClosedToOthers) {
  for (const mode_t mode : {0640u, 0604u, 0644u, 0620u, 0602u, 0610u, 0666u, 0601u}) {
    const ScratchFolder folder;
    const std::string path = key_file(folder, kDigits, mode);
    const auto key = Key::load(path);
    ASSERT_FALSE(key.has_value()) << std::oct << mode;
    EXPECT_EQ(key.error().text, "the key file is open to group or others");
    EXPECT_EQ(key.error().hint, "chmod 600 " + path);
  }
  for (const mode_t mode : {0600u, 0400u, 0700u}) {
    const ScratchFolder folder;
    EXPECT_TRUE(Key::load(key_file(folder, kDigits, mode)).has_value()) << std::oct << mode;
  }
}

TEST(KeyFile, MustBelongToTheUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make files of other users";
  constexpr uid_t kOther = 4321;
  const ScratchFolder folder;
  const std::string path = key_file(folder, kDigits);
  ASSERT_EQ(chown(path.c_str(), kOther, kOther), 0);
  const char* sudo_uid = getenv("SUDO_UID");
  const std::string before = sudo_uid == nullptr ? "" : sudo_uid;
  const auto loads = [&](const char* caller) {
    setenv("SUDO_UID", caller, 1);
    return Key::load(path).has_value();
  };
  EXPECT_FALSE(loads(""));
  EXPECT_FALSE(loads("432"));
  EXPECT_FALSE(loads("4321x"));
  EXPECT_TRUE(loads("4321"));
  unsetenv("SUDO_UID");
  EXPECT_FALSE(Key::load(path).has_value());
  EXPECT_NE(Key::load(path).error().text.find("belongs to another user"), std::string::npos);
  if (sudo_uid != nullptr) setenv("SUDO_UID", before.c_str(), 1);
}

TEST(KeyFile, IsNotTheKeyItself) {
  const auto loaded = Key::load("00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF");
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().place, Place{});
  EXPECT_EQ((loaded.error().text + loaded.error().hint).find("0011"), std::string::npos);
}

TEST(KeyFile, ThatIsMissingCanBeMade) {
  const ScratchFolder folder;
  const std::string path = folder / "site.key";
  const auto key = Key::load(path);
  ASSERT_FALSE(key.has_value());
  EXPECT_EQ(key.error().hint, "trama key new " + path);
}

TEST(KeyFile, IsAFileOrAPipe) {
  const ScratchFolder folder;
  EXPECT_NE(Key::load(folder.path()).error().text.find("directory"), std::string::npos);
  EXPECT_NE(Key::load("/dev/zero").error().text.find("device"), std::string::npos);

  const std::string link = folder / "link";
  ASSERT_EQ(symlink(key_file(folder, kDigits).c_str(), link.c_str()), 0);
  EXPECT_TRUE(Key::load(link).has_value());
}

// As --key <(pass show site) does it.
TEST(KeyFile, ComesThroughAPipe) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string line = kDigits + "\n";
  ASSERT_EQ(write(ends[1], line.data(), line.size()), static_cast<ssize_t>(line.size()));
  close(ends[1]);
  const auto key = Key::load("/dev/fd/" + std::to_string(ends[0]));
  close(ends[0]);
  ASSERT_TRUE(key.has_value()) << key.error().text;
  EXPECT_EQ(bytes_of(*key), sample_bytes());
}

TEST(KeyFile, IsNotReadFromAPipeThatOthersCanOpen) {
  const ScratchFolder folder;
  const std::string path = folder / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  const int writer = open(path.c_str(), O_RDWR);  // so that nobody waits
  EXPECT_EQ(Key::load(path).error().hint, "chmod 600 " + path);
  close(writer);
}

TEST(NewKey, IsSavedForItsOwnerAlone) {
  for (const mode_t mask : {0u, 022u, 0777u}) {
    const ScratchFolder folder;
    const std::string path = folder / "site.key";
    const mode_t before = umask(mask);
    const auto saved = Key(kBytes).save_new(path);
    umask(before);
    ASSERT_TRUE(saved.has_value()) << saved.error().text;
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0600u);
    EXPECT_EQ(test::read_text(path), kDigits + "\n");
    EXPECT_EQ(bytes_of(Key::load(path).value()), sample_bytes());
  }
}

TEST(NewKey, IsNeverSavedOverAnything) {
  const ScratchFolder folder;
  const std::string path = key_file(folder, "precious"), link = folder / "link", target = folder / "target";
  ASSERT_EQ(symlink(target.c_str(), link.c_str()), 0);
  for (const std::string& taken : {path, link, folder.path().string()}) {
    const auto saved = Key(kBytes).save_new(taken);
    ASSERT_FALSE(saved.has_value()) << taken;
    EXPECT_NE(saved.error().text.find("exists already"), std::string::npos);
    expect_no_leak("", saved.error().text + saved.error().hint);
  }
  EXPECT_EQ(test::read_text(path), "precious");
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"link", "site.key"}));
  EXPECT_FALSE(Key(kBytes).save_new(folder / "missing/site.key").has_value());
}

TEST(NewKey, LeavesNothingBehindIfItCantBeWritten) {
  const ScratchFolder folder;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{10, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const auto saved = Key(kBytes).save_new(folder / "site.key");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_FALSE(saved.has_value());
  EXPECT_TRUE(folder.names().empty());
}

TEST(RandomKey, IsAnotherEachTime) {
  const auto one = Key::random(), other = Key::random();
  ASSERT_TRUE(one.has_value() && other.has_value());
  EXPECT_NE(bytes_of(*one), bytes_of(*other));
  EXPECT_NE(one->fingerprint(), other->fingerprint());
  for (const Key* key : {&*one, &*other}) EXPECT_NE(bytes_of(*key).substr(24), std::string(8, '\0'));
}

// Figures by Python's hashlib and hmac.
TEST(KeyIdentity, IsKnownByItsFingerprint) {
  const Key key(kBytes);
  EXPECT_EQ(key.fingerprint(), "738b8b4ec581fd62");
  EXPECT_EQ(key.hmac_sha256_hex("10.0.0.0/8:either\n"),
            "c29af67b3730850f515329f9134df099511eece1f8da452fe879d7ce16fcbe36");
  EXPECT_EQ(key.hmac_sha256_hex(""), "5187ad8e6d5ef9f79c96b0c83c64de3715a42d52c3815982e04999ebf1611f6f");
}

}  // namespace
}  // namespace trama
