// Crypto-PAn: the authors' figures, the definition by OpenSSL, and the laws of the function, on every instruction set.
#include "modules/support/crypto_pan.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace trama {
namespace {

constexpr uint64_t kPanSeed = 20240612;
using KeyBytes = std::array<uint8_t, 32>;

// The sample key of Crypto-PAn 1.0 (sample.cpp).
constexpr KeyBytes kSampleKey = {21,  34,  23,  141, 51,  164, 207, 128, 19, 10, 91, 22, 73, 144, 125, 16,
                                 216, 152, 143, 131, 121, 121, 101, 39,  98, 87, 76, 45, 42, 132, 34,  2};

// sample_trace_raw.dat and sample_trace_sanitized.dat of Crypto-PAn 1.0 (Jun Xu, Jinliang Fan, Mostafa Ammar; Georgia
// Tech), which certtools/cryptopanlib carries too.
struct Vector {
  const char *original, *anonymized;
};
constexpr Vector kSampleTrace[] = {
    {"4.3.88.225", "124.60.155.63"},       {"10.185.25.118", "117.161.29.118"},
    {"24.0.250.221", "100.15.198.226"},    {"24.5.0.80", "100.9.15.210"},
    {"24.7.198.88", "100.10.6.25"},        {"24.13.62.231", "100.2.192.247"},
    {"24.14.213.138", "100.1.42.141"},     {"24.94.26.44", "100.88.228.35"},
    {"38.15.67.68", "64.3.66.187"},        {"63.14.55.111", "95.9.215.7"},
    {"63.97.7.140", "95.97.9.123"},        {"63.195.241.44", "95.179.238.44"},
    {"64.14.118.196", "0.255.183.58"},     {"64.34.154.117", "0.221.154.117"},
    {"64.39.15.238", "0.219.7.41"},        {"128.11.68.132", "135.242.180.132"},
    {"129.118.74.4", "134.136.186.123"},   {"130.132.252.244", "133.68.164.234"},
    {"141.223.7.43", "141.167.8.160"},     {"141.233.145.108", "141.129.237.235"},
    {"152.163.225.39", "151.140.114.167"}, {"156.29.3.236", "147.225.12.42"},
    {"165.247.96.84", "162.9.99.234"},     {"166.107.77.190", "160.132.178.185"},
    {"192.41.57.43", "252.222.221.184"},   {"192.102.249.13", "252.138.62.131"},
    {"192.215.32.125", "252.43.47.189"},   {"192.233.80.103", "252.25.108.8"},
    {"193.150.244.223", "253.169.52.216"}, {"195.205.63.100", "255.186.223.5"},
    {"198.26.132.101", "249.36.123.202"},  {"198.36.213.5", "249.7.21.132"},
    {"198.51.77.238", "249.18.186.254"},   {"198.200.171.101", "249.199.68.213"},
    {"199.217.79.101", "248.38.184.213"},  {"202.49.198.20", "245.206.7.234"},
    {"203.12.160.252", "244.248.163.4"},   {"204.29.20.4", "243.33.20.123"},
    {"204.184.162.189", "243.192.77.90"},  {"204.202.136.230", "243.178.4.198"},
    {"205.178.38.67", "242.108.198.51"},   {"205.188.147.153", "242.96.16.101"},
    {"205.188.248.25", "242.96.88.27"},    {"205.245.121.43", "242.21.121.163"},
    {"207.25.71.27", "241.33.119.156"},    {"207.33.151.131", "241.1.233.131"},
    {"207.105.49.5", "241.118.205.138"},   {"207.135.65.238", "241.202.129.222"},
    {"207.155.9.214", "241.220.250.22"},   {"207.188.7.45", "241.255.249.220"},
    {"208.28.185.184", "227.39.94.90"},    {"208.52.56.122", "227.8.63.165"},
    {"208.147.89.59", "227.237.98.191"},   {"208.234.120.210", "227.154.67.17"},
    {"209.12.231.7", "226.243.167.8"},     {"209.68.60.238", "226.184.220.233"},
    {"209.85.249.6", "226.170.70.6"},      {"209.238.72.3", "226.6.119.243"},
    {"209.246.74.109", "226.22.124.76"},   {"212.120.124.31", "228.135.163.231"},
    {"212.146.8.236", "228.19.4.234"},     {"212.186.227.154", "228.59.98.98"},
    {"212.204.172.118", "228.71.195.169"}, {"212.206.130.201", "228.69.242.193"},
    {"216.32.132.250", "235.192.139.38"},  {"216.35.217.178", "235.195.157.81"},
    {"216.148.237.145", "235.84.194.111"}, {"216.157.30.252", "235.89.31.26"},
    {"216.184.159.48", "235.96.225.78"},   {"216.227.10.221", "235.28.253.36"},
    {"216.254.18.172", "235.7.16.162"},
};

// Under the same key: what is right, and what implementations give that leave the pad unencrypted, swap the halves of
// the key, or take the bytes of the address the other way round.
struct Mistake {
  const char *original, *right;
  std::array<const char*, 3> wrong;
};
constexpr Mistake kMistakes[] = {
    {"128.11.68.132", "135.242.180.132", {"64.10.195.135", "158.117.122.129", "127.10.75.131"}},
    {"129.118.74.4", "134.136.186.123", {"65.148.10.133", "159.119.109.146", "143.182.68.124"}},
    {"0.0.0.0", "120.255.240.1", {"199.248.7.255", "3.128.224.88", "1.240.255.120"}},
    {"255.255.255.255", "206.120.97.255", {"0.61.16.56", "255.254.68.252", "255.97.120.206"}},
    {"10.0.0.1", "117.15.0.1", {"203.135.254.127", "13.199.224.14", "246.243.0.121"}},
    {"10.0.0.2", "117.15.0.2", {"203.135.254.125", "13.199.224.13", "134.243.0.122"}},
    {"127.0.0.1", "33.0.243.129", {"158.7.252.255", "71.124.224.111", "191.243.0.121"}},
    {"224.0.0.1", "223.207.15.140", {"24.7.255.1", "239.195.1.184", "29.243.0.121"}},
    {"192.0.2.1", "252.255.2.112", {"63.248.1.255", "204.255.2.39", "62.3.3.121"}},
};

constexpr uint32_t kNetworks[] = {0x0000, 0x0A00, 0xFFFF};  // /16s: the first, one of many, the last

uint32_t address(const char* dotted) {
  in_addr parsed{};
  EXPECT_EQ(inet_pton(AF_INET, dotted, &parsed), 1) << dotted;
  return ntohl(parsed.s_addr);
}

// The definition, written down again with nothing in common but this text: bit i of the result is bit i of the address
// XOR the first bit of AES(first i bits of the address, then bits i..127 of AES(second half of the key)).
class Definition {
 public:
  explicit Definition(const KeyBytes& key) {
    EVP_EncryptInit_ex(context_.get(), EVP_aes_128_ecb(), nullptr, key.data(), nullptr);
    EVP_CIPHER_CTX_set_padding(context_.get(), 0);
    pad_ = encrypt(key.data() + 16);
  }
  uint32_t operator()(uint32_t original) const {
    uint32_t result = original;
    for (uint32_t i = 0; i < 32; ++i) {
      std::array<uint8_t, 16> input = pad_;
      for (uint32_t bit = 0; bit < i; ++bit) {
        const auto place = static_cast<uint8_t>(0x80 >> bit % 8);
        const bool set = (original >> (31 - bit) & 1) != 0;
        input[bit / 8] = static_cast<uint8_t>(set ? input[bit / 8] | place : input[bit / 8] & ~place);
      }
      result ^= static_cast<uint32_t>(encrypt(input.data())[0] >> 7) << (31 - i);
    }
    return result;
  }

