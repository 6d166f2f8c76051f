// --cores on machines this one is not: folders that look like /sys/devices/system/cpu.
#include "device/cores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace lq::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Cores : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(int core, const std::string& name, long value) {
    const std::filesystem::path path = folder_ + "/cpu" + std::to_string(core) + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << value << "\n";
  }
  const std::string folder_ = ::testing::TempDir() + "cores_" + std::to_string(getpid());
};

TEST_F(Cores, BigAndLittleByCapacity) {
  for (int core = 0; core < 4; ++core) write(core, "cpu_capacity", 381);
  for (int core = 4; core < 7; ++core) write(core, "cpu_capacity", 870);
  write(7, "cpu_capacity", 1024);
  EXPECT_THAT(*parse_cores("little", folder_), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(*parse_cores("big", folder_), ElementsAre(7));
  write(7, "cpufreq/scaling_cur_freq", 2841600);
  EXPECT_EQ(describe_cores({7}, folder_), "7 at 2841 MHz");
  EXPECT_EQ(describe_cores({0, 1}, folder_), "0,1, clock unknown");
}

TEST_F(Cores, ByClockWhereCapacityIsNotTold) {
  for (int core = 0; core < 2; ++core) write(core, "cpufreq/cpuinfo_max_freq", 1800000);
  for (int core = 2; core < 4; ++core) write(core, "cpufreq/cpuinfo_max_freq", 2400000);
  EXPECT_THAT(*parse_cores("big", folder_), ElementsAre(2, 3));
  EXPECT_THAT(*parse_cores("little", folder_), ElementsAre(0, 1));
}

TEST_F(Cores, AlikeOrUnknownIsAnError) {
  EXPECT_THAT(parse_cores("big", folder_).status().message(), HasSubstr("does not tell"));
  for (int core = 0; core < 2; ++core) write(core, "cpu_capacity", 1024);
  EXPECT_THAT(parse_cores("little", folder_).status().message(), HasSubstr("all 2 cores are alike"));
}

TEST_F(Cores, ListsAndMasks) {
  EXPECT_THAT(*parse_cores("0x15"), ElementsAre(0, 2, 4));
  EXPECT_THAT(*parse_cores("6,0-2,1"), ElementsAre(0, 1, 2, 6));
  EXPECT_THAT(*parse_cores("3"), ElementsAre(3));
  for (const char* bad : {"", "0x", "0x0", "3-1", "1,", "a", "0-", "-1", "2000", "0x1ffffffffffffffff", "big,1"})
    EXPECT_THAT(parse_cores(bad).status().message(), HasSubstr("--cores")) << bad;
}

}  // namespace
}  // namespace lq::tools