 private:
  std::array<uint8_t, 16> encrypt(const uint8_t* block) const {
    std::array<uint8_t, 16> result{};
    int size = 0;
    EVP_EncryptUpdate(context_.get(), result.data(), &size, block, 16);
    EXPECT_EQ(size, 16);
    return result;
  }
  std::unique_ptr<EVP_CIPHER_CTX, void (*)(EVP_CIPHER_CTX*)> context_{EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free};
  std::array<uint8_t, 16> pad_;
};

KeyBytes random_key(std::mt19937_64& random) {
  KeyBytes key;
  for (uint8_t& byte : key) byte = static_cast<uint8_t>(random());
  return key;
}

// In buffers that end where they must, so that a sanitizer sees one element too many.
std::vector<uint32_t> anonymized(const CryptoPan& crypto_pan, const std::vector<uint32_t>& originals) {
  const size_t n = originals.size();
  const std::unique_ptr<uint32_t[]> in(new uint32_t[n]), out(new uint32_t[n]);
  std::copy(originals.begin(), originals.end(), in.get());
  crypto_pan.anonymize(in.get(), out.get(), n);
  crypto_pan.anonymize(in.get(), in.get(), n);
  EXPECT_TRUE(std::equal(in.get(), in.get() + n, out.get())) << "in place differs, n = " << n;
  return {out.get(), out.get() + n};
}

// Each test runs once for every instruction set that this machine has and the program was built for.
class CryptoPanTest : public testing::TestWithParam<int64_t> {
 protected:
  CryptoPanTest() { use_targets(GetParam()); }
  ~CryptoPanTest() override { use_targets(0); }

  // Made once for each instruction set, by itself: it takes a second under sanitizers.
  static const CryptoPan& sample() {
    static std::map<int64_t, CryptoPan> made;
    return made.try_emplace(GetParam(), kSampleKey).first->second;
  }

 private:
  static void use_targets(int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

INSTANTIATE_TEST_SUITE_P(Targets, CryptoPanTest, testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& test) { return std::string(hwy::TargetName(test.param)); });

TEST_P(CryptoPanTest, GivesTheAuthorsFigures) {
  const CryptoPan& crypto_pan = sample();
  std::vector<uint32_t> originals, expected;
  for (const Vector& vector : kSampleTrace) {
    originals.push_back(address(vector.original));
    expected.push_back(address(vector.anonymized));
    EXPECT_EQ(crypto_pan.anonymize_one(originals.back()), expected.back()) << vector.original;
  }
  EXPECT_EQ(anonymized(crypto_pan, originals), expected);
}

TEST_P(CryptoPanTest, MakesNoneOfTheUsualMistakes) {
  const CryptoPan& crypto_pan = sample();
  for (const Mistake& mistake : kMistakes) {
    const uint32_t result = anonymized(crypto_pan, {address(mistake.original)})[0];
    EXPECT_EQ(result, address(mistake.right)) << mistake.original;
    for (const char* wrong : mistake.wrong) EXPECT_NE(result, address(wrong)) << mistake.original;
  }
}

TEST_P(CryptoPanTest, IsTheDefinitionForAnyKeyAndAddress) {
  SCOPED_TRACE(kPanSeed);
  std::mt19937_64 random(kPanSeed);
  for (int round = 0; round < 2; ++round) {
    const KeyBytes key = random_key(random);
    const CryptoPan crypto_pan(key);
    const Definition definition(key);
    std::vector<uint32_t> originals = {0, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x0000FFFF, 0xFFFF0000};
    while (originals.size() < 1500) originals.push_back(static_cast<uint32_t>(random()));
    const std::vector<uint32_t> results = anonymized(crypto_pan, originals);
    for (size_t i = 0; i < originals.size(); ++i) {
      ASSERT_EQ(results[i], definition(originals[i])) << originals[i];
      ASSERT_EQ(results[i], crypto_pan.anonymize_one(originals[i])) << originals[i];
    }
  }
}

// Every block bit of the trie and every level of `top` is read by some of these.
TEST_P(CryptoPanTest, IsTheDefinitionAllOverSomeNetworks) {
  const CryptoPan& crypto_pan = sample();
  const Definition definition(kSampleKey);
  for (const uint32_t prefix : kNetworks) {
    std::vector<uint32_t> originals;
    for (uint32_t middle = 0; middle < 256; ++middle)
      originals.push_back(prefix << 16 | middle << 8 | (middle * 37 & 255));
    const std::vector<uint32_t> results = anonymized(crypto_pan, originals);
    for (size_t i = 0; i < originals.size(); ++i) ASSERT_EQ(results[i], definition(originals[i])) << originals[i];
  }
}

TEST_P(CryptoPanTest, TakesArraysOfAnyLength) {
  SCOPED_TRACE(kPanSeed);
  std::mt19937_64 random(kPanSeed);
  const CryptoPan& crypto_pan = sample();
  for (size_t n = 0; n <= 70; ++n) {
    std::vector<uint32_t> originals, expected;
    for (size_t i = 0; i < n; ++i) {
      originals.push_back(static_cast<uint32_t>(random()));
      expected.push_back(crypto_pan.anonymize_one(originals.back()));
    }
    ASSERT_EQ(anonymized(crypto_pan, originals), expected) << "n = " << n;
  }
}

TEST_P(CryptoPanTest, MapsA16OntoA16OneToOne) {
  const CryptoPan& crypto_pan = sample();
  for (const uint32_t prefix : kNetworks) {
    std::vector<uint32_t> originals;
    for (uint32_t host = 0; host < 65536; ++host) originals.push_back(prefix << 16 | host);
    std::vector<uint32_t> results = anonymized(crypto_pan, originals);
    std::sort(results.begin(), results.end());
    for (uint32_t host = 0; host < 65536; ++host) ASSERT_EQ(results[host], (results[0] & 0xFFFF0000u) | host);
  }
}

TEST_P(CryptoPanTest, KeepsTheLengthOfCommonPrefixesExactly) {
  SCOPED_TRACE(kPanSeed);
  std::mt19937_64 random(kPanSeed);
  const CryptoPan crypto_pan(random_key(random));
  std::vector<uint32_t> one, other;
  for (int i = 0; i < 20000; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    const auto common = static_cast<uint32_t>(random() % 33);  // bits that the two share, and no more
    const uint32_t difference =
        common == 32 ? 0 : 0x80000000u >> common | (static_cast<uint32_t>(random()) & (0x7FFFFFFFu >> common));
    one.push_back(bits);
    other.push_back(bits ^ difference);
  }
  const std::vector<uint32_t> one_result = anonymized(crypto_pan, one), other_result = anonymized(crypto_pan, other);
  for (size_t i = 0; i < one.size(); ++i) {
    ASSERT_EQ(std::countl_zero(one_result[i] ^ other_result[i]), std::countl_zero(one[i] ^ other[i]))
        << one[i] << " and " << other[i];
  }
}

}  // namespace
}  // namespace trama
